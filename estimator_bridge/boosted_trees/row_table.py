"""Keeps the buckets and the place of each row that is known by its number.

Where batches are made of rows of arrays, a row has the same buckets each time it comes, and has
gone as far in the tree that grows as it had when it last came.
"""

from typing import Any, Optional

import numpy as np

from .forest import Content, Forest, Walk, descend

__all__ = ["RowTable", "find_rows"]


def find_rows(numbers: np.ndarray) -> Any:
    """Returns an index of rows; a slice, which copies nothing, if they follow each other.

    Args:
      numbers: int64 [batch], the numbers of the rows.
    """
    size = len(numbers)
    # The first comparison is the faster one.
    if size and numbers[-1] - numbers[0] == size - 1 and (numbers[1:] > numbers[:-1]).all():
        return slice(int(numbers[0]), int(numbers[-1]) + 1)
    return numbers


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
        # Of a row that did not come yet, nothing is read.
        self._buckets = np.empty(self._shape, self._dtype)
        self._is_known = np.zeros(self._shape[1], bool)
        self._forget_places()

    def _forget_places(self) -> None:
        num_rows = self._shape[1]
        self._trees: list[bytes] = []
        self._last: Optional[Forest] = None
        self._num_summed = np.zeros(num_rows, np.int32)
        self._sums = np.zeros((num_rows, self._logits), np.float32)
        self._nodes = np.zeros(num_rows, np.int32)

    def knows(self, index: Any) -> bool:
        """Returns whether the buckets of all rows are known.

        Args:
          index: of `find_rows`.
        """
        return bool(self._is_known[index].all())

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
        return self._buckets[:, find_rows(rows)]

    def walk(self, content: Content, rows: np.ndarray, index: Any) -> Walk:
        """Lets rows walk on: to the end of the tree in which they were, and through the later ones.

        The leaves are added tree by tree, so the sums are those of a walk of all trees.

        Args:
          content: the ensemble.
          rows: int64 [batch], the numbers of rows; nothing else is known before the first tree.
          index: of `find_rows`.
        """
        forest, trees, batch = content.forest, content.trees, len(rows)
        ended = max(len(trees) - 1, 0)
        if self._trees != trees[:ended][: len(self._trees)]:
            self._forget_places()
        elif not self._has_grown(forest):
            self._nodes[:] = 0
        self._trees, self._last = trees[:ended], forest
        if not trees:
            nothing = np.zeros(batch, np.int32)
            return Walk(np.zeros((batch, self._logits), np.float32), nothing, nothing)
        sums, num_summed, starts = self._sums[index], self._num_summed[index], self._nodes[index]
        first = int(num_summed.min()) if batch else ended
        if first < ended:
            sums, starts = sums.copy(), starts.copy()
            for tree in range(first, ended):
                behind = np.flatnonzero(num_summed <= tree)
                end = self._descend(content, tree, rows[behind], starts[behind])
                sums[behind] += forest.weights[tree] * forest.leaf.take(end, axis=0)
                starts[behind] = 0
            self._sums[index], self._num_summed[index] = sums, ended
        end = self._descend(content, ended, rows, starts)
        nodes = (end - forest.roots[ended]).astype(np.int32)
        self._nodes[index] = nodes
        sums = sums + forest.weights[ended] * forest.leaf.take(end, axis=0)
        return Walk(sums, np.full(batch, ended, np.int32), nodes)

    def _descend(self, content: Content, tree: int, rows: np.ndarray, nodes: np.ndarray) -> Any:
        root = np.intp(content.forest.roots[tree])
        return descend(content.paths, self._buckets, rows, nodes + root)

    def _has_grown(self, forest: Forest) -> bool:
        """Returns whether the last tree still has all nodes that it had."""
        last = self._last
        if last is None or last is forest:
            return True
        if len(forest.left) < len(last.left):
            return False
        split = np.flatnonzero(last.left != np.arange(len(last.left)))
        return all(
            np.array_equal(now[split], before[split]) for now, before in zip(forest[2:8], last[2:8])
        )
