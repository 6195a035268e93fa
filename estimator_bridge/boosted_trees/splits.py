"""Searches the best split of each node among the features of one number of buckets."""

from typing import NamedTuple

import numpy as np

from .inverses import invert

__all__ = ["EQUALITY", "INEQUALITY", "Regularization", "Splits", "compute_leaf", "find_best_splits"]

EQUALITY, INEQUALITY = "equality", "inequality"

# A hessian below this is zero, and a leaf over it has the value 0.
_SMALLEST_HESSIAN = np.float32(1e-15)


class Regularization(NamedTuple):
    """What makes leaves smaller and splits rarer.

    Attributes:
      l1: is taken from the absolute value of a gradient; only for one logit.
      l2: is added to the hessian.
      tree_complexity: is taken from each gain.
      min_node_weight: a node with a smaller hessian is not split.
    """

    l1: float
    l2: float
    tree_complexity: float = 0.0
    min_node_weight: float = 0.0


class Splits(NamedTuple):
    """The best split of each node that can be split, in the order of the nodes.

    Attributes:
      node_ids: int32 [n].
      gains: float32 [n].
      feature_ids: int32 [n].
      thresholds: int32 [n], the last bucket of the left child; or the bucket that goes there.
      left: float32 [n, logits], the change of the logits in the left child, before the learning
        rate.
      right: float32 [n, logits].
      is_equality: bool [n].
      default_right: bool [n], whether missing values go to the right.
    """

    node_ids: np.ndarray
    gains: np.ndarray
    feature_ids: np.ndarray
    thresholds: np.ndarray
    left: np.ndarray
    right: np.ndarray
    is_equality: np.ndarray
    default_right: np.ndarray


def compute_leaf(
    gradients: np.ndarray, hessians: np.ndarray, l1: float, l2: float
) -> tuple[np.ndarray, np.ndarray]:
    """Returns the best change of the logits, and what the loss gains by it (twice).

    Args:
      gradients: float32 [..., logits].
      hessians: float32 [..., logits * logits], or the diagonal [..., logits].
      l1: the l1 regularization.
      l2: the l2 regularization.

    Returns:
      (float32 [..., logits], float32 [...]).

    Raises:
      ValueError: l1 is given for several logits.
    """
    if gradients.shape[-1] == 1:
        weight, gain = _compute_scalar_leaf(gradients[..., 0], hessians[..., 0], l1, l2)
        return weight[..., np.newaxis], gain
    if l1 > 0:
        raise ValueError("l1_regularization must be 0 with more than one logit; use l2")
    return _compute_vector_leaf(gradients, hessians, l2)


def _compute_scalar_leaf(
    gradient: np.ndarray, hessian: np.ndarray, l1: float, l2: float
) -> tuple[np.ndarray, np.ndarray]:
    hessian = hessian + np.float32(l2)
    if l1 > 0:
        small = np.float32(l1)
        shrunk = gradient - np.copysign(small, gradient)
        gradient = np.where(np.abs(gradient) > small, shrunk, np.float32(0))
    solvable = hessian > _SMALLEST_HESSIAN
    weight = np.where(solvable, -gradient / np.where(solvable, hessian, np.float32(1)), 0)
    weight = weight.astype(np.float32)
    return weight, -gradient * weight


def _compute_vector_leaf(
    gradients: np.ndarray, hessians: np.ndarray, l2: float
) -> tuple[np.ndarray, np.ndarray]:
    logits = gradients.shape[-1]
    if hessians.shape[-1] == logits:
        matrices = hessians[..., np.newaxis] * np.eye(logits, dtype=np.float32)
    else:
        matrices = hessians.reshape(*hessians.shape[:-1], logits, logits)
    matrices = matrices.astype(np.float64) + l2 * np.eye(logits)
    # The hessian of a softmax has no inverse: the logits may all move by the same amount.
    inverse = invert(matrices, 1e-6)
    weight = -np.einsum("...ij,...j->...i", inverse, gradients.astype(np.float64))
    gain = -np.einsum("...i,...i->...", weight, gradients.astype(np.float64))
    return weight.astype(np.float32), gain.astype(np.float32)


class _Candidates(NamedTuple):
    """The best split of each node and feature: arrays [nodes, features, ...]."""

    gain: np.ndarray
    threshold: np.ndarray
    left: np.ndarray
    right: np.ndarray
    default_right: np.ndarray


