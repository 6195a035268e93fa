"""Compares a replacement with the mathematics of what it replaces, bit by bit."""

from collections.abc import Sequence
from typing import Any, Optional

import numpy as np

from ..errors import BridgeError
from .buckets import bucketize, make_values
from .trees import Trees, walk_rows

__all__ = ["check", "prove_buckets", "prove_trees", "run"]

_ROWS = 200
# Where the boundaries are computed, these are tried: as many as there may be, doubled, none, and
# not sorted, for which the operation gives what its bisection meets.
_MADE_UP: tuple[list[float], ...] = (
    [-1.5, 0.0, 0.25, 3.0], [1.0], [0.5, 0.5, 2.0], [], [3.0, -1.5, 0.25, float("nan"), 0.0],
)  # fmt: skip


def prove_buckets(traced: Any, boundaries: Sequence[Optional[np.ndarray]], where: str) -> int:
    """Compares the buckets of values at, beside and between the boundaries.

    Args:
      traced: the concrete function that takes the place of the operation.
      boundaries: float32 [n] for each feature; None where the graph computes them.
      where: the node, for the message.

    Returns:
      The number of values that were compared.

    Raises:
      BridgeError: a bucket differs.
    """
    random = np.random.default_rng(0)
    compared = 0
    for made_up in _MADE_UP:
        edges = [
            np.array(made_up, np.float32) if one is None else one.astype(np.float32).ravel()
            for one in boundaries
        ]
        values = [make_values(one, random) for one in edges]
        for found, one, limits in zip(run(traced, [*values, *edges]), values, edges):
            check(found, bucketize(one, limits), where)
            compared += len(one)
        if all(one is not None for one in boundaries):
            break
    return compared


def prove_trees(traced: Any, trees: Trees, features: int, where: str) -> int:
    """Compares the logits of rows that go left and right everywhere.

    Args:
      traced: the concrete function that takes the place of the operation.
      trees: the trees.
      features: the number of features.
      where: the node, for the message.

    Returns:
      The number of rows that were compared.

    Raises:
      BridgeError: a logit differs.
    """
    buckets = trees.make_buckets(features, _ROWS, np.random.default_rng(0))
    (found,) = run(traced, list(buckets))
    check(found, walk_rows(trees.ensemble, buckets, trees.logits), where)
    return _ROWS


def run(traced: Any, arrays: list[np.ndarray]) -> list[np.ndarray]:
    """Returns the outputs of a concrete function, computed eagerly on the CPU.

    Args:
      traced: the function.
      arrays: its inputs.
    """
    import tensorflow as tf

    with tf.device("/cpu:0"), tf.init_scope():
        return [one.numpy() for one in traced(*map(tf.constant, arrays))]


def check(found: np.ndarray, wanted: np.ndarray, where: str) -> None:
    """Checks that an output is what it has to be, bit by bit.

    Args:
      found: the output; text as objects.
      wanted: what it has to be.
      where: the node, for the message.

    Raises:
      BridgeError: type, shape or a value differs.
    """
    same = (found.dtype, found.shape) == (wanted.dtype, wanted.shape)
    if found.dtype == object:
        same = same and found.tolist() == wanted.tolist()
    if not same or (found.dtype != object and found.tobytes() != wanted.tobytes()):
        raise BridgeError(f"{where}: the replacement does not compute the same; nothing is written")
