"""Compares the replacements of operations of tf.contrib with their mathematics in plain Python."""

import bisect
import itertools
import math
from typing import Any

import numpy as np

from ..contrib_operations import INCREMENT, START
from ..errors import BridgeError
from .buckets import flush, make_values
from .proof import check, run

__all__ = ["prove_beams", "prove_crosses", "prove_input_boundaries"]

_MASK = (1 << 64) - 1
_MULTIPLIER = 0xC6A4A7935BD1E995
_EDGES: tuple[list[float], ...] = (
    [-1.5, 0.0, 0.25, 0.25, 3.0], [1.0], [16777216.0], [], [1e-45, 0.0], [1.0, math.nan, 0.5],
    [3.0, 1.0],
)  # fmt: skip
# (steps, rows, beams)
_BEAMS = ((1, 1, 1), (5, 3, 4), (7, 2, 3))
# (rows, most values of a row)
_CROSSED = ((6, 3), (1, 1), (4, 0))


def prove_input_boundaries(traced: Any, node: Any, edges: Any, where: str) -> int:
    """Compares the buckets of values at, beside and between boundaries.

    Args:
      traced: the concrete function that takes the place of the operation.
      node: the NodeDef.
      edges: float32 boundaries; None where the graph computes them.
      where: the node, for the message.

    Returns:
      The number of values that were compared.

    Raises:
      BridgeError: a bucket differs, or the operation would refuse the boundaries.
    """
    from tensorflow import as_dtype

    dtype, random = as_dtype(node.attr["T"].type).as_numpy_dtype, np.random.default_rng(0)
    compared = 0
    for limits in _EDGES if edges is None else (edges.ravel(),):
        one = np.array(limits, np.float32)
        values = make_values(one, random)
        if np.issubdtype(dtype, np.integer):
            values = values[np.abs(values) < 2**30]
        with np.errstate(invalid="ignore"):
            values, cast = values.astype(dtype), flush(one).astype(dtype).tolist()
        if any(after < before for before, after in zip(cast, cast[1:])):
            _prove_refusal(traced, [values, one], edges is None, where)
            continue
        wanted = [bisect.bisect_right(cast, value) for value in flush(values).tolist()]
        check(run(traced, [values, one])[0], np.array(wanted, np.int32), where)
        compared += len(values)
    return compared


def _prove_refusal(traced: Any, inputs: list[np.ndarray], is_computed: bool, where: str) -> None:
    """Checks that boundaries that are not sorted are refused, as by the operation."""
    from tensorflow.errors import InvalidArgumentError

    if not is_computed:
        raise BridgeError(f"{where}: its boundaries are not sorted, which the operation refuses")
    try:
        run(traced, inputs)
    except InvalidArgumentError:
        return
    raise BridgeError(f"{where}: the replacement takes boundaries that are not sorted")


def prove_beams(traced: Any, where: str) -> int:
    """Compares the beams of random tokens and parents.

    Args:
      traced: the concrete function that takes the place of the operation.
      where: the node, for the message.

    Returns:
      The number of tokens that were compared.

    Raises:
      BridgeError: a token differs.
    """
    random, compared = np.random.default_rng(0), 0
    for steps, rows, beams in _BEAMS:
        tokens = random.integers(0, 6, (steps, rows, beams), np.int32)
        parents = random.integers(0, beams, (steps, rows, beams), np.int32)
        lengths = random.integers(0, steps + 3, rows, np.int32)
        wanted = np.full_like(tokens, 5)
        for row, beam in itertools.product(range(rows), range(beams)):
            own = beam
            for step in range(min(steps, int(lengths[row])) - 1, -1, -1):
                wanted[step, row, beam] = tokens[step, row, own]
                own = parents[step, row, own]
            ends = np.flatnonzero(wanted[:, row, beam] == 5)
            if len(ends):
                wanted[ends[0] :, row, beam] = 5
        check(run(traced, [tokens, parents, lengths, np.int32(5)])[0], wanted, where)
        compared += tokens.size
    return compared


