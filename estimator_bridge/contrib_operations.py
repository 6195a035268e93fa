"""The mathematics of operations of tf.contrib, for 1.x programs and for old models.

TensorFlow 1.15.5 computes the same, bit by bit.
"""

from collections.abc import Sequence
from typing import Any

import tensorflow as tf

__all__ = ["INCREMENT", "START", "cross", "gather_tree"]

# Found by measuring 1.15.5: the start and the increment of its hash of a combination without a key.
START = 0xDECAFCAFFE
INCREMENT = 0x9E3779B97F4A7800
_LARGEST = (1 << 63) - 1


def gather_tree(step_ids: Any, parent_ids: Any, lengths: Any, end_token: Any) -> Any:
    """Follows the beams back from their ends, as `GatherTree` does.

    Args:
      step_ids: int32 [length, batch, beams], the token of each step.
      parent_ids: int32 [length, batch, beams], the previous beam of each step.
      lengths: int32 [batch], the largest number of steps.
      end_token: int32 scalar; fills the steps after a beam's end.

    Returns:
      int32 [length, batch, beams], the tokens of each beam.
    """
    times, batch, beams = tf.unstack(tf.shape(step_ids))
    limits = tf.expand_dims(tf.minimum(lengths, times), 1)
    own = tf.tile(tf.expand_dims(tf.range(beams), 0), [batch, 1])
    ends = tf.fill([batch, beams], end_token)

    def back(carried: Any, time: Any) -> Any:
        beam, _ = carried
        inside = tf.broadcast_to(time < limits, [batch, beams])
        token = tf.where(inside, tf.gather(step_ids[time], beam, batch_dims=1), ends)
        before = tf.where(inside, tf.gather(parent_ids[time], beam, batch_dims=1), beam)
        return before, token

    _, tokens = tf.scan(back, tf.range(times - 1, -1, -1), (own, ends))
    tokens = tf.reverse(tokens, [0])
    # Tokens after the end of a beam are replaced by end_token.
    ended = tf.cumsum(tf.cast(tf.equal(tokens, end_token), tf.int32), axis=0, exclusive=True) > 0
    return tf.where(ended, tf.fill(tf.shape(tokens), end_token), tokens)


def _numbers(values: Any) -> Any:
    """Returns the int64 that each value is hashed as."""
    if values.dtype != tf.string:
        return tf.cast(values, tf.int64)
    return tf.bitcast(tf.fingerprint(values), tf.int64)


def _mix(hashed: Any, numbers: Any) -> Any:
    """Returns the hashes with one more number each; int64 that overflows."""
    left, right = tf.bitwise.left_shift, tf.bitwise.right_shift
    ten, four = (tf.constant(bits, tf.int64) for bits in (10, 4))
    increment = tf.constant(INCREMENT - (1 << 64), tf.int64)
    return tf.bitwise.bitwise_xor(
        hashed, numbers + increment + left(hashed, ten) + right(hashed, four)
    )


def _bucket(hashed: Any, number: int) -> Any:
    """Returns the remainder of int64 that stand for unsigned ones; of the largest int64 for 0."""
    low = tf.bitwise.bitwise_and(hashed, tf.constant(_LARGEST, tf.int64))
    if number:
        half = tf.bitwise.right_shift(low, tf.constant(1, tf.int64))
        high = tf.where(hashed < 0, tf.constant(1 << 62, tf.int64), tf.constant(0, tf.int64))
        last = tf.bitwise.bitwise_and(hashed, tf.constant(1, tf.int64))
        return tf.math.floormod(tf.math.floormod(half + high, number) * 2 + last, number)
    low = tf.where(low == _LARGEST, tf.zeros_like(low), low) + tf.cast(hashed < 0, tf.int64)
    return tf.where(low == _LARGEST, tf.zeros_like(low), low)


def _as_sparse(tensor: Any) -> Any:
    """Returns a dense feature as a sparse one with all of its values."""
    if isinstance(tensor, tf.SparseTensor):
        return tensor
    tensor = tf.reshape(tensor, [tf.shape(tensor)[0], -1])
    indices = tf.where(tf.ones_like(tensor, tf.bool))
    shape = tf.shape(tensor, out_type=tf.int64)
    return tf.SparseTensor(indices, tf.reshape(tensor, [-1]), shape)


def cross(tensors: Sequence[Any], number: int) -> Any:
    """Returns the buckets of all combinations in each row, as `SparseFeatureCross` does.

    Args:
      tensors: tensors [batch, values], strings or integers. As in 1.x, dense ones come after sparse
        ones.
      number: the number of buckets; 0 for the largest int64.

    Returns:
      int64 SparseTensor [batch, combinations].
    """
    tensors = sorted(tensors, key=lambda tensor: not isinstance(tensor, tf.SparseTensor))
    tensors = [_as_sparse(tensor) for tensor in tensors]
    batch = tensors[0].dense_shape[0]

    def count(rows: Any) -> Any:
        return tf.math.unsorted_segment_sum(tf.ones_like(rows), rows, batch)

    rows = tensors[0].indices[:, 0]
    start = tf.fill(tf.shape(rows), tf.constant(START, tf.int64))
    hashed = _mix(start, _numbers(tensors[0].values))
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
