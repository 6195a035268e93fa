"""Metrics of resampled rows: a bootstrap in which two models are measured on the same samples.

A sample is a count of each row, drawn from the Poisson distribution with mean 1. All metrics of
many samples are computed at once. All rows of a group get the same count.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Optional

import numpy as np

from trainer.metrics.baselines import CALIBRATION_BINS, EPSILON
from trainer.metrics.slices import Predictions

MAX_SAMPLES, MIN_SAMPLES = 1_000, 200
# About the number of draws of all samples together, and of those that are in memory at once.
MAX_DRAWS, CHUNK_DRAWS = 20_000_000, 1_000_000
RANKING = ("auc", "auc_precision_recall")

Values = dict[str, np.ndarray]


def count_samples(num_rows: int) -> int:
    """Returns how many samples are drawn.

    Args:
        num_rows: number of rows.
    """
    return int(np.clip(MAX_DRAWS // max(1, num_rows), MIN_SAMPLES, MAX_SAMPLES))


def draw(num_rows: int, groups: Optional[np.ndarray], seed: int) -> Iterator[np.ndarray]:
    """Yields the counts of each row, float32 [some samples, rows].

    Args:
        num_rows: number of rows.
        groups: int64 [rows]: group of each row, from 0; None: each row is a group.
        seed: of the random numbers.
    """
    rng = np.random.default_rng(seed)
    # Quantiles of the distribution, so that a draw is one access to a table.
    steps = (np.arange(1 << 16) + 0.5) / (1 << 16)
    masses = np.exp(-1.0) / np.cumprod([1.0, *range(1, 12)])
    table = np.searchsorted(np.cumsum(masses), steps).astype(np.float32)
    num_groups = num_rows if groups is None else int(groups.max()) + 1
    left, chunk = count_samples(num_rows), max(1, CHUNK_DRAWS // max(1, num_rows))
    while left:
        size = min(chunk, left)
        left -= size
        counts = table[rng.integers(0, 1 << 16, (size, num_groups), np.uint16)]
        yield counts if groups is None else counts[:, groups]


def make_meter(
    task: str, predictions: Predictions, threshold: float, names: Optional[Sequence[str]] = None
) -> Callable[[np.ndarray], Values]:
    """Returns a function from counts [samples, rows] to metric → values [samples].

    With counts of 1, the metrics are those of `slices.measure`. NaN: not defined for a sample.

    Args:
        task: binary, multiclass or regression.
        predictions: at least one row.
        threshold: decision threshold of the scores.
        names: metrics to compute, in any order; None: all.
    """
    labels = predictions.labels.astype(np.float64)
    scores = predictions.scores.astype(np.float64)
    weights = predictions.weights
    weights = np.ones(len(labels)) if weights is None else weights.astype(np.float64)
    if task == "multiclass":
        return _make_multiclass(labels.astype(np.int64), scores, weights)
    if task == "regression":
        return _make_regression(labels, scores, weights)
    return _make_binary(labels, scores, weights, threshold, names)


def _make_regression(
    labels: np.ndarray, scores: np.ndarray, weights: np.ndarray
) -> Callable[[np.ndarray], Values]:
    # Sums about the mean, so that large labels lose no digits.
    table = _tabulate_regression(labels, scores, labels.mean()) * weights[:, None]
    return lambda counts: measure_sums("regression", 0.0, counts @ table)


def _tabulate_regression(labels: np.ndarray, scores: np.ndarray, centre: float) -> np.ndarray:
    centred, errors = labels - centre, scores - labels
    return np.stack([np.ones_like(labels), errors**2, np.abs(errors), centred, centred**2], 1)


def _make_multiclass(
    ids: np.ndarray, scores: np.ndarray, weights: np.ndarray
) -> Callable[[np.ndarray], Values]:
    table = _tabulate_multiclass(ids, scores) * weights[:, None]
    return lambda counts: measure_sums("multiclass", 0.0, counts @ table)


def _tabulate_multiclass(ids: np.ndarray, scores: np.ndarray) -> np.ndarray:
    losses = -np.log(np.clip(scores[np.arange(len(ids)), ids], EPSILON, 1 - EPSILON))
    return np.stack([np.ones(len(ids)), scores.argmax(axis=1) == ids, losses], 1)


def _make_binary(
    labels: np.ndarray,
    scores: np.ndarray,
    weights: np.ndarray,
    threshold: float,
    names: Optional[Sequence[str]],
) -> Callable[[np.ndarray], Values]:
    order = np.argsort(-scores, kind="stable")
    labels, scores, weights = labels[order], scores[order], weights[order]
    table = _tabulate_binary(labels, scores, threshold)
    table *= weights[:, None]
    # The rows of a bin follow one another, because they are sorted by score.
    gaps, bins = (scores - labels) * weights, find_bins(scores)
    starts = np.flatnonzero(np.diff(bins, prepend=-1))
    last_of_score = np.append(np.flatnonzero(np.diff(scores)), len(scores) - 1)
    is_ranked = names is None or any(name in names for name in RANKING)

    def measure(counts: np.ndarray) -> Values:
        counts = counts[:, order]
        off = np.add.reduceat(counts * gaps, starts, axis=1)
        values = measure_sums("binary", threshold, counts @ table, off)
        if is_ranked:
            weighted = counts * weights
            hits = np.cumsum(weighted * labels, axis=1)[:, last_of_score]
            false_alarms = np.cumsum(weighted * (1 - labels), axis=1)[:, last_of_score]
            values.update(measure_areas(hits, false_alarms))
        return values

    return measure


def _tabulate_binary(labels: np.ndarray, scores: np.ndarray, threshold: float) -> np.ndarray:
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
        table = _tabulate_multiclass(labels.astype(np.int64), scores)
    elif task == "regression":
        table = _tabulate_regression(labels.astype(np.float64), scores, centre)
    else:
        table = _tabulate_binary(labels.astype(np.float64), scores, threshold)
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
            r2 = np.where(spread > 0, 1 - residual / spread, 0.0)
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


def find_interval(estimate: float, samples: np.ndarray, confidence: float) -> tuple[float, float]:
    """Returns the interval of an estimate: percentiles of the samples, centred at the estimate.

    Centring removes the bias of metrics such as the calibration error, which resampling raises.

    Args:
        estimate: value for all rows.
        samples: [samples]; NaN where undefined.
        confidence: share of samples inside, from 0 to 1.
    """
    known = samples[np.isfinite(samples)]
    if not len(known) or not np.isfinite(estimate):
        return float("nan"), float("nan")
    low, high = np.quantile(known, [(1 - confidence) / 2, (1 + confidence) / 2])
    shift = estimate - float(known.mean())
    return float(low + shift), float(high + shift)
