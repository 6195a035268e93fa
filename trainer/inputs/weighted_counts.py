"""Rows of a few columns counted by their values: a size that does not grow with the rows."""

import numpy as np

# Different rows that are told apart; of more, every other one stands for two.
MAX_DIFFERENT = 1 << 20


class WeightedCounts:
    """Weights of pairs of numbers.

    Args:
        limit: different pairs from which on they are thinned out, evenly over their values.
    """

    def __init__(self, limit: int = MAX_DIFFERENT):
        self._limit = limit
        self._parts: list[tuple[np.ndarray, np.ndarray]] = []
        self._held = 0

    def add(self, first: np.ndarray, second: np.ndarray, weights: np.ndarray) -> None:
        """Adds rows: two numbers and a weight each, [rows]."""
        pairs = np.empty(len(first), np.complex128)
        pairs.real, pairs.imag = first, second
        different, places = np.unique(pairs, return_inverse=True)
        self._parts.append((different, np.bincount(places.reshape(-1), weights, len(different))))
        self._held += len(different)
        if self._held > 2 * self._limit:
            self._merge()

    def _merge(self) -> None:
        different, places = np.unique(
            np.concatenate([pairs for pairs, _ in self._parts]), return_inverse=True
        )
        weights = np.concatenate([weights for _, weights in self._parts])
        weights = np.bincount(places.reshape(-1), weights, len(different))
        while len(different) > self._limit:
            total = weights.sum()
            different, weights = different[::2], weights[::2]
            weights = weights * (total / weights.sum())
        self._parts, self._held = [(different, weights)], len(different)

    def get(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The different pairs, and the weight of all rows that are alike; float64 [pairs] each."""
        if not self._parts:
            return np.zeros(0), np.zeros(0), np.zeros(0)
        self._merge()
        ((pairs, weights),) = self._parts
        return pairs.real.copy(), pairs.imag.copy(), weights
