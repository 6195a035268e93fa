"""Sums of gradients and hessians by node and bucket, for each feature."""

import numpy as np

__all__ = ["sum_by_bucket"]


def sum_by_bucket(
    node_ids: np.ndarray,
    statistics: np.ndarray,
    features: list[np.ndarray],
    max_splits: int,
    num_buckets: int,
) -> np.ndarray:
    """Returns the sums of the statistics of each feature, node and bucket.

    The sums are taken in float64, row by row, and rounded once: so did TensorFlow, and whether a
    gain is above zero depends on these roundings.

    Args:
      node_ids: int32 [batch], the node in which each row is.
      statistics: float32 [batch, n], the gradients and hessians of each row.
      features: the bucket of each row, int [batch], for each feature; -1 is a missing value.
      max_splits: the number of nodes that may be split.
      num_buckets: the number of buckets.

    Returns:
      float32 [features, max_splits, 1, num_buckets + 1, n]. The last bucket is for missing values.
    """
    width = num_buckets + 1
    size = max_splits * width
    count = statistics.shape[1]
    sums = np.empty((len(features), count, size), np.float32)
    # Two statistics are added as one complex number, in half the time.
    pairs = np.zeros((-(-count // 2), len(statistics)), np.complex128)
    pairs.real, pairs.imag[: count // 2] = statistics.T[::2], statistics.T[1::2]
    first_of_node = node_ids.astype(np.intp) * width
    cell = np.empty_like(first_of_node)
    for feature, per_feature in zip(features, sums):
        if feature.min(initial=0) < 0:
            feature = np.where(feature < 0, num_buckets, feature)
        np.add(first_of_node, feature, out=cell)
        for number, values in enumerate(pairs):
            summed = np.zeros(size, np.complex128)
            # Unlike np.add.reduceat and a sort, it adds row by row.
            np.add.at(summed, cell, values)
            per_feature[2 * number] = summed.real
            if 2 * number + 1 < count:
                per_feature[2 * number + 1] = summed.imag
    shape = (len(features), count, max_splits, 1, width)
    return np.ascontiguousarray(np.moveaxis(sums.reshape(shape), 1, -1))
