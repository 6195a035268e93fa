"""Metrics from sums over rows: those of all rows, of some groups of them, or of samples."""

from typing import Optional

import numpy as np

from trainer.metrics.baselines import CALIBRATION_BINS, EPSILON
from trainer.metrics.slices import Predictions

# Metrics that need the order of the scores, not only sums.
RANKING = ("auc", "auc_precision_recall")
# Of equal labels, rounding of the sums leaves at most this share of their mean square as variance.
EQUAL_LABELS = 1e-13

Values = dict[str, np.ndarray]


def tabulate_regression(labels: np.ndarray, scores: np.ndarray, centre: float) -> np.ndarray:
    """Returns what the metrics of rows are computed from, float64 [rows, 5], without weights.

    Args:
        labels: float64 [rows].
        scores: float64 [rows].
        centre: a number near the mean of the labels, so that large labels lose no digits.
    """
    centred, errors = labels - centre, scores - labels
    return np.stack([np.ones_like(labels), errors**2, np.abs(errors), centred, centred**2], 1)


def tabulate_multiclass(ids: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """Returns what the metrics of rows are computed from, float64 [rows, 3], without weights.

    Args:
        ids: class ids, int64 [rows].
        scores: float64 [rows, classes].
    """
    losses = -np.log(np.clip(scores[np.arange(len(ids)), ids], EPSILON, 1 - EPSILON))
    return np.stack([np.ones(len(ids)), scores.argmax(axis=1) == ids, losses], 1)


def tabulate_binary(labels: np.ndarray, scores: np.ndarray, threshold: float) -> np.ndarray:
    """Returns what the metrics of rows are computed from, float64 [rows, 6], without weights.

    Args:
        labels: float64 [rows], 0 or 1.
        scores: float64 [rows].
        threshold: decision threshold of the scores.
    """
    positive = scores > threshold
    chosen = np.clip(np.where(labels > 0.5, scores, 1 - scores), EPSILON, 1 - EPSILON)
    right = (scores >= 0.5) == (labels > 0.5)
    table = np.empty([len(labels), 6])
    # One column after another: together, they would take as much memory again as the table.
    table[:, 0], table[:, 1], table[:, 3], table[:, 4] = 1, right, labels, positive
    np.negative(np.log(chosen), out=table[:, 2])
    np.multiply(positive, labels, out=table[:, 5])
    return table


def find_bins(scores: np.ndarray) -> np.ndarray:
    """Returns the bin of the calibration error of each score, int64 [rows].

    Args:
        scores: [rows], from 0 to 1.
    """
    bins: np.ndarray = np.clip(
        (scores * CALIBRATION_BINS).astype(np.int64), 0, CALIBRATION_BINS - 1
    )
    return bins


def tabulate(task: str, predictions: Predictions, threshold: float, centre: float) -> np.ndarray:
    """Returns what the metrics of rows are computed from, float64 [rows, columns], weighted.

    Args:
        task: binary, multiclass or regression.
        predictions: of the rows.
        threshold: decision threshold of the scores.
        centre: a number near the mean of the labels of a regression.
    """
    labels, scores = predictions.labels, predictions.scores.astype(np.float64)
    if task == "multiclass":
        table = tabulate_multiclass(labels.astype(np.int64), scores)
    elif task == "regression":
        table = tabulate_regression(labels.astype(np.float64), scores, centre)
    else:
        table = tabulate_binary(labels.astype(np.float64), scores, threshold)
    weights = predictions.weights
    return table if weights is None else table * weights.astype(np.float64)[:, None]


def measure_sums(
    task: str, threshold: float, sums: np.ndarray, gaps: Optional[np.ndarray] = None
) -> Values:
    """Returns metric → values [samples], of sums of the rows of `tabulate`; no areas.

    Args:
        task: binary, multiclass or regression.
        threshold: decision threshold of the scores.
        sums: float64 [samples, columns].
        gaps: binary: sums of score - label, weighted, by bin, [samples, bins].
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        if task == "multiclass":
            total, hits, loss = sums.T
            return {"accuracy": hits / total, "log_loss": loss / total}
        if task == "regression":
            total, squared, absolute, first, second = sums.T
            residual = squared / total
            spread = second / total - (first / total) ** 2
            r2 = np.where(spread > EQUAL_LABELS * second / total, 1 - residual / spread, 0.0)
            return {"rmse": np.sqrt(residual), "mae": absolute / total, "r2": r2}
        total, hits, loss, positives, called, true_positives = sums.T
        assert gaps is not None
        return {
            "accuracy": hits / total,
            "log_loss": loss / total,
            "calibration_error": np.abs(gaps).sum(axis=1) / total,
            f"precision_at_{threshold:g}": true_positives / called,
            f"recall_at_{threshold:g}": true_positives / positives,
            "positives": positives / total,
        }


def measure_areas(hits: np.ndarray, false_alarms: np.ndarray) -> Values:
    """Returns the areas under both curves, metric → values [samples].

    Args:
        hits: weights of the positives with at least each threshold, the highest first, float64
            [samples, thresholds].
        false_alarms: likewise of the negatives.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        recall = hits / hits[:, -1:]
        fall_out = false_alarms / false_alarms[:, -1:]
        heights = recall.copy()
        heights[:, 1:] += recall[:, :-1]
        auc = np.sum(np.diff(fall_out, prepend=0.0, axis=1) * heights, axis=1) / 2
        tiny = np.finfo(np.float64).tiny
        del fall_out, heights
        precision = hits / np.maximum(hits + false_alarms, tiny)
        average = np.sum(np.diff(recall, prepend=0.0, axis=1) * precision, axis=1)
    # Both are undefined where only one class was drawn.
    undefined = ~np.isfinite(auc)
    return {
        "auc": np.where(undefined, np.nan, auc),
        "auc_precision_recall": np.where(undefined, np.nan, average),
    }


def measure_bins(weights: np.ndarray) -> Values:
    """Returns the areas under both curves, metric → values [samples]; rows of a bin are ties.

    Args:
        weights: of positives and of negatives by bin of the score, the lowest first, float64
            [samples, bins, 2].
    """
    ends = np.cumsum(weights[:, ::-1], axis=1)
    return measure_areas(ends[..., 0], ends[..., 1])


def bound_areas(weights: np.ndarray) -> dict[str, float]:
    """Returns metric → by how much it can differ from that of the rows; empty if undefined.

    In a bin, all positives may have higher scores than all negatives, or lower ones.

    Args:
        weights: of positives and of negatives by bin of the score, the lowest first, float64
            [bins, 2].
    """
    positives, negatives = weights[::-1].T
    hits, alarms = np.cumsum(positives), np.cumsum(negatives)
    if not (hits[-1:] > 0 and alarms[-1:] > 0):
        return {}
    pairs = float((positives * negatives).sum()) / float(hits[-1] * alarms[-1])
    found = measure_areas(hits[None], alarms[None])["auc_precision_recall"][0]
    some = positives > 0
    added, hits, alarms, before = positives[some], hits[some], alarms[some], negatives[some]
    # Of the positives that come after the negatives of their bin, the integral of the precision.
    start = np.maximum(hits - added, 0.0) + alarms
    low = added - alarms * np.log1p(added / np.maximum(start, np.finfo(np.float64).tiny))
    high = added * hits / (hits + alarms - before)
    low, high = (float(one.sum()) / float(hits[-1]) for one in (low, high))
    return {"auc": pairs / 2, "auc_precision_recall": max(high - found, found - low, 0.0)}
