"""Sums of many rows: equal however the rows are divided, and near the metrics of the rows."""

import pickle
import types

import numpy as np
import pytest

from trainer.errors import UserError
from trainer.gating import resampling
from trainer.gating.measured import Settings
from trainer.gating.tally import Tally, group_rows
from trainer.metrics.cells import Cells, to_floats, to_limbs
from trainer.metrics.slices import Predictions
from trainer.schema import Schema, Statistics
from trainer.schema.statistics import Bins, Range

pytestmark = [pytest.mark.newest, pytest.mark.quick]

SCHEMA = Schema.model_validate(
    {
        "columns": {
            "city": {"type": "string", "hash_buckets": 9},
            "age": {"type": "float", "default": 0, "buckets": [30, 50]},
            "hours": {"type": "float", "default": 0},
            "user": {"type": "string", "use": []},
            "level": {"type": "int", "use": []},
            "y": {"type": "float"},
        },
        "label": {"column": "y"},
    }
)
BINS = Bins(edges=(10.0, 20.0), shares=(0.5, 0.2, 0.3))
HOURS = Range(count=9, missing=0, mean=9, std=9, min=0, max=40, bins=BINS)
MANY = 1500


def make_rows(task, rows, seed=0):
    rng = np.random.default_rng(seed)
    chunk = {
        "city": rng.choice([b"Ulm", b"Bonn", b""], rows).astype(object),
        "age": np.where(rng.random(rows) < 0.1, np.nan, rng.integers(18, 80, rows)).astype("f4"),
        "hours": rng.integers(0, MANY, rows).astype(np.float32) / 40,
        "level": rng.integers(1, 4, rows),
    }
    weights = rng.uniform(0.5, 2, rows).astype(np.float32)
    if task == "multiclass":
        scores = rng.dirichlet(np.ones(3), rows).astype(np.float32)
        return Predictions(rng.integers(0, 3, rows), scores, weights), chunk
    if task == "regression":
        labels = rng.normal(1e4, 3, rows)
        return Predictions(labels, labels + rng.normal(0, 1, rows), None), chunk
    scores = rng.beta(0.5, 5, rows).astype(np.float32)
    labels = (rng.random(rows) < scores).astype(np.int64)
    return Predictions(labels, scores, weights if seed % 2 else None), chunk


def make_tally(task, by, is_weighted=False):
    statistics = Statistics(9, {"hours": HOURS})
    description = types.SimpleNamespace(schema=SCHEMA, statistics=statistics)
    metric = {"binary": "auc", "multiclass": "accuracy", "regression": "rmse"}[task]
    return Tally(Settings(task, 0.2, [metric]), by, description, is_weighted)


def add(tally, predictions, chunk, rows):
    parts = Predictions(*(None if part is None else part[rows] for part in predictions))
    numbers = np.arange(len(predictions.labels))[rows]
    tally.add(parts, group_rows(numbers), {name: array[rows] for name, array in chunk.items()})


def describe(tally):
    return [
        (one.by, one.value, one.rows, one.measured.values,
         {name: array.tobytes() for name, array in one.measured.samples.items()})
        for one in tally.finish()
    ]  # fmt: skip


