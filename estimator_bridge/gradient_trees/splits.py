"""Searches the best split of each node for one feature."""

from collections.abc import Sequence
from typing import NamedTuple, Optional

import numpy as np

from ..boosted_trees.inverses import invert
from .statistics import Sums

__all__ = ["MISSING", "Regularization", "Splits", "compute_leaves", "search"]

# The bucket in which the sums of all rows of a node are, of features that rows may lack.
MISSING = {"sparse": -1, "categorical": np.iinfo(np.int64).min}


# A matrix of hessians that is smaller gives no leaf; a smaller part of its largest eigenvalue is 0.
_SMALLEST_NORM, _SMALLEST_RATIO = 1e-12, 1e-6


class Regularization(NamedTuple):
    """What makes leaves smaller and splits rarer.

    Attributes:
      l1: is taken from the absolute value of a gradient.
      l2: is added to the hessian.
      tree_complexity: is taken from each gain.
      min_node_weight: a leaf with a smaller hessian is 0.
    """

    l1: float
    l2: float
    tree_complexity: float
    min_node_weight: float


class Splits(NamedTuple):
    """The best split of each node, in the order of the nodes.

    Attributes:
      nodes: int32 [n].
      gains: float32 [n].
      thresholds: float32 [n], the largest value on the left; or int64 [n], the category there.
      dimensions: int32 [n], the dimension of the feature.
      left: float32 [n, k], the left leaf.
      right: float32 [n, k].
      default_right: bool [n], whether rows without a value go to the right.
      has_left: bool [n], whether the left leaf could be computed.
      has_right: bool [n].
    """

    nodes: np.ndarray
    gains: np.ndarray
    thresholds: np.ndarray
    dimensions: np.ndarray
    left: np.ndarray
    right: np.ndarray
    default_right: np.ndarray
    has_left: np.ndarray
    has_right: np.ndarray


class Leaves(NamedTuple):
    """Leaves over sums.

    Attributes:
      weight: float32 [..., k].
      gain: float32 [...].
      solved: bool [...], whether there is a leaf.
    """

    weight: np.ndarray
    gain: np.ndarray
    solved: np.ndarray


def compute_leaves(
    gradients: np.ndarray, hessians: np.ndarray, regularization: Regularization
) -> Leaves:
    """Returns the best leaf over sums of gradients and hessians.

    Args:
      gradients: float32 [...], or [..., k] if `hessians` says so.
      hessians: float32 of the same shape, or [..., k, k].
      regularization: what makes leaves smaller; l1 counts for one logit only.
    """
    l2, smallest = np.float32(regularization.l2), np.float32(regularization.min_node_weight)
    if gradients.ndim == 2:
        return _compute_scalar_leaves(gradients, hessians, regularization)
    axes = tuple(range(2, hessians.ndim))
    norm = np.sqrt(np.sum(np.square(hessians, dtype=np.float64), axis=axes))
    solved = (norm >= smallest) & (norm > _SMALLEST_NORM)
    if hessians.ndim == 3:
        safe = np.where(solved[..., np.newaxis], hessians + l2, np.float32(1))
        weight = -gradients / safe
    else:
        identity = np.eye(gradients.shape[-1])
        safe = np.where(solved[..., np.newaxis, np.newaxis], hessians + l2 * identity, identity)
        inverse = invert(safe, _SMALLEST_RATIO)
        weight = -np.einsum("...ij,...j->...i", inverse, gradients.astype(np.float64))
        weight = weight.astype(np.float32)
    weight = np.where(solved[..., np.newaxis], weight, np.float32(0))
    return Leaves(weight, -np.sum(gradients * weight, axis=-1, dtype=np.float32), solved)


