"""Measures drift: the distance of data from the training data of a model.

The population stability index (PSI) of shares p (new) and q (training) over bins is

    PSI = sum over bins of (p - q) * ln(p / q)

(Siddiqi, "Credit Risk Scorecards", 2006; information theory calls it the Jeffreys divergence). By
Siddiqi's rule, the data are the same if PSI is at most 0.1, have shifted if it is at most 0.25, and
have drifted if it is larger. Half a row is added to each bin, so that the logarithm of an empty bin
is defined.

For two samples of n and m rows of the same distribution, PSI is (1/n + 1/m) times a chi-square
variable with bins - 1 degrees of freedom (Yurdakul, "Statistical Properties of Population Stability
Index", 2018). A PSI below the 99 % quantile of that distribution is not reported as drift.
"""

import math
from typing import NamedTuple, Optional

import numpy as np

from trainer.inputs.row_sample import SAMPLE_ROWS
from trainer.inputs.streaming_statistics import RunningMoments, fill_bins
from trainer.schema.statistics import Categories, Range

SHIFTED, DRIFTED = 0.1, 0.25
# The 99 % quantile of the standard normal distribution.
NORMAL_99 = 2.326
# Number of categories that have a bin of their own. The other categories share one bin.
COMPARED = 20
# The share of missing values has drifted if it differs by more than MISSING_SHIFT and by more than
# this number of standard errors.
MISSING_SHIFT, STANDARD_ERRORS = 0.02, 4.0
# Values that are not in the training data are drift if at least this share of the rows has them.
UNSEEN_SHARE = 0.01


class Distance(NamedTuple):
    """A population stability index.

    Attributes:
        psi: the index.
        noise: 99 % quantile (of measure_psi: any) for samples of this size without drift.
    """

    psi: float
    noise: float

    @property
    def verdict(self) -> str:
        """the same, shifted or drifted."""
        if self.psi <= max(SHIFTED, self.noise):
            return "the same"
        return "drifted" if self.psi > DRIFTED else "shifted"


def measure_psi(now: np.ndarray, then: np.ndarray, normal: float = NORMAL_99) -> Distance:
    """Returns the index of two histograms.

    Args:
        now: rows per bin of the new data, int or float [bins].
        then: rows per bin of the training data, int or float [bins].
        normal: quantile of the standard normal distribution that belongs to the noise.
    """
    bins = len(now)
    p = (now + 0.5) / (now.sum() + 0.5 * bins)
    q = (then + 0.5) / (then.sum() + 0.5 * bins)
    psi = float(((p - q) * np.log(p / q)).sum())
    free = bins - 1
    if not free or not now.sum() or not then.sum():
        return Distance(psi, math.inf)
    # Wilson and Hilferty's approximation of the chi-square quantile (1931).
    quantile = free * (1 - 2 / (9 * free) + normal * math.sqrt(2 / (9 * free))) ** 3
    return Distance(psi, float((1 / now.sum() + 1 / then.sum()) * quantile))


def compare_numbers(values: np.ndarray, trained: Range) -> Optional[Distance]:
    """Returns the distance of numbers from the training data; None if they are not comparable.

    Args:
        values: float64 [n].
        trained: statistics of the training data.
    """
    if trained.bins is None or len(trained.bins.shares) < 2 or not len(values):
        return None
    # The bins of the training data were computed from a sample.
    rows = min(trained.count, SAMPLE_ROWS)
    return measure_psi(fill_bins(trained.bins, values), np.array(trained.bins.shares) * rows)


def compare_categories(counts: dict[str, int], trained: Categories) -> Optional[Distance]:
    """Returns the distance of categories from the training data; None without rows or counts.

    Args:
        counts: value → rows.
        trained: statistics of the training data.
    """
    # The counts of columns without a vocabulary are not stored.
    if not trained.counts or not counts:
        return None
    names = list(trained.counts)[:COMPARED]
    now = [counts.get(name, 0) for name in names]
    then = [trained.counts[name] for name in names]
    now.append(sum(counts.values()) - sum(now))
    then.append(trained.count - sum(then))
    return measure_psi(np.array(now), np.array(then))


def has_missing_drifted(missing: int, rows: int, trained_missing: int, trained_rows: int) -> bool:
    """Returns whether the share of missing values differs noticeably and significantly.

    Args:
        missing: rows without a value in the new data.
        rows: rows of the new data.
        trained_missing: rows without a value in the training data.
        trained_rows: rows of the training data.
    """
    if not rows or not trained_rows:
        return False
    now, then = missing / rows, trained_missing / trained_rows
    both = (missing + trained_missing) / (rows + trained_rows)
    error = math.sqrt(both * (1 - both) * (1 / rows + 1 / trained_rows))
    return abs(now - then) > max(MISSING_SHIFT, STANDARD_ERRORS * error)


def percent(share: float) -> str:
    """Returns a share as text.

    Args:
        share: from 0 to 1.
    """
    return f"{100 * share:.1f} %" if share >= 0.001 or not share else f"{100 * share:.2g} %"


def find_outside(moments: RunningMoments, trained: Range, hidden: bool) -> list[tuple[float, str]]:
    """Returns (0, sentence) if numbers are outside the range of the training data.

    Args:
        moments: of the numbers.
        trained: of the training data.
        hidden: whether the sentence shows no values.
    """
    if not moments.count or trained.min is None or trained.max is None or not trained.count:
        return []
    if moments.low >= trained.min and moments.high <= trained.max:
        return []
    if hidden:
        return [(0.0, "there are numbers outside of the range in training")]
    return [
        (
            0.0,
            f"from {moments.low:.6g} to {moments.high:.6g}, in training from {trained.min:.6g} to "
            f"{trained.max:.6g}",
        )
    ]
