"""NumPy 2 with the names, arguments and results of NumPy 1."""

from estimator_bridge.old_packages.numpy_1 import arrays, functions, names, promotion, ragged

__all__ = ["install"]


def install() -> None:
    """Restores what the installed NumPy lacks."""
    names.install()
    functions.install()
    arrays.install()
    ragged.install()
    promotion.install()
