"""Loads Matplotlib without settings that the current folder contains.

Matplotlib reads a file `matplotlibrc` in the current folder first. One of others could let it pass
every label, which comes from the data, to LaTeX, or make each figure fail.
"""

import contextlib
import importlib
import os
import threading
from typing import Any

# What open_figure needs.
_MODULES = ("matplotlib.backends.backend_agg", "matplotlib.figure")


def load_matplotlib() -> Any:
    """Returns the module matplotlib, with the settings of the user or its own."""
    # Imported here: it takes half a second, and only figures need it.
    import matplotlib

    if os.path.dirname(os.path.abspath(matplotlib.matplotlib_fname())) == os.getcwd():
        matplotlib.rcdefaults()
    return matplotlib


def load_beside() -> None:
    """Begins to load Matplotlib in another thread, for figures that are drawn in some seconds."""
    threading.Thread(target=_load, name="load matplotlib", daemon=True).start()


def _load() -> None:
    # open_figure raises the same error where it can be reported.
    with contextlib.suppress(Exception):
        for name in _MODULES:
            importlib.import_module(name)


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
