"""Variables as in 1.x: their regularization losses are tensors, made with the variable."""

import functools
from typing import Any

import tensorflow as tf

__all__ = ["install"]


@functools.cache
def install() -> None:
    """Applies the regularizer of `tf.get_variable` once in graph mode, as 1.15 does.

    2.x puts an object into the collection of losses that adds the operations of the regularizer
    with each use; it is none of the tensors that functions such as `tf.group` take.
    """
    from estimator_bridge.private_tf import ops, variable_scope

    store = variable_scope._VariableStore
    make = store._get_single_variable

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

    store._get_single_variable = get_single_variable
