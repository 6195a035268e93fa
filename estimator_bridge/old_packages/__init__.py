"""Packages that programs use beside TensorFlow, as they were at the time of 1.x to 2.12.

Each module restores names, arguments or behaviour of one package when the program imports it, and
changes nothing where the installed version still has them.
"""

from estimator_bridge.old_packages import pandas_1, scipy_names
from estimator_bridge.process.importing import call_when_imported

__all__ = ["install"]


def install() -> None:
    """Restores what the packages lack, now or when they are imported."""
    call_when_imported("pandas", pandas_1.install)
    call_when_imported("scipy.sparse", scipy_names.install)
