"""The inputs of SequenceQueueingStateSaver: checked, padded, and sparse ones as texts."""

import numbers

import tensorflow.compat.v1 as tf

__all__ = [
    "SparseParts",
    "as_tensors",
    "check_counts",
    "check_lengths",
    "check_names",
    "pad",
    "scalar",
]


def check_names(kind, tensors):
    """Checks the names of the tensors of one kind.

    Args:
      kind: `sequence`, `context` or `state`.
      tensors: {name: tensor}.

    Raises:
      TypeError: it is no dict, or a name is no text.
      ValueError: there is none, though one is needed, or a name has a colon.
    """
    if not isinstance(tensors, dict):
        raise TypeError(f"{kind}: a dict expected, got {type(tensors).__name__}")
    if not tensors and kind != "context":
        raise ValueError(f"{kind}: at least one is needed")
    for name in tensors:
        if not isinstance(name, str):
            raise TypeError(f"{kind}: the name must be a string, got {name!r}")
        if ":" in name:
            raise ValueError(f"{kind}: the name may not have a colon, got {name!r}")


def scalar(value, dtype, name):
    """Returns a scalar tensor of a type.

    Args:
      value: tensor, or what becomes one.
      dtype: the type that it must have.
      name: name of the tensor, for messages.

    Raises:
      TypeError: it has another type.
      ValueError: it is known to be no scalar.
    """
    tensor = tf.convert_to_tensor(value, name=name)
    if tensor.dtype != dtype:
        raise TypeError(f"{name}: dtype {dtype.name} expected, got {tensor.dtype.name}")
    tensor.shape.assert_has_rank(0)
    return tensor


def as_tensors(kind, values, known_from=0):
    """Returns tensors by name, sorted.

    Args:
      kind: `sequence`, `context` or `state`.
      values: {name: tensor or array}.
      known_from: the dimensions from this one on must be known.

    Raises:
      ValueError: they are not.
    """
    found = {
        name: tf.convert_to_tensor(one, name=f"{kind}_{name}")
        for name, one in sorted(values.items())
    }
    for name, one in found.items():
        if not one.shape[known_from:].is_fully_defined():
            raise ValueError(f"{kind} {name}: its shape must be known, got {one.shape}")
    return found


def check_counts(batch_size, num_unroll, capacity):
    """Checks numbers.

    Args:
      batch_size: int or scalar int32 tensor.
      num_unroll: int, the length of a segment.
      capacity: int, or None for any number.

    Raises:
      ValueError: num_unroll is no positive integer, or the capacity is below the batch size.
    """
    if not isinstance(num_unroll, numbers.Integral) or num_unroll < 1:
        raise ValueError(f"num_unroll: a positive integer expected, got {num_unroll!r}")
    known = tf.get_static_value(tf.convert_to_tensor(batch_size, tf.int32))
    if capacity is not None and known is not None and capacity < known:
        raise ValueError(f"capacity {capacity} needs to be >= batch_size {known}")


def check_lengths(sequences, length, num_unroll):
    """Returns sequences whose lengths are checked when they are read, and this length.

    Args:
      sequences: {name: tensor [padded length, ...]}.
      length: scalar int32 tensor, the length without padding.
      num_unroll: int.
    """
    sizes = {name: tf.shape(one)[0] for name, one in sequences.items()}
    first = next(iter(sizes.values()))
    checks = [
        tf.Assert(
            tf.logical_and(tf.equal(first % num_unroll, 0), first > 0),
            [
                f"sequences: a multiple of num_unroll {num_unroll} expected; set pad=True. Length:",
                first,
            ],
        ),
        tf.Assert(
            length <= first, ["length: at most that of the sequences expected;", length, first]
        ),
    ]
    checks += [
        tf.Assert(tf.equal(size, first), [f"sequence {name}: another length:", size, first])
        for name, size in sizes.items()
    ]
    with tf.control_dependencies(checks):
        return {name: tf.identity(one) for name, one in sequences.items()}, tf.identity(first)


