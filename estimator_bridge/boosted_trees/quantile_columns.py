"""Summaries of many columns of numbers at once, equal to those of `quantiles.summarize`.

Where all rows have the same weight and no value occurs twice, the summaries of all columns have the
same length at each step, so one call of NumPy computes a step for all of them.
"""

import functools
from collections.abc import Sequence
from typing import NamedTuple, Optional

import numpy as np

from .quantiles import LONGEST_PLANNED, Levels, keep_evenly, plan_block, summarize

__all__ = ["summarize_columns"]

# So many columns at once stay in the cache of a processor.
_COLUMNS = 32
# A key has the number of its value in the lower bits while values are sorted.
_BITS = 24
_NUMBER = (1 << _BITS) - 1


class _Stack(NamedTuple):
    """Summaries of the same length, each array [columns, n].

    Attributes:
      keys: int64, in the order of the values, whose bits they have above the lowest _BITS.
      ranks: complex64, the least sum of weights up to and including the value, and the greatest.
    """

    keys: np.ndarray
    ranks: np.ndarray

    @property
    def size(self) -> int:
        return self.keys.shape[1]


def summarize_columns(
    columns: Sequence[np.ndarray], weights: np.ndarray, epsilon: float
) -> list[np.ndarray]:
    """Returns the summaries of one batch of each column.

    Args:
      columns: float32 [batch] each.
      weights: float32 [batch], or [1] for the same weight of all. Rows without a positive weight
        are left out.
      epsilon: the error that is allowed, between 0 and 1.

    Returns:
      float32 [n, 4] for each column: value, weight, least and greatest sum of weights up to and
      including it.
    """
    found: list[np.ndarray] = []
    for first in range(0, len(columns), _COLUMNS):
        some = columns[first : first + _COLUMNS]
        stacked = _summarize_stack(some, weights, epsilon) if len(some) > 1 else None
        for number, values in enumerate(some):
            summary = stacked[number] if stacked else None
            found.append(summarize(values, weights, epsilon) if summary is None else summary)
    return found


def _summarize_stack(
    columns: Sequence[np.ndarray], weights: np.ndarray, epsilon: float
) -> Optional[list[Optional[np.ndarray]]]:
    """Returns the summaries of the columns that can be computed together, None for the others."""
    batch = len(columns[0])
    if weights.shape != (1,) or not weights[0] > 0 or not batch:
        return None
    building = _Building(epsilon, batch, len(columns), float(weights[0]))
    size = building.levels.buffer_size
    if size > LONGEST_PLANNED:
        return None
    # Of -0, which is 0 once it was added to something, the key would be another.
    values = np.stack(columns)
    building.exclude((np.signbit(values) & (values == 0)).any(axis=1))
    for start in range(0, batch, size):
        building.add_values(values[:, start : start + size])
    return building.finish()


