"""Bucket boundaries of numeric columns: weighted quantiles within a given error.

A summary is float32 [n, 4]: value, weight, and the least and the greatest sum of weights up to and
including this value. Summaries of batches are merged in levels, as a binary counter carries: a
summary that has become too long is compressed and goes to the next level.
"""

import functools
import math
from collections.abc import Sequence
from typing import Any, Optional

import numpy as np

__all__ = [
    "LONGEST_PLANNED",
    "MAX_ELEMENTS",
    "Levels",
    "compute_boundaries",
    "keep_evenly",
    "plan_block",
    "select_boundaries",
    "summarize",
]

_VALUE, _WEIGHT, _MIN_RANK, _MAX_RANK = range(4)
_EMPTY = np.zeros((0, 4), np.float32)

# As many values as a stream of all batches is planned for.
MAX_ELEMENTS = 1 << 40

# Longer blocks get no plan, so that those kept stay small, and float32 counts values exactly.
LONGEST_PLANNED = 1 << 16


def _plan_block_size(epsilon: float, max_elements: int) -> int:
    """Returns how many values the summary of one level has, for an error of at most epsilon."""
    if epsilon <= np.finfo(np.float32).eps:
        return max(max_elements, 2)
    levels, block_size = 1, 2
    while (block_size << levels) < max_elements:
        block_size = math.ceil(levels / epsilon) + 1
        levels += 1
    return max(block_size, 2)


def _summarize_values(values: np.ndarray, weights: np.ndarray) -> np.ndarray:
    if weights.strides == (0,) and np.abs(values).min() > 0:
        # Of equal weights, the order does not matter; nor of equal values, but for -0, 0 and NaN.
        values = np.sort(values)
    else:
        order = np.argsort(values, kind="stable")
        values, weights = values[order], weights[order]
    first = np.flatnonzero(np.concatenate([[True], values[1:] != values[:-1]]))
    summed = np.add.reduceat(weights, first, dtype=np.float32)
    last_rank = np.cumsum(summed, dtype=np.float32)
    min_rank = np.concatenate([[np.float32(0)], last_rank[:-1]])
    return np.stack([values[first], summed, min_rank, last_rank], axis=1)


