"""Packages that programs use beside TensorFlow, as they were at the time of 1.x to 2.12.

Each module restores names, arguments or behaviour of one package when the program imports it, and
changes nothing where the installed version still has them.
"""

from estimator_bridge.process.importing import call_when_imported

__all__ = ["install"]

# TensorFlow 2.5 came with h5py 3.
_HDF5_3_SINCE = (2, 5)


def install(version: tuple[int, int] = (1, 15)) -> None:
    """Restores what the packages lack, now or when they are imported.

    Args:
      version: (major, minor) of the TensorFlow that the program was written for.
    """
    _protobuf()
    _numpy()
    call_when_imported("pandas", _pandas)
    call_when_imported("scipy", _scipy)
    call_when_imported("sklearn.utils._tags", _estimator_kinds)
    call_when_imported("sklearn", _scikit_learn)
    call_when_imported("matplotlib", _matplotlib)
    call_when_imported("PIL", _pillow)
    call_when_imported("yaml", _yaml)
    call_when_imported("tensorflow_hub", _hub)
    call_when_imported("tensorflow.core.example.feature_pb2", _protobuf_flags)
    call_when_imported("google.protobuf.json_format", _protobuf_json)
    call_when_imported("google.protobuf.text_format", _protobuf_text)
    call_when_imported("tensorflow.python.ops.script_ops", _py_func_results)
    if version < _HDF5_3_SINCE:
        call_when_imported("h5py", _hdf5)


# The modules are imported for programs that need them; audit imports this one without NumPy.


def _protobuf() -> None:
    from estimator_bridge.old_packages import protobuf

    protobuf.install()


def _numpy() -> None:
    from estimator_bridge.old_packages import numpy_1

    numpy_1.install()


def _pandas() -> None:
    from estimator_bridge.old_packages import pandas_1

    pandas_1.install()


def _scipy() -> None:
    from estimator_bridge.old_packages import scipy_names

    scipy_names.install()


def _estimator_kinds() -> None:
    # scikit-learn itself imports this module, whose function others import from there.
    from estimator_bridge.old_packages.scikit_learn import estimator_kinds

    estimator_kinds.install()


def _scikit_learn() -> None:
    from estimator_bridge.old_packages import scikit_learn

    scikit_learn.install()


def _matplotlib() -> None:
    from estimator_bridge.old_packages import matplotlib_names

    matplotlib_names.install()


def _pillow() -> None:
    from estimator_bridge.old_packages import pillow

    pillow.install()


def _py_func_results() -> None:
    from estimator_bridge.old_packages import py_func_results

    py_func_results.install()


def _protobuf_flags() -> None:
    from estimator_bridge.old_packages import protobuf_flags

    protobuf_flags.install()


def _protobuf_json() -> None:
    from estimator_bridge.old_packages import protobuf_formats

    protobuf_formats.install_json()


def _protobuf_text() -> None:
    from estimator_bridge.old_packages import protobuf_formats

    protobuf_formats.install_text()


def _yaml() -> None:
    from estimator_bridge.old_packages import yaml_files

    yaml_files.install()


def _hub() -> None:
    from estimator_bridge.old_packages import hub

    hub.install()


def _hdf5() -> None:
    from estimator_bridge.old_packages import hdf5

    hdf5.install()
