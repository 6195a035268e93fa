"""Keeps the sums of trees that have ended for each row, so that no tree is walked twice by a row.

Rows are known again by their buckets: rows with the same buckets have the same logits.
"""

from typing import Any

import numpy as np

from .forest import Content, Walk, descend

__all__ = ["RowCache"]

_SMALLEST, _LARGEST = 1 << 14, 1 << 24
_PROBES = 8
# Multiplies a key so that its upper bits, which choose the slot, depend on all bits.
_SPREAD = np.uint64(0x9E3779B97F4A7C15)


class RowCache:
    """A table of rows, open-addressed; it doubles up to 16 million rows, and then takes no more.

    Each row has a key of 64 bits, a sum of products modulo 2^64. Two of a million different rows
    have the same key with a probability below 1e-6.

    Args:
      logits: the number of logits.
    """

    def __init__(self, logits: int):
        self._logits = logits
        self._trees: list[bytes] = []
        self._factors = np.zeros(0, np.uint64)
        self._clear(_SMALLEST)

    def _clear(self, capacity: int) -> None:
        self._count = 0
        # Of an empty slot, the key is 0.
        self._keys = np.zeros(capacity, np.uint64)
        self._num_summed = np.zeros(capacity, np.int32)
        self._sums = np.zeros((capacity, self._logits), np.float32)

    def walk(self, content: Content, features: np.ndarray) -> Walk:
        """Lets rows walk the trees in which they were not yet, and the last tree.

        The leaves are added tree by tree, so the sums are those of a walk of all trees.

        Args:
          content: the ensemble; all trees but the last one have ended.
          features: int [features, batch], the bucket of each feature.
        """
        trees, batch = content.trees, features.shape[1]
        ended = max(len(trees) - 1, 0)
        if self._trees != trees[: len(self._trees)]:
            self._clear(_SMALLEST)
        self._trees = trees[:ended]
        slots = self._find(self._compute_keys(features))
        known = slots >= 0
        sums = np.where(known[:, np.newaxis], self._sums[slots], np.float32(0))
        num_summed = np.where(known, self._num_summed[slots], 0)
        for tree in range(int(num_summed.min(initial=ended)), ended):
            rows = np.flatnonzero(num_summed <= tree)
            sums[rows] += self._read_leaves(content, tree, features, rows)[0]
        self._sums[slots[known]] = sums[known]
        self._num_summed[slots[known]] = ended
        if not trees:
            return Walk(sums, np.zeros(batch, np.int32), np.zeros(batch, np.int32))
        leaves, nodes = self._read_leaves(content, ended, features, np.arange(batch))
        return Walk(sums + leaves, np.full(batch, ended, np.int32), nodes.astype(np.int32))

    @staticmethod
    def _read_leaves(content: Content, tree: int, features: np.ndarray, rows: np.ndarray) -> Any:
        forest = content.forest
        root = forest.roots[tree]
        end = descend(content.paths, features, rows, np.full(len(rows), root, np.intp))
        return forest.weights[tree] * forest.leaf[end], end - root

    def _compute_keys(self, features: np.ndarray) -> np.ndarray:
        if len(self._factors) != len(features):
            random = np.random.default_rng(len(features))
            self._factors = random.integers(1 << 63, size=len(features), dtype=np.uint64) * 2 + 1
        keys = np.ones(features.shape[1], np.uint64)
        for factor, buckets in zip(self._factors, features):
            keys += factor * buckets.astype(np.uint64)
        keys[keys == 0] = 1
        return keys

    def _find(self, keys: np.ndarray) -> np.ndarray:
        """Returns the slot of each key, int [batch]; -1 for those that find no place."""
        if self._count + len(keys) > len(self._keys) // 2 and len(self._keys) < _LARGEST:
            self._enlarge(len(keys))
        return self._place(keys)

    def _place(self, keys: np.ndarray) -> np.ndarray:
        capacity = len(self._keys)
        shift = np.uint64(64 - capacity.bit_length() + 1)
        first = ((keys * _SPREAD) >> shift).astype(np.intp)
        slots = np.full(len(keys), -1, np.intp)
        pending = np.arange(len(keys))
        for probe in range(_PROBES):
            place = (first[pending] + probe) & (capacity - 1)
            empty = self._keys[place] == 0
            # Of several keys for one place, the last gets it; the others go on.
            self._keys[place[empty]] = keys[pending[empty]]
            found = self._keys[place] == keys[pending]
            slots[pending[found]] = place[found]
            self._count += len(np.unique(place[empty]))
            pending = pending[~found]
            if not len(pending):
                break
        return slots

    def _enlarge(self, extra: int) -> None:
        used = np.flatnonzero(self._keys)
        keys, num_summed, sums = self._keys[used], self._num_summed[used], self._sums[used]
        capacity = len(self._keys)
        while capacity < min(2 * (self._count + extra), _LARGEST):
            capacity *= 2
        self._clear(capacity)
        slots = self._place(keys)
        kept = slots >= 0
        self._num_summed[slots[kept]] = num_summed[kept]
        self._sums[slots[kept]] = sums[kept]
