"""The result of a pass does not depend on how its rows are divided and merged."""

import math
import pickle
import random
import tempfile
from collections import Counter
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trainer.config import load_config
from trainer.console import Console
from trainer.data_validation import check, infer
from trainer.data_validation.profile_pass import ProfilePass, finish
from trainer.data_validation.reading import CsvStyle
from trainer.engines.dividing import apply_parts, divide_files
from trainer.engines.options import BEAM, Engine
from trainer.engines.running import group_files
from trainer.errors import UserError
from trainer.inputs import leakage, parquet_files, row_sample
from trainer.inputs import streaming_statistics as streaming
from trainer.inputs.exact_sums import UNIT_BITS, sum_exactly, sum_squares_exactly
from trainer.inputs.files import DataFile, FilePart, find_files
from trainer.inputs.row_sample import RowSample
from trainer.inputs.scan import scan_files
from trainer.inputs.stretches import Dialect
from trainer.passes import planning
from trainer.passes.contract import Piece, Rows, add_piece, number_files
from trainer.passes.local import run_here
from trainer.passes.scan_pass import ScanPass
from trainer.schema import Schema

pytestmark = [pytest.mark.quick, pytest.mark.newest]

FINITE = st.floats(allow_nan=False, allow_infinity=False)
# Values of one column: some of them make it numbers, others text, identifiers or missing.
CELLS = st.sampled_from(
    ["1", "2", " 3", "0.1", "1e-3", "-7.25", "007", "0x1F", "NA", "", "?", "a b", " a b", "1e30"]
)
SCHEMA = Schema.model_validate(
    {
        "columns": {
            "x": {"type": "float", "default": 0},
            "n": {"type": "int", "default": -1, "hash_buckets": 10},
            "word": {"type": "string", "vocabulary": ["a", "b"]},
            "y": {"type": "int"},
        },
        "label": {"column": "y", "num_classes": 2},
    }
)


def _merge_in_a_random_tree(one, partials, rng):
    partials = list(partials)
    while len(partials) > 1:
        rng.shuffle(partials)
        other = pickle.loads(pickle.dumps(partials.pop()))
        one.merge(partials[0], other)
    return partials[0]


@given(st.lists(FINITE, max_size=40), st.integers(0, 40))
def test_sums_are_exact(numbers, cut):
    both = np.array(numbers[:cut]), np.array(numbers[cut:])
    unit = Fraction(1, 1 << UNIT_BITS)
    assert sum(map(sum_exactly, both)) * unit == sum(map(Fraction, numbers))
    assert sum(map(sum_squares_exactly, both)) * unit == sum(Fraction(x) ** 2 for x in numbers)


@pytest.mark.parametrize("kind", [np.float32, np.float64, np.int64])
def test_moments_of_many_numbers_do_not_depend_on_their_order(kind):
    rng = np.random.default_rng(5)
    numbers = (np.exp(rng.normal(size=30_000) * 5) * rng.choice([-1, 1], 30_000)).astype(kind)
    expected = streaming.RunningMoments()
    expected.add(pa.array(numbers))
    exact = [Fraction(float(x)) for x in numbers]
    mean = sum(exact) / len(exact)
    assert expected.mean == float(mean)
    assert expected.std == math.sqrt(float(sum((x - mean) ** 2 for x in exact) / len(exact)))
    merged = streaming.RunningMoments()
    for part in np.array_split(rng.permutation(numbers), [1, 7, 12_000, 29_999]):
        other = streaming.RunningMoments()
        other.add(pa.array(part))
        merged.merge(other)
    assert merged.to_range() == expected.to_range()


def test_a_number_that_is_not_finite_leaves_no_moments():
    moments = streaming.RunningMoments()
    moments.add(pa.array([1.0, math.inf]))
    assert math.isnan(moments.mean) and math.isnan(moments.std) and moments.high == math.inf