def _merge(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    if not len(other):
        return one
    if not len(one):
        return other
    place = np.searchsorted(other[:, _VALUE], one[:, _VALUE])
    shared = other[np.minimum(place, len(other) - 1), _VALUE] == one[:, _VALUE]
    if not shared.any() and not np.isnan(one[-1, _VALUE]):
        # No search and no sort: a value of one is below another's if no more of these are before.
        of_other = np.cumsum(np.bincount(place, minlength=len(other)))[: len(other)]
        merged = np.empty((len(one) + len(other), 4), np.float32)
        merged[np.arange(len(one)) + place] = one + _weigh_before(other, place)
        merged[np.arange(len(other)) + of_other] = other + _weigh_before(one, of_other)
        return merged
    added = _weigh_before(other, place)
    of_other = place[shared]
    added[shared, _WEIGHT:] = other[of_other, _WEIGHT:]
    rest = np.delete(other, of_other, axis=0)
    place = np.searchsorted(one[:, _VALUE], rest[:, _VALUE])
    merged = np.concatenate([one + added, rest + _weigh_before(one, place)])
    return merged[np.argsort(merged[:, _VALUE], kind="stable")]


def _weigh_before(summary: np.ndarray, place: np.ndarray) -> np.ndarray:
    """Returns what a summary adds to values that it lacks: float32 [n, 4], ranks only.

    Args:
      summary: float32 [m, 4].
      place: int [n], how many of its values are smaller.
    """
    added = np.zeros((len(summary) + 1, 4), np.float32)
    added[1:, _MIN_RANK] = summary[:, _MIN_RANK] + summary[:, _WEIGHT]
    added[:-1, _MAX_RANK] = summary[:, _MAX_RANK] - summary[:, _WEIGHT]
    added[-1, _MAX_RANK] = summary[-1, _MAX_RANK]
    return added.take(place, axis=0)


def _compress(summary: np.ndarray, size_hint: int, epsilon: float) -> np.ndarray:
    """Leaves out values as long as no gap becomes larger than the error allows."""
    size_hint = max(size_hint, 2)
    size = len(summary)
    if size <= size_hint:
        return summary
    allowed = float(summary[-1, _MAX_RANK]) * max(1.0 / size_hint, epsilon)
    before = np.maximum.accumulate(summary[:, _MAX_RANK] - summary[:, _WEIGHT])
    after = summary[:, _MIN_RANK] + summary[:, _WEIGHT]
    kept, passes = keep_evenly(size, size_hint)
    gaps = before[kept[1:]] - after[kept[:-1]]
    if (gaps.astype(np.float64)[passes] <= allowed).all():
        return summary.take(kept, axis=0)
    passable = _find_gaps(before, after, allowed) - np.arange(1, size + 1)
    return summary[_keep(size, size_hint, passable.tolist())[0]]


@functools.lru_cache
def keep_evenly(size: int, size_hint: int) -> tuple[np.ndarray, np.ndarray]:
    """Returns what _keep does where the error allows any gap."""
    kept, passes = _keep(size, size_hint, range(size - 1, -1, -1))
    return np.array(kept), np.array(passes)


def _keep(size: int, size_hint: int, passable: Sequence[int]) -> tuple[list[int], list[bool]]:
    """Returns which values of a summary are kept, and before which of them some were passed.

    Args:
      size: how many values it has.
      size_hint: how many are wanted.
      passable: for each value, how many of those after it are near enough.
    """
    # Not more than `size_hint` values are kept evenly: each value kept pays with `size`.
    credit = 0
    kept = [0]
    passes = []
    read = 0
    while read + 1 < size:
        passed = passable[read]
        affordable = (size - credit + size_hint - 1) // size_hint
        if passed > affordable:
            passed = affordable
        credit += passed * size_hint - size
        read += passed or 1
        kept.append(read)
        passes.append(passed > 0)
    return kept, passes


@functools.lru_cache
def plan_block(
    size: int, weight: float, size_hint: int, epsilon: float
) -> tuple[np.ndarray, np.ndarray]:
    """Returns which of different values of equal weight _compress keeps, and their summary.

    Weights and ranks do not depend on the values, so all blocks of a size share them.

    Args:
      size: how many values there are.
      weight: the weight of each.
      size_hint: how many are wanted.
      epsilon: the error that is allowed.

    Returns:
      int [n], and float32 [n, 4], of which the values are to be set.
    """
    numbers = np.arange(size, dtype=np.float32)
    summary = _summarize_values(numbers, np.full(size, weight, np.float32))
    kept = _compress(summary, size_hint, epsilon)
    return kept[:, _VALUE].astype(np.intp), kept


def _find_gaps(before: np.ndarray, after: np.ndarray, allowed: float) -> np.ndarray:
    """Returns for each value the first one after it that is too far from it.

    Args:
      before: float32 [n], the greatest sum of weights before each value, ascending.
      after: float32 [n], the least sum of weights up to and including it.
      allowed: the largest difference of ranks, as float32 gives it.

    Returns:
      int [n], at most n.
    """
    size = len(before)
    before = np.append(before, np.float32(np.inf))
    first = np.arange(1, size + 1)
    ends = np.searchsorted(before, after.astype(np.float64) + allowed, side="right")
    ends = np.clip(ends, first, size)
    # The rounding of a difference to float32 may move an end by a few values.
    while True:
        near = (before[ends] - after).astype(np.float64) <= allowed
        far = (ends > first) & ((before[ends - 1] - after).astype(np.float64) > allowed)
        if not (near | far).any():
            return ends
        ends += near.astype(np.intp) - far


class Levels:
    """Summaries that are merged as they arrive.

    Args:
      epsilon: the error that is allowed.
      max_elements: how many values are expected at most.

    Attributes:
      levels: the summaries, float32 [n, 4] each.
      epsilon: the error that is allowed, as it is computed with.
      block_size: how many values the summary of a level has.
      buffer_size: so many values of a batch are summarized together.
    """

    def __init__(self, epsilon: float, max_elements: int):
        # TensorFlow kept the error in float32, and rounded the sizes that follow from it up.
        self.epsilon = float(np.float32(epsilon))
        self.block_size = _plan_block_size(self.epsilon, max_elements)
        self.buffer_size = min(2 * self.block_size, max_elements)
        self.levels: list[np.ndarray] = []

    def add(self, summary: np.ndarray) -> None:
        """Merges a summary into the first level that is empty or stays short enough.

        Args:
          summary: float32 [n, 4].
        """
        if len(summary):
            self._carry(self._compress(summary))

    def add_values(self, values: np.ndarray, weights: np.ndarray) -> None:
        """Adds the summary of values.

        Args:
          values: float32 [n], 1 to buffer_size of them.
          weights: float32 [n], above 0; equal ones may be a broadcast number.
        """
        if weights.strides == (0,) and len(values) <= LONGEST_PLANNED:
            ordered = np.sort(values)
            # False for NaN, too.
            if (ordered[1:] > ordered[:-1]).all():
                kept, plan = plan_block(
                    len(values), float(weights[0]), self.block_size, self.epsilon
                )
                summary = plan.copy()
                summary[:, _VALUE] = ordered.take(kept)
                self._carry(summary)
                return
        self.add(_summarize_values(values, weights))

    def _carry(self, summary: Any) -> None:
        level = 0
        while level < len(self.levels):
            kept = self.levels[level]
            summary = self._merge(summary, kept)
            if not len(kept) or len(summary) <= self.block_size + 1:
                self.levels[level] = summary
                return
            summary = self._compress(summary)
            self.levels[level] = _EMPTY
            level += 1
        self.levels.append(summary)

    def _merge(self, one: Any, other: Any) -> Any:
        return _merge(one, other)

    def _compress(self, summary: Any) -> Any:
        return _compress(summary, self.block_size, self.epsilon)

    def merge(self) -> np.ndarray:
        """Returns the summary of all that was added."""
        merged = _EMPTY
        for summary in self.levels:
            merged = self._merge(merged, summary)
        return merged


def summarize(values: np.ndarray, weights: np.ndarray, epsilon: float) -> np.ndarray:
    """Returns the summary of one batch of one feature.

    Args:
      values: float32 [batch].
      weights: float32 [batch], or [1] for the same weight of all. Rows without a positive weight
        are left out.
      epsilon: the error that is allowed, between 0 and 1.

    Returns:
      float32 [n, 4].
    """
    weights = np.broadcast_to(weights, values.shape)
    counted = weights > 0
    if not counted.all():
        values, weights = values[counted], weights[counted]
    levels = Levels(epsilon, len(counted) + 1)
    size = levels.buffer_size
    for start in range(0, len(values), size):
        part = slice(start, start + size)
        levels.add_values(values[part], weights[part])
    return levels.merge()


def _error_of(summary: np.ndarray) -> float:
    span = summary[:, _MAX_RANK] - summary[:, _MIN_RANK] - summary[:, _WEIGHT]
    before = summary[1:, _MAX_RANK] - summary[1:, _WEIGHT]
    after = summary[:-1, _MIN_RANK] + summary[:-1, _WEIGHT]
    gap = np.maximum(span[1:], before - after)
    return float(np.max(gap, initial=np.float32(0))) / float(summary[-1, _MAX_RANK])


def compute_boundaries(summaries: list[np.ndarray], epsilon: float, num_buckets: int) -> np.ndarray:
    """Returns the boundaries of the buckets of one feature.

    Args:
      summaries: the summaries of its batches, in their order.
      epsilon: the error that is allowed, between 0 and 1.
      num_buckets: how many boundaries there are at most.

    Returns:
      float32 [n], ascending. A value belongs to the first boundary that is not below it.
    """
    levels = Levels(epsilon, MAX_ELEMENTS)
    for summary in summaries:
        levels.add(summary)
    return select_boundaries(levels.merge(), num_buckets, num_buckets)


def select_boundaries(merged: np.ndarray, num_buckets: int, limit: Optional[int]) -> np.ndarray:
    """Returns the boundaries of the buckets of one feature.

    Args:
      merged: float32 [n, 4], the summary of all batches.
      num_buckets: how many boundaries are wanted.
      limit: how many there are at most; None for some more than wanted.

    Returns:
      float32 [n], ascending. A value belongs to the first boundary that is not below it.
    """
    if not len(merged):
        return np.zeros(0, np.float32)
    # In float32, because a gap may be as large as the error exactly.
    error = float(np.float32(_error_of(merged) + 1.0 / num_buckets))
    compressed = _compress(merged, num_buckets, error)
    if limit is not None:
        compressed = _limit(compressed, limit)
    return np.unique(compressed[:, _VALUE])


def _limit(summary: np.ndarray, size: int) -> np.ndarray:
    """Leaves out the inner values between whose neighbours the smallest weight lies."""
    surplus = len(summary) - size
    if surplus <= 0:
        return summary
    before = summary[2:, _MAX_RANK] - summary[2:, _WEIGHT]
    after = summary[:-2, _MIN_RANK] + summary[:-2, _WEIGHT]
    dropped = 1 + np.argsort(before - after, kind="stable")[:surplus]
    return np.delete(summary, dropped, axis=0)
