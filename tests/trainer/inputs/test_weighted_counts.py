"""trainer.inputs.weighted_counts: metrics of counted rows are those of the rows."""

import numpy as np
import pytest

from trainer.inputs.weighted_counts import WeightedCounts
from trainer.metrics import baselines
from trainer.metrics.baselines import Rows


def _draw(rows=20_000):
    rng = np.random.default_rng(3)
    column = rng.integers(0, 50, rows).astype(np.float64)
    labels = (rng.uniform(size=rows) < 1 / (1 + np.exp(2 - column / 10))).astype(np.int64)
    return labels, column, rng.integers(1, 5, rows).astype(np.float64)


def _count(limit, *arrays):
    counts = WeightedCounts(limit)
    for start in range(0, len(arrays[0]), 1000):
        counts.add(*(array[start : start + 1000] for array in arrays))
    return counts.get()


def test_baselines_are_those_of_the_rows():
    arrays = _draw()
    labels, column, weights = _count(1 << 20, *arrays)
    assert len(labels) == 100 and weights.sum() == arrays[2].sum()
    rows, counted = Rows(*arrays), Rows(labels, column, weights)
    wanted = baselines.measure_baselines("binary", rows, rows, "x")
    measured = baselines.measure_baselines("binary", counted, counted, "x")
    for name, metrics in wanted.items():
        assert measured[name] == pytest.approx(metrics, rel=1e-9)


def test_pairs_beyond_the_limit_are_dropped_evenly():
    rng = np.random.default_rng(1)
    column = rng.normal(size=50_000)
    labels = 3 * column + rng.normal(size=50_000)
    first, second, weights = _count(1000, labels, column, np.ones(50_000))
    assert 500 <= len(first) <= 1000 and weights.sum() == pytest.approx(50_000)
    slope, intercept = baselines.fit_line(second, first, weights)
    assert slope == pytest.approx(3, abs=0.2) and intercept == pytest.approx(0, abs=0.2)


def test_without_rows_there_are_no_pairs():
    assert [len(array) for array in WeightedCounts().get()] == [0, 0, 0]
