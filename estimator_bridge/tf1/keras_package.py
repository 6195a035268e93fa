"""`import keras` gives Keras 2 with TensorFlow 1.x, as the package `keras` was until 2.3.

TensorFlow installs Keras 3 as `keras`. A program of 1.x gets the Keras of `tf.keras` instead, which
has nearly the same interface, unless it has a folder `keras` of its own.
"""

import functools
import importlib.util
import os
import sys
import types
from collections.abc import Sequence

from estimator_bridge.tf1 import keras_23, private_keras

__all__ = ["find", "has"]


def has(name: str) -> bool:
    """Returns whether a name is one of Keras 2.3, and `keras` the package that TensorFlow installs.

    Args:
      name: the full name of a module.
    """
    if name != "keras" and not name.startswith("keras."):
        return False
    # pickle imports the modules of classes; on TensorFlow 2.15 they are in keras.src.
    return name.split(".")[1:2] not in (["src"], ["api"]) and not _is_own()


@functools.cache
def _is_own() -> bool:
    """Returns whether `keras` is a folder of the program."""
    loaded = sys.modules.get("keras")
    spec = loaded.__spec__ if loaded is not None else importlib.util.find_spec("keras")
    folders = (spec and spec.origin or "").split(os.sep)
    return len(folders) > 1 and not {"site-packages", "dist-packages"} & set(folders)


def find(name: str, fromlist: Sequence[str], importer: str) -> types.ModuleType:
    """Returns what `import` returns for a module of `keras`.

    Args:
      name: the full name of the module.
      fromlist: the names that are imported from it; without any, the package is returned.
      importer: the name of the module that imports it.

    Raises:
      ModuleNotFoundError: there is no such module.
    """
    # Imported here, because it imports NumPy, which audit does without.
    from estimator_bridge.tf1 import keras_arguments

    package = module = _package()
    keras_arguments.install()
    taken = [name] if name != "keras" else [f"keras.{one}" for one in fromlist or ("layers",)]
    if any(map(keras_23.builds_layers, taken)):
        keras_arguments.note_importer(importer)
    for part in name.split(".")[1:]:
        module = module.step(part)
    return module if fromlist else package


@functools.cache
def _package() -> private_keras.KerasModule:
    # Imported here, because it imports TensorFlow.
    from estimator_bridge.tf1.keras_23 import behaviour

    version = behaviour.read_version()
    found = private_keras.find("keras")
    assert isinstance(found, private_keras.KerasModule)
    vars(found)["__version__"] = version
    return found
