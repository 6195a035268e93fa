"""Loads Matplotlib without settings that the current folder contains.

Matplotlib reads a file `matplotlibrc` in the current folder first. One of others could let it pass
every label, which comes from the data, to LaTeX, or make each figure fail.
"""

import os
from typing import Any


def load_matplotlib() -> Any:
    """Returns the module matplotlib, with the settings of the user or its own."""
    # Imported here: it takes half a second, and only figures need it.
    import matplotlib

    if os.path.dirname(os.path.abspath(matplotlib.matplotlib_fname())) == os.getcwd():
        matplotlib.rcdefaults()
    return matplotlib
