"""Sums of gradients and hessians: those of a loop over rows, rounded as TensorFlow rounded them."""

import types

import numpy as np
import pytest

from estimator_bridge.boosted_trees.histograms import LayerSums

GROUPS = [
    types.SimpleNamespace(feature_ids=[0, 2], num_buckets=5),
    types.SimpleNamespace(feature_ids=[1], num_buckets=3),
]
NODES = np.array([3, 7])


def sum_by_rows(group, nodes, statistics, features):
    shape = (len(group.feature_ids), 4, group.num_buckets + 1, statistics.shape[1])
    found = np.zeros(shape, np.float64)
    for place, feature in enumerate(group.feature_ids):
        for row, node in enumerate(nodes):
            if node >= NODES[0]:
                # -1 is the last bucket.
                found[place, node - NODES[0], features[feature, row]] += statistics[row]
    return found.astype(np.float32)


@pytest.mark.parametrize("width", [1, 2, 3, 12])
@pytest.mark.parametrize("lowest", [0, -1])
@pytest.mark.parametrize("dtype", [np.int8, np.int16])
def test_sums_are_those_of_a_loop_over_rows(width, lowest, dtype):
    random = np.random.default_rng(width)
    layer = LayerSums(GROUPS)
    for _ in range(2):
        expected = None
        for count in range(1, 4):
            rows = 200 * count
            nodes = random.integers(0, 7, rows).astype(np.int32)
            statistics = random.standard_normal((rows, width)).astype(np.float32)
            features = random.integers(lowest, 3, (3, rows)).astype(dtype)
            assert layer.add(nodes, NODES, [statistics], features) == count
            sums = [sum_by_rows(group, nodes, statistics, features) for group in GROUPS]
            expected = sums if expected is None else [a + b for a, b in zip(expected, sums)]
        means = layer.take()
        for one, group in zip(means, GROUPS):
            assert one.shape == (len(group.feature_ids), 4, group.num_buckets + 1, width)
        assert all(
            np.array_equal(one, total / np.float32(3)) for one, total in zip(means, expected)
        )


def test_batches_that_were_cleared_do_not_count():
    layer = LayerSums(GROUPS)
    batch = np.int32([3, 4]), NODES, [np.float32([[1], [2]])], np.zeros((3, 2), np.int8)
    layer.add(*batch)
    layer.clear()
    assert layer.add(*batch) == 1
    assert layer.take()[1][0, :, 0, 0].tolist() == [1, 2, 0, 0]