def prove_crosses(traced: Any, node: Any, where: str) -> int:
    """Compares the crosses of made-up rows.

    Args:
      traced: the concrete function that takes the place of the operation.
      node: the NodeDef.
      where: the node, for the message.

    Returns:
      The number of combinations that were compared.

    Raises:
      BridgeError: a combination differs.
    """
    random, compared = np.random.default_rng(0), 0
    types = [list(node.attr[name].list.type) for name in ("sparse_types", "dense_types")]
    for rows, most in _CROSSED:
        sparse = [_make_rows(one, rows, most, random, False) for one in types[0]]
        dense = [_make_rows(one, rows, max(most, 1), random, True) for one in types[1]]
        combinations = [list(itertools.product(*each)) for each in zip(*sparse, *dense)]
        wanted = [_combine(node, one) for each in combinations for one in each]
        places = [(row, at) for row, each in enumerate(combinations) for at in range(len(each))]
        width = max(map(len, combinations))
        given = [_to_sparse(each, dtype, most) for each, dtype in zip(sparse, types[0])]
        arrays = [one[part] for part in range(3) for one in given]
        found = run(traced, [*arrays, *(np.array(each) for each in dense)])
        kind = np.int64 if node.attr["hashed_output"].b else object
        check(found[0], np.array(places, np.int64).reshape(-1, 2), where)
        check(found[1], np.array(wanted, kind), where)
        check(found[2], np.array([rows, width], np.int64), where)
        compared += len(wanted)
    return compared


def _make_rows(
    dtype: int, rows: int, most: int, random: np.random.Generator, is_full: bool
) -> list[list[Any]]:
    """Returns the values of each row: at most `most`, or exactly as many."""
    from tensorflow import string

    is_text = dtype == string.as_datatype_enum
    sizes = [most if is_full else int(random.integers(0, most + 1)) for _ in range(rows)]
    numbers = [random.integers(-50, 10**12, size).tolist() for size in sizes]
    return [[f"v{one}".encode() for one in each] if is_text else each for each in numbers]


def _to_sparse(
    rows: list[list[Any]], dtype: int, width: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    from tensorflow import string

    places = [(row, at) for row, each in enumerate(rows) for at in range(len(each))]
    kind = object if dtype == string.as_datatype_enum else np.int64
    values = np.array([one for each in rows for one in each], kind)
    shape = np.array([len(rows), width], np.int64)
    return np.array(places, np.int64).reshape(-1, 2), values, shape


def _combine(node: Any, values: tuple[Any, ...]) -> Any:
    """Returns the output of one combination."""
    if not node.attr["hashed_output"].b:
        return b"_X_".join(one if isinstance(one, bytes) else b"%d" % one for one in values)
    hashed = START if node.op == "SparseFeatureCross" else node.attr["hash_key"].i & _MASK
    for value in values:
        number = _fingerprint(value) if isinstance(value, bytes) else value & _MASK
        hashed = (_mix_1x if node.op == "SparseFeatureCross" else _mix)(hashed, number)
    return hashed % (node.attr["num_buckets"].i or (1 << 63) - 1)


def _fingerprint(value: bytes) -> int:
    import tensorflow as tf

    with tf.init_scope():
        return int.from_bytes(tf.fingerprint([value]).numpy().tobytes(), "little")


def _mix_1x(hashed: int, number: int) -> int:
    # The shift to the right copies the sign.
    signed = hashed - (1 << 64) if hashed >> 63 else hashed
    return hashed ^ ((number + INCREMENT + (hashed << 10) + (signed >> 4)) & _MASK)


def _mix(hashed: int, number: int) -> int:
    result = hashed ^ _MULTIPLIER ^ (_shift(number * _MULTIPLIER & _MASK) * _MULTIPLIER & _MASK)
    result = result * _MULTIPLIER & _MASK
    return _shift(_shift(result) * _MULTIPLIER & _MASK)


def _shift(value: int) -> int:
    return value ^ (value >> 47)
