"""Metrics of resampled rows: a bootstrap in which two models are measured on the same samples.

A sample is a count of each row, drawn from the Poisson distribution with mean 1. All metrics of
many samples are computed at once. All rows of a group get the same count.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Optional

import numpy as np

from trainer.metrics.slices import Predictions
from trainer.metrics.sums import (
    RANKING,
    Values,
    find_bins,
    measure_areas,
    measure_sums,
    tabulate_binary,
    tabulate_multiclass,
    tabulate_regression,
)

MAX_SAMPLES, MIN_SAMPLES = 1_000, 200
# About the number of draws of all samples together, and of those that are in memory at once.
MAX_DRAWS, CHUNK_DRAWS = 20_000_000, 1_000_000

# Resampling fewer groups than this gives too narrow an interval, and one group an interval of width
# 0. Cameron and Miller ("A Practitioner's Guide to Cluster-Robust Inference", 2015) call fewer than
# 20 to 50 groups few.
MIN_GROUPS = 20


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
        seed: seed of the random numbers.
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
    table = tabulate_regression(labels, scores, labels.mean()) * weights[:, None]
    return lambda counts: measure_sums("regression", 0.0, counts @ table)


def _make_multiclass(
    ids: np.ndarray, scores: np.ndarray, weights: np.ndarray
) -> Callable[[np.ndarray], Values]:
    table = tabulate_multiclass(ids, scores) * weights[:, None]
    return lambda counts: measure_sums("multiclass", 0.0, counts @ table)


def _make_binary(
    labels: np.ndarray,
    scores: np.ndarray,
    weights: np.ndarray,
    threshold: float,
    names: Optional[Sequence[str]],
) -> Callable[[np.ndarray], Values]:
    order = np.argsort(-scores, kind="stable")
    labels, scores, weights = labels[order], scores[order], weights[order]
    table = tabulate_binary(labels, scores, threshold)
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
