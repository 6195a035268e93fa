"""Sums of very many rows: equal however they are divided and merged, and near those of the rows."""

import pickle

import numpy as np
import pytest

from trainer.errors import UserError
from trainer.evaluation.summed import measure_tally
from trainer.metrics import slices
from trainer.metrics.grouping import Grouper
from trainer.metrics.rows_or_sums import RowsOrSums
from trainer.metrics.slices import Predictions
from trainer.metrics.tally import Detail, Tally
from trainer.reporting import plots
from trainer.schema import Schema
from trainer.schema.statistics import Bins, Range

pytestmark = [pytest.mark.newest, pytest.mark.quick]

SCHEMA = Schema.model_validate(
    {
        "columns": {
            "city": {"type": "string", "hash_buckets": 9},
            "hours": {"type": "float", "default": 0},
            "level": {"type": "int", "use": []},
            "y": {"type": "float"},
        },
        "label": {"column": "y"},
    }
)
BY = [["city"], ["hours"], ["level"], ["city", "level"]]
BINS = Bins(edges=(10.0, 20.0), shares=(0.5, 0.2, 0.3))
HOURS = Range(count=9, missing=0, mean=9, std=9, min=0, max=40, bins=BINS)


def make_rows(task, rows, is_weighted=False, size=1.0):
    rng = np.random.default_rng(rows)
    chunk = {
        "city": rng.choice([b"Ulm", b"Bonn", b""], rows, p=[0.5, 0.3, 0.2]).astype(object),
        "hours": np.where(rng.random(rows) < 0.1, np.nan, rng.integers(0, 1600, rows) / 40),
        "level": rng.integers(9, 12, rows),
    }
    weights = rng.uniform(0.5, 2, rows).astype(np.float32) if is_weighted else None
    if task == "multiclass":
        scores = rng.dirichlet(np.ones(3), rows).astype(np.float32)
        return Predictions(rng.integers(0, 3, rows), scores, weights), chunk
    if task == "regression":
        labels = rng.normal(4, 3, rows) * size
        return Predictions(labels, labels + rng.normal(0, size, rows), weights), chunk
    scores = rng.beta(0.5, 5, rows).astype(np.float32)
    return Predictions((rng.random(rows) < scores).astype(int), scores, weights), chunk


def make_ranges(size=1.0):
    label = Range(count=9, missing=0, mean=4.1 * size, std=3.2 * size, min=0, max=9)
    return {"hours": HOURS, "y": label}


def open_rows(task, is_weighted=False, by=BY, ranges=None, detail=(300, 100, 1000)):
    ranges = ranges or make_ranges()
    detail = Detail(task, 0.2, *detail, is_drawn=True)
    tally = Tally(detail, by, SCHEMA, ranges, is_weighted)
    return lambda order: pickle.loads(
        pickle.dumps(RowsOrSums(order, Grouper(by, SCHEMA, ranges), tally))
    )


def add(found, rows, where):
    predictions, chunk = rows
    parts = Predictions(*(None if part is None else part[where] for part in predictions))
    chunk = {name: array[where] for name, array in chunk.items()}
    found.add(parts, np.zeros(len(parts.labels), np.int64), chunk)


def describe(found):
    sliced = measure_tally(found.tally, 50)
    drawn = [None if part is None else part.tobytes() for part in sliced.predictions]
    return repr((sliced._replace(predictions=drawn), found.finish()))


@pytest.mark.parametrize(
    ("task", "is_weighted"),
    [("binary", True), ("binary", False), ("multiclass", True), ("regression", False)],
)
def test_any_tree_of_merges_gives_the_same(task, is_weighted, monkeypatch):
    monkeypatch.setattr("trainer.metrics.cells.WAITING", 500)
    monkeypatch.setattr("trainer.metrics.rows_or_sums.EXACT_ROWS", 900)
    rows, count = make_rows(task, 3000, is_weighted), 3000
    make = open_rows(task, is_weighted)
    whole = make(0)
    add(whole, rows, slice(0, count))
    expected = describe(whole)
    assert "city" in expected and whole.finish() is None
    rng = np.random.default_rng(5)
    for _ in range(4):
        order = rng.permutation(count)
        found = []
        for part in np.split(order, np.sort(rng.integers(0, count, int(rng.integers(2, 12))))):
            found.append(make(int(rng.integers(99))))
            for batch in np.array_split(part, 3):
                if len(batch):
                    add(found[-1], rows, batch)
        while len(found) > 1:
            first = found.pop(int(rng.integers(len(found))))
            first.merge(pickle.loads(pickle.dumps(found.pop(int(rng.integers(len(found)))))))
            found.append(first)
        assert describe(found[0]) == expected


