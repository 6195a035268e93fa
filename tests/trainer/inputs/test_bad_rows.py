"""Rows that do not fit: the first is an error, or they are dropped, counted and reported."""

import json

import pytest

from trainer.config import DataConfig
from trainer.console import Console
from trainer.errors import UserError
from trainer.inputs.dataset import RowSource
from trainer.inputs.files import find_files
from trainer.inputs.scan import scan_files
from trainer.schema import resolve_defaults

pytestmark = pytest.mark.newest

GOOD_ROWS = 60


def _scan(paths, schema, **options):
    data = DataConfig(**options)
    files = find_files([str(path) for path in paths], "auto", "data.train")
    scan = scan_files(files, schema, data, Console())
    source = RowSource(
        files, schema, data, resolve_defaults(schema, scan.statistics), scan.statistics.num_rows
    )
    return scan, source


def _bad_rows(make):
    """Rows of which those numbered 10, 20, 30, 40 and 41 (from 0) are bad in any format."""
    rows = make.rows(GOOD_ROWS + 5, missing=False)
    rows[10]["bought"] = "maybe"
    rows[20]["bought"] = None
    rows[30]["age"] = float("inf")
    rows[40]["level"] = None
    rows[41]["level"] = None
    return rows


def _write(make, folder, kind, rows):
    writer = {"csv": make.csv, "parquet": make.parquet, "tfrecord": make.tfrecord}[kind]
    return writer(folder / f"a.{kind}", rows)


@pytest.mark.parametrize("kind", ["csv", "parquet", "tfrecord"])
def test_bad_rows_are_dropped_and_others_are_unchanged(make, tmp_path, kind):
    rows = _bad_rows(make)
    path = _write(make, tmp_path, kind, rows)
    scan, source = _scan([path], make.schema("bought"), max_bad_rows=5)
    assert scan.num_bad_rows == 5 and scan.rows == {path: GOOD_ROWS}
    assert scan.statistics.num_rows == GOOD_ROWS
    ids = [word.decode() for chunk in source.read() for word in chunk["id"]]
    bad = {10, 20, 30, 40, 41}
    assert ids == [row["id"] for index, row in enumerate(rows) if index not in bad]
    # The statistics are those of the remaining rows.
    kept = [row["age"] for index, row in enumerate(rows) if index not in bad]
    assert scan.statistics.columns["age"].mean == pytest.approx(sum(kept) / len(kept), rel=1e-6)
    # A second pass finds the same rows.
    assert sum(len(chunk["id"]) for chunk in source.read()) == GOOD_ROWS


@pytest.mark.parametrize("kind", ["csv", "parquet", "tfrecord"])
def test_too_many_bad_rows_are_an_error_that_lists_them(make, tmp_path, kind):
    path = _write(make, tmp_path, kind, _bad_rows(make))
    with pytest.raises(UserError) as caught:
        _scan([path], make.schema("bought"), max_bad_rows=4)
    text = str(caught.value)
    # A CSV header counts as a row.
    first = 2 if kind == "csv" else 1
    assert "more bad rows than the 4" in text and "\n" not in text
    assert f"{path}: row {first + 10}, column bought: 'maybe' is none of" in text
    assert f"{path}: row {first + 30}, column age: inf is not a finite number" in text
    assert f"{path}: row {first + 40}, column level: the value is missing" in text


@pytest.mark.parametrize("kind", ["csv", "parquet", "tfrecord"])
def test_the_first_bad_row_is_an_error_by_default(make, tmp_path, kind):
    path = _write(make, tmp_path, kind, _bad_rows(make))
    with pytest.raises(UserError) as caught:
        _scan([path], make.schema("bought"))
    assert "max_bad_rows" not in str(caught.value) and str(caught.value).startswith(f"{path}: row ")


