"""Sums the leaves of all trees with standard operations, as an export needs it."""

from typing import Any

import tensorflow as tf

from .features import Batch
from .forest import Forest

__all__ = ["find_leaves", "sum_leaves"]


def find_leaves(forest: Forest, batch: Batch) -> Any:
    """Returns the leaf in which each row ends: int32 [trees, batch], counted over all trees.

    Args:
      forest: the trees, as tensors.
      batch: the features of the rows.
    """
    kinds = {feature.kind for feature in batch.features}
    has_numbers, has_categories = bool(kinds & {"dense", "sparse"}), "categorical" in kinds
    size = tf.shape(batch.numbers if has_numbers else batch.categories)[1]
    rows = tf.range(size)[tf.newaxis, :]
    numbers = tf.reshape(batch.numbers, [-1])
    if has_categories:
        width = tf.shape(batch.categories)[2]
        categories = tf.reshape(batch.categories, tf.stack([-1, width]))
    nodes = tf.tile(forest.roots[:, tf.newaxis], tf.stack([1, size]))

    def descend(layer: Any, nodes: Any) -> tuple[Any, Any]:
        column = tf.gather(forest.column, nodes)
        is_category = tf.gather(forest.is_category, nodes)
        goes_left = tf.zeros_like(is_category)
        if has_numbers:
            place = tf.where(is_category, tf.zeros_like(column), column) * size + rows
            value, threshold = tf.gather(numbers, place), tf.gather(forest.threshold, nodes)
            # A missing value is NaN, which no comparison holds for.
            not_above = tf.logical_not(tf.greater(value, threshold))
            missing_left = tf.gather(forest.missing_left, nodes)
            goes_left = tf.where(missing_left, not_above, tf.less_equal(value, threshold))
        if has_categories:
            place = tf.where(is_category, column, tf.zeros_like(column)) * size + rows
            wanted = tf.gather(forest.category, nodes)[..., tf.newaxis]
            has = tf.reduce_any(tf.equal(tf.gather(categories, place), wanted), axis=2)
            goes_left = tf.where(is_category, has, goes_left)
        left, right = tf.gather(forest.left, nodes), tf.gather(forest.right, nodes)
        is_leaf = tf.equal(left, nodes)
        return layer + 1, tf.where(is_leaf, nodes, tf.where(goes_left, left, right))

    _, leaves = tf.while_loop(
        lambda layer, _: layer < forest.depth, descend, (tf.constant(0), nodes)
    )
    return leaves


def sum_leaves(forest: Forest, leaves: Any) -> Any:
    """Returns the logits of rows: float32 [batch, logits].

    Args:
      forest: the trees, as tensors.
      leaves: int32 [trees, batch].
    """
    values = tf.gather(forest.leaf, leaves) * forest.weights[:, tf.newaxis, tf.newaxis]
    # A cumulative sum adds the trees one after the other, as TensorFlow's operation did.
    return tf.cumsum(values, axis=0)[-1]
