"""How far data have moved from those a model was trained on.

The population stability index of shares p (now) and q (then) over bins is

    PSI = sum over bins of (p - q) * ln(p / q)

(Siddiqi, "Credit Risk Scorecards", 2006; the Jeffreys divergence of information theory). By his
rule, below 0.1 nothing has moved, up to 0.25 something has, above much has. Half a row is added to
each bin, so that an empty one has a logarithm. Of two samples of n and m rows of the same thing
the index is (1/n + 1/m) times a chi-square variable with bins - 1 degrees of freedom (Yurdakul,
"Statistical Properties of Population Stability Index", 2018): what one such pair in a hundred
exceeds is not called drift, however large.
"""

import math
from typing import NamedTuple, Optional

import numpy as np

from trainer.inputs.streaming_statistics import SAMPLE_ROWS, fill_bins
from trainer.schema.statistics import Categories, Range

SHIFTED, DRIFTED = 0.1, 0.25
# The 99 % quantile of the standard normal distribution.
NORMAL_99 = 2.326
# Categories compared one by one; the others are compared together.
COMPARED = 20
# A missing rate has drifted when it has moved by so much, and by so many standard errors.
MISSING_SHIFT, STANDARD_ERRORS = 0.02, 4.0
# Share of rows whose value was never seen in training from which that is drift.
UNSEEN_SHARE = 0.01


class Distance(NamedTuple):
    """A population stability index.

    Attributes:
        psi: the index.
        noise: what one of a hundred pairs of samples of this size exceeds without any drift.
    """

    psi: float
    noise: float

    @property
    def verdict(self) -> str:
        """the same, shifted or drifted."""
        if self.psi <= max(SHIFTED, self.noise):
            return "the same"
        return "drifted" if self.psi > DRIFTED else "shifted"


def measure_psi(now: np.ndarray, then: np.ndarray) -> Distance:
    """The index of rows in each bin, now and then; int or float [bins] both."""
    bins = len(now)
    p = (now + 0.5) / (now.sum() + 0.5 * bins)
    q = (then + 0.5) / (then.sum() + 0.5 * bins)
    psi = float(((p - q) * np.log(p / q)).sum())
    free = bins - 1
    if not free or not now.sum() or not then.sum():
        return Distance(psi, math.inf)
    # Wilson and Hilferty's approximation of the chi-square quantile (1931).
    quantile = free * (1 - 2 / (9 * free) + NORMAL_99 * math.sqrt(2 / (9 * free))) ** 3
    return Distance(psi, (1 / now.sum() + 1 / then.sum()) * quantile)


def compare_numbers(values: np.ndarray, trained: Range) -> Optional[Distance]:
    """Distance of numbers, float64 [n], from a column's training data; None if not comparable."""
    if trained.bins is None or len(trained.bins.shares) < 2 or not len(values):
        return None
    # The shares of the training data are themselves those of a sample.
    rows = min(trained.count, SAMPLE_ROWS)
    return measure_psi(fill_bins(trained.bins, values), np.array(trained.bins.shares) * rows)


def compare_categories(counts: dict[str, int], trained: Categories) -> Optional[Distance]:
    """Distance of value → rows from a column's training data; None if there is nothing."""
    if not trained.count or not counts:
        return None
    names = list(trained.counts)[:COMPARED]
    now = [counts.get(name, 0) for name in names]
    then = [trained.counts[name] for name in names]
    now.append(sum(counts.values()) - sum(now))
    then.append(trained.count - sum(then))
    return measure_psi(np.array(now), np.array(then))


def has_missing_drifted(missing: int, rows: int, trained_missing: int, trained_rows: int) -> bool:
    """Whether the share of missing values differs by more than chance and by something."""
    if not rows or not trained_rows:
        return False
    now, then = missing / rows, trained_missing / trained_rows
    both = (missing + trained_missing) / (rows + trained_rows)
    error = math.sqrt(both * (1 - both) * (1 / rows + 1 / trained_rows))
    return abs(now - then) > max(MISSING_SHIFT, STANDARD_ERRORS * error)
