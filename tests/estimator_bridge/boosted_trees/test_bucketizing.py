"""Buckets of numbers in training are those that a binary search finds."""

import hypothesis
import numpy as np
import pytest
from hypothesis import strategies as st

from estimator_bridge.boosted_trees.bucketizing import Bucketizer, _plan

pytestmark = pytest.mark.quick

FLOATS = st.floats(width=32, allow_nan=False)


def find_by_search(values, boundaries):
    found = np.searchsorted(boundaries, values)
    found[np.isnan(values)] = 0
    return np.clip(found, 0, max(len(boundaries) - 1, 0))


@hypothesis.given(st.data())
@hypothesis.settings(max_examples=300, deadline=None)
def test_any_boundaries_and_numbers(data):
    near = st.floats(-4, 4, width=32)
    limits = sorted(data.draw(st.lists(data.draw(st.sampled_from([FLOATS, near])), max_size=30)))
    boundaries = np.array(limits, np.float32)
    # Boundaries themselves, and what lies next to them, are the numbers that can go wrong.
    chosen = data.draw(st.lists(st.sampled_from(limits or [0.0]), min_size=1, max_size=20))
    values = np.array(chosen, np.float32)
    with np.errstate(over="ignore"):
        around = [np.nextafter(values, np.float32(end)) for end in (-np.inf, np.inf)]
    values = np.concatenate([values, *around, [np.nan, np.inf, -np.inf]]).astype(np.float32)
    found = Bucketizer().find([values[:, np.newaxis]], [boundaries])
    np.testing.assert_array_equal(found[0], find_by_search(values, boundaries))
    assert found.dtype == np.int32


def test_a_grid_is_used_and_follows_the_boundaries():
    random = np.random.default_rng(0)
    values = random.standard_normal((3, 5000)).astype(np.float32)
    bucketizer = Bucketizer()
    for _ in range(2):
        boundaries = [np.sort(random.standard_normal(100)).astype(np.float32) for _ in values]
        assert all(_plan(each) is not None for each in boundaries)
        found = bucketizer.find([values.T], boundaries)
        for row, limits, ours in zip(values, boundaries, found):
            np.testing.assert_array_equal(ours, find_by_search(row, limits))
