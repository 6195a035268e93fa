"""Variables as in 1.x: the losses of their regularizers, and values to initialize others."""

import functools
from collections.abc import Callable
from typing import Any

import tensorflow as tf

__all__ = ["install"]


@functools.cache
def install() -> None:
    """Applies regularizers as 1.15 does, and gives resource variables `initialized_value`."""
    from estimator_bridge.private_tf import resource_variable_ops, variable_scope

    store = variable_scope._VariableStore
    store._get_single_variable = _regularize_once(store._get_single_variable)
    resource_variable_ops.BaseResourceVariable.initialized_value = _read_initialized


def _regularize_once(make: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a method that applies the regularizer of a new variable once in graph mode.

    2.x puts an object into the collection of losses that adds the operations of the regularizer
    with each use; it is none of the tensors that functions such as `tf.group` take.

    Args:
      make: the method of 2.x.
    """
    from estimator_bridge.private_tf import ops

    @functools.wraps(make)
    def get_single_variable(self: Any, name: str, regularizer: Any = None, **options: Any) -> Any:
        if tf.compat.v1.executing_eagerly_outside_functions():
            return make(self, name, regularizer=regularizer, **options)
        is_new = name not in self._vars
        variable = make(self, name, **options)
        if regularizer and is_new:
            # Outside of a loop, whose tensors a session cannot fetch, and of control dependencies.
            scope = tf.name_scope(f"{name}/Regularizer/")
            with ops.colocate_with(variable), scope, tf.init_scope():
                loss = regularizer(variable)
            if loss is not None:
                tf.compat.v1.add_to_collection("regularization_losses", loss)
        return variable

    return get_single_variable


def _read_initialized(variable: Any) -> Any:
    """Returns the value of a variable; its initial value where it has none yet."""
    v1 = tf.compat.v1
    with tf.init_scope():
        is_initialized = v1.is_variable_initialized(variable)
        return v1.cond(is_initialized, variable.read_value, lambda: variable.initial_value)
