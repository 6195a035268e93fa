"""Estimators on TensorFlow 2.15 to 2.21.

    from estimator_bridge import tf, estimator      # in new code
    import estimator_bridge; estimator_bridge.install()     # one line in an existing program
    python -m estimator_bridge run program.py       # for a program that stays unchanged

Importing this package imports no TensorFlow: `tf` and `estimator` are loaded on first use.
"""

from .command_line import current_folder

current_folder.remove()

# ruff: noqa: E402
from .command_line import start

start.prepare_command()

import importlib
import importlib.util
import sys
import threading
from typing import Any, Optional

from . import patches, private_tf, versions
from .errors import BridgeError
from .output.logs import hide_deprecations_by_default, set_verbosity
from .process.fast_import import fast_imports
from .process.importing import ModuleSupplier, around_import, call_when_imported
from .processor import prefer_onednn

__all__ = ["BridgeError", "estimator", "install", "prefer_onednn", "set_verbosity", "tf"]

_lock = threading.RLock()
_installed = False


def install(as_version: Optional[str] = None) -> None:
    """Supplies `tf.estimator` and the other names of Estimators that this TensorFlow lacks.

    Cheap, idempotent and thread-safe. It does not import TensorFlow: the names are supplied when
    the program imports TensorFlow, or at once if it has been imported. On TensorFlow 2.15,
    which has all other names, only boosted trees are supplied.

    Args:
      as_version: the TensorFlow 2 for which the program was written, such as '2.8'. Names whose
        meaning has changed since, above all `tf.keras.optimizers`, get that of this version. None
        changes no names.

    Raises:
      BridgeError: TensorFlow, tensorflow-estimator or tf-keras is not installed, Python removes
        docstrings, or the program has already used `tf.keras` as Keras 3. The message names the
        remedy.
    """
    _install()
    if as_version is not None:
        from . import era

        version = era.parse(as_version)
        if version == era.TF1:
            raise BridgeError("as_version: for TensorFlow 1.x, call estimator_bridge.tf1.install()")
        era.install(version)


def _install() -> None:
    global _installed
    with _lock:
        if _installed:
            return
        if sys.flags.optimize > 1:
            raise BridgeError(
                "Python runs with -OO or PYTHONOPTIMIZE=2, but Keras 2 cannot be imported without "
                "its docstrings: use -O or PYTHONOPTIMIZE=1"
            )
        version = versions.installed_tensorflow()
        if version is None:
            raise BridgeError(
                "TensorFlow is not installed for this Python "
                f"({sys.executable}). Install one of: "
                + ", ".join(f"tensorflow=={known.tensorflow}" for known in versions.SUPPORTED)
            )
        if importlib.util.find_spec("tensorflow_estimator") is None:
            raise BridgeError(
                "The package tensorflow-estimator is not installed. "
                "Install it: pip install --no-deps tensorflow-estimator==2.15.0"
            )
        installed = versions.parse(version)
        _prepare(installed)
        keras = "keras" if installed < versions.ESTIMATOR_REMOVED_IN else "tf_keras"
        for package in ("tensorflow", keras, "tensorflow_estimator"):
            if package not in sys.modules:
                around_import(package, fast_imports)
        patches.prepare()
        call_when_imported("tensorflow", _complete)
        _installed = True


def _prepare(version: tuple[int, ...]) -> None:
    """Makes the changes that precede TensorFlow's import."""
    from .shims import keras2, needed_by

    shims = needed_by(version)
    if version < versions.ESTIMATOR_REMOVED_IN:
        keras2.refuse_variable_without_package()
    elif "tensorflow" not in sys.modules:
        keras2.prepare()
    if "tensorflow_estimator" not in sys.modules:
        # A failed import of TensorFlow may have left some of its modules in sys.modules.
        for name in [name for name in sys.modules if name.startswith("tensorflow_estimator.")]:
            del sys.modules[name]
    supplier = ModuleSupplier()
    for shim in shims:
        for name, source in shim.modules.items():
            supplier.supply(name, source)
        for name, source in shim.trees.items():
            supplier.supply_tree(name, source)
    if shims:
        sys.meta_path.insert(0, supplier)


def _complete() -> None:
    """Applies the shims to the TensorFlow that has just been imported."""
    from .shims import keras2, needed_by

    hide_deprecations_by_default()
    version = versions.parse(versions.installed_tensorflow() or "")
    if version < versions.ESTIMATOR_REMOVED_IN:
        keras2.initialize_loaders()
    for shim in needed_by(version):
        shim.apply()
    patches.apply()


def __getattr__(name: str) -> Any:
    if name not in ("tf", "estimator"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    install()
    try:
        module = importlib.import_module("tensorflow") if name == "tf" else private_tf.estimator_api
    except AttributeError as error:
        # Of this error, `from estimator_bridge import` would show neither text nor place.
        raise ImportError(f"{name} cannot be imported: {error}") from error
    globals()[name] = module
    return module


def __dir__() -> list[str]:
    return sorted({*globals(), "tf", "estimator"})
