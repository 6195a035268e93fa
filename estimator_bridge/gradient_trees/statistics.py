"""Sums of gradients and hessians, by the node in which rows are and the bucket of a feature."""

from typing import NamedTuple

import numpy as np

__all__ = ["Sums", "add", "empty", "summarize"]


class Sums(NamedTuple):
    """Sums of the rows of one node and bucket, sorted by node, bucket and dimension.

    Attributes:
      nodes: int32 [n].
      buckets: int64 [n, 2], the bucket (or category) and the dimension of the feature.
      gradients: float32 [n], or [n, logits].
      hessians: float32 [n], [n, logits] or [n, logits, logits].
    """

    nodes: np.ndarray
    buckets: np.ndarray
    gradients: np.ndarray
    hessians: np.ndarray


def empty(gradient_shape: tuple[int, ...] = (), hessian_shape: tuple[int, ...] = ()) -> Sums:
    """Returns sums of no rows.

    Args:
      gradient_shape: the shape of the gradients of one row.
      hessian_shape: the shape of its hessians.
    """
    return Sums(
        np.zeros(0, np.int32),
        np.zeros((0, 2), np.int64),
        np.zeros((0, *gradient_shape), np.float32),
        np.zeros((0, *hessian_shape), np.float32),
    )


def summarize(rows: Sums) -> Sums:
    """Adds up the rows of each node and bucket, in float32 and in the order of the rows.

    Args:
      rows: a line for each row, in any order.
    """
    if not len(rows.nodes):
        return rows
    order = np.lexsort((rows.buckets[:, 1], rows.buckets[:, 0], rows.nodes))
    nodes, buckets = rows.nodes[order], rows.buckets[order]
    starts = np.ones(len(order), bool)
    starts[1:] = (nodes[1:] != nodes[:-1]) | (buckets[1:] != buckets[:-1]).any(axis=1)
    place = np.empty(len(order), np.intp)
    place[order] = np.cumsum(starts) - 1
    sums = []
    for values in (rows.gradients, rows.hessians):
        total = np.zeros((int(starts.sum()), *values.shape[1:]), np.float32)
        np.add.at(total, place, values)
        sums.append(total)
    return Sums(nodes[starts], buckets[starts], *sums)


def add(one: Sums, other: Sums) -> Sums:
    """Returns the sums of two.

    Args:
      one: the first addends.
      other: the second ones.
    """
    return summarize(Sums(*(np.concatenate(pair) for pair in zip(one, other))))
