"""Metrics of samples are those of the rows they stand for; intervals cover the truth."""

import numpy as np
import pytest
from scipy import stats

from trainer.gating import resampling
from trainer.metrics import slices
from trainer.metrics.slices import Predictions

pytestmark = pytest.mark.newest


def make_predictions(task, rows=300, seed=0):
    rng = np.random.default_rng(seed)
    weights = rng.uniform(0.5, 2, rows)
    if task == "regression":
        labels = rng.normal(1e4, 3, rows)
        return Predictions(labels, labels + rng.normal(0, 1, rows), weights)
    if task == "multiclass":
        scores = rng.dirichlet(np.ones(3), rows)
        return Predictions(rng.integers(0, 3, rows), scores, weights)
    # With ties.
    scores = np.round(rng.uniform(0, 1, rows), 2)
    return Predictions((rng.uniform(0, 1, rows) < scores).astype(int), scores, weights)


@pytest.mark.parametrize("task", ["binary", "multiclass", "regression"])
def test_a_sample_has_the_metrics_of_its_rows(task):
    predictions = make_predictions(task)
    meter = resampling.make_meter(task, predictions, 0.4)
    counts = next(resampling.draw(300, None, 1))[:20]
    found = meter(np.concatenate([np.ones((1, 300)), counts]))
    for number, count in enumerate([np.ones(300), *counts]):
        index = np.repeat(np.arange(300), count.astype(int))
        expected = slices.measure(task, Predictions(*(part[index] for part in predictions)), 0.4)
        for name, value in expected.items():
            assert found[name][number] == pytest.approx(value, rel=1e-6, abs=1e-9), name


def test_the_interval_is_that_of_scipy():
    predictions = make_predictions("regression")
    unweighted = predictions._replace(weights=None)
    meter = resampling.make_meter("regression", unweighted, 0.5)
    samples = np.concatenate([meter(counts)["mae"] for counts in resampling.draw(300, None, 0)])
    errors = np.abs(unweighted.scores - unweighted.labels)
    low, high = resampling.find_interval(float(errors.mean()), samples, 0.95)
    theirs = stats.bootstrap((errors,), np.mean, random_state=0).confidence_interval
    assert (low, high) == pytest.approx((theirs.low, theirs.high), rel=0.02)


def test_rows_of_a_group_are_drawn_together():
    groups = np.repeat(np.arange(30), 10)
    counts = np.concatenate(list(resampling.draw(300, groups, 0)))
    assert counts.shape == (resampling.MAX_SAMPLES, 300)
    assert (counts == counts[:, groups * 10]).all()
    assert counts.mean() == pytest.approx(1, abs=0.02) and counts.var() == pytest.approx(1, abs=0.1)


def test_large_data_get_fewer_samples():
    assert resampling.count_samples(10**6) == resampling.MIN_SAMPLES
    assert resampling.count_samples(100) == resampling.MAX_SAMPLES
