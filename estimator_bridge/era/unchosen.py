"""Says in one line that an Estimator trains with today's Keras optimizers, if nobody chose them."""

import functools
import importlib
import sys
from typing import Any

from .. import versions
from ..process.importing import call_when_imported
from . import keras_package

__all__ = ["warn"]

# As the advice for programs that fail, which describe() of advice.py returns.
_LINE = (
    "estimator_bridge: this Estimator trains with a Keras optimizer of TensorFlow 2.11 and later, "
    "which has other variables than that of 2.0 to 2.10. If the program was written for an older "
    "TensorFlow, name it, for example `python -m estimator_bridge run --as=2.8`; --as=2.11 keeps "
    "the new classes without this line."
)


def warn() -> None:
    """Makes the first step of such an optimizer in a graph print the line; once per process."""
    keras = keras_package.find(versions.parse(versions.installed_tensorflow() or ""))
    name = f"{keras}.src.optimizers.optimizer"
    call_when_imported(name, functools.partial(_watch, name))


def _watch(name: str) -> None:
    kind: Any = importlib.import_module(name).Optimizer
    apply_gradients = kind.apply_gradients

    @functools.wraps(apply_gradients)
    def apply(optimizer: Any, *arguments: Any, **options: Any) -> Any:
        kind.apply_gradients = apply_gradients
        if _is_in_estimator():
            print(_LINE, file=sys.stderr)
        else:
            kind.apply_gradients = apply
        return apply_gradients(optimizer, *arguments, **options)

    kind.apply_gradients = apply


def _is_in_estimator() -> bool:
    """Returns whether a graph of 1.x is being built; functions of Keras models are others."""
    import tensorflow as tf

    graph = tf.compat.v1.get_default_graph()
    return not tf.executing_eagerly() and not graph.building_function
