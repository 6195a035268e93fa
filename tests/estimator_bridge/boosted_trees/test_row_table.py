"""Rows that are known by their numbers get what a walk of all trees gives."""

import numpy as np
import pytest
from growing_trees import grow_layers

from estimator_bridge.boosted_trees.ensemble import parse
from estimator_bridge.boosted_trees.forest import ForestCache, walk
from estimator_bridge.boosted_trees.row_table import RowTable, find_rows

pytestmark = pytest.mark.quick

ROWS = 60


@pytest.fixture
def table():
    table = RowTable(4, ROWS, 1, np.int16)
    buckets = np.random.RandomState(1).randint(-1, 10, (4, ROWS)).astype(np.int16)
    rows = np.arange(ROWS)
    assert not table.knows(rows)
    table.keep(rows[::2], buckets[:, ::2])
    assert table.knows(rows[::2]) and not table.knows(rows[:2])
    table.keep(rows, buckets)
    return table, buckets


def compare(table, buckets, content, rows):
    nothing = np.zeros(len(rows), np.int32), -np.ones(len(rows), np.int32)
    expected = walk(content, buckets[:, rows], *nothing)
    for ours, other in zip(table.walk(content, rows, find_rows(rows)), expected):
        np.testing.assert_array_equal(ours, other)


def test_rows_get_what_all_trees_give(table):
    table, buckets = table
    random, cache = np.random.RandomState(2), ForestCache(1)
    for serialized in grow_layers():
        for count in (0, 7, 30):
            compare(table, buckets, cache.read(serialized), random.randint(0, ROWS, count))


@pytest.mark.parametrize("rows", [[3, 4, 5, 6], [3, 5, 4, 6], [6, 2, 2], [9], []])
def test_their_buckets_are_read(rows, table):
    table, buckets = table
    rows = np.array(rows, np.int64)
    np.testing.assert_array_equal(table.read(rows), buckets[:, rows])


def test_other_trees_are_walked_from_their_roots(table):
    table, buckets = table
    layers = [ForestCache(1).read(one) for seed in (0, 5) for one in grow_layers(seed)]
    rows = np.arange(ROWS)
    # Forwards, from one ensemble to another, and back.
    for content in [*layers, *layers[::-1], layers[-1], layers[3], layers[16]]:
        compare(table, buckets, content, rows)


def test_rows_of_a_tree_that_is_pruned_when_it_ends_start_from_its_root(table):
    table, buckets = table
    rows, layers = np.arange(ROWS), [parse(one) for one in grow_layers()]
    for before, after in zip(layers[1:], layers[2:]):
        compare(table, buckets, ForestCache(1).read(before.SerializeToString()), rows)
        last = len(before.trees) - 1
        if len(after.trees) - 1 > last:
            first = next(one for one in layers if len(one.trees) > last)
            assert len(first.trees[last].nodes) < len(before.trees[last].nodes)
            after.trees[last].CopyFrom(first.trees[last])
            compare(table, buckets, ForestCache(1).read(after.SerializeToString()), rows)


def test_nothing_is_left_after_a_session(table):
    table, buckets = table
    *_, last = grow_layers()
    rows = np.arange(ROWS)
    table.walk(ForestCache(1).read(last), rows, slice(0, ROWS))
    table.clear()
    assert not table.knows(rows[:1])
    table.keep(rows, buckets[:, ::-1])
    compare(table, buckets[:, ::-1], ForestCache(1).read(last), rows)
