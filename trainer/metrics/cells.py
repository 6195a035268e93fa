"""Exact sums by key, which depend neither on the order of rows nor on how they are divided.

A number is cut into whole multiples of descending units, each below 2**32 of its unit; of each unit
the multiples are added as integers, so that no addition rounds.
"""

from collections.abc import Callable
from typing import Any, Optional

import numpy as np

# What is beyond the first unit times 2**31, or below half of the last, is rounded to it.
UNITS = tuple(2.0**exponent for exponent in (64, 32, 0, -32, -64))
WHOLE = (1.0,)
LARGEST = 2.0**94
# Fewer keys than this wait to be reduced.
WAITING = 1 << 14


def to_limbs(values: np.ndarray, units: tuple[float, ...] = UNITS) -> np.ndarray:
    """Returns the multiples of the units, int64 [rows, columns * units].

    Args:
        values: float64 [rows, columns], finite.
        units: powers of two, descending.
    """
    rest = np.clip(values, -LARGEST, LARGEST)
    limbs = np.empty((*values.shape, len(units)), np.int64)
    for number, unit in enumerate(units):
        multiple = np.rint(rest / unit)
        rest = rest - multiple * unit
        limbs[..., number] = multiple
    return limbs.reshape(len(values), -1)


def to_floats(limbs: np.ndarray, units: tuple[float, ...] = UNITS) -> np.ndarray:
    """Returns the numbers, float64 [rows, columns].

    Args:
        limbs: of `to_limbs`, or sums of them.
        units: as there.
    """
    parts = limbs.reshape(len(limbs), -1, len(units)).astype(np.float64)
    total = np.zeros(parts.shape[:2])
    # The largest last, so that the digits of the others are not lost before.
    for number in reversed(range(len(units))):
        total += parts[..., number] * units[number]
    return total


class Cells:
    """Sums of integers by key, of which only keys that occur take memory."""

    def __init__(self) -> None:
        self._parts: list[tuple[np.ndarray, np.ndarray]] = []
        self._held = self._limit = 0

    def __getstate__(self) -> dict[str, Any]:
        # What is sent to another process is small.
        self.get()
        return self.__dict__

    def add(self, keys: np.ndarray, limbs: np.ndarray) -> None:
        """Adds rows.

        Args:
            keys: int64 [rows], not negative.
            limbs: int64 [rows, columns].
        """
        self._put(*reduce(keys, limbs))

    def _put(self, keys: np.ndarray, limbs: np.ndarray) -> None:
        self._parts.append((keys, limbs))
        self._held += len(keys)

    def is_full(self) -> bool:
        """Whether the keys have become twice as many, and so should be reduced."""
        return self._held > max(self._limit, WAITING)

    def merge(self, other: "Cells", rename: Callable[[np.ndarray], np.ndarray]) -> None:
        """Adds the sums of other rows.

        Args:
            other: must not be used afterwards.
            rename: returns the keys here of keys there.
        """
        for keys, limbs in other._parts:
            self._put(rename(keys), limbs)

    def rename(self, rename: Callable[[np.ndarray], np.ndarray]) -> None:
        """Changes keys; the sums of those that become equal are added.

        Args:
            rename: returns the new keys of keys.
        """
        self._parts = [(rename(keys), limbs) for keys, limbs in self._parts]

    def get(self) -> Optional[tuple[np.ndarray, np.ndarray]]:
        """Returns the keys, ascending, and their sums; None without any row.

        Returns:
            int64 [keys], and int64 [keys, columns].
        """
        if not self._parts:
            return None
        keys, limbs = (np.concatenate(arrays) for arrays in zip(*self._parts))
        self._parts = [reduce(keys, limbs)]
        self._held = len(self._parts[0][0])
        self._limit = 2 * self._held
        return self._parts[0]


def reduce(keys: np.ndarray, limbs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Returns the different keys, ascending, and the sums of their rows.

    Args:
        keys: int64 [rows], not negative.
        limbs: int64 [rows, columns].

    Returns:
        int64 [keys], and int64 [keys, columns].
    """
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    starts = np.flatnonzero(np.diff(ordered, prepend=-1))
    return ordered[starts], np.add.reduceat(limbs[order], starts, axis=0)