def test_the_limit_applies_to_all_files_together(make, tmp_path):
    rows = make.rows(20, missing=False)
    rows[3]["bought"] = "maybe"
    paths = [make.csv(tmp_path / f"{name}.csv", rows) for name in "abc"]
    scan, _ = _scan(paths, make.schema("bought"), max_bad_rows=3)
    assert scan.num_bad_rows == 3 and set(scan.rows.values()) == {19}
    with pytest.raises(UserError, match="more bad rows than the 2"):
        _scan(paths, make.schema("bought"), max_bad_rows=2)


def test_malformed_csv_rows_are_dropped(make, tmp_path):
    rows = make.rows(30, missing=False)
    # Rows on one line each, so that the lines can be counted.
    for row in rows:
        row["job"] = "nurse"
    path = tmp_path / "a.csv"
    make.csv(path, rows)
    lines = path.read_bytes().split(b"\n")
    lines[3] = b"short,row"
    lines[5] += b",one,more"
    lines[7] = lines[7].replace(b",nurse,", b",nur\xffse,")
    lines[9] = lines[9].replace(rows[8]["id"].encode() + b",", b"r00008,old,", 1)
    lines[11] = lines[11].replace(str(rows[10]["age"]).encode(), b"old", 1)
    # A blank around a number is allowed.
    lines[13] = lines[13].replace(str(rows[12]["age"]).encode(), b" 33 ", 1)
    path.write_bytes(b"\n".join(lines))
    scan, source = _scan([path], make.schema("bought"), max_bad_rows=10)
    assert scan.num_bad_rows == 5
    text = " ".join(scan.bad_rows)
    assert "row 4: 2 fields instead of 13: 'short,row'" in text
    assert "row 6: 15 fields instead of 13" in text
    assert "row 8, column job: 'nur\\\\xffse' is not UTF-8 text" in text
    assert "row 10: 14 fields" in text
    assert "row 12, column age: 'old' is not a float" in text
    ages = [age for chunk in source.read() for age in chunk["age"].tolist()]
    assert len(ages) == 25 and 33.0 in ages


def test_row_numbers_are_correct_in_later_blocks(make, tmp_path, monkeypatch):
    monkeypatch.setattr("trainer.inputs.csv_files.BLOCK_BYTES", 2048)
    rows = make.rows(300, missing=False)
    for row in rows:
        row["job"] = "nurse"
    path = tmp_path / "a.csv"
    make.csv(path, rows)
    lines = path.read_text(encoding="utf-8").split("\n")
    for number in (5, 50, 51, 150, 299):
        lines[number] = "short,row"
    lines[200] = lines[200].replace(str(rows[199]["age"]), "old", 1)
    path.write_text("\n".join(lines), encoding="utf-8")
    scan, source = _scan([path], make.schema("bought"), max_bad_rows=6)
    assert scan.num_bad_rows == 6
    with pytest.raises(UserError) as caught:
        _scan([path], make.schema("bought"), max_bad_rows=4)
    for number in (6, 51, 52, 151):
        assert f"row {number}: 2 fields" in str(caught.value)
    ids = [word.decode() for chunk in source.read() for word in chunk["id"]]
    bad = {4, 49, 50, 149, 199, 298}
    assert ids == [row["id"] for index, row in enumerate(rows) if index not in bad]
    lines = [line for line in lines if line != "short,row"]
    path.write_text("\n".join(lines), encoding="utf-8")
    scan, _ = _scan([path], make.schema("bought"), max_bad_rows=1)
    assert scan.bad_rows == (f"{path}: row 197, column age: 'old' is not a float",)


def test_records_that_do_not_parse_are_dropped(make, tmp_path):
    from estimator_bridge import tf

    rows = make.rows(30, missing=False)
    path = str(tmp_path / "a.tfrecord")
    with tf.io.TFRecordWriter(path) as writer:
        for index, row in enumerate(rows):
            if index == 4:
                writer.write(b"no example")
            elif index == 8:
                writer.write(make.example({**row, "age": "old"}))
            elif index == 12:
                writer.write(make.example({**row, "city": b"\xff"}))
            else:
                writer.write(make.example(row))
    scan, source = _scan([path], make.schema("bought"), max_bad_rows=3)
    assert scan.num_bad_rows == 3
    text = " ".join(scan.bad_rows)
    assert "row 5" in text and "row 9, column age" in text and "row 13, column city" in text
    ids = [word.decode() for chunk in source.read() for word in chunk["id"]]
    assert ids == [row["id"] for index, row in enumerate(rows) if index not in (4, 8, 12)]


