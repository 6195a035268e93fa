"""Gives `tf.keras.optimizers` the classes that it had until TensorFlow 2.10.

Estimators take these classes only. Their slots and hyperparameters have the names that checkpoints
of that time contain. TensorFlow 2.11 moved them to `tf.keras.optimizers.legacy`.
"""

import functools
import importlib
import importlib.util
import sys
from types import ModuleType
from typing import Any

from ..process.importing import call_when_imported
from ..shims import keras2

__all__ = ["REPLACED_IN", "restore"]

# The first TensorFlow whose `tf.keras.optimizers.Adam` is the new class.
REPLACED_IN = (2, 11)

# The modules of Keras 2 that publish the optimizers.
_PUBLIC = ("api._v2.keras.optimizers", "api._v1.keras.optimizers", "optimizers", "src.optimizers")
# `import tensorflow.keras.optimizers` executes the file of Keras a second time, as another module.
_IN_TENSORFLOW = tuple(f"{name}.keras.optimizers" for name in keras2.NAMESPACES)
_CLASSES = ("Adadelta", "Adagrad", "Adam", "Adamax", "Ftrl", "Nadam", "Optimizer", "RMSprop", "SGD")


def restore(keras: str) -> None:
    """Restores the classes in each public module, when the program imports it.

    Args:
      keras: the package of Keras 2.
    """
    # `import keras` executes keras/optimizers; `tf.keras` executes the folders of keras/api.
    for module in (*(f"{keras}.{name}" for name in _PUBLIC), *_IN_TENSORFLOW):
        call_when_imported(module, functools.partial(_restore_in, module, keras))


def _restore_in(name: str, keras: str) -> None:
    module = sys.modules[name]
    legacy = importlib.import_module(f"{keras}.src.optimizers.legacy.optimizer_v2")
    for public in _CLASSES:
        if public == "Optimizer":
            kind = legacy.OptimizerV2
        else:
            file = "gradient_descent" if public == "SGD" else public.lower()
            folder = f"{keras}.src.optimizers.legacy"
            kind = getattr(importlib.import_module(f"{folder}.{file}"), public)
        # keras.src.optimizers uses its name Optimizer for checks of the types of arguments.
        if not (name.endswith(".src.optimizers") and public == "Optimizer"):
            setattr(module, public, kind)
    _choose_legacy(module)


def _choose_legacy(module: ModuleType) -> None:
    """Makes `get` and `deserialize` return the restored classes for names and configurations."""
    get, deserialize = module.get, module.deserialize
    if getattr(get, "chooses_legacy", False):
        # The public module has the function of src.optimizers, which was replaced before.
        return

    @functools.wraps(get)
    def get_legacy(identifier: Any, **options: Any) -> Any:
        return get(identifier, **{"use_legacy_optimizer": True, **options})

    @functools.wraps(deserialize)
    def deserialize_legacy(config: Any, *arguments: Any, **options: Any) -> Any:
        options.setdefault("use_legacy_optimizer", True)
        return deserialize(config, *arguments, **options)

    vars(get_legacy)["chooses_legacy"] = True
    module.get, module.deserialize = get_legacy, deserialize_legacy  # type: ignore[attr-defined]