def _compute_scalar_leaves(
    gradients: np.ndarray, hessians: np.ndarray, regularization: Regularization
) -> Leaves:
    l1, l2 = np.float32(regularization.l1), np.float32(regularization.l2)
    solved = (hessians >= np.float32(regularization.min_node_weight)) & (hessians > 0)
    if l1 > 0:
        shrunk = np.maximum(np.abs(gradients) - l1, np.float32(0))
        gradients = np.copysign(shrunk, gradients)
    safe = np.where(solved, hessians + l2, np.float32(1))
    # A gradient of 0 gives 0 without a sign.
    weight = np.where(solved, -gradients / safe, np.float32(0)) + np.float32(0)
    return Leaves(weight[..., np.newaxis], -gradients * weight, np.ones_like(solved))


class _Table(NamedTuple):
    """The sums of one feature, a line for each node; absent entries are 0.

    Attributes:
      nodes: int32 [n].
      buckets: int64 [n, m].
      exists: bool [n, m].
      gradients: float32 [n, m, ...].
      hessians: float32 [n, m, ...].
    """

    nodes: np.ndarray
    buckets: np.ndarray
    exists: np.ndarray
    gradients: np.ndarray
    hessians: np.ndarray


def _tabulate(sums: Sums, nodes: np.ndarray) -> _Table:
    """Returns the sums with a line for each of some nodes, which are all that have sums."""
    present, first, counts = np.unique(sums.nodes, return_index=True, return_counts=True)
    line = np.repeat(np.searchsorted(nodes, present), counts)
    column = np.arange(len(sums.nodes)) - np.repeat(first, counts)
    width = max(counts.tolist(), default=1)

    def fill(values: np.ndarray) -> np.ndarray:
        table = np.zeros((len(nodes), width, *values.shape[1:]), values.dtype)
        table[line, column] = values
        return table

    exists = np.ones(len(line), bool)
    return _Table(nodes, *map(fill, (sums.buckets[:, 0], exists, sums.gradients, sums.hessians)))


_Side = tuple[np.ndarray, np.ndarray]


class _Candidates(NamedTuple):
    """The splits that are compared, a line for each node.

    Attributes:
      buckets: int64 [n, m].
      exists: bool [n, m].
      left: the gradients and hessians of the left child, float32 [n, m, ...].
      right: those of the right child.
      dimension: the dimension of the feature.
      default_right: whether rows without a value go to the right.
    """

    buckets: np.ndarray
    exists: np.ndarray
    left: _Side
    right: _Side
    dimension: int = 0
    default_right: bool = False


def search(
    sums: Sums,
    num_batches: int,
    boundaries: Optional[np.ndarray],
    kind: str,
    regularization: Regularization,
) -> Splits:
    """Returns the best split of each node.

    Equal gains go to the first dimension and bucket, and to rows without a value on the left. Sums
    are float32 in the order of the buckets.

    Args:
      sums: the sums of all batches of the layer.
      num_batches: how many they are, by which the sums are divided.
      boundaries: float32 [buckets], the largest value of each bucket; None for categories.
      kind: 'dense', 'sparse' (rows may have no value) or 'categorical'.
      regularization: what makes leaves smaller and splits rarer.
    """
    share = np.float32(1) / np.float32(num_batches)
    raw = sums
    sums = raw._replace(gradients=raw.gradients * share, hessians=raw.hessians * share)
    nodes = np.unique(sums.nodes)
    if kind == "dense":
        table = _tabulate(sums, nodes)
        left = _accumulate(table)
        unscaled = _accumulate(_tabulate(raw, nodes))
        # The total is multiplied once, the parts of the left child one by one.
        total = unscaled[0][:, -1:] * share, unscaled[1][:, -1:] * share
        found = [_Candidates(table.buckets, table.exists, left, _subtract(total, left))]
    else:
        is_total = sums.buckets[:, 0] == MISSING[kind]
        whole = _tabulate(_take(sums, is_total), nodes)
        total = whole.gradients, whole.hessians
        rest = _take(sums, ~is_total)
        if kind == "categorical":
            table = _tabulate(rest, nodes)
            left = table.gradients, table.hessians
            found = [_Candidates(table.buckets, table.exists, left, _subtract(total, left))]
        else:
            found = _list_sparse(rest, _take(raw, ~is_total), share, nodes, total)
    return _choose(nodes, found, total, boundaries, regularization)