@pytest.mark.long
@given(st.data())
@settings(max_examples=20, deadline=None)
def test_files_merge_in_any_order(data):
    rng = random.Random(data.draw(st.integers(0, 1000)))
    with tempfile.TemporaryDirectory() as folder:
        for number in range(data.draw(st.integers(1, 5))):
            rows = data.draw(st.lists(st.tuples(*[CELLS] * 4), min_size=1, max_size=8))
            lines = ["x,n,word,y", *(",".join(row) for row in rows)]
            Path(folder, f"{number}.csv").write_text("\n".join(lines) + "\n")
        if data.draw(st.booleans()):
            Path(folder, "damaged.csv").write_text("x,n,other,y\n1,2,a,0\n")
        files = find_files([folder], "csv", "data")
        config = load_config(None, {}).data
        one = check.build_pass(SCHEMA, config, False)
        here = run_here(one, files, "")
        partials = _read_apart(one, files)
        there = _merge_in_a_random_tree(one, partials, rng)
        assert repr(check.judge(one, there, None)) == repr(check.judge(one, here, None))
        assert there.statistics.to_statistics(9) == here.statistics.to_statistics(9)
        assert there.bad_rows.examples == here.bad_rows.examples

        profile = ProfilePass(CsvStyle(",", "utf-8", "yes", (), "y", config), ())

        def merge():
            return _merge_in_a_random_tree(profile, _read_apart(profile, files), rng)

        assert _propose(merge, files) == _propose(lambda: run_here(profile, files, ""), files)


def test_scans_of_files_merge_in_any_order(tmp_path, monkeypatch):
    monkeypatch.setattr(leakage, "SAMPLE_ROWS", 50)
    rng = random.Random(7)
    for number in range(6):
        rows = [f"{rng.random():.3f},{rng.randrange(9)},a,{rng.randrange(2)}" for _ in range(100)]
        bad = ["one,1,a,0"] * (number % 2)
        (tmp_path / f"{number}.csv").write_text("\n".join(["x,n,word,y", *rows, *bad]) + "\n")
    files = find_files([str(tmp_path)], "csv", "data")
    data = load_config(None, {"data.max_bad_rows": "3"}).data
    one = ScanPass(SCHEMA, data, (), False)
    here = scan_files(files, SCHEMA, data, Console(quiet=True))
    assert here.num_bad_rows == 3 and 50 < len(here.hashes.hashes) <= 100
    merged = [_merge_in_a_random_tree(one, _read_apart(one, files), rng) for _ in range(3)]
    assert [found.finish() for found in merged] == [here] * 3
    few = one._replace(data=load_config(None, {"data.max_bad_rows": "2"}).data)
    with pytest.raises(UserError, match="more bad rows than the 2 that"):
        _merge_in_a_random_tree(few, _read_apart(few, files), rng)


def _write_groups(path, rows, group_rows, faulty=()):
    """Writes a Parquet file with row groups of a size."""
    rng = np.random.default_rng(rows)
    values = rng.normal(size=rows)
    values[list(faulty)] = np.inf
    words = rng.choice(["a", "b", "c"], rows).tolist()
    table = {
        "x": values,
        "n": rng.integers(0, 9, rows),
        "word": words,
        "y": rng.integers(0, 2, rows),
    }
    pa.parquet.write_table(pa.table(table), path, row_group_size=group_rows)


