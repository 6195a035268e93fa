"""Summaries of many columns of numbers at once, equal to those of `quantiles.summarize`.

Where all rows have the same weight and no value occurs twice, the summaries of all columns have the
same length at each step, so one call of NumPy computes a step for all of them.
"""

import functools
from collections.abc import Sequence
from typing import Any, Optional

import numpy as np

from .quantiles import LONGEST_PLANNED, Levels, keep_evenly, plan_block, summarize

__all__ = ["summarize_columns"]

# The arrays of so many columns fit into the cache of a processor.
_COLUMNS = 32
# While keys are sorted, their lowest bits hold the numbers of the values.
_BITS = 24
_NUMBER = (1 << _BITS) - 1


class _Stack:
    """Summaries of the same length.

    Args:
      keys: int64 [columns, n], in the order of the values, whose bits they have above the lowest
        _BITS.
      ranks: complex64 [columns, n], the least sum of weights up to and including the value, and the
        greatest.
    """

    def __init__(self, keys: np.ndarray, ranks: np.ndarray):
        self.keys, self.ranks = keys, ranks

    def __len__(self) -> int:
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
    levels = _ColumnLevels(epsilon, batch, len(columns), weights[0])
    if levels.buffer_size > LONGEST_PLANNED:
        return None
    values = np.stack(columns)
    # A sum of -0 and 0 is 0, but the keys of both differ.
    levels.exclude((np.signbit(values) & (values == 0)).any(axis=1))
    for start in range(0, batch, levels.buffer_size):
        levels.add_columns(values[:, start : start + levels.buffer_size])
    return levels.split()


class _ColumnLevels(Levels):
    """Levels whose summaries are stacks.

    Args:
      epsilon: the error that is allowed.
      batch: the number of rows.
      columns: the number of columns.
      weight: float32, the weight of each row.
    """

    def __init__(self, epsilon: float, batch: int, columns: int, weight: np.float32):
        super().__init__(epsilon, batch + 1)
        self._weight = weight
        self._excluded = np.zeros(columns, bool)

    def exclude(self, columns: np.ndarray) -> None:
        """Leaves columns out: bool [columns]."""
        self._excluded |= columns

    def add_columns(self, values: np.ndarray) -> None:
        """Adds the summaries of float32 [columns, n] values."""
        ordered = np.sort(values, axis=1)
        # False for NaN, too.
        self.exclude(~(ordered[:, 1:] > ordered[:, :-1]).all(axis=1))
        kept, plan = plan_block(
            ordered.shape[1], float(self._weight), self.block_size, self.epsilon
        )
        ranks = np.ascontiguousarray(plan[:, 2:]).view(np.complex64).T
        ranks = np.broadcast_to(ranks, (len(ordered), len(plan)))
        self._carry(_Stack(_encode(ordered.take(kept, axis=1)), ranks))

    def _merge(self, one: Any, other: Any) -> Any:
        if not len(one) or not len(other):
            return one if len(one) else other
        size = len(one) + len(other)
        keys = np.concatenate([one.keys, other.keys], axis=1)
        keys += np.arange(size)
        keys.sort(axis=1)
        number = keys & _NUMBER
        keys -= number
        self.exclude((keys[:, 1:] == keys[:, :-1]).any(axis=1))
        # Where, in `added`, stands what the other summary adds to each value. This depends on how
        # many values of the other one are smaller. What `other` adds comes first.
        before = np.arange(size) - number
        before += (number >= len(one)) * (size + 1)
        before += _first_of_rows(len(keys), size + 2)
        number += _first_of_rows(len(keys), size)
        ranks = np.concatenate([one.ranks, other.ranks], axis=1).ravel().take(number)
        added = [self._weigh_before(other), self._weigh_before(one)]
        ranks += np.concatenate(added, axis=1).ravel().take(before)
        return _Stack(keys, ranks)

    def _weigh_before(self, stack: _Stack) -> np.ndarray:
        """Returns what summaries add to values that they lack, complex64 [columns, n + 1].

        The second index is the number of a summary's values that are smaller.
        """
        added = np.zeros((len(stack.keys), len(stack) + 1), np.complex64)
        added.real[:, 1:] = stack.ranks.real + self._weight
        added.imag[:, :-1] = stack.ranks.imag - self._weight
        added.imag[:, -1] = stack.ranks.imag[:, -1]
        return added

    def _compress(self, stack: Any) -> Any:
        if len(stack) <= self.block_size:
            return stack
        ends = stack.ranks.imag[:, -1:].astype(np.float64)
        allowed = ends * max(1.0 / self.block_size, self.epsilon)
        kept, passes = keep_evenly(len(stack), self.block_size)
        highest = stack.ranks.imag - self._weight
        if (highest[:, 1:] < highest[:, :-1]).any():
            highest = np.maximum.accumulate(highest, axis=1)
        gaps = highest.take(kept[1:][passes], axis=1)
        gaps -= stack.ranks.real.take(kept[:-1][passes], axis=1) + self._weight
        self.exclude((gaps > allowed).any(axis=1))
        return _Stack(stack.keys.take(kept, axis=1), stack.ranks.take(kept, axis=1))

    def split(self) -> list[Optional[np.ndarray]]:
        """Returns the summaries, float32 [n, 4]; None for columns that were left out."""
        merged: Any = self.merge()
        values = _decode(merged.keys)
        weights = np.full_like(values, self._weight)
        table = np.stack([values, weights, merged.ranks.real, merged.ranks.imag], axis=2)
        return [None if left_out else one for left_out, one in zip(self._excluded, table)]


@functools.lru_cache
def _first_of_rows(rows: int, size: int) -> np.ndarray:
    return np.arange(0, rows * size, size)[:, np.newaxis]


def _encode(values: np.ndarray) -> np.ndarray:
    bits = values.view(np.int32)
    ordered = np.where(bits < 0, bits ^ np.int32(0x7FFFFFFF), bits)
    return ordered.astype(np.int64) << _BITS


def _decode(keys: np.ndarray) -> np.ndarray:
    ordered = (keys >> _BITS).astype(np.int32)
    return np.where(ordered < 0, ordered ^ np.int32(0x7FFFFFFF), ordered).view(np.float32)
