"""Sums of outer products of vectors, by products of matrices."""

import tensorflow.compat.v1 as tf

__all__ = ["sum_outer_products"]


def sum_outer_products(vectors, weights, places, count):
    """Sums weight * vector * vector^T of the entries of each place.

    An outer product for each entry would take [entries, dimension, dimension], and TensorFlow sums
    them slowly. Here the entries of a place are divided into blocks of the mean number of entries,
    and one product of matrices makes the sum of a block. There are at most twice as many blocks as
    places, or as entries.

    Args:
      vectors: float32 [entries, dimension].
      weights: float32 [entries].
      places: int32 [entries], from 0 to `count` - 1. Each place has an entry.
      count: int32 scalar tensor, number of places.

    Returns:
      float32 [count, dimension, dimension].
    """
    order = tf.argsort(places, stable=True)
    sizes = tf.unsorted_segment_sum(tf.ones_like(places), places, count)
    block = tf.maximum(tf.size(places) // tf.maximum(count, 1), 1)
    blocks = (sizes + block - 1) // block
    ends, block_ends = tf.cumsum(sizes), tf.cumsum(blocks)
    numbers = tf.range(tf.reduce_sum(blocks))
    owners = tf.searchsorted(block_ends, numbers, side="right")
    starts = ends - sizes - (block_ends - blocks) * block
    slots = (tf.gather(starts, owners) + numbers * block)[:, None] + tf.range(block)
    last = tf.gather(ends, owners)[:, None] - 1
    # What is missing in a block is filled with an entry of the same place and the weight 0.
    chosen = tf.gather(order, tf.minimum(slots, last))
    matrices = tf.gather(vectors, chosen)
    weights = tf.gather(weights, chosen) * tf.cast(slots <= last, tf.float32)
    products = tf.matmul(matrices * weights[:, :, None], matrices, transpose_a=True)
    return tf.segment_sum(products, owners)