@pytest.mark.parametrize(
    ("task", "is_weighted", "size"),
    [("binary", True, 1), ("binary", False, 1), ("multiclass", False, 1),
     ("regression", True, 1), ("regression", False, 1e-9), ("regression", False, 1e20)],
)  # fmt: skip
def test_metrics_are_those_of_the_rows_within_the_bounds(task, is_weighted, size):
    rows = make_rows(task, 5000, is_weighted, size)
    found = open_rows(task, is_weighted, ranges=make_ranges(size))(0)
    add(found, rows, slice(0, 5000))
    sliced = measure_tally(found.tally, 500)
    exact = slices.measure(task, rows[0], 0.2)
    groupings = found.finish().places.finish()
    parts = slices.measure_slices(task, rows[0], groupings, 0.2, 500)
    assert list(sliced.overall) == list(exact) and sliced.rows == 5000
    assert [one[:4] for one in sliced.parts] == [one[:4] for one in parts] and len(parts) == 19
    bounds = sliced.bounds
    assert set(bounds) == ({"overall", "slices"} if task == "binary" else set())
    for ours, theirs, kind in [
        (sliced.overall, exact, "overall"),
        *((one.metrics, other.metrics, "slices") for one, other in zip(sliced.parts, parts)),
    ]:
        for name, value in theirs.items():
            bound = bounds.get(kind, {}).get(name, 0)
            assert ours[name] == pytest.approx(value, rel=1e-9, abs=bound), (kind, name)
    if task == "binary":
        # At least half of the bins are used.
        assert bounds["overall"]["auc"] < 1 / 150 < 0.1 > bounds["overall"]["auc_precision_recall"]


def test_memory_does_not_grow_with_the_rows(monkeypatch):
    monkeypatch.setattr("trainer.metrics.rows_or_sums.EXACT_ROWS", 900)
    found, sizes = open_rows("binary", by=[["level"]])(0), []
    for _ in range(3):
        for rows in range(5000, 5010):
            add(found, make_rows("binary", rows), slice(None))
        found.tally.sketch()
        sizes.append(len(pickle.dumps(found)))
    assert max(sizes) < 1.1 * sizes[0] < 60_000


def test_what_cannot_be_added_is_refused(monkeypatch):
    rows = make_rows("regression", 200)
    rows[0].scores[7] = np.nan
    found = open_rows("regression")(0)
    add(found, rows, slice(0, 100))
    add(found, rows, slice(100, 200))
    assert np.isnan(slices.measure("regression", found.finish().predictions, 0)["rmse"])
    with pytest.raises(UserError, match="not a finite number, or too large .* fewer rows"):
        measure_tally(found.tally, 1)
    found = open_rows("binary", detail=(300, 100, 20))(0)
    rows = make_rows("binary", 200)
    rows[1]["city"] = np.array([b"%d" % row for row in range(200)], object)
    add(found, rows, slice(None))
    with pytest.raises(UserError, match="--by=city: more than 20 slices"):
        measure_tally(found.tally, 1)


def test_rows_without_weight_have_no_metrics():
    rows = make_rows("binary", 50)
    rows = rows[0]._replace(weights=np.zeros(50, np.float32)), rows[1]
    found = open_rows("binary", is_weighted=True)(0)
    add(found, rows, slice(None))
    sliced = measure_tally(found.tally, 1)
    assert sliced.overall == {} and {len(part.metrics) for part in sliced.parts} == {0}


@pytest.mark.parametrize("task", ["binary", "multiclass", "regression"])
def test_plots_of_sums_look_like_those_of_the_rows(task, tmp_path, monkeypatch):
    rows = make_rows(task, 4000, is_weighted=True)
    found = open_rows(task, is_weighted=True, detail=(4096, 0, 9))(0)
    add(found, rows, slice(None))
    drawn = []

    def keep(figure, path):
        lines = [line for axes in figure.axes for line in axes.get_lines()]
        bars = [bar.get_width() for axes in figure.axes for bar in axes.patches]
        points = [line.get_xydata() for line in lines if len(line.get_xydata()) < 100]
        drawn.append((np.concatenate([np.ravel(one) for one in points]) if points else [], bars))

    monkeypatch.setattr(plots, "_save", keep)
    for predictions in (rows[0], found.tally.sketch()):
        plots.draw_predictions(task, predictions, ["a", "b", "c"], tmp_path / "plot.png")
    (points, bars), (sketched, sketched_bars) = drawn
    assert sketched == pytest.approx(points, rel=1e-2, abs=1e-2)
    assert sketched_bars == pytest.approx(bars, rel=1e-9)
