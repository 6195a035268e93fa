"""What each feature contributes: to the gain of all splits, and to the prediction of a row."""

from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from .forest import Content, step

__all__ = ["Explanation", "compute_importances", "explain", "name_contributions", "sigmoid"]


class Explanation(NamedTuple):
    """Why rows got their predictions: bias + the sum of a row's contributions.

    Attributes:
      bias: float64 [batch], the prediction before the first split.
      contributions: float64 [batch, features].
    """

    bias: np.ndarray
    contributions: np.ndarray


def compute_importances(
    ensemble: Any, names: Sequence[str], normalize: bool
) -> "OrderedDict[str, float]":
    """Returns the gain of all splits by each column, the largest first.

    Args:
      ensemble: the TreeEnsemble message.
      names: for each feature, the name of its column.
      normalize: whether the gains are divided by their sum.

    Raises:
      AssertionError: normalize, but there is no split or a gain is negative.
    """
    gains = dict.fromkeys(names, np.float64(0))
    num_splits = 0
    for tree, weight in zip(ensemble.trees, ensemble.tree_weights):
        for node in tree.nodes:
            kind = node.WhichOneof("node")
            if kind != "leaf":
                num_splits += 1
                gains[names[getattr(node, kind).feature_id]] += weight * node.metadata.gain
    if normalize:
        if not num_splits:
            raise AssertionError(
                "normalize: the trees have no split; train first, or give normalize=False"
            )
        if min(gains.values()) < 0:
            raise AssertionError(
                "normalize: a column has a negative gain; give normalize=False, or train with "
                "pruning_mode='pre' or 'post'"
            )
        total = sum(gains.values())
        gains = {name: gain / total for name, gain in gains.items()}
    return _sort(gains.items())


def sigmoid(logits: np.ndarray) -> np.ndarray:
    """Returns probabilities: float64, of the logits' shape.

    Args:
      logits: float32.
    """
    result: np.ndarray = 1 / (1 + np.exp(-logits.astype(np.float64)))
    return result


def explain(
    content: Content, buckets: np.ndarray, activate: Callable[[np.ndarray], np.ndarray]
) -> Explanation:
    """Adds up by features what the prediction of each row changes by at each split it passes.

    These are directional feature contributions, as in Palczewska et al., "Interpreting random
    forest models using a feature contribution method", 2013 (arXiv:1312.1121).

    Args:
      content: the trees, of one logit.
      buckets: int32 [batch, features].
      activate: makes predictions of float32 [batch] logits.
    """
    forest, features = content.forest, buckets.T
    rows = np.arange(len(buckets))
    contributions = np.zeros(buckets.shape)
    past = np.zeros(len(buckets), np.float32)
    bias = activate(past + forest.weights[0] * forest.value[forest.roots[0], 0])
    for root, weight in zip(forest.roots, forest.weights):
        nodes = np.full(len(buckets), root)
        before = activate(past + weight * forest.value[nodes, 0])
        while True:
            below = step(content.paths, features, rows, nodes)
            if (below == nodes).all():
                break
            after = activate(past + weight * forest.value[below, 0])
            # A row in a leaf stays there and changes nothing.
            contributions[rows, forest.feature[nodes]] += after - before
            nodes, before = below, after
        past += weight * forest.value[nodes, 0]
    return Explanation(bias, contributions)


def name_contributions(
    names: Sequence[str], contributions: np.ndarray
) -> "OrderedDict[str, float]":
    """Returns the contributions of one row by column, the largest amount first.

    Args:
      names: for each feature, the name of its column.
      contributions: float64 [features].
    """
    totals = dict.fromkeys(names, 0.0)
    for name, value in zip(names, contributions.tolist()):
        totals[name] += value
    return _sort(totals.items())


def _sort(items: Iterable[tuple[str, float]]) -> "OrderedDict[str, float]":
    return OrderedDict(sorted(items, key=lambda item: -abs(item[1])))
