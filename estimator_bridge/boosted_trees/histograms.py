"""Sums of gradients and hessians by node and bucket, for each feature."""

from collections.abc import Sequence
from typing import Any, Optional

import numpy as np

__all__ = ["LayerSums"]


class LayerSums:
    """Adds up the sums of the batches of a layer, within one process.

    Those of a batch are taken in float64, row by row, and rounded once: so did TensorFlow, and
    whether a gain is above zero depends on these roundings. Like TensorFlow's accumulators, it adds
    the rounded sums of the batches in float32, one after the other, and gives their mean. It keeps
    those of the layer's nodes only.

    Args:
      groups: columns.Group of the features that have one number of buckets.
    """

    def __init__(self, groups: Sequence[Any]):
        self._groups = groups
        self.clear()

    def clear(self) -> None:
        """Forgets all batches."""
        self._count = self._width = 0
        # For each group float32 [features, pairs, nodes * (buckets + 1), 2].
        self._sums: list[np.ndarray] = []

    def add(
        self,
        node_ids: np.ndarray,
        node_range: np.ndarray,
        statistics: Sequence[np.ndarray],
        features: np.ndarray,
    ) -> np.int64:
        """Adds a batch, and returns how many there are.

        Args:
          node_ids: int32 [batch], the node in which each row is.
          node_range: int [2], the first node of the layer, and the one after the last; rows of
            earlier nodes do not count.
          statistics: the gradients and the hessians of each row, float32 [batch, n] both.
          features: int [features, batch], the bucket of each feature; -1 is a missing value.
        """
        first, end = node_range.tolist()
        numbers = [column for one in statistics for column in one.T]
        self._width = len(numbers)
        # Two statistics are added as one complex number, in half the time.
        pairs = np.zeros((-(-self._width // 2), len(node_ids)), np.complex128)
        for position, column in enumerate(numbers):
            (pairs.imag if position % 2 else pairs.real)[position // 2] = column
        # The rows of earlier nodes get a node of their own, the first one.
        nodes = node_ids.astype(np.intp)
        nodes -= first - 1
        np.maximum(nodes, 0, out=nodes)
        is_missing = features.min(initial=0) < 0
        for number, group in enumerate(self._groups):
            chosen = [features[feature] for feature in group.feature_ids]
            if is_missing:
                chosen = [np.where(one < 0, group.num_buckets, one) for one in chosen]
            self._add_group(number, nodes * (group.num_buckets + 1), end - first, pairs, chosen)
        self._count += 1
        return np.int64(self._count)

    def _add_group(
        self,
        number: int,
        first_cells: np.ndarray,
        num_nodes: int,
        pairs: np.ndarray,
        features: Sequence[np.ndarray],
    ) -> None:
        """Adds a batch of the features of a group.

        Args:
          number: of the group.
          first_cells: int [batch], the cell of the first bucket of each row's node.
          num_nodes: the number of the layer's nodes.
          pairs: complex128 [pairs, batch].
          features: for each feature int [batch], the bucket, the last one for a missing value.
        """
        width = self._groups[number].num_buckets + 1
        size = num_nodes * width
        rounded: Optional[np.ndarray] = None
        if self._count:
            rounded = np.empty((size, 2), np.float32)
        else:
            self._sums.append(np.empty((len(features), len(pairs), size, 2), np.float32))
        cells = np.empty(len(first_cells), np.intp)
        summed = np.empty(width + size, np.complex128)
        of_layer = summed[width:].view(np.float64).reshape(size, 2)
        for feature, totals in zip(features, self._sums[number]):
            np.copyto(cells, feature)
            cells += first_cells
            for total, values in zip(totals, pairs):
                summed.fill(0)
                # Unlike np.add.reduceat and a sort, it adds row by row.
                np.add.at(summed, cells, values)
                if rounded is None:
                    total[:] = of_layer
                else:
                    rounded[:] = of_layer
                    total += rounded

    def take(self) -> list[np.ndarray]:
        """Returns the mean of the batches, and forgets them.

        Returns:
          for each group float32 [features, nodes, buckets + 1, n].
        """
        means = []
        for group, sums in zip(self._groups, self._sums):
            mean = np.moveaxis(sums / np.float32(self._count), 1, 2)
            shape = (len(sums), -1, group.num_buckets + 1, 2 * sums.shape[1])
            means.append(np.ascontiguousarray(mean.reshape(shape)[..., : self._width]))
        self.clear()
        return means
