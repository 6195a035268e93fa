"""The boundaries of buckets beside those of TensorFlow 2.8.4, to the last bit."""

import json
import runpy
from pathlib import Path

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
