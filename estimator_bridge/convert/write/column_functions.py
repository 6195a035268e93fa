"""Functions that a written module defines for its columns: source text, name by name."""

__all__ = ["CODE_OF_HELPERS", "MAX_WHOLE_TABLE"]

# A table of more numbers is looked up directly: taking all of its rows would cost too much.
MAX_WHOLE_TABLE = 2**20

# Functions that the written module defines if it needs them. Each may need those named in its
# tuple.
CODE_OF_HELPERS: dict[str, tuple[tuple[str, ...], str]] = {
    "is_given": (
        (),
        '''
def is_given(values):
    """Whether there is a value: the empty string and -1 stand for none."""
    return ops.not_equal(values, "" if values.dtype == "string" else -1)
''',
    ),
    "every_row": (
        (),
        '''
def every_row(table, ids):
    """All rows of a table as one tensor [rows, units], for combine() to pick from.

    The table then has one gradient for each row. Given one for each look-up, Keras' optimizers
    square them singly, where the Estimator's add up those of a row first.
    """
    one = ops.add(ops.sum(ops.zeros_like(ids)), 1)
    return table(ops.subtract(ops.cumsum(ops.broadcast_to(one, (table.input_dim,))), 1))
''',
    ),
    "until_last": (
        (),
        '''
def until_last(given):
    """Which steps [batch, steps] come no later than the last one that is given."""
    number = ops.cumsum(ops.ones_like(given, dtype="int32"), axis=1)
    last = ops.max(ops.where(given, number, 0), axis=1, keepdims=True)
    return ops.less_equal(number, last)
''',
    ),
    "has_number": (
        (),
        '''
def has_number(values):
    """Whether there is a number: NaN, or -1 among integers, stands for none."""
    return ops.logical_not(ops.isnan(values)) if "float" in values.dtype else values != -1
''',
    ),
    "look_up": (
        (),
        '''
def look_up(table, ids, max_norm=None):
    """Rows of a table for ids [batch, steps] -> [batch, steps, units]; zeros for an id of -1.

    The table is a layer, or all of its rows.
    """
    picked = ops.maximum(ids, 0)
    rows = table(picked) if callable(table) else ops.take(table, picked, axis=0)
    if max_norm is not None:
        length = ops.sqrt(ops.sum(ops.square(rows), axis=-1, keepdims=True))
        rows = ops.divide(ops.multiply(rows, max_norm), ops.maximum(length, max_norm))
    there = ops.cast(ops.greater_equal(ids, 0), "float32")
    return ops.multiply(rows, ops.expand_dims(there, -1))
''',
    ),
    "combine": (
        (),
        '''
def combine(table, ids, combiner="sum", weights=None, max_norm=None):
    """Combines rows of a table: ids [batch, values] -> [batch, units]; an id of -1 has no row.

    The table is a layer, or all of its rows.
    """
    share = ops.cast(ops.greater_equal(ids, 0), "float32")
    if weights is not None:
        share = ops.multiply(share, weights)
        if combiner != "sum":
            share = ops.maximum(share, 0.0)
    share = ops.expand_dims(share, -1)
    picked = ops.maximum(ids, 0)
    rows = table(picked) if callable(table) else ops.take(table, picked, axis=0)
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
    "count": (
        (),
        '''
def count(ids, size, weights=None):
    """How often each id is there: [batch, values] -> [batch, size]; an id of -1 counts for
    nothing.
    """
    ones = ops.one_hot(ids, size)
    if weights is not None:
        ones = ops.multiply(ones, ops.expand_dims(weights, -1))
    return ops.sum(ones, axis=1)
''',
    ),
    "bits": (
        (),
        '''
def bits(number):
    """A constant for bitwise operations; as a plain number it would not survive saving."""
    return np.array([number], "int64")
''',
    ),
    "fingerprint": (
        ("bits",),
        '''
def fingerprint(values):
    """The 64 bits by which a value enters a cross: FarmHash64 of a string, an integer itself.

    Hashing returns a remainder, so the 64 bits are put together from two of them.
    """
    if values.dtype != "string":
        return ops.cast(values, "int64")
    low = layers.Hashing(2**62)(values)
    rest = layers.Hashing(2**63 - 1)(values)
    quotient = ops.bitwise_and(ops.subtract(rest, low), bits(2**62 - 1))
    return ops.add(ops.multiply(quotient, 2**63 - 1), rest)
''',
    ),
    "cross": (
        ("fingerprint",),
        '''
def shift_mix(value):
    """value ^ (value >> 47), the shift filling up with zeros."""
    shifted = ops.bitwise_and(ops.right_shift(value, bits(47)), bits(2**17 - 1))
    return ops.bitwise_xor(value, shifted)


def cross(features, num_bins, hash_key):
    """Ids of all combinations of the features' values [batch, values], hashed as feature columns
    hash them.

    HashedCrossing does the same for two features of one value each.
    """
    multiplier = 0xC6A4A7935BD1E995 - 2**64
    # Feature number i varies along axis i + 1, so that adding them up makes every combination.
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
        result = ops.bitwise_xor(ops.bitwise_xor(result, bits(multiplier)), mixed)
        result = ops.multiply(result, multiplier)
        result = shift_mix(ops.multiply(shift_mix(result), multiplier))
    # The remainder of an unsigned number, by halves.
    high = ops.bitwise_and(ops.right_shift(result, bits(32)), bits(2**32 - 1))
    low = ops.bitwise_and(result, bits(2**32 - 1))
    high = ops.multiply(ops.mod(high, num_bins), 2**32 % num_bins)
    return layers.Flatten()(ops.mod(ops.add(high, low), num_bins))
''',
    ),
    "all_given": (
        (),
        '''
def all_given(given):
    """Which combinations of several features' values are made of values only: as `cross` orders
    them.
    """
    result = None
    for index, one in enumerate(given):
        for axis in range(len(given)):
            if axis != index:
                one = ops.expand_dims(one, axis + 1)
        result = one if result is None else ops.logical_and(result, one)
    return layers.Flatten()(result)
''',
    ),
}
