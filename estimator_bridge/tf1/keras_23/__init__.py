"""Names of the package `keras` until 2.3 that the Keras of TensorFlow never had, or has lost.

The package also has what Keras 2.0 to 2.3 computes or names otherwise than `tf.keras` of 1.15.

  applications.py   blocks and functions of models of images
  backend.py        `keras.backend`
  behaviour.py      names of layers, resized images, and what differs between 2.2 and 2.3
  functions.py      `keras.utils`, `keras.preprocessing`
  layers.py         layers of Keras 1
  losses.py         `keras.losses`
  merging.py        `keras.layers.merge` as a function
  optimizers.py     `keras.optimizers`
  recurrent.py      the base class of recurrent layers that a program writes
  weights.py        weights of a list of layers in an HDF5 file
"""

import importlib
import types
from typing import Optional

__all__ = ["builds_layers", "find", "find_replaced", "install_for"]

# Module below `keras` -> the module here with the names that it lacks.
_MODULES = {
    "applications.mobilenet": "applications",
    "applications.resnet50": "applications",
    "backend": "backend",
    "backend.common": "backend",
    "backend.tensorflow_backend": "backend",
    "engine.saving": "weights",
    "engine.topology": "weights",
    "layers": "layers",
    "layers.convolutional": "layers",
    "layers.core": "layers",
    "layers.merge": "merging",
    "layers.recurrent": "recurrent",
    "legacy.layers": "layers",
    "optimizers": "functions",
    "preprocessing.image": "functions",
    "saving.hdf5_format": "weights",
    "utils": "functions",
    "utils.conv_utils": "functions",
    "utils.generic_utils": "functions",
    "utils.io_utils": "functions",
    "utils.layer_utils": "functions",
    "utils.multi_gpu_utils": "functions",
    "utils.training_utils": "functions",
}

# The same for names that replace those of `tf.keras` in the package `keras`.
_REPLACED = {"losses": "losses", "objectives": "losses", "optimizers": "optimizers"}

# What a program takes layers and models from.
_BUILDING = frozenset(
    [
        *("applications", "engine", "layers", "legacy", "models", "wrappers"),
        *("Input", "Model", "Sequential"),
    ]
)


def builds_layers(name: str) -> bool:
    """Returns whether a program takes layers or models from a name.

    Args:
      name: of a module of `keras`, or of what `keras` itself has.
    """
    return name.split(".")[1] in _BUILDING


def install_for(name: str) -> None:
    """Makes Keras behave as the package `keras` did, if a program takes layers from a name.

    Args:
      name: of a module of `keras`, or of what `keras` itself has.
    """
    if builds_layers(name):
        importlib.import_module(f"{__name__}.behaviour").install()


def find(path: str) -> Optional[types.SimpleNamespace]:
    """Returns the names that a module of Keras gets from here, or None.

    Args:
      path: its name below `keras`, such as layers.recurrent.
    """
    return _select(_MODULES.get(path))


def find_replaced(path: str) -> Optional[types.SimpleNamespace]:
    """Returns the names of a module of `keras` that differ from those of `tf.keras`, or None.

    Args:
      path: its name below `keras`, such as optimizers.
    """
    return _select(_REPLACED.get(path))


def _select(name: Optional[str]) -> Optional[types.SimpleNamespace]:
    if name is None:
        return None
    module = importlib.import_module(f"{__name__}.{name}")
    return types.SimpleNamespace(**{one: getattr(module, one) for one in module.__all__})
