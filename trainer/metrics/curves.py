"""Curves of a binary classifier over all thresholds, and counts of right and wrong predictions."""

from collections.abc import Sequence
from typing import NamedTuple, Optional

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


class Curves(NamedTuple):
    """ROC and precision-recall, a point for each different score, the highest score first.

    Attributes:
        thresholds: float64 [points]; rows with at least this score are called positive.
        recall: float64 [points], share of the positives that are found.
        false_positive_rate: float64 [points], share of the negatives that are called positive.
        precision: float64 [points], share of positives among the rows that are called positive.
    """

    thresholds: Floats
    recall: Floats
    false_positive_rate: Floats
    precision: Floats


class Confusion(NamedTuple):
    """The weights of the rows by label and prediction, at one threshold.

    Attributes:
        threshold: rows with a greater score are called positive.
        found: positives called positive.
        alarms: negatives called positive.
        missed: positives called negative.
        passed: negatives called negative.
    """

    threshold: float
    found: float
    alarms: float
    missed: float
    passed: float


class Reliability(NamedTuple):
    """Scores and labels by equally wide bins of the score, without empty bins.

    Attributes:
        score: float64 [bins], mean score.
        share: float64 [bins], share of positives.
        rows: float64 [bins], sum of the weights.
    """

    score: Floats
    share: Floats
    rows: Floats


def trace_curves(labels: np.ndarray, scores: np.ndarray, weights: Optional[np.ndarray]) -> Curves:
    """Returns ROC and precision-recall.

    Args:
        labels: 0 or 1, [rows].
        scores: [rows].
        weights: [rows] or None.
    """
    labels, weights = _to_floats(labels, weights)
    order = np.argsort(-scores, kind="stable")
    ends = np.append(np.flatnonzero(np.diff(scores[order])), len(order) - 1)
    found = np.cumsum((weights * labels)[order])[ends]
    alarms = np.cumsum((weights * (1 - labels))[order])[ends]
    with np.errstate(divide="ignore", invalid="ignore"):
        return Curves(
            scores[order][ends].astype(np.float64),
            found / found[-1],
            alarms / alarms[-1],
            found / (found + alarms),
        )


def count_confusions(
    labels: np.ndarray,
    scores: np.ndarray,
    weights: Optional[np.ndarray],
    thresholds: Sequence[float],
) -> list[Confusion]:
    """Returns the confusion at each threshold.

    Args:
        labels: 0 or 1, [rows].
        scores: [rows].
        weights: [rows] or None.
        thresholds: a row with a greater score is called positive.
    """
    labels, weights = _to_floats(labels, weights)
    confusions = []
    for threshold in thresholds:
        positive = (scores > threshold).astype(np.float64)
        counts = [
            float((weights * called * true).sum())
            for called in (positive, 1 - positive)
            for true in (labels, 1 - labels)
        ]
        confusions.append(Confusion(threshold, *counts))
    return confusions


def count_classes(labels: np.ndarray, scores: np.ndarray, weights: Optional[np.ndarray]) -> Floats:
    """Returns the weights of the rows by class and predicted class, float64 [classes, classes].

    Args:
        labels: class ids, [rows].
        scores: [rows, classes].
        weights: [rows] or None.
    """
    ids, classes = labels.astype(np.int64), scores.shape[1]
    _, weights = _to_floats(labels, weights)
    counts = np.bincount(ids * classes + scores.argmax(axis=1), weights, classes**2)
    return counts.astype(np.float64).reshape(classes, classes)


def measure_reliability(
    labels: np.ndarray, scores: np.ndarray, weights: Optional[np.ndarray], bins: int
) -> Reliability:
    """Returns mean score and share of positives by bin of the score.

    Args:
        labels: 0 or 1, [rows].
        scores: 0 to 1, [rows].
        weights: [rows] or None.
        bins: number of bins between 0 and 1.
    """
    labels, weights = _to_floats(labels, weights)
    places = np.clip((scores * bins).astype(np.int64), 0, bins - 1)
    rows = np.bincount(places, weights, bins)
    some = rows > 0
    means = [np.bincount(places, weights * a, bins)[some] / rows[some] for a in (scores, labels)]
    return Reliability(means[0], means[1], rows[some])


def _to_floats(labels: np.ndarray, weights: Optional[np.ndarray]) -> tuple[Floats, Floats]:
    labels = labels.astype(np.float64)
    return labels, np.ones_like(labels) if weights is None else weights.astype(np.float64)
