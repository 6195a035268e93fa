"""Frees the graph of a training when it is no longer used. Leaked in all TensorFlow versions.

The optimizers of Keras 2, and so those of canned Estimators, add up gradients over replicas, of
which there may be only one. The sum has a gradient of its own, which is registered for all graphs
under a new name each time, and refers to tensors of its graph. So each call of `train` kept a graph
for ever, with the arrays of its input function. Here the graph holds that gradient itself.
"""

import functools
import weakref
from typing import Any

import tensorflow as tf

from ..private_tf import custom_gradient, distribute_lib, nest, ops

__all__ = ["apply"]

# The attribute of a graph that holds the gradients of its sums.
_GRADIENTS = "_estimator_bridge_gradients"


def apply() -> None:
    """Has graphs hold the gradients of sums over replicas."""
    original = custom_gradient._graph_mode_decorator
    if getattr(original, "_bridged", False):
        return

    @functools.wraps(original)
    def decorate(f: Any, args: Any, kwargs: Any) -> Any:
        result = original(f, args, kwargs)
        graph = ops.get_default_graph()
        # Graphs of functions may be made anew from their definition, and then look for the name.
        if f.__module__ == distribute_lib.__name__ and type(graph) is tf.Graph:
            op = nest.flatten(result, expand_composites=True)[0].op
            _hold(graph, op.get_attr("_gradient_op_type").decode())
        return result

    vars(decorate)["_bridged"] = True
    custom_gradient._graph_mode_decorator = decorate


def _hold(graph: Any, name: str) -> None:
    """Makes a graph hold a registered gradient, which is forgotten with the graph.

    Args:
      graph: that of the gradient.
      name: under which the gradient is registered.
    """
    registry = ops.gradient_registry
    gradient = registry.lookup(name)
    found: Any = weakref.ref(gradient)
    del registry._registry[name]
    registry.register(lambda op, *gradients: found()(op, *gradients), name)
    setattr(graph, _GRADIENTS, [*getattr(graph, _GRADIENTS, ()), gradient])
    weakref.finalize(graph, registry._registry.pop, name, None).atexit = False
