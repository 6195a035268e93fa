"""The crosses of `tf.contrib.layers` without a hash key, which have buckets of their own in 1.x."""

import tensorflow.compat.v1 as tf

from estimator_bridge.private_tf import feature_column_v2 as _fc

__all__ = ["CrossedColumn"]

# Found by measuring 1.15.5: the start and the increment of its hash of a combination.
_START = 0xDECAFCAFFE
_INCREMENT = 0x9E3779B97F4A7800 - (1 << 64)


def _numbers(values):
    """Returns the int64 that each value is hashed as."""
    if values.dtype != tf.string:
        return tf.cast(values, tf.int64)
    return tf.bitcast(tf.fingerprint(values), tf.int64)


def _mix(hashed, numbers):
    """Returns the hashes with one more number each; int64 that overflows."""
    left, right = tf.bitwise.left_shift, tf.bitwise.right_shift
    ten, four = (tf.constant(bits, tf.int64) for bits in (10, 4))
    added = numbers + tf.constant(_INCREMENT, tf.int64) + left(hashed, ten) + right(hashed, four)
    return tf.bitwise.bitwise_xor(hashed, added)


def _bucket(hashed, number):
    """Returns the remainder of int64 that stand for unsigned ones."""
    half = tf.bitwise.bitwise_and(
        tf.bitwise.right_shift(hashed, tf.constant(1, tf.int64)),
        tf.constant((1 << 63) - 1, tf.int64),
    )
    last = tf.bitwise.bitwise_and(hashed, tf.constant(1, tf.int64))
    return tf.floormod(tf.floormod(half, number) * 2 + last, number)


def _as_sparse(tensor):
    """Returns a dense feature as a sparse one with all of its values."""
    if isinstance(tensor, tf.SparseTensor):
        return tensor
    tensor = tf.reshape(tensor, [tf.shape(tensor)[0], -1])
    indices = tf.where(tf.ones_like(tensor, tf.bool))
    shape = tf.shape(tensor, out_type=tf.int64)
    return tf.SparseTensor(indices, tf.reshape(tensor, [-1]), shape)


def _cross(tensors, number):
    """Returns the buckets of all combinations in each row.

    Args:
      tensors: list of tensors [batch, values], strings or integers. As in 1.x, dense ones come
        after sparse ones.
      number: int, number of buckets.

    Returns:
      int64 SparseTensor [batch, combinations].
    """
    tensors = sorted(tensors, key=lambda tensor: not isinstance(tensor, tf.SparseTensor))
    tensors = [_as_sparse(tensor) for tensor in tensors]
    batch = tensors[0].dense_shape[0]

    def count(rows):
        return tf.math.unsorted_segment_sum(tf.ones_like(rows), rows, batch)

    rows = tensors[0].indices[:, 0]
    hashed = _mix(
        tf.fill(tf.shape(rows), tf.constant(_START, tf.int64)), _numbers(tensors[0].values)
    )
    for other in tensors[1:]:
        counts = count(other.indices[:, 0])
        times = tf.gather(counts, rows)
        place = tf.range(tf.reduce_sum(times)) - tf.repeat(tf.cumsum(times, exclusive=True), times)
        rows = tf.repeat(rows, times)
        first = tf.gather(tf.cumsum(counts, exclusive=True), rows)
        numbers = tf.gather(_numbers(other.values), first + place)
        hashed = _mix(tf.repeat(hashed, times), numbers)
    counts = count(rows)
    first = tf.gather(tf.cumsum(counts, exclusive=True), rows)
    place = tf.range(tf.size(rows, out_type=tf.int64)) - first
    shape = tf.stack([batch, tf.maximum(tf.reduce_max(counts), 0)])
    return tf.SparseTensor(tf.stack([rows, place], 1), _bucket(hashed, number), shape)


def _leaves(column):
    """Yields the features and columns that a cross combines, those of crosses in it too."""
    for key in column.keys:
        if isinstance(key, _fc.CrossedColumn):
            yield from _leaves(key)
        else:
            yield key


class CrossedColumn(_fc.CrossedColumn):
    """A cross without a hash key, with the buckets of 1.x."""

    def _transform_feature(self, inputs):
        tensors = [
            inputs.get(leaf)
            if isinstance(leaf, str)
            else leaf._get_sparse_tensors(inputs).id_tensor
            for leaf in _leaves(self)
        ]
        return _cross(tensors, self.hash_bucket_size)

    def transform_feature(self, transformation_cache, state_manager):
        """Returns the buckets of the combinations.

        Args:
          transformation_cache: cache of transformed features.
          state_manager: owner of the columns' resources.

        Returns:
          int64 SparseTensor [batch, combinations].
        """
        tensors = [
            transformation_cache.get(leaf, state_manager)
            if isinstance(leaf, str)
            else leaf.get_sparse_tensors(transformation_cache, state_manager).id_tensor
            for leaf in _leaves(self)
        ]
        return _cross(tensors, self.hash_bucket_size)
