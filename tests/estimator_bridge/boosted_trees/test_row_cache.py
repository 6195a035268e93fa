"""The table of rows gives what a walk of all trees gives, and keeps within its memory."""

import numpy as np
import pytest
from growing_trees import grow_layers

from estimator_bridge.boosted_trees import row_cache
from estimator_bridge.boosted_trees.forest import ForestCache, walk

pytestmark = pytest.mark.quick


def compare(cache, rows, serialized, features):
    content = cache.read(serialized)
    found = rows.walk(content, features)
    batch = features.shape[1]
    nothing = np.zeros(batch, np.int32), -np.ones(batch, np.int32)
    expected = walk(content, features, *nothing)
    for ours, other in zip(found, expected):
        np.testing.assert_array_equal(ours, other)


def test_rows_get_what_all_trees_give(monkeypatch):
    monkeypatch.setattr(row_cache, "_SMALLEST", 64)
    random = np.random.RandomState(1)
    # Some rows come again, in one batch too.
    table = random.randint(0, 10, (4, 400)).astype(np.int32)
    cache, rows = ForestCache(1), row_cache.RowCache(1)
    for serialized in grow_layers():
        for _ in range(3):
            compare(cache, rows, serialized, table[:, random.randint(0, 400, 90)])
    assert rows._count == np.count_nonzero(rows._keys) <= 400


def test_a_row_walks_each_tree_that_has_ended_once(monkeypatch):
    walked = []
    original = row_cache.descend

    def count(paths, features, rows, nodes):
        walked.append((int(nodes[0]) if len(nodes) else -1, len(rows)))
        return original(paths, features, rows, nodes)

    monkeypatch.setattr(row_cache, "descend", count)
    features = np.random.RandomState(2).randint(0, 10, (4, 50)).astype(np.int32)
    cache, rows = ForestCache(1), row_cache.RowCache(1)
    *_, last = grow_layers()
    content = cache.read(last)
    rows.walk(content, features)
    assert len(walked) == len(content.trees) == 5
    walked.clear()
    rows.walk(content, features)
    assert walked == [(content.forest.roots[-1], 50)]


def test_other_trees_make_the_table_forget(monkeypatch):
    features = np.random.RandomState(3).randint(0, 10, (4, 50)).astype(np.int32)
    cache, rows = ForestCache(1), row_cache.RowCache(1)
    *_, last = grow_layers(seed=1)
    compare(cache, rows, last, features)
    *_, other = grow_layers(seed=2)
    compare(cache, rows, other, features)
    # A checkpoint from before was restored.
    for serialized in grow_layers(seed=2, layers=5):
        compare(cache, rows, serialized, features)


def test_a_full_table_takes_no_more_rows(monkeypatch):
    monkeypatch.setattr(row_cache, "_SMALLEST", 64)
    monkeypatch.setattr(row_cache, "_LARGEST", 128)
    random = np.random.RandomState(4)
    cache, rows = ForestCache(1), row_cache.RowCache(1)
    *_, last = grow_layers()
    for _ in range(5):
        compare(cache, rows, last, random.randint(0, 1000, (4, 200)).astype(np.int32))
    assert len(rows._keys) == 128
