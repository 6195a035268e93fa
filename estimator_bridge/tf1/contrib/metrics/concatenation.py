"""The metric `streaming_concat` of `tf.contrib.metrics`, which keeps all values."""

import tensorflow.compat.v1 as tf

__all__ = ["streaming_concat"]


def streaming_concat(
    values, axis=0, max_size=None, metrics_collections=None, updates_collections=None, name=None
):
    """Concatenates all values along an axis.

    Args:
      values: tensor.
      axis: int, axis along which the values are concatenated.
      max_size: int, maximum number of rows to keep, or None.
      metrics_collections: collections that receive the value.
      updates_collections: collections that receive the update operation.
      name: name of the variable scope.

    Returns:
      (value, update operation).

    Raises:
      ValueError: `axis` is outside of the rank of `values`.
    """
    rank = values.shape.ndims
    if not -rank <= axis < rank:
        raise ValueError(f"axis: {axis} is not in [{-rank}, {rank})")
    axis %= rank
    order = [axis, *(one for one in range(rank) if one != axis)]
    back = [order.index(one) for one in range(rank)]
    values = tf.transpose(values, order) if axis else values
    with tf.variable_scope(name, "streaming_concat", [values]):
        options = {
            "trainable": False,
            "collections": [tf.GraphKeys.LOCAL_VARIABLES, tf.GraphKeys.METRIC_VARIABLES],
            "use_resource": False,
        }
        initial = tf.zeros([0, *values.shape[1:].as_list()], values.dtype)
        kept = tf.get_variable("array", initializer=initial, validate_shape=False, **options)
        size = tf.get_variable("size", initializer=0, **options)
        joined = tf.concat([kept, values], 0)
        if max_size is not None:
            joined = joined[:max_size]
        value = tf.identity(kept)
        value.set_shape([None, *values.shape[1:].as_list()])
        with tf.control_dependencies([tf.assign(size, tf.shape(joined)[0])]):
            update = tf.assign(kept, joined, validate_shape=False)
        if axis:
            value, update = tf.transpose(value, back), tf.transpose(update, back)
        if metrics_collections:
            tf.add_to_collections(metrics_collections, value)
        if updates_collections:
            tf.add_to_collections(updates_collections, update)
        return value, update
