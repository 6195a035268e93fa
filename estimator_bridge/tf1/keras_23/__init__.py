"""Names of the package `keras` until 2.3 that the Keras of TensorFlow never had, or has lost.

applications.py   blocks and functions of models of images
backend.py        `keras.backend`
layers.py         layers of Keras 1
recurrent.py      the base class of recurrent layers that a program writes
utils.py          `keras.utils`, `keras.optimizers`, `keras.preprocessing`
weights.py        weights of a list of layers in an HDF5 file
"""

import functools
import importlib
import types
from typing import Optional

__all__ = ["find"]

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
    "layers.recurrent": "recurrent",
    "legacy.layers": "layers",
    "optimizers": "utils",
    "preprocessing.image": "utils",
    "saving.hdf5_format": "weights",
    "utils": "utils",
    "utils.conv_utils": "utils",
    "utils.generic_utils": "utils",
    "utils.io_utils": "utils",
    "utils.layer_utils": "utils",
    "utils.multi_gpu_utils": "utils",
    "utils.training_utils": "utils",
}


@functools.cache
def find(path: str) -> Optional[types.SimpleNamespace]:
    """Returns the names that a module of Keras gets from here, or None.

    Args:
      path: its name below `keras`, such as layers.recurrent.
    """
    name = _MODULES.get(path)
    if name is None:
        return None
    module = importlib.import_module(f"{__name__}.{name}")
    return types.SimpleNamespace(**{one: getattr(module, one) for one in module.__all__})
