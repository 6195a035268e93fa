"""Checks that weights fit values without branches. Slow in all TensorFlow versions.

Losses and metrics check that each dimension of the weights is 1 or that of the values. Where the
size of a batch is unknown, TensorFlow builds three branches for each check, although it knows the
number of dimensions. The graph of an evaluation contains ten to thirty checks. Here a check with
known numbers of dimensions is one comparison, with the same message.
"""

from typing import Any

from ..private_tf import ops, weights_broadcast_ops

__all__ = ["apply"]


def apply() -> None:
    """Has TensorFlow's own check run only where this one does not suffice."""
    original = weights_broadcast_ops.assert_broadcastable
    if getattr(original, "_bridged", False):
        return

    def assert_broadcastable(weights: Any, values: Any) -> Any:
        import tensorflow as tf

        if tf.executing_eagerly():
            return original(weights, values)
        weights, values = ops.convert_to_tensor(weights), ops.convert_to_tensor(values)
        if _are_ranks_enough(weights.shape, values.shape):
            return _assert_each_dimension(weights, values)
        return original(weights, values)

    vars(assert_broadcastable)["_bridged"] = True
    weights_broadcast_ops.assert_broadcastable = assert_broadcastable


def _are_ranks_enough(weights: Any, values: Any) -> bool:
    """Returns whether the ranks are known, equal and not 0, and a dimension is unknown."""
    if not weights.rank or weights.rank != values.rank:
        return False
    return not (weights.is_fully_defined() and values.is_fully_defined())


def _assert_each_dimension(weights: Any, values: Any) -> Any:
    """Returns an operation that fails unless each dimension is 1 or that of the values."""
    import tensorflow as tf

    v1 = tf.compat.v1
    with v1.name_scope(None, "assert_broadcastable", [weights, values]) as scope:
        given = v1.shape(weights, name="weights/shape")
        wanted = v1.shape(values, name="values/shape")
        fits = tf.reduce_all(tf.logical_or(tf.equal(given, 1), tf.equal(given, wanted)))
        # Assert is a branch itself, unless all its data are text and int32.
        data = (
            *("weights can not be broadcast to values.", "weights.shape=", weights.name, given),
            *("values.shape=", values.name, wanted, "is_scalar=", "0"),
        )
        return v1.Assert(fits, data, name=scope)
