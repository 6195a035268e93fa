"""Keeps the buckets and the place of each row that is known by its number.

Where batches are made of rows of arrays, a row has the same buckets each time it comes, and has
gone as far in the tree that grows as it had when it last came.
"""

from typing import Any, Optional

import numpy as np

from .forest import Content, Forest, Walk, descend

__all__ = ["RowTable", "find_span"]


def find_span(rows: np.ndarray) -> Optional[slice]:
    """Returns a slice of the rows that have these numbers; None if they do not follow each other.

    Args:
      rows: int64 [batch], the numbers.
    """
    if len(rows) and rows[-1] - rows[0] == len(rows) - 1 and (np.diff(rows) == 1).all():
        return slice(int(rows[0]), int(rows[-1]) + 1)
    return None


class RowTable:
    """The rows of a session.

    Args:
      num_features: how many features a row has.
      num_rows: how many rows there are.
      logits: the number of logits.
      dtype: of the buckets.
    """

    def __init__(self, num_features: int, num_rows: int, logits: int, dtype: Any):
        self._shape, self._logits, self._dtype = (num_features, num_rows), logits, dtype
        self.clear()

    def clear(self) -> None:
        """Forgets everything, at the start of a session."""
        num_rows = self._shape[1]
        # Of a row that did not come yet, nothing is read.
        self._buckets = np.empty(self._shape, self._dtype)
        self._is_known = np.zeros(num_rows, bool)
        self._forget_places()

    def _forget_places(self) -> None:
        num_rows = self._shape[1]
        self._trees: list[bytes] = []
        self._last: Optional[Forest] = None
        self._num_summed = np.zeros(num_rows, np.int32)
        self._sums = np.zeros((num_rows, self._logits), np.float32)
        self._nodes = np.zeros(num_rows, np.int32)

    def knows(self, rows: np.ndarray) -> np.bool_:
        """Returns whether the buckets of all rows are known.

        Args:
          rows: int64 [batch], the numbers of rows.
        """
        return np.bool_(self._is_known.take(rows).all())

    def keep(self, rows: np.ndarray, buckets: np.ndarray) -> np.bool_:
        """Keeps the buckets of rows.

        Args:
          rows: int64 [batch], the numbers of rows.
          buckets: [features, batch].
        """
        self._buckets[:, rows] = buckets
        self._is_known[rows] = True
        return np.bool_(True)

    def read(self, rows: np.ndarray) -> np.ndarray:
        """Returns the buckets of rows: [features, batch].

        Args:
          rows: int64 [batch], the numbers of rows.
        """
        span = find_span(rows)
        return self._buckets.take(rows, axis=1) if span is None else self._buckets[:, span]

    def walk(self, content: Content, rows: np.ndarray) -> Walk:
        """Lets rows walk the trees that have ended since they came, and the rest of the last tree.

        The leaves are added tree by tree, so the sums are those of a walk of all trees.

        Args:
          content: the ensemble.
          rows: int64 [batch], the numbers of rows; nothing else is known before the first tree.
        """
        forest, trees, batch = content.forest, content.trees, len(rows)
        ended = max(len(trees) - 1, 0)
        if self._trees != trees[: len(self._trees)] or not self._has_grown(forest):
            self._forget_places()
        self._trees, self._last = trees[:ended], forest
        if not trees:
            nothing = np.zeros(batch, np.int32)
            return Walk(np.zeros((batch, self._logits), np.float32), nothing, nothing)
        sums: Any = self._sums.take(rows, axis=0)
        num_summed: Any = self._num_summed.take(rows)
        first = int(num_summed.min()) if batch else ended
        for tree in range(first, ended):
            behind = np.flatnonzero(num_summed <= tree)
            end = self._descend(forest, tree, rows[behind], np.int32(0))
            sums[behind] += forest.weights[tree] * forest.leaf.take(end, axis=0)
        starts: Any = self._nodes.take(rows)
        if first < ended:
            self._sums[rows], self._num_summed[rows] = sums, ended
            # The nodes of other rows are those of an earlier tree.
            starts = np.where(num_summed == ended, starts, np.int32(0))
        end = self._descend(forest, ended, rows, starts)
        nodes = end - forest.roots[ended]
        self._nodes[rows] = nodes
        sums += forest.weights[ended] * forest.leaf.take(end, axis=0)
        return Walk(sums, np.full(batch, ended, np.int32), nodes)

    def _descend(self, forest: Forest, tree: int, rows: np.ndarray, starts: Any) -> np.ndarray:
        nodes = np.broadcast_to(forest.roots[tree] + starts, rows.shape)
        return descend(forest, self._buckets, rows, nodes)

    def _has_grown(self, forest: Forest) -> bool:
        """Returns whether a tree that grows has all nodes that it had."""
        last = self._last
        if last is None or last is forest:
            return True
        if len(forest.roots) != len(last.roots):
            # Nobody goes on from a node of a tree that has ended.
            return len(forest.roots) > len(last.roots)
        if len(forest.left) < len(last.left):
            return False
        split = np.flatnonzero(last.left != np.arange(len(last.left)))
        return all(
            np.array_equal(now[split], before[split]) for now, before in zip(forest[2:8], last[2:8])
        )
