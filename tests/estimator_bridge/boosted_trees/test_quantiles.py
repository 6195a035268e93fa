"""The boundaries of buckets beside those of TensorFlow 2.8.4, to the last bit."""

import json
import runpy
from pathlib import Path

import numpy as np
import pytest

from estimator_bridge.boosted_trees import quantiles

pytestmark = pytest.mark.quick

STORED = Path(__file__).parents[1] / "golden" / "2.8.4" / "boosted_trees" / "quantiles.json"


def test_boundaries_are_those_of_2_8():
    stored = json.loads(STORED.read_text(encoding="utf-8"))
    cases = runpy.run_path(str(Path(__file__).with_name("quantile_cases.py")))
    for name, batches, weights, epsilon in cases["list_cases"]():
        summaries = [
            quantiles.summarize(values, shares, epsilon) for values, shares in zip(batches, weights)
        ]
        found = quantiles.compute_boundaries(summaries, epsilon, int(1 / epsilon))
        assert found.tolist() == stored[name], name


def test_one_weight_of_all_gives_the_summary_of_equal_weights():
    random = np.random.RandomState(4)
    different = random.randn(5000).astype(np.float32)
    odd = different.copy()
    odd[::1000] = 0.0, -0.0, np.nan, np.inf, -np.inf
    for values in (different, np.round(different, 2), odd, different[:1], different[:0]):
        for weight, epsilon in ((1.0, 0.01), (0.3, 0.1), (7.0, 0.001)):
            one = quantiles.summarize(values, np.float32([weight]), epsilon)
            each = quantiles.summarize(values, np.full(len(values), weight, np.float32), epsilon)
            assert one.tobytes() == each.tobytes()