@pytest.mark.long
@pytest.mark.parametrize(("task", "seed"), [("binary", 0), ("binary", 1), ("regression", 2)])
def test_the_result_does_not_depend_on_the_pieces(task, seed, monkeypatch):
    monkeypatch.setattr("trainer.metrics.cells.WAITING", 500)
    monkeypatch.setattr("trainer.gating.tally.FINE", 1000)
    rows, by = 4000, [["city", "level"], ["age"], ["hours"]]
    predictions, chunk = make_rows(task, rows, seed)
    is_weighted = predictions.weights is not None
    whole = make_tally(task, by, is_weighted)
    add(whole, predictions, chunk, slice(0, rows))
    expected = repr(describe(whole))
    rng = np.random.default_rng(seed)
    for _ in range(3):
        parts = np.split(rng.permutation(rows), np.sort(rng.integers(0, rows, 9)))
        tallies = []
        for part in parts:
            tallies.append(make_tally(task, by, is_weighted))
            if len(part):
                add(tallies[-1], predictions, chunk, part)
        while len(tallies) > 1:
            first = tallies.pop(int(rng.integers(len(tallies))))
            second = pickle.loads(pickle.dumps(tallies.pop(int(rng.integers(len(tallies))))))
            first.merge(second)
            tallies.append(first)
        assert repr(describe(tallies[0])) == expected
    found = {(one.by, one.value): one.rows for one in tallies[0].finish()}
    names = {name for by, name in found if by in ("age", "hours")}
    assert names == {
        "age < 30", "30 <= age < 50", "age >= 50", "(missing)",
        "hours < 10", "10 <= hours < 20", "hours >= 20",
    }  # fmt: skip
    assert (
        found["city*level", "Ulm, 2"] == ((chunk["city"] == b"Ulm") & (chunk["level"] == 2)).sum()
    )
    assert found["", ""] == rows == sum(n for (by, _), n in found.items() if by == "age")


@pytest.mark.long
@pytest.mark.parametrize("task", ["binary", "narrow", "multiclass", "regression"])
def test_metrics_and_intervals_are_those_of_the_rows(task):
    rows = 20_000
    predictions, chunk = make_rows("binary" if task == "narrow" else task, rows, 1)
    if task == "narrow":
        # As of a model that has hardly learnt.
        task, scores = "binary", 0.6 + 0.001 * predictions.scores
        predictions = predictions._replace(scores=scores)
    tally = make_tally(task, [], predictions.weights is not None)
    add(tally, predictions, chunk, slice(0, rows))
    (found,) = tally.finish()
    meter = resampling.make_meter(task, predictions, 0.2)
    expected = meter(np.ones((1, rows)))
    drawn = [meter(counts) for counts in resampling.draw(rows, None, 0)]
    assert set(found.measured.values) == set(expected)
    for name, value in found.measured.values.items():
        # Areas are those of scores in bins: precision is that at the end of a bin.
        rel = {"auc": 1e-5, "auc_precision_recall": 2e-3}.get(name, 1e-9)
        assert value == pytest.approx(expected[name][0], rel=rel), name
        samples = np.concatenate([one[name] for one in drawn])
        # 256 groups tell a deviation to 4.4 %.
        assert found.measured.samples[name].std() == pytest.approx(samples.std(), rel=0.15), name


@pytest.mark.long
def test_memory_does_not_grow_with_the_rows():
    sizes = []
    for rows in (40_000, 80_000):
        tally = make_tally("binary", [["level"]])
        for first in range(0, rows, 20_000):
            add(tally, *make_rows("binary", 20_000, first), slice(0, 20_000))
        tally.finish()
        sizes.append(len(pickle.dumps(tally)))
    assert sizes[1] < 1.4 * sizes[0] and sizes[1] < 6e6


def test_too_many_slices_and_other_rows_are_refused():
    predictions, chunk = make_rows("binary", 1200, 0)
    chunk["user"] = np.array([b"%d" % row for row in range(1200)], object)
    tally = make_tally("binary", [["user"]])
    add(tally, predictions, chunk, slice(0, 600))
    other = make_tally("binary", [["user"]])
    add(other, predictions, chunk, slice(600, 1200))
    with pytest.raises(UserError, match="it does not have the same rows and labels"):
        tally.require_rows_of(other)
    tally.require_rows_of(pickle.loads(pickle.dumps(tally)))
    tally.merge(other)
    with pytest.raises(UserError, match="--by=user: more than 1,000 slices"):
        tally.finish()


def test_sums_are_exact():
    values = np.array([[1e20], [1.0], [-1e20], [2**-60], [3.5]])
    cells = Cells()
    for value in values[[3, 0, 1, 4, 2]]:
        cells.add(np.array([7]), to_limbs(value[None]))
    keys, limbs = cells.get()
    assert keys.tolist() == [7] and to_floats(limbs).tolist() == [[4.5 + 2**-60]]