def find_best_splits(
    statistics: np.ndarray,
    first_node: int,
    feature_ids: np.ndarray,
    split_types: list[str],
    logits: int,
    regularization: Regularization,
) -> Splits:
    """Returns the best split of each node of a layer.

    All in float32, in the order in which TensorFlow summed, because a split counts when its gain
    is above zero, and may be there by rounding. With equal gains the first feature and then the
    first bucket wins.

    Args:
      statistics: float32 [features, nodes of the layer, buckets + 1, logits + hessians].
      first_node: the first node of the layer.
      feature_ids: int32 [features].
      split_types: for each feature, INEQUALITY (bucket <= threshold) or EQUALITY.
      logits: the number of logits.
      regularization: what makes leaves smaller and splits rarer.
    """
    rows = statistics.transpose(1, 0, 2, 3)
    # Sums in the order of the buckets; the last one is for missing values.
    sums = np.cumsum(rows, axis=2, dtype=np.float32)
    total = sums[:, :, -1]
    norm = np.sqrt(np.sum(np.square(total[:, 0, logits:]), axis=1))
    nodes = np.flatnonzero(norm >= np.float32(regularization.min_node_weight))
    rows, sums, total = rows[nodes], sums[nodes], total[nodes]
    l1, l2 = regularization.l1, regularization.l2
    _, parent_gain = compute_leaf(total[:, 0, :logits], total[:, 0, logits:], l1, l2)

    equality = np.array([kind == EQUALITY for kind in split_types])
    best = _search_orders(rows, sums, logits, l1, l2)
    if equality.any():
        one_bucket = _search(rows[:, :, :-1], total[:, :1], logits, l1, l2)
        best = _Candidates(
            *(
                np.where(equality.reshape(-1, *[1] * (b.ndim - 2)), e, b)
                for e, b in zip(one_bucket, best)
            )
        )
    feature = np.argmax(best.gain, axis=1)
    chosen = _Candidates(*(values[np.arange(len(nodes)), feature] for values in best))
    gains = chosen.gain - parent_gain - np.float32(regularization.tree_complexity)
    return Splits(
        node_ids=(nodes + first_node).astype(np.int32),
        gains=gains,
        feature_ids=np.asarray(feature_ids, np.int32)[feature],
        thresholds=chosen.threshold.astype(np.int32),
        left=chosen.left,
        right=chosen.right,
        is_equality=equality[feature],
        default_right=chosen.default_right | equality[feature],
    )


def _search_orders(
    rows: np.ndarray, sums: np.ndarray, logits: int, l1: float, l2: float
) -> _Candidates:
    """Searches the splits by order, with missing values on the left and on the right."""
    missing = rows[:, :, -1:]
    total = sums[:, :, -1]
    if not missing.any():
        return _search(sums[:, :, :-1], total, logits, l1, l2)
    to_left = np.concatenate([missing, rows[:, :, :-1]], axis=2)
    left = _search(np.cumsum(to_left, axis=2, dtype=np.float32)[:, :, 1:], total, logits, l1, l2)
    right = _search(sums[:, :, :-1], total, logits, l1, l2)
    is_right = right.gain > left.gain

    def choose(of_right: np.ndarray, of_left: np.ndarray) -> np.ndarray:
        extra = [1] * (of_left.ndim - is_right.ndim)
        return np.where(is_right.reshape(*is_right.shape, *extra), of_right, of_left)

    return _Candidates(
        gain=choose(right.gain, left.gain),
        threshold=choose(right.threshold, left.threshold),
        left=choose(right.left, left.left),
        right=choose(right.right, left.right),
        default_right=is_right,
    )


def _search(left: np.ndarray, total: np.ndarray, logits: int, l1: float, l2: float) -> _Candidates:
    """Returns the best bucket of each node and feature, given the sums of the left children.

    Args:
      left: float32 [nodes, features, buckets, n].
      total: float32 [nodes, features or 1, n].
      logits: the number of logits.
      l1: the l1 regularization.
      l2: the l2 regularization.
    """
    right = total[:, :, np.newaxis] - left
    left_weight, left_gain = compute_leaf(left[..., :logits], left[..., logits:], l1, l2)
    right_weight, right_gain = compute_leaf(right[..., :logits], right[..., logits:], l1, l2)
    gain = left_gain + right_gain
    bucket = np.argmax(gain, axis=2)[:, :, np.newaxis]
    pick = bucket[..., np.newaxis]
    return _Candidates(
        gain=np.take_along_axis(gain, bucket, 2)[:, :, 0],
        threshold=bucket[:, :, 0],
        left=np.take_along_axis(left_weight, pick, 2)[:, :, 0],
        right=np.take_along_axis(right_weight, pick, 2)[:, :, 0],
        default_right=np.zeros(bucket.shape[:2], bool),
    )
