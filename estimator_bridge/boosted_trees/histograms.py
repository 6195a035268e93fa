"""Sums of gradients and hessians by node and bucket, for each feature."""

from collections.abc import Sequence
from typing import Any

import numpy as np

__all__ = ["LayerSums", "sum_by_bucket"]


def sum_by_bucket(
    node_ids: np.ndarray,
    statistics: np.ndarray,
    features: Sequence[np.ndarray],
    node_range: tuple[int, int],
    num_buckets: int,
) -> np.ndarray:
    """Returns the sums of the statistics of each feature, node and bucket.

    The sums are taken in float64, row by row, and rounded once: so did TensorFlow, and whether a
    gain is above zero depends on these roundings.

    Args:
      node_ids: int32 [batch], the node in which each row is.
      statistics: float32 [batch, n], the gradients and hessians of each row.
      features: the bucket of each row, int [batch], for each feature; -1 is a missing value.
      node_range: the first node that may be split, and the one after the last; rows of earlier
        nodes do not count.
      num_buckets: the number of buckets.

    Returns:
      float32 [features, n, nodes, num_buckets + 1]; the last bucket is for missing values.
    """
    width = num_buckets + 1
    first, end = node_range
    count, size = statistics.shape[1], (end - first) * width
    sums = np.empty((len(features), count, size), np.float32)
    # Two statistics are added as one complex number, in half the time.
    pairs = np.zeros((-(-count // 2), len(statistics)), np.complex128)
    pairs.real, pairs.imag[: count // 2] = statistics.T[::2], statistics.T[1::2]
    # The rows of earlier nodes get a node of their own, the first one.
    first_of_node = np.maximum(node_ids.astype(np.intp) - (first - 1), 0) * width
    cell = np.empty_like(first_of_node)
    summed = np.empty(width + size, np.complex128)
    for feature, per_feature in zip(features, sums):
        if feature.min(initial=0) < 0:
            feature = np.where(feature < 0, num_buckets, feature)
        np.add(first_of_node, feature, out=cell)
        for number, values in enumerate(pairs):
            summed[:] = 0
            # Unlike np.add.reduceat and a sort, it adds row by row.
            np.add.at(summed, cell, values)
            per_feature[2 * number] = summed.real[width:]
            if 2 * number + 1 < count:
                per_feature[2 * number + 1] = summed.imag[width:]
    return sums.reshape(len(features), count, end - first, width)


class LayerSums:
    """Adds up the sums of the batches of a layer, within one process.

    Like TensorFlow's accumulators, it adds the rounded sums of the batches in float32, one after
    the other, and gives their mean. It keeps those of the layer's nodes only.

    Args:
      groups: columns.Group of the features that have one number of buckets.
    """

    def __init__(self, groups: Sequence[Any]):
        self._groups = groups
        self.clear()

    def clear(self) -> None:
        """Forgets all batches."""
        self._count = 0
        self._sums: list[np.ndarray] = []

    def add(
        self,
        node_ids: np.ndarray,
        node_range: np.ndarray,
        statistics: np.ndarray,
        features: np.ndarray,
    ) -> np.int64:
        """Adds a batch, and returns how many there are.

        Args:
          node_ids: int32 [batch], the node in which each row is.
          node_range: int [2], the first node of the layer, and the one after the last.
          statistics: float32 [batch, n], the gradients and hessians of each row.
          features: int [features, batch], the bucket of each feature.
        """
        first, end = node_range.tolist()
        sums = [
            sum_by_bucket(
                node_ids,
                statistics,
                [features[number] for number in group.feature_ids],
                (first, end),
                group.num_buckets,
            )
            for group in self._groups
        ]
        if self._count:
            for total, one in zip(self._sums, sums):
                total += one
        else:
            self._sums = sums
        self._count += 1
        return np.int64(self._count)

    def take(self) -> list[np.ndarray]:
        """Returns the mean of the batches, and forgets them.

        Returns:
          for each group float32 [features, nodes, buckets + 1, n].
        """
        means = [total / np.float32(self._count) for total in self._sums]
        self.clear()
        return [np.ascontiguousarray(np.moveaxis(mean, 1, -1)) for mean in means]