@pytest.mark.parametrize("task_bytes", [1000, 4000])
def test_shares_of_large_files_merge_to_all_of_their_rows(task_bytes, tmp_path, monkeypatch):
    _write_groups(tmp_path / "a.parquet", 500, 40, faulty=[3, 130, 131, 420])
    _write_groups(tmp_path / "b.parquet", 30, 100, faulty=[7])
    _write_groups(tmp_path / "c.parquet", 90, 30)
    files = find_files([str(tmp_path)], "parquet", "data")
    monkeypatch.setattr(planning, "TASK_BYTES", task_bytes)
    # A batch that is read has rows of several row groups.
    monkeypatch.setattr(parquet_files, "RUN_ROWS", 100)
    rng = random.Random(task_bytes)

    def merge(one):
        shares = divide_files(files, Dialect(",", "utf-8", 1 << 20), Engine(BEAM))
        pieces = [piece for task in planning.plan_tasks(shares) for piece in task]
        assert len(pieces) > len(files) and [piece.number for piece in pieces][-1] == 2
        partials = []
        for piece in pieces:
            partials.append(one.create())
            add_piece(one, partials[-1], piece)
        return _merge_in_a_random_tree(one, partials, rng)

    data = load_config(None, {"data.max_bad_rows": "9"}).data
    here = scan_files(files, SCHEMA, data, Console(quiet=True))
    assert here.num_bad_rows == 5 and sum(here.rows.values()) == 615
    assert merge(ScanPass(SCHEMA, data, (), False)).finish() == here
    checks = check.build_pass(SCHEMA, data, False)
    alone = repr(check.judge(checks, run_here(checks, files, ""), None))
    assert repr(check.judge(checks, merge(checks), None)) == alone
    for path in tmp_path.glob("*.parquet"):
        _write_groups(path, 300, 40)
    profile = ProfilePass(CsvStyle(",", "utf-8", "yes", (), "y", data), ())
    wanted = _propose(lambda: run_here(profile, files, ""), files)
    assert "columns" in repr(wanted) and _propose(lambda: merge(profile), files) == wanted


def test_small_files_share_tasks_and_large_ones_are_divided(tmp_path, monkeypatch):
    monkeypatch.setattr(planning, "TASK_BYTES", 1000)
    monkeypatch.setattr(planning, "MIN_TASKS", 4)
    sizes = [10, 10, 900, 50, 10, 10, 2500, 1, 1, 1000]
    names = [f"{n}.{'parquet' if size == 2500 else 'csv'}" for n, size in enumerate(sizes)]
    for name, size in zip(names, sizes):
        (tmp_path / name).write_bytes(b"PAR1" + b"0" * (size - 4) if size > 4 else b"0" * size)
    files = [DataFile(str(tmp_path / name), name.partition(".")[2], False) for name in names]
    parts = [FilePart(number, 3, "1") for number in range(3)]
    tasks = planning.plan_tasks(apply_parts(files, {files[6].path: parts}))
    numbers = [[piece.number for piece in task] for task in tasks]
    assert numbers == [[0, 1, 2, 3, 4, 5], [6], [6], [6], [7, 8], [9]]
    assert [task[0].file.part for task in tasks[1:4]] == parts
    orders = [piece.order for task in tasks for piece in task]
    assert orders == sorted(set(orders))
    # Few files are tasks of their own, so that each worker gets some.
    monkeypatch.undo()
    assert len(planning.plan_tasks(files[:2])) == 2


@pytest.mark.parametrize("name", ["part-{}.tfrecord", "part-{}.tfrecord.gz", "part-{}.csv.gz"])
def test_what_cannot_be_divided_is_shared_file_by_file(name, tmp_path, monkeypatch):
    monkeypatch.setattr(planning, "TASK_BYTES", 100)
    for number in range(5):
        head = b"\x1f\x8b" if name.endswith(".gz") else b"00"
        (tmp_path / name.format(number)).write_bytes(head + b"0" * 99)
    files = find_files([str(tmp_path)], "auto", "data")
    # Nothing of them is read for it.
    shares = divide_files(files, Dialect(",", "utf-8", 1 << 20), Engine(BEAM))
    assert shares == files
    assert [[piece.file for piece in task] for task in planning.plan_tasks(shares)] == [
        [file] for file in files
    ]
    assert group_files(files) == [[file] for file in files]
    monkeypatch.setattr("trainer.engines.running.MAX_MODEL_TASKS", 3)
    assert group_files(files) == [files[:2], files[2:4], files[4:]]


def test_the_columns_of_json_lines_are_listed_in_their_order(tmp_path, beam_here, monkeypatch):
    monkeypatch.setattr(planning, "TASK_BYTES", 1 << 20)
    lines = [f'{{"b": {row}, "word": "{"w" * 90}"}}\n' for row in range(30_000)]
    lines[25_000], lines[29_000] = '{"a": 1}\n', '{"z": 1, "a": 2}\n'
    (tmp_path / "0.jsonl").write_text("".join(lines))
    (tmp_path / "1.jsonl").write_text('{"c": 1}\n')
    whole = find_files([str(tmp_path)], "auto", "data")
    limits = load_config(None, {}).data
    files = divide_files(whole, Dialect(",", "utf-8", 1 << 20), Engine(BEAM))
    assert len(files) == 5
    for pieces, engine in ((whole, Engine()), (files, Engine(BEAM))):
        assert infer.list_json_names(pieces, limits, engine) == ["b", "word", "a", "z", "c"]