def test_parquet_text_that_is_not_a_number_is_dropped(make, tmp_path):
    rows = [{**row, "age": str(row["age"])} for row in make.rows(20, missing=False)]
    rows[7]["age"] = "old"
    path = make.parquet(tmp_path / "a.parquet", rows)
    scan, _ = _scan([path], make.schema("bought"), max_bad_rows=1)
    assert scan.bad_rows == (f"{path}: row 8, column age: 'old' is not a float",)


def test_damaged_and_empty_files_are_still_errors(make, tmp_path):
    (tmp_path / "a.parquet").write_bytes(b"PAR1" + b"\1" * 50)
    with pytest.raises(UserError, match="damaged"):
        _scan([tmp_path / "a.parquet"], make.schema("bought"), max_bad_rows=99)
    rows = make.rows(5)
    (tmp_path / "a.csv").write_text(",".join(rows[0]) + "\n")
    with pytest.raises(UserError, match="holds no rows"):
        _scan([tmp_path / "a.csv"], make.schema("bought"), max_bad_rows=99)
    for row in rows:
        row["bought"] = "maybe"
    path = make.csv(tmp_path / "b.csv", rows)
    with pytest.raises(UserError, match="no row of 1 file"):
        _scan([path], make.schema("bought"), max_bad_rows=99)


def test_a_run_reports_the_number_of_bad_rows(make, tmp_path, run_module):
    schema = make.yaml(tmp_path / "s.yaml", make.schema_values("bought"))
    train = make.csv(tmp_path / "train.csv", _bad_rows(make))
    evaluation = make.csv(tmp_path / "eval.csv", make.rows(30))
    argv = [
        f"--data.schema_file={schema}",
        f"--train_data={train}",
        f"--eval_data={evaluation}",
        f"--job_dir={tmp_path / 'job'}",
        "--max_steps=5",
        "--export.exporters=",
        "--norun.report",
    ]
    done = run_module("trainer.task", *argv)
    assert done.returncode == 2 and "column" in done.errors[-1]
    done = run_module("trainer.task", *argv, "--data.max_bad_rows=5")
    assert done.returncode == 0, done.stderr
    assert "bad rows          5 left out of training, 0 of evaluation" in done.stdout
    metrics = json.loads((tmp_path / "job" / "metrics.json").read_text())
    assert metrics["num_bad_rows"] == [5, 0] and metrics["num_rows"] == [GOOD_ROWS, 30]


def test_a_row_that_is_not_utf8_is_reported_without_a_traceback(make, tmp_path, capfd):
    path = tmp_path / "a.csv"
    make.csv(path, make.rows(5, missing=False))
    path.write_bytes(path.read_bytes() + b"\x87\xff\n")
    config = make.config(rows=path, data={"max_bad_rows": 3})
    with pytest.raises(UserError) as caught:
        make.prepare(config, make.schema())
    assert "row 7 has 1 fields instead of 13" in str(caught.value)
    assert "rows that are not UTF-8 text cannot be left out" in str(caught.value)
    assert "Traceback" not in capfd.readouterr().err


@pytest.mark.parametrize("part", ["training", "evaluation"])
def test_weights_that_are_all_0_are_refused(make, tmp_path, part):
    rows = make.rows(60, missing=False)
    good = make.csv(tmp_path / "good.csv", rows)
    bad = make.csv(tmp_path / "bad.csv", [{**row, "w": 0} for row in rows])
    files = {"rows": bad, "eval_rows": good} if part == "training" else {"rows": good}
    config = make.config(tmp_path / "job", **{"eval_rows": bad, **files})
    with pytest.raises(UserError, match=f"w is 0 in every row of the {part} data"):
        make.prepare(config, make.schema("bought", weight=True))
