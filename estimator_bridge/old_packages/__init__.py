"""Packages that programs use beside TensorFlow, as they were at the time of 1.x to 2.12.

Each module restores names, arguments or behaviour of one package when the program imports it, and
changes nothing where the installed version still has them.
"""

from estimator_bridge.old_packages import (
    hdf5,
    matplotlib_names,
    numpy_1,
    pandas_1,
    pillow,
    scikit_learn,
    scipy_names,
    yaml_files,
)
from estimator_bridge.process.importing import call_when_imported

__all__ = ["install"]

# TensorFlow 2.5 came with h5py 3.
_HDF5_3_SINCE = (2, 5)


def install(version: tuple[int, int] = (1, 15)) -> None:
    """Restores what the packages lack, now or when they are imported.

    Args:
      version: (major, minor) of the TensorFlow that the program was written for.
    """
    numpy_1.install()
    call_when_imported("pandas", pandas_1.install)
    call_when_imported("scipy", scipy_names.install)
    scikit_learn.install()
    call_when_imported("matplotlib", matplotlib_names.install)
    call_when_imported("PIL", pillow.install)
    call_when_imported("yaml", yaml_files.install)
    if version < _HDF5_3_SINCE:
        call_when_imported("h5py", hdf5.install)
