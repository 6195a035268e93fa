"""Names and arguments that matplotlib removed."""

import functools
from typing import Any

from estimator_bridge.old_packages.missing import set_missing
from estimator_bridge.old_packages.renaming import rename_arguments
from estimator_bridge.process.importing import call_when_imported

__all__ = ["install"]

# Colour maps that were renamed.
_MAPS = {"spectral": "nipy_spectral", "Vega10": "tab10", "Vega20": "tab20"}
_MAPS.update(Vega20b="tab20b", Vega20c="tab20c")


def install() -> None:
    """Restores what the imported matplotlib lacks, and its modules when they are imported."""
    import matplotlib

    matplotlib.use = rename_arguments(matplotlib.use, warn=None)
    call_when_imported("matplotlib.cm", _colour_maps)
    call_when_imported("matplotlib.mlab", _mlab)
    call_when_imported("matplotlib.style", _styles)
    call_when_imported("matplotlib.figure", _figures)
    call_when_imported("matplotlib.backends.backend_agg", _canvas)
    call_when_imported("matplotlib.pyplot", _pyplot)


def _colour_maps() -> None:
    import matplotlib
    from matplotlib import cm

    def get_cmap(name=None, lut=None):
        if name is None:
            name = matplotlib.rcParams["image.cmap"]
        found = name if not isinstance(name, str) else matplotlib.colormaps[name]
        return found if lut is None else found.resampled(lut)

    def register_cmap(name=None, cmap=None):
        matplotlib.colormaps.register(cmap, name=name, force=True)

    for old, new in _MAPS.items():
        for ending in ("", "_r"):
            if old + ending not in matplotlib.colormaps and new in matplotlib.colormaps:
                map_ = matplotlib.colormaps[new + ending]
                matplotlib.colormaps.register(map_, name=old + ending)
                set_missing(cm, **{old + ending: map_})
    set_missing(cm, get_cmap=get_cmap, register_cmap=register_cmap)


def _mlab() -> None:
    import numpy as np
    from matplotlib import mlab

    def normpdf(x, *arguments):
        mean, deviation = arguments
        scaled = (np.asarray(x) - mean) / deviation
        return 1.0 / (np.sqrt(2 * np.pi) * deviation) * np.exp(-0.5 * scaled**2)

    set_missing(mlab, normpdf=normpdf)


def _styles() -> None:
    from matplotlib import style

    for name in list(style.library):
        old = name.replace("seaborn-v0_8", "seaborn")
        if old not in style.library:
            style.library[old] = style.library[name]


def _figures() -> None:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    renamed = {"hist": {"normed": "density"}, "hist2d": {"normed": "density"}}
    renamed.update(bar={"left": "x"}, grid={"b": "visible"})
    for name, arguments in renamed.items():
        setattr(Axes, name, rename_arguments(getattr(Axes, name), **arguments))
    set_missing(
        Axes,
        hold=lambda self, b=None: None,
        ishold=lambda self: True,
        get_axis_bgcolor=Axes.get_facecolor,
        set_axis_bgcolor=Axes.set_facecolor,
    )
    gca: Any = Figure.gca

    @functools.wraps(gca)
    def get_axes(self, **options):
        if options:
            return self.add_subplot(1, 1, 1, **options)
        return gca(self)

    colorbar: Any = Figure.colorbar

    @functools.wraps(colorbar)
    def add_colorbar(self, mappable, cax=None, ax=None, **options):
        if cax is None and ax is None and getattr(mappable, "axes", None) is None:
            ax = self.gca()
        return colorbar(self, mappable, cax=cax, ax=ax, **options)

    setattr(Figure, "colorbar", add_colorbar)  # noqa: B010 - mypy refuses the assignment.
    setattr(Figure, "gca", get_axes)  # noqa: B010 - mypy refuses the assignment.


def _set_window_title(canvas, title):
    if canvas.manager is not None:
        canvas.manager.set_window_title(title)


def _canvas() -> None:
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    def tostring_rgb(self):
        import numpy as np

        return np.asarray(self.buffer_rgba())[..., :3].tobytes()

    set_missing(FigureCanvasAgg, tostring_rgb=tostring_rgb, set_window_title=_set_window_title)


def _pyplot() -> None:
    from matplotlib import pyplot as plt

    gca = plt.gca

    @functools.wraps(gca)
    def get_axes(**options):
        return plt.gcf().gca(**options) if options else gca()

    plt.gca = get_axes
    plt.bar = rename_arguments(plt.bar, left="x")
    set_missing(plt, hold=lambda b=None: None, ishold=lambda: True)
    set_missing(plt, **{name: functools.partial(plt.set_cmap, name) for name in _MAPS})
