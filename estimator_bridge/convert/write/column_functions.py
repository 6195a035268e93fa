"""The source of the functions that a written module defines for its columns, by name."""

__all__ = ["CODE_OF_HELPERS", "MAX_WHOLE_TABLE"]

# Larger tables are looked up directly, because an operation on all rows would take too long.
MAX_WHOLE_TABLE = 2**20

# Name -> (names of the functions that it calls, source). A module defines only functions in use.
CODE_OF_HELPERS: dict[str, tuple[tuple[str, ...], str]] = {
    "is_present": (
        (),
        '''
def is_present(values):
    """Returns which values are present: the empty string and -1 mean no value."""
    return ops.not_equal(values, "" if values.dtype == "string" else -1)
''',
    ),
    "all_rows": (
        (),
        '''
def all_rows(table, ids):
    """Returns all rows of a table as one tensor [rows, units], from which combine() selects.

    This gives the table one gradient per row. With one gradient per lookup, the optimizers of Keras
    square each of them, but those of the Estimator add up the gradients of a row first.
    """
    one = ops.add(ops.sum(ops.zeros_like(ids)), 1)
    return table(ops.subtract(ops.cumsum(ops.broadcast_to(one, (table.input_dim,))), 1))
''',
    ),
    "sequence_mask": (
        (),
        '''
def sequence_mask(present):
    """Returns the mask [batch, steps] of the steps up to the last present one."""
    number = ops.cumsum(ops.ones_like(present, dtype="int32"), axis=1)
    last = ops.max(ops.where(present, number, 0), axis=1, keepdims=True)
    return ops.less_equal(number, last)
''',
    ),
    "is_number": (
        (),
        '''
def is_number(values):
    """Returns which numbers are present: NaN, or -1 among integers, means no value."""
    return ops.logical_not(ops.isnan(values)) if "float" in values.dtype else values != -1
''',
    ),
    "look_up": (
        (),
        '''
def look_up(table, ids, max_norm=None):
    """Returns the rows [batch, steps, units] of a table for ids [batch, steps]; zeros for -1.

    The table is a layer, or all of its rows.
    """
    valid = ops.maximum(ids, 0)
    rows = table(valid) if callable(table) else ops.take(table, valid, axis=0)
    if max_norm is not None:
        length = ops.sqrt(ops.sum(ops.square(rows), axis=-1, keepdims=True))
        rows = ops.divide(ops.multiply(rows, max_norm), ops.maximum(length, max_norm))
    present = ops.cast(ops.greater_equal(ids, 0), "float32")
    return ops.multiply(rows, ops.expand_dims(present, -1))
''',
    ),
    "combine": (
        (),
        '''
def combine(table, ids, combiner="sum", weights=None, max_norm=None):
    """Combines the rows of a table for ids [batch, values] to [batch, units]; -1 has no row.

    The table is a layer, or all of its rows.
    """
    share = ops.cast(ops.greater_equal(ids, 0), "float32")
    if weights is not None:
        share = ops.multiply(share, weights)
        if combiner != "sum":
            share = ops.maximum(share, 0.0)
    share = ops.expand_dims(share, -1)
    valid = ops.maximum(ids, 0)
    rows = table(valid) if callable(table) else ops.take(table, valid, axis=0)
    if max_norm is not None:
        length = ops.sqrt(ops.sum(ops.square(rows), axis=-1, keepdims=True))
        rows = ops.divide(ops.multiply(rows, max_norm), ops.maximum(length, max_norm))
    total = ops.sum(ops.multiply(rows, share), axis=1)
    if combiner == "sum":
        return total
    size = ops.sum(share if combiner == "mean" else ops.square(share), axis=1)
    size = size if combiner == "mean" else ops.sqrt(size)
    return ops.divide(total, ops.where(ops.greater(size, 0.0), size, 1.0))
''',
    ),
    "count_ids": (
        (),
        '''
def count_ids(ids, size, weights=None):
    """Counts each of `size` ids: [batch, values] to [batch, size]; -1 is not counted."""
    ones = ops.one_hot(ids, size)
    if weights is not None:
        ones = ops.multiply(ones, ops.expand_dims(weights, -1))
    return ops.sum(ones, axis=1)
''',
    ),
    "int64": (
        (),
        '''
def int64(number):
    """Returns a constant for bitwise operations; a plain number could not be saved."""
    return np.array([number], "int64")
''',
    ),
    "fingerprint": (
        ("int64",),
        '''
def fingerprint(values):
    """Returns the 64 bits of a value in a cross: FarmHash64 of a string, or the integer itself.

    Hashing returns a remainder, and two remainders determine the 64 bits.
    """
    if values.dtype != "string":
        return ops.cast(values, "int64")
    low = layers.Hashing(2**62)(values)
    rest = layers.Hashing(2**63 - 1)(values)
    quotient = ops.bitwise_and(ops.subtract(rest, low), int64(2**62 - 1))
    return ops.add(ops.multiply(quotient, 2**63 - 1), rest)
''',
    ),
    "cross": (
        ("fingerprint",),
        '''
def shift_mix(value):
    """Returns value ^ (value >> 47), where the shift fills up with zeros."""
    shifted = ops.bitwise_and(ops.right_shift(value, int64(47)), int64(2**17 - 1))
    return ops.bitwise_xor(value, shifted)


def cross(features, num_bins, hash_key):
    """Returns the ids of all combinations of values [batch, values], hashed as by feature columns.

    HashedCrossing does the same for two features with one value each.
    """
    multiplier = 0xC6A4A7935BD1E995 - 2**64
    # Feature number i varies along axis i + 1, so that broadcasting gives every combination.
    shaped = []
    for index, feature in enumerate(features):
        value = fingerprint(feature)
        for axis in range(len(features)):
            if axis != index:
                value = ops.expand_dims(value, axis + 1)
        shaped.append(value)
    result = ops.full((1,) * (len(features) + 1), hash_key, dtype="int64")
    for value in shaped:
        mixed = ops.multiply(shift_mix(ops.multiply(value, multiplier)), multiplier)
        result = ops.bitwise_xor(ops.bitwise_xor(result, int64(multiplier)), mixed)
        result = ops.multiply(result, multiplier)
        result = shift_mix(ops.multiply(shift_mix(result), multiplier))
    # The remainder of an unsigned number, computed from its two halves.
    high = ops.bitwise_and(ops.right_shift(result, int64(32)), int64(2**32 - 1))
    low = ops.bitwise_and(result, int64(2**32 - 1))
    high = ops.multiply(ops.mod(high, num_bins), 2**32 % num_bins)
    return layers.Flatten()(ops.mod(ops.add(high, low), num_bins))
''',
    ),
    "walk_trees": (
        (),
        '''
def walk_trees(nodes, roots, depth, numbers):
    """Returns the sums of the leaves in which rows end: [batch, numbers] to [batch, logits].

    For each node, the layer `nodes` holds the place of a number, a threshold, the nodes on the left
    and on the right, and logits. A row goes to the right if its number is above the threshold.
    """
    start = ops.zeros_like(numbers[:, :1], dtype="int32")
    place = ops.add(start, np.array([roots], "int32"))
    for _ in range(depth):
        node = nodes(place)
        number = ops.take_along_axis(numbers, ops.cast(node[..., 0], "int32"), axis=1)
        above = ops.greater(number, node[..., 1])
        place = ops.cast(ops.where(above, node[..., 3], node[..., 2]), "int32")
    # A cumulative sum adds the trees one after the other, as the Estimator does.
    return ops.cumsum(nodes(place)[..., 4:], axis=1)[:, -1]
''',
    ),
    "all_present": (
        (),
        '''
def all_present(features):
    """Returns which combinations, in the order of `cross`, consist of present values only."""
    result = None
    for index, one in enumerate(features):
        for axis in range(len(features)):
            if axis != index:
                one = ops.expand_dims(one, axis + 1)
        result = one if result is None else ops.logical_and(result, one)
    return layers.Flatten()(result)
''',
    ),
}