class _Building:
    """Summaries of columns, which are merged as `quantiles.Levels` merges those of one.

    Args:
      epsilon: the error that is allowed.
      batch: the number of rows.
      columns: the number of columns.
      weight: the weight of each row.
    """

    def __init__(self, epsilon: float, batch: int, columns: int, weight: float):
        self.levels = Levels(epsilon, batch + 1)
        self._weight = np.float32(weight)
        self._excluded = np.zeros(columns, bool)
        self._stacks: list[Optional[_Stack]] = []

    def exclude(self, columns: np.ndarray) -> None:
        """Leaves columns out: bool [columns]."""
        self._excluded |= columns

    def add_values(self, values: np.ndarray) -> None:
        """Adds the summaries of float32 [columns, n] values."""
        ordered = np.sort(values, axis=1)
        # False for NaN, too.
        self.exclude(~(ordered[:, 1:] > ordered[:, :-1]).all(axis=1))
        kept, plan = plan_block(
            ordered.shape[1], float(self._weight), self.levels.block_size, self.levels.epsilon
        )
        ranks = np.broadcast_to(_join(plan[:, 2], plan[:, 3]), (len(ordered), len(plan)))
        self._carry(_Stack(_encode(ordered.take(kept, axis=1)), ranks))

    def _carry(self, stack: _Stack) -> None:
        level = 0
        while level < len(self._stacks):
            kept = self._stacks[level]
            if kept is not None:
                stack = self._merge(stack, kept)
            if kept is None or stack.size <= self.levels.block_size + 1:
                self._stacks[level] = stack
                return
            stack = self._compress(stack)
            self._stacks[level] = None
            level += 1
        self._stacks.append(stack)

    def _merge(self, one: _Stack, other: _Stack) -> _Stack:
        size = one.size + other.size
        keys = np.concatenate([one.keys, other.keys], axis=1)
        keys += np.arange(size)
        keys.sort(axis=1)
        number = keys & _NUMBER
        keys -= number
        self.exclude((keys[:, 1:] == keys[:, :-1]).any(axis=1))
        # How many values of the other summary are before each value, whose sums it gets. Those of
        # `one` come after those of `other`.
        before = np.arange(size) - number
        before += (number >= one.size) * (size + 1)
        before += _first_of_rows(len(keys), size + 2)
        number += _first_of_rows(len(keys), size)
        ranks = np.concatenate([one.ranks, other.ranks], axis=1).ravel().take(number)
        added = [self._weigh_before(other), self._weigh_before(one)]
        ranks += np.concatenate(added, axis=1).ravel().take(before)
        return _Stack(keys, ranks)

    def _weigh_before(self, stack: _Stack) -> np.ndarray:
        """Returns what summaries add to values that they lack, complex64 [columns, n + 1].

        The place is the number of smaller values.
        """
        added = np.zeros((len(stack.keys), stack.size + 1), np.complex64)
        added.real[:, 1:] = stack.ranks.real + self._weight
        added.imag[:, :-1] = stack.ranks.imag - self._weight
        added.imag[:, -1] = stack.ranks.imag[:, -1]
        return added

    def _compress(self, stack: _Stack) -> _Stack:
        size_hint = max(self.levels.block_size, 2)
        if stack.size <= size_hint:
            return stack
        ends = stack.ranks.imag[:, -1:].astype(np.float64)
        allowed = ends * max(1.0 / size_hint, self.levels.epsilon)
        kept, passes = keep_evenly(stack.size, size_hint)
        highest = stack.ranks.imag - self._weight
        if (highest[:, 1:] < highest[:, :-1]).any():
            highest = np.maximum.accumulate(highest, axis=1)
        gaps = highest.take(kept[1:][passes], axis=1)
        gaps -= stack.ranks.real.take(kept[:-1][passes], axis=1) + self._weight
        self.exclude((gaps > allowed).any(axis=1))
        return _Stack(*(array.take(kept, axis=1) for array in stack))

    def finish(self) -> list[Optional[np.ndarray]]:
        """Returns the summaries, float32 [n, 4]; None for columns that were left out."""
        merged: Optional[_Stack] = None
        for stack in self._stacks:
            if stack is not None:
                merged = stack if merged is None else self._merge(merged, stack)
        assert merged is not None
        values = _decode(merged.keys)
        weights = np.full_like(values, self._weight)
        table = np.stack([values, weights, merged.ranks.real, merged.ranks.imag], axis=2)
        return [None if left_out else one for left_out, one in zip(self._excluded, table)]


@functools.lru_cache
def _first_of_rows(rows: int, size: int) -> np.ndarray:
    return np.arange(0, rows * size, size)[:, np.newaxis]


def _join(least: np.ndarray, most: np.ndarray) -> np.ndarray:
    joined = np.empty(least.shape, np.complex64)
    joined.real, joined.imag = least, most
    return joined


def _encode(values: np.ndarray) -> np.ndarray:
    bits = values.view(np.int32)
    ordered = np.where(bits < 0, bits ^ np.int32(0x7FFFFFFF), bits)
    return ordered.astype(np.int64) << _BITS


def _decode(keys: np.ndarray) -> np.ndarray:
    ordered = (keys >> _BITS).astype(np.int32)
    return np.where(ordered < 0, ordered ^ np.int32(0x7FFFFFFF), ordered).view(np.float32)
