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


def open_figure(inches: tuple[float, float], **options: Any) -> Any:
    """Returns an empty matplotlib.figure.Figure that can be saved without a display.

    Args:
        inches: width and height.
        **options: of the Figure, such as its layout.
    """
    # Imported here: it takes half a second, and only figures need it.
    load_matplotlib()
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=inches, **options)
    FigureCanvasAgg(figure)
    return figure
