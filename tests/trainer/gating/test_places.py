"""Rows are assigned to slices and groups in little memory, and slices are measured one by one."""

import tracemalloc
import types

import numpy as np
import pytest

from trainer.gating.comparison import measure_subjects
from trainer.gating.measured import Settings
from trainer.gating.places import Places
from trainer.metrics.slices import Predictions
from trainer.schema import Schema, Statistics

pytestmark = [pytest.mark.newest, pytest.mark.quick]

COLUMNS = {
    "city": {"type": "string", "hash_buckets": 9},
    "user": {"type": "string", "use": []},
    "day": {"type": "float", "use": []},
    "y": {"type": "float"},
}
SCHEMA = Schema.model_validate({"columns": COLUMNS, "label": {"column": "y"}})


def make_places(by, group):
    description = types.SimpleNamespace(schema=SCHEMA, statistics=Statistics(1, {}))
    return Places(by, group, description)


def test_long_texts_of_a_group_are_not_kept():
    places = make_places([["city"]], "user")
    assert places.names == ["city", "user"]
    rows, parts = 20_000, 5
    tracemalloc.start()
    try:
        for first in range(0, parts * rows, rows):
            users = np.array(
                [b"%0300d" % (row // 1000) for row in range(first, first + rows)], object
            )
            places.add({"city": np.full(rows, b"Ulm", object), "user": users})
        del users
        slices, groups = places.finish_slices(), places.finish_groups()
        # Text of four bytes a character, as an array of NumPy, would be 120 MB.
        assert tracemalloc.get_traced_memory()[1] < 20e6
    finally:
        tracemalloc.stop()
    assert list(slices["city"].names) == ["Ulm"]
    assert (groups == np.arange(parts * rows) // 1000).all()


def test_numbers_are_groups_by_their_value_not_by_their_bin():
    places = make_places([], "day")
    for values in ([3, 1, np.nan], [1, 2.5, np.nan]):
        places.add({"day": np.array(values, np.float32)})
    assert places.finish_groups().tolist() == [2, 0, 3, 0, 1, 3]
    assert make_places([], None).finish_groups() is None


def make_answers(rows, seed):
    rng = np.random.default_rng(seed)
    scores = rng.random(rows, np.float32)
    labels = (np.random.default_rng(0).random(rows) < 0.5).astype(np.int32)
    return types.SimpleNamespace(
        predictions=Predictions(labels, scores, None), latencies=np.ones(5), size_mb=1.0
    )


@pytest.mark.long
@pytest.mark.parametrize("num", [1, 6])
def test_more_slicings_take_no_more_memory(num):
    rows = 200_000
    both = make_answers(rows, 1), make_answers(rows, 2)
    names = [f"column {number}" for number in range(num)]
    places = make_places([["city"]], None)
    places.add({"city": np.array([b"%d" % (row % 4) for row in range(rows)], object)})
    (grouping,) = places.finish_slices().values()
    settings = Settings("binary", 0.5, ["accuracy"])
    with pytest.MonkeyPatch.context() as patch:
        # Of large data, one sample is in memory at a time.
        for name, value in {"MIN_SAMPLES": 3, "MAX_SAMPLES": 3, "CHUNK_DRAWS": rows}.items():
            patch.setattr(f"trainer.gating.resampling.{name}", value)
        tracemalloc.start()
        subjects = measure_subjects(*both, dict.fromkeys(names, grouping), settings)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert [one.name for one in subjects[:3]] == ["all rows", f"{names[0]} = 0", f"{names[0]} = 1"]
    assert [one.rows for one in subjects] == [rows] + [rows // 4] * 4 * num
    assert peak < 250 * rows, peak / rows