def _take(sums: Sums, chosen: np.ndarray) -> Sums:
    return Sums(*(values[chosen] for values in sums))


def _accumulate(table: _Table) -> _Side:
    gradients = np.cumsum(table.gradients, axis=1, dtype=np.float32)
    return gradients, np.cumsum(table.hessians, axis=1, dtype=np.float32)


def _subtract(one: _Side, other: _Side) -> _Side:
    return one[0] - other[0], one[1] - other[1]


def _list_sparse(
    sums: Sums, raw: Sums, share: np.float32, nodes: np.ndarray, total: _Side
) -> list[_Candidates]:
    found = []
    for dimension in np.unique(sums.buckets[:, 1]).tolist():
        chosen = sums.buckets[:, 1] == dimension
        table = _tabulate(_take(sums, chosen), nodes)
        below = _accumulate(table)
        present = _accumulate(_tabulate(_take(raw, chosen), nodes))
        above = _subtract((present[0][:, -1:] * share, present[1][:, -1:] * share), below)
        where = table.buckets, table.exists
        found.append(_Candidates(*where, _subtract(total, above), above, dimension, False))
        found.append(_Candidates(*where, below, _subtract(total, below), dimension, True))
    return found


def _choose(
    nodes: np.ndarray,
    found: list[_Candidates],
    total: _Side,
    boundaries: Optional[np.ndarray],
    regularization: Regularization,
) -> Splits:
    lines = np.arange(len(nodes))
    best = np.full(len(nodes), -np.inf, np.float32)
    place = np.full(len(nodes), -1)
    picked: list[np.ndarray] = []
    for number, candidates in enumerate(found):
        left = compute_leaves(*candidates.left, regularization)
        right = compute_leaves(*candidates.right, regularization)
        gains = np.where(candidates.exists, left.gain + right.gain, -np.inf).astype(np.float32)
        bucket = np.argmax(gains, axis=1)
        gain = gains[lines, bucket]
        better = gain > best
        if number and candidates.dimension == found[number - 1].dimension:
            # Of two directions, the one whose bucket comes first.
            better |= (gain == best) & (place == number - 1) & (bucket < picked[-1])
        best, place = np.where(better, gain, best), np.where(better, number, place)
        picked.append(bucket)
    split = place >= 0
    lines, place = lines[split], place[split]
    if not len(lines):
        empty = np.zeros(0, np.int64)
        leaf = np.zeros((0, 1), np.float32)
        return Splits(nodes[split], best[split], empty, empty, leaf, leaf, *[empty > 0] * 3)
    bucket = np.stack(picked)[place, lines]

    def pick(arrays: Sequence[np.ndarray]) -> np.ndarray:
        return np.stack([arrays[p][n, b] for p, n, b in zip(place, lines, bucket)])

    sides = []
    for side in ("left", "right"):
        gradients, hessians = (pick([getattr(one, side)[part] for one in found]) for part in (0, 1))
        sides.append(
            compute_leaves(gradients[:, np.newaxis], hessians[:, np.newaxis], regularization)
        )
    left, right = sides
    root = compute_leaves(*total, regularization).gain[lines, 0]
    chosen = pick([one.buckets for one in found])
    return Splits(
        nodes=nodes[lines],
        gains=best[lines] - root - np.float32(regularization.tree_complexity),
        thresholds=chosen if boundaries is None else boundaries[chosen],
        dimensions=np.array([found[p].dimension for p in place], np.int32),
        left=left.weight[:, 0],
        right=right.weight[:, 0],
        default_right=np.array([found[p].default_right for p in place]),
        has_left=left.solved[:, 0],
        has_right=right.solved[:, 0],
    )
