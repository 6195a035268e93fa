"""Summaries of many columns at once are those of each column, bit by bit."""

import numpy as np
import pytest

from estimator_bridge.boosted_trees import quantile_columns
from estimator_bridge.boosted_trees.quantiles import summarize

pytestmark = pytest.mark.newest


def _make_column(random, kind, size):
    values = random.randn(size)
    if kind == "rounded":
        values = values.round(2)
    if kind == "skewed":
        values = np.exp(5 * values)
    if kind == "sorted":
        values.sort()
    if kind == "negative zero":
        values[random.randint(size)] = -0.0
    if kind == "missing":
        values[random.randint(size)] = np.nan
    return values.astype(np.float32)


KINDS = ["normal", "normal", "rounded", "skewed", "sorted", "negative zero", "missing"]


@pytest.mark.parametrize("seed", range(20))
def test_summaries_are_those_of_each_column(seed):
    random = np.random.RandomState(seed)
    size = random.choice([1, 2, 5, 100, 401, 802, 803, 5_000, 20_001])
    epsilon = float(random.choice([0.001, 0.01, 0.05, 0.1]))
    # More columns than are computed at once.
    kinds = [KINDS[n] for n in random.randint(len(KINDS), size=random.choice([1, 2, 40]))]
    columns = [_make_column(random, kind, size) for kind in kinds]
    for weights in (
        np.ones(1, np.float32),
        np.full(1, 0.1, np.float32),
        np.zeros(1, np.float32),
        random.rand(size).astype(np.float32),
    ):
        found = quantile_columns.summarize_columns(columns, weights, epsilon)
        for column, summary in zip(columns, found):
            wanted = summarize(column, weights, epsilon)
            assert (summary.dtype, summary.shape) == (wanted.dtype, wanted.shape)
            assert summary.tobytes() == wanted.tobytes()


def test_columns_of_different_values_are_summarized_together(monkeypatch):
    """Of 10,000 random values, one and then another is there twice, in blocks of 800."""
    alone = []

    def note(values, *more):
        alone.append(values)
        return summarize(values, *more)

    monkeypatch.setattr(quantile_columns, "summarize", note)
    columns = np.random.RandomState(0).randn(200, 10_000).astype(np.float32)
    quantile_columns.summarize_columns(list(columns), np.ones(1, np.float32), 0.01)
    assert 0 < len(alone) < 40
