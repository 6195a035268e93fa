"""Predictions for record batches, as engines hand them out."""

import math
import pickle

import pyarrow as pa
import pytest

from trainer.engines.options import BEAM, Engine
from trainer.errors import UserError
from trainer.inputs.files import find_files
from trainer.prediction import batch, engine_work
from trainer.prediction.command import main
from trainer.prediction.description import load_data_config
from trainer.prediction.loading import load_for_tables
from trainer.prediction.table_predictor import ERROR, split_bad_rows


@pytest.fixture(scope="module")
def export(trained):
    return trained("wide_deep", "bought").export


@pytest.fixture(scope="module")
def rows(make):
    return make.rows(40, seed=9)


def _predict(export, rows):
    predictor = load_for_tables(export, ("age", "city"), ())
    found = list(predictor.predict(pa.RecordBatch.from_pylist(rows)))
    assert all(each.schema.equals(predictor.schema) for each in found)
    return pa.Table.from_batches(found).to_pylist()


def test_the_predictions_are_those_for_files(make, export, rows, tmp_path):
    assert load_for_tables(export, ("age", "city"), ()) is load_for_tables(
        export, ("age", "city"), ()
    )
    data = make.parquet(tmp_path / "in.parquet", rows)
    argv = [f"--export={export}", f"--data={data}", "--columns=age,city"]
    assert main([*argv, f"--output={tmp_path / 'out.parquet'}"]) == 0
    expected = pa.parquet.read_table(tmp_path / "out.parquet").to_pylist()
    found = _predict(export, rows)
    assert all(row.pop(ERROR) is None for row in found)
    assert found == expected


def test_a_bad_row_keeps_its_key_and_tells_the_reason(export, rows):
    wrong = [{**row, "age": None if row["age"] is None else str(row["age"])} for row in rows]
    wrong[2]["age"], wrong[4]["age"] = "old", "inf"
    found = _predict(export, wrong)
    assert [n for n, row in enumerate(found) if row[ERROR] is not None] == [2, 4]
    assert found[2][ERROR] == "column age: 'old' is not a float"
    assert found[4][ERROR] == "column age: inf is not a finite number"
    assert found[2]["id"] == rows[2]["id"] and found[2]["city"] == rows[2]["city"]
    assert found[2]["logistic"] is None and math.isinf(found[4]["age"])
    for n, row in enumerate(_predict(export, rows)):
        if n not in (2, 4):
            # TensorFlow may round the last bit differently at another place of a batch.
            assert found[n]["logistic"] == pytest.approx(row["logistic"], rel=1e-5)
            assert [found[n][name] for name in ("id", "age", "city", "classes", ERROR)] == (
                [row[name] for name in ("id", "age", "city", "classes", ERROR)]
            )
    (whole,) = load_for_tables(export, (), ()).predict(pa.RecordBatch.from_pylist(wrong))
    good, bad = split_bad_rows(whole)
    assert (good.num_rows, bad.num_rows) == (38, 2) and ERROR not in good.schema.names


def test_only_bad_rows_and_no_rows(export, rows):
    wrong = [{**row, "age": "old"} for row in rows[:3]]
    assert [row["logistic"] for row in _predict(export, wrong)] == [None] * 3
    table = pa.RecordBatch.from_pylist(rows)
    assert list(load_for_tables(export, (), ()).predict(table.slice(0, 0))) == []
    with pytest.raises(UserError, match="rows: no column 'age'"):
        list(load_for_tables(export, (), ()).predict(table.drop_columns(["age"])))


def test_parts_of_an_engine_write_the_shards_of_the_local_command(
    make, export, large_file, tmp_path, monkeypatch, capsys
):
    data = tmp_path / "data"
    data.mkdir()
    for number in range(3):
        make.csv(data / f"part-{number}.csv", make.rows(20, seed=number))
    large_file(data / "large.parquet")
    argv = [f"--export={export}", f"--data={data}", "--columns=city"]
    assert main([*argv, f"--output={tmp_path / 'here'}"]) == 0

    def run_tasks(work, tasks, what, engine, finish):
        assert engine.name == BEAM
        written = None
        for task in reversed(tasks):
            found = pickle.loads(pickle.dumps(work)).run(task)
            written = found if written is None else work.merge(written, found)
        pickle.loads(pickle.dumps(finish))(written)
        return written

    monkeypatch.setattr(engine_work, "run_tasks", run_tasks)
    output = tmp_path / "there"
    output.mkdir()
    (output / ".part-0.csv.1234.tmp").write_text("of a task that was killed")
    config = load_data_config(export, {})
    files = find_files([str(data)], "auto", "data")
    request = batch.BatchRequest(files, output, "csv", ["city"], [], config, False)
    written = engine_work.predict_on_engine(export, str(output), request, Engine(BEAM))
    assert written == batch.Written(210, 6)
    assert (
        written.describe("out", 2.0)
    ) == "210 rows in 2.0 s, 105 rows/s; 6 shard(s) written, 0 finished before: out"
    names = sorted(path.name for path in output.iterdir())
    assert [name for name in names if not name.startswith("_")] == [
        "large-00000-of-00003.csv", "large-00001-of-00003.csv", "large-00002-of-00003.csv",
        "part-0.csv", "part-1.csv", "part-2.csv",
    ]  # fmt: skip
    header, *rows = (tmp_path / "here" / "large.csv").read_text().splitlines()
    shards = [path.read_text().splitlines() for path in sorted(output.glob("large-*.csv"))]
    assert [shard[0] for shard in shards] == [header] * 3
    assert len(rows) == 150 and [row for shard in shards for row in shard[1:]] == rows
    assert "_SUCCESS" in names
    for number in range(3):
        name = f"part-{number}.csv"
        assert (output / name).read_bytes() == (tmp_path / "here" / name).read_bytes()
    again = engine_work.predict_on_engine(export, str(output), request, Engine(BEAM))
    assert again == batch.Written(0, 0, 6)
    for wrong in (["--part=0/2"], [f"--output={tmp_path / 'one.csv'}"]):
        more = wrong if "--output" in wrong[0] else [f"--output={output}", *wrong]
        assert main([*argv, "--engine=spark", *more]) == 2
        assert "--engine=spark: goes with --data and a folder" in capsys.readouterr().err