def _read_apart(one, files):
    for piece in number_files(files):
        partial = one.create()
        add_piece(one, partial, piece)
        yield partial


def _propose(run, files):
    try:
        table, sample = finish(run(), files)
        numbers = {name: sample.get(name) for name in table.columns}
        return infer.propose(table, numbers, "y", ["data"]), table.header
    except UserError as error:
        # Two files that differ in their columns; which two, depends on the order.
        return str(error).partition(": has other columns than ")[1] or str(error)


def test_a_sample_does_not_depend_on_the_order_of_the_rows(monkeypatch):
    monkeypatch.setattr(row_sample, "SAMPLE_ROWS", 100)
    values = np.random.default_rng(2).normal(size=3000)
    places = np.arange(3000, dtype=np.uint64)

    def sample(order):
        found = RowSample(["x"])
        found.add(pa.RecordBatch.from_pydict({"x": values[order]}), places[order])
        return found

    whole = sample(np.arange(3000)).get("x")
    assert 100 < len(whole) <= 200
    merged = RowSample(["x"])
    for part in np.array_split(np.random.default_rng(3).permutation(3000), 7):
        merged.merge(sample(part))
    assert np.array_equal(merged.get("x"), whole)


@given(st.lists(st.lists(st.integers(0, 30)), max_size=12), st.integers(0, 99))
@settings(max_examples=50, deadline=None)
def test_counts_beyond_the_limit_are_within_their_bound(pieces, seed):
    class Counts:
        merge = staticmethod(streaming.ValueCounts.merge)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(streaming, "MAX_COUNTED", 8)
        partials = [streaming.ValueCounts()]
        for values in pieces:
            partials.append(streaming.ValueCounts())
            partials[-1].add(pa.array(values, pa.int64()))
        merged = _merge_in_a_random_tree(Counts, partials, random.Random(seed))
        counts, error = dict(merged.list_counts()), merged.max_error
    truth = Counter(value for values in pieces for value in values)
    assert merged.count == truth.total()
    assert all(0 <= rows - counts.get(value, 0) <= error for value, rows in truth.items())
    if len(truth) <= 8:
        assert counts == truth


def test_distinct_counts_merge_to_that_of_all_values():
    whole, merged = streaming.DistinctCount(), streaming.DistinctCount()
    words = pa.array([f"word {n}" for n in range(20_000)])
    whole.add(words)
    for start in range(0, 20_000, 3_000):
        part = streaming.DistinctCount()
        part.add(words[max(0, start - 500) : start + 3_000])
        merged.merge(part)
    assert merged.value == whole.value


@given(st.lists(CELLS, min_size=1, max_size=12), st.lists(st.integers(0, 12), max_size=4))
@settings(max_examples=50, deadline=None)
def test_a_profile_does_not_depend_on_the_blocks_of_a_file(cells, cuts):
    file = find_files([__file__], "csv", "data")
    one = ProfilePass(CsvStyle(",", "utf-8", "yes", (), "y"), ())
    labels = [str(row % 2) for row in range(len(cells))]
    table = pa.RecordBatch.from_pydict({"x": pa.array(cells), "y": pa.array(labels)})

    def profile(bounds):
        partial = one.create()
        for start, end in zip(bounds, bounds[1:]):
            numbers = np.arange(start, end)
            rows = table.slice(start, end - start)
            one.add(partial, Rows(rows, numbers, Piece(0, file[0])))
        return partial

    bounds = sorted({0, len(cells), *(cut for cut in cuts if cut < len(cells))})
    whole = _propose(lambda: profile([0, len(cells)]), file)
    assert _propose(lambda: profile(bounds), file) == whole
