"""Counts the pairs of values in two columns, in bounded memory."""

import numpy as np

# Maximum number of distinct pairs. Of more, every second pair is dropped, and its weight is
# distributed over the others.
MAX_PAIRS = 1 << 20


class WeightedCounts:
    """Sums of weights by pairs of numbers.

    Args:
        limit: number of distinct pairs beyond which pairs are dropped, evenly over their values.
    """

    def __init__(self, limit: int = MAX_PAIRS):
        self._limit = limit
        self._parts: list[tuple[np.ndarray, np.ndarray]] = []
        self._num_held = 0

    def add(self, first: np.ndarray, second: np.ndarray, weights: np.ndarray) -> None:
        """Adds rows.

        Args:
            first: first number of each pair, [rows].
            second: second number of each pair, [rows].
            weights: weight of each row, [rows].
        """
        # Store pairs as complex numbers, which np.unique sorts and compares by both parts.
        pairs = np.empty(len(first), np.complex128)
        pairs.real, pairs.imag = first, second
        distinct, places = np.unique(pairs, return_inverse=True)
        self._parts.append((distinct, np.bincount(places.reshape(-1), weights, len(distinct))))
        self._num_held += len(distinct)
        if self._num_held > 2 * self._limit:
            self._merge()

    def _merge(self) -> None:
        distinct, places = np.unique(
            np.concatenate([pairs for pairs, _ in self._parts]), return_inverse=True
        )
        weights = np.concatenate([weights for _, weights in self._parts])
        weights = np.bincount(places.reshape(-1), weights, len(distinct))
        while len(distinct) > self._limit:
            total = weights.sum()
            distinct, weights = distinct[::2], weights[::2]
            weights = weights * (total / weights.sum())
        self._parts, self._num_held = [(distinct, weights)], len(distinct)

    def get(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Returns the first numbers, the second numbers and the weights of the distinct pairs.

        Returns:
            three arrays, float64 [pairs].
        """
        if not self._parts:
            return np.zeros(0), np.zeros(0), np.zeros(0)
        self._merge()
        ((pairs, weights),) = self._parts
        return pairs.real.copy(), pairs.imag.copy(), weights
