"""Sums the leaves of all trees with standard operations, as an export needs it."""

from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from .forest import Forest

__all__ = ["sum_leaves"]


def sum_leaves(forest: Forest, buckets: Sequence[Any]) -> Any:
    """Returns the logits of rows: float32 [batch, logits].

    Args:
      forest: the trees, as tensors.
      buckets: int32 [batch] tensors, one for each feature.
    """
    table = tf.stack(buckets, axis=1)
    width = len(buckets)
    batch = tf.shape(table)[0]
    flat = tf.reshape(table, [-1])
    first_of_row = tf.range(batch)[tf.newaxis, :] * width
    # One line a tree, one column a row.
    nodes = tf.tile(forest.roots[:, tf.newaxis], tf.stack([1, batch]))

    def descend(layer: Any, nodes: Any) -> tuple[Any, Any]:
        bucket = tf.gather(flat, first_of_row + tf.gather(forest.feature, nodes))
        threshold = tf.gather(forest.threshold, nodes)
        equal = tf.equal(bucket, threshold)
        below = tf.less_equal(bucket, threshold)
        goes_left = tf.where(tf.gather(forest.is_equality, nodes), equal, below)
        to_left = tf.logical_not(tf.gather(forest.default_right, nodes))
        goes_left = tf.where(tf.less(bucket, 0), to_left, goes_left)
        left, right = tf.gather(forest.left, nodes), tf.gather(forest.right, nodes)
        return layer + 1, tf.where(goes_left, left, right)

    _, leaves = tf.while_loop(
        lambda layer, _: layer < forest.depth, descend, (tf.constant(0), nodes)
    )
    values = tf.gather(forest.leaf, leaves) * forest.weights[:, tf.newaxis, tf.newaxis]
    # A cumulative sum adds the trees one after the other, as TensorFlow's operation did.
    return tf.cumsum(values, axis=0)[-1]