def pad(sequences, num_unroll):
    """Returns the length of sequences, and the sequences with nothing, zeros or empty texts added.

    Args:
      sequences: {name: tensor or SparseTensor [length, ...]}.
      num_unroll: int, of which the padded length is a multiple.

    Raises:
      TypeError: a name is no text.
      ValueError: num_unroll is no positive integer, there is no sequence, or lengths differ.
    """
    check_counts(1, num_unroll, None)
    check_names("sequence", sequences)
    sparse = {name: one for name, one in sequences.items() if _is_sparse(one)}
    dense = {
        name: tf.convert_to_tensor(one) for name, one in sequences.items() if name not in sparse
    }
    if dense:
        length = _same_length(dense)
    else:
        length = tf.reduce_max([tf.cast(one.dense_shape[0], tf.int32) for one in sparse.values()])
    missing = -length % num_unroll
    padded = {name: _append(one, missing) for name, one in dense.items()}
    whole = tf.cast(tf.expand_dims(length + missing, 0), tf.int64)
    for name, one in sparse.items():
        shape = tf.concat([whole, one.dense_shape[1:]], 0)
        padded[name] = tf.SparseTensor(one.indices, one.values, shape)
    return length, padded


def _is_sparse(one):
    return isinstance(one, (tf.SparseTensor, tf.SparseTensorValue))


def _same_length(tensors):
    """Returns the length of all tensors, which is checked."""
    first, *others = (tensors[name] for name in sorted(tensors))
    length = tf.shape(first)[0]
    checks = []
    for one in others:
        one.shape[:1].assert_is_compatible_with(first.shape[:1])
        other = tf.shape(one)[0]
        checks.append(tf.Assert(tf.equal(other, length), ["sequences: lengths", length, other]))
    with tf.control_dependencies(checks):
        return tf.identity(length)


def _append(one, count):
    """Returns a tensor with so many more rows of zeros or empty texts."""
    shape = tf.concat([[count], tf.shape(one)[1:]], 0)
    zero = tf.constant("" if one.dtype == tf.string else 0, one.dtype)
    return tf.concat([one, tf.fill(shape, zero)], 0)


class SparseParts:
    """Sequences and context whose sparse tensors are texts, as queues need them.

    Args:
      sequences: {name: tensor or SparseTensor [length, ...]}.
      context: {name: tensor or SparseTensor}.

    Attributes:
      sequences: {name: tensor [length, ...]}; of a sparse one, string [length, 3].
      context: {name: tensor}; of a sparse one, string [3].
    """

    def __init__(self, sequences, context):
        self._sparse = {}
        self.sequences = self._write("sequences", sequences, tf.serialize_many_sparse)
        self.context = self._write("context", context, tf.serialize_sparse)

    def _write(self, kind, tensors, serialize):
        found = {}
        for name, one in tensors.items():
            if _is_sparse(one):
                one = tf.SparseTensor.from_value(one)
                self._sparse[kind, name] = one.dtype, one.dense_shape.shape.as_list()[0]
                one = serialize(one)
            found[name] = one
        return found

    def restore(self, batch):
        """Puts sparse tensors in the place of texts.

        Args:
          batch: NextQueuedSequenceBatch.
        """
        for (kind, name), (dtype, rank) in self._sparse.items():
            home = getattr(batch, kind)
            home[name] = _read(home[name], dtype, rank, kind == "sequences")


def _read(texts, dtype, rank, has_steps):
    """Returns the SparseTensor of string [batch, 3], or of string [batch, steps, 3]."""
    # Each text is that of a tensor without the first dimension of what is read.
    whole = rank if has_steps or rank is None else rank + 1
    one = tf.deserialize_many_sparse(tf.reshape(texts, [-1, 3]), dtype, rank=whole)
    if not has_steps:
        return one
    size = tf.cast(tf.shape(texts)[:2], tf.int64)
    return tf.sparse_reshape(one, tf.concat([size, one.dense_shape[1:]], 0))
