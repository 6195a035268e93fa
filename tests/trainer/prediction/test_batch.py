"""Batch prediction: every format holds the predictions of the export, once."""

import csv
import functools
import json
import math
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from estimator_bridge import tf
from trainer.config import DataConfig
from trainer.engines import processes
from trainer.errors import UserError
from trainer.inputs.dataset import ReadOptions, RowSource
from trainer.inputs.files import find_files
from trainer.prediction import command as predict
from trainer.prediction import encoded, file_predictor, shards, writers
from trainer.prediction.description import describe_export
from trainer.prediction.rows import check_rows
from trainer.schema import Schema

HOLDER = (
    "import fcntl, sys; stream = open(sys.argv[1], 'a'); fcntl.lockf(stream, fcntl.LOCK_EX); "
    "print('held', flush=True); sys.stdin.read()"
)


@pytest.fixture(scope="module", autouse=True)
def _load_once():
    """Loads each export once: it takes seconds, and most tests use the same one."""
    load = predict.Predictor
    predict.Predictor = functools.lru_cache(load)
    yield
    predict.Predictor = load


@pytest.fixture(scope="module")
def finished(trained):
    """A trained binary classifier with a key."""
    return trained("wide_deep", "bought")


@pytest.fixture(scope="module")
def expected(finished, make):
    """Rows, and key → prediction of the export."""
    rows = make.rows(300, seed=9)
    predictor = predict.Predictor(finished.export)
    statistics = finished.job.statistics
    inputs = []
    for row in rows:
        age = statistics.columns["age"].mean if row["age"] is None else row["age"]
        hours = 40 if row["hours"] is None else row["hours"]
        inputs.append(
            {
                "age": age,
                "hours": hours,
                "city": row["city"] or "",
                "job": row["job"] or "",
                "level": row["level"],
                "id": row["id"],
            }
        )
    answers = predictor.predict(inputs)
    return rows, {answer["id"]: answer for answer in answers}


def _run(*argv):
    return predict.main([str(word) for word in argv])


def _read(path):
    path = Path(path)
    if path.suffix == ".csv":
        with path.open(newline="", encoding="utf-8") as stream:
            return list(csv.DictReader(stream))
    if path.suffix == ".jsonl":
        return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    if path.suffix == ".tfrecord":
        return [_read_example(record) for record in tf.data.TFRecordDataset([str(path)])]
    return pa.parquet.read_table(path).to_pylist()


def _read_example(record):
    """Returns the values of a tf.Example: text as text, and one value as itself."""
    row = {}
    for name, feature in sorted(
        tf.train.Example.FromString(record.numpy()).features.feature.items()
    ):
        kind = feature.WhichOneof("kind")
        values = list(getattr(feature, kind).value)
        values = [value.decode() for value in values] if kind == "bytes_list" else values
        row[name] = values[0] if len(values) == 1 else values
    return row


def _score(row):
    found = row.get("logistic")
    return float(found[0] if isinstance(found, list) else found)


@pytest.mark.parametrize("kind", ["csv", "parquet", "tfrecord"])
@pytest.mark.parametrize("wanted", ["csv", "parquet", "jsonl", "tfrecord"])
def test_every_input_and_output_format(make, finished, expected, tmp_path, kind, wanted):
    rows, answers = expected
    writer = {"csv": make.csv, "parquet": make.parquet, "tfrecord": make.tfrecord}[kind]
    path = writer(tmp_path / f"in.{kind}", rows)
    output = tmp_path / f"out.{wanted}"
    assert _run(f"--export={finished.export}", f"--data={path}", f"--output={output}") == 0
    got = _read(output)
    assert [row["id"] for row in got] == [row["id"] for row in rows]
    # A tf.Example has no order of features.
    assert wanted == "tfrecord" or next(iter(got[0])) == "id"
    for row in got:
        answer = answers[row["id"]]
        assert _score(row) == pytest.approx(answer["logistic"][0], abs=1e-5)
        assert str(row["classes"]) == answer["classes"][0]
    assert not [name for name in tmp_path.iterdir() if name.name.startswith(".")]


def test_lists_in_csv_become_columns(make, trained, tmp_path):
    job = trained("linear", "colour")
    path = make.csv(tmp_path / "in.csv", make.rows(40))
    assert _run(f"--export={job.export}", f"--data={path}", f"--output={tmp_path / 'o.csv'}") == 0
    assert _run(f"--export={job.export}", f"--data={path}", f"--output={tmp_path / 'o.jsonl'}") == 0
    wide, lists = _read(tmp_path / "o.csv"), _read(tmp_path / "o.jsonl")
    for flat, row in zip(wide, lists):
        got = [float(flat[f"probabilities_{index}"]) for index in range(3)]
        assert got == pytest.approx(row["probabilities"], rel=1e-6)
        assert sum(got) == pytest.approx(1, abs=1e-5)
    assert "all_classes" not in lists[0]


def test_input_without_label_and_without_header(make, finished, expected, tmp_path):
    rows, answers = expected
    bare = [{name: value for name, value in row.items() if name != "bought"} for row in rows]
    inputs = ("id", "age", "hours", "city", "job", "level")
    shapes = {
        "named": make.csv(tmp_path / "named.csv", bare),
        "few": make.csv(tmp_path / "few.csv", [{n: row[n] for n in inputs} for row in rows]),
        "nameless": make.csv(tmp_path / "nameless.csv", bare, header=False),
        "all": make.csv(tmp_path / "all.csv", rows, header=False),
        "parquet": make.parquet(tmp_path / "bare.parquet", bare),
        "tfrecord": make.tfrecord(tmp_path / "bare.tfrecord", bare),
    }
    for name, path in shapes.items():
        output = tmp_path / f"{name}-out.jsonl"
        assert _run(f"--export={finished.export}", f"--data={path}", f"--output={output}") == 0
        got = {row["id"]: _score(row) for row in _read(output)}
        assert got == pytest.approx(
            {key: answer["logistic"][0] for key, answer in answers.items()}, abs=1e-5
        ), name


def test_the_options_columns_and_outputs(make, finished, tmp_path):
    rows = make.rows(30)
    path = make.csv(tmp_path / "in.csv", rows)
    output = tmp_path / "out.csv"
    argv = [f"--export={finished.export}", f"--data={path}", f"--output={output}"]
    assert _run(*argv, "--columns=city,w", "--outputs=logistic") == 0
    got = _read(output)
    assert list(got[0]) == ["id", "city", "w", "logistic"]
    assert [row["city"] for row in got] == [row["city"] or "" for row in rows]
    assert [float(row["w"]) for row in got] == pytest.approx([row["w"] for row in rows])


@pytest.mark.parametrize("kind", ["csv", "parquet", "tfrecord"])
def test_copied_numbers_keep_their_digits_and_missing_ones_stay_missing(
    make, finished, tmp_path, capsys, kind
):
    rows = make.rows(30)
    for row in rows:
        row.update({name: row[name] and round(row[name], 2) for name in ("age", "w")})
    # Records contain float32.
    rows[0].update({"w": 0.1, "age": 33.7 if kind == "tfrecord" else 33.70000000123})
    rows[1].update({"w": 7.25 if kind == "tfrecord" else 12345678.125, "age": None})
    writer = {"csv": make.csv, "parquet": make.parquet, "tfrecord": make.tfrecord}[kind]
    argv = [f"--export={finished.export}", f"--data={writer(tmp_path / f'in.{kind}', rows)}"]
    for wanted in ("csv", "jsonl"):
        output = tmp_path / f"out.{wanted}"
        assert _run(*argv, f"--output={output}", "--columns=age,w") == 0
        got = _read(output)
        given = [{name: row[name] for name in ("age", "w")} for row in rows]
        for row, one in zip(got, given):
            found = {name: row[name] and float(row[name]) or None for name in one}
            assert found == {name: value or None for name, value in one.items()}
    # A missing input has its default, whether it is copied or not.
    assert _run(*argv, f"--output={tmp_path / 'plain.jsonl'}") == 0
    assert [_score(row) for row in _read(tmp_path / "plain.jsonl")] == [_score(row) for row in got]
    rows[2]["age"] = 1e300
    path = make.csv(tmp_path / "large.csv", rows)
    argv = [f"--export={finished.export}", f"--data={path}", f"--output={tmp_path / 'l.csv'}"]
    assert _run(*argv, "--columns=age") == 2
    assert "row 4, column age: 1e+300 is not a finite number" in capsys.readouterr().err


def test_shards_are_resumed_and_rewritten_after_changes(
    make, finished, tmp_path, capsys, monkeypatch
):
    data, output = tmp_path / "data", tmp_path / "out"
    data.mkdir()
    for number in range(4):
        make.csv(data / f"part-{number}.csv", make.rows(50, seed=number))
    argv = [f"--export={finished.export}", f"--data={data}", f"--output={output}"]

    # The third file is an error: two shards are complete, and there is no partial one.
    third = data / "part-2.csv"
    good = third.read_bytes()
    third.write_bytes(good + b"short,row\n")
    # Of an earlier run: half of its predictions are replaced now.
    output.mkdir()
    (output / "_SUCCESS").touch()
    assert _run(*argv) == 2
    assert "part-2.csv: row 52" in capsys.readouterr().err
    names = sorted(path.name for path in output.iterdir())
    assert names == ["_predictions.json", "part-0.csv", "part-1.csv"]
    times = {name: (output / name).stat().st_mtime_ns for name in names}

    third.write_bytes(good)
    assert _run(*argv) == 0
    assert "2 shard(s) written, 2 finished before" in capsys.readouterr().err
    assert (output / "_SUCCESS").is_file()
    for name in ("part-0.csv", "part-1.csv"):
        assert (output / name).stat().st_mtime_ns == times[name]
    assert [len(_read(output / f"part-{n}.csv")) for n in range(4)] == [50] * 4
    assert _run(*argv) == 0
    assert "0 shard(s) written, 4 finished before" in capsys.readouterr().err

    # A changed input, a truncated shard, a deleted shard.
    make.csv(data / "part-0.csv", make.rows(50, seed=77))
    cut = output / "part-1.csv"
    cut.write_bytes(cut.read_bytes()[:-5])
    (output / "part-2.csv").unlink()
    assert _run(*argv) == 0
    assert "3 shard(s) written, 1 finished before" in capsys.readouterr().err

    # Other outputs or another model need other shards.
    assert _run(*argv, "--outputs=logistic") == 0
    assert "4 shard(s) written" in capsys.readouterr().err
    other = tmp_path / "export"
    shutil.copytree(finished.export, other)
    assert _run(f"--export={other}", *argv[1:], "--outputs=logistic") == 0
    assert "4 finished before" in capsys.readouterr().err
    (other / "assets.extra" / "note.txt").write_text("retrained")
    assert _run(f"--export={other}", *argv[1:], "--outputs=logistic") == 0
    assert "4 shard(s) written" in capsys.readouterr().err


def test_several_processes_share_the_files(make, finished, tmp_path, monkeypatch, capsys):
    data, output = tmp_path / "data", tmp_path / "out"
    data.mkdir()
    for number in range(3):
        make.csv(data / f"part-{number}.csv", make.rows(20, seed=number))
    argv = [f"--export={finished.export}", f"--data={data}", f"--output={output}"]
    add = shards.Manifest.add

    def add_until_killed(manifest, name, entry):
        if entry["bytes"] is not None:
            raise KeyboardInterrupt
        add(manifest, name, entry)

    # Killed after a shard was written and before its size was recorded.
    with monkeypatch.context() as patch:
        patch.setattr(shards.Manifest, "add", add_until_killed)
        with pytest.raises(KeyboardInterrupt):
            _run(*argv, "--part=0/2")
    assert (output / "part-0.csv").is_file()
    (output / "_SUCCESS").touch()
    for part in (0, 1):
        assert _run(*argv, f"--part={part}/2") == 0
    assert sorted(path.name for path in output.iterdir()) == [
        "_predictions-00000-of-00002.json", "_predictions-00001-of-00002.json",
        "part-0.csv", "part-1.csv", "part-2.csv",
    ]  # fmt: skip
    assert [len(_read(output / f"part-{n}.csv")) for n in range(3)] == [20] * 3
    assert _run(*argv, "--part=0/2") == 0
    assert "0 shard(s) written, 2 finished before" in capsys.readouterr().err
    for part, more in (("2/2", []), ("1", []), ("0/2", [f"--output={tmp_path / 'one.csv'}"])):
        assert _run(*argv[:-1], *(more or argv[-1:]), f"--part={part}") == 2
        assert f"--part={part}: " in capsys.readouterr().err


class TestEncodedRows:
    """Large files are encoded outside of the export's graph."""

    @pytest.fixture
    def data(self, make, tmp_path, monkeypatch):
        monkeypatch.setattr(file_predictor, "BATCH_ROWS", 64)
        monkeypatch.setattr(file_predictor, "CHECKED_ROWS", 8)
        return find_files([make.csv(tmp_path / "rows.csv", make.rows(300, seed=9))], "csv", "data")

    @staticmethod
    def _predict(export, files, **options):
        made = file_predictor.FilePredictor(
            predict.Predictor(export), DataConfig(), ["age", "city"], **options
        )
        batches = [batch for file in files for batch in made.predict(file)]
        return made, pa.Table.from_batches(batches)

    def test_the_predictions_are_equal_bit_by_bit(self, finished, data, monkeypatch):
        made, found = self._predict(finished.export, data)
        assert made._encoded is not None
        monkeypatch.setattr(file_predictor, "open_encoded", lambda *_: None)
        made, wanted = self._predict(finished.export, data)
        assert made._encoded is None
        assert found.equals(wanted) and found.num_rows == 300

    def test_parts_of_a_file_may_have_few_rows(self, finished, data, monkeypatch):
        # So do the blocks of a file with many columns, of which each has less than a batch.
        monkeypatch.setattr(file_predictor, "BATCH_ROWS", 400)
        _, wanted = self._predict(finished.export, data)
        made, found = self._predict(finished.export, data * 2)
        assert made._encoded is not None
        assert found.equals(pa.concat_tables([wanted] * 2))

    def test_other_statistics_are_noticed(self, finished, data, monkeypatch):
        _, wanted = self._predict(finished.export, data)

        def open_other(predictor, description):
            columns = dict(description.statistics.columns)
            columns["age"] = columns["age"].model_copy(update={"mean": 0.0})
            statistics = description.statistics._replace(columns=columns)
            return encoded.open_encoded(predictor, description._replace(statistics=statistics))

        monkeypatch.setattr(file_predictor, "open_encoded", open_other)
        made, found = self._predict(finished.export, data)
        assert made._encoded is None and found.equals(wanted)

    def test_small_tables_and_other_graphs_are_left_to_the_export(
        self, finished, data, monkeypatch
    ):
        class Other:
            @staticmethod
            def find_width(tensor):
                return None

        assert encoded.open_encoded(Other(), describe_export(finished.export)) is None
        monkeypatch.setattr(file_predictor, "BATCH_ROWS", 301)
        made, found = self._predict(finished.export, data)
        assert made._encoded is None and found.num_rows == 300


class TestProcesses:
    """--processes, against one process."""

    @pytest.fixture(scope="class")
    def folder(self, make, tmp_path_factory):
        data = tmp_path_factory.mktemp("processes") / "data"
        data.mkdir()
        for number in range(4):
            rows = make.rows(30, seed=number)
            if number != 1:
                rows[20] = {**rows[20], "hours": "many"}
            make.csv(data / f"part-{number}.csv", rows)
        return data

    @pytest.fixture
    def twice(self, folder, tmp_path):
        """Two good files."""
        paths = [tmp_path / f"good-{number}.csv" for number in range(2)]
        for path in paths:
            shutil.copy(folder / "part-1.csv", path)
        return ",".join(map(str, paths))

    @staticmethod
    def _contents(folder):
        return {
            str(path.relative_to(folder)): path.read_bytes()
            for path in folder.rglob("*")
            if path.is_file()
        }

    def test_the_files_are_equal_byte_by_byte(self, finished, folder, tmp_path, run_module):
        def predict(*arguments):
            # As a program: this process may have other kernels than those that it starts.
            done = run_module("trainer.predict", *arguments)
            assert done.returncode == 0, done.stderr

        options = [f"--data={folder}", "--bad_rows=write", "--format=parquet"]
        command = [f"--export={finished.export}", *options]
        predict(*command, f"--output={tmp_path / 'one'}", "--processes=1")
        predict(*command, f"--output={tmp_path / 'two'}", "--processes=2")
        assert self._contents(tmp_path / "two") == self._contents(tmp_path / "one")
        for number in (1, 2):
            output = tmp_path / f"whole-{number}"
            output.mkdir()
            command[-1] = f"--output={output / 'all.csv'}"
            predict(*command, f"--processes={number}")
        assert self._contents(tmp_path / "whole-2") == self._contents(tmp_path / "whole-1")
        assert len(_read(tmp_path / "whole-2" / "all.csv")) == 4 * 30 - 3

    @pytest.mark.newest
    def test_what_a_killed_command_left_is_removed(self, finished, twice, tmp_path, run_module):
        left = tmp_path / "out" / "._predictions.json.waiting"
        left.mkdir(parents=True)
        (left / "0.arrow").write_bytes(b"half")
        done = run_module(
            "trainer.predict",
            *(f"--export={finished.export}", f"--data={twice}"),
            *(f"--output={tmp_path / 'out'}", "--processes=2"),
        )
        assert done.returncode == 0 and "60 rows in" in done.errors[-1], done.stderr
        # The processes have lowered TensorFlow's level before they import it.
        assert "oneDNN custom operations" not in done.stderr
        assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
            "_SUCCESS", "_predictions.json", "good-0.csv", "good-1.csv",
        ]  # fmt: skip

    @pytest.mark.newest
    @pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
    @pytest.mark.parametrize("count", [1, 2])
    def test_a_signal_leaves_only_whole_files(
        self, finished, twice, tmp_path, monkeypatch, capsys, number, count
    ):
        def interrupt(*ignored):
            os.kill(os.getpid(), number)

        monkeypatch.setattr(writers._CsvWriter, "write", interrupt)
        command = [f"--export={finished.export}", f"--data={twice}", f"--processes={count}"]
        assert _run(*command, f"--output={tmp_path / 'all.csv'}") == 128 + number
        # On a busy machine, a line of the progress precedes it.
        *_, line = capsys.readouterr().err.splitlines()
        assert line == (
            f"stopped by {number.name}; complete files stay, and the same command writes the others"
        )
        assert list(tmp_path.glob("*all*")) == []

    @pytest.mark.newest
    def test_an_error_leaves_only_whole_files(self, finished, folder, tmp_path, capsys):
        command = [f"--export={finished.export}", f"--data={folder}", "--processes=2"]
        names = [f"part-{number}.csv" for number in (1, 0)]
        files = ",".join(str(folder / name) for name in names)
        command[1] = f"--data={files}"
        assert _run(*command, f"--output={tmp_path / 'all.csv'}") == 2
        assert "column hours: 'many' is not an int" in capsys.readouterr().err
        assert list(tmp_path.iterdir()) == []
        assert _run(*command, f"--output={tmp_path / 'out'}") == 2
        # Files are read in the order of their names.
        assert {path.name for path in (tmp_path / "out").iterdir()} <= {
            "_predictions.json", "part-1.csv",
        }  # fmt: skip

    def test_an_ended_process_is_an_error_of_its_own(
        self, finished, folder, tmp_path, capsys, monkeypatch
    ):
        begin = processes._Process.begin

        def kill(process, task):
            begin(process, task)
            process._process.kill()

        monkeypatch.setattr(processes._Process, "begin", kill)
        command = [f"--export={finished.export}", f"--data={folder}", "--processes=2"]
        assert _run(*command, f"--output={tmp_path / 'all.csv'}") == 75
        assert "a process ended unexpectedly (status -9)" in capsys.readouterr().err
        assert list(tmp_path.iterdir()) == []


def test_inputs_of_one_name_get_different_shards(make, finished, tmp_path):
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        make.csv(tmp_path / folder / "x.csv", make.rows(10))
    output = tmp_path / "out"
    argv = [f"--export={finished.export}", f"--data={tmp_path / '?' / 'x.csv'}"]
    assert _run(*argv, f"--output={output}", "--format=jsonl") == 0
    assert len(list(output.glob("x-*.jsonl"))) == 2


def test_an_export_can_be_moved(make, finished, tmp_path):
    path = make.csv(tmp_path / "in.csv", make.rows(20))
    moved = tmp_path / "elsewhere"
    shutil.copytree(finished.export, moved)
    assert _run(f"--export={moved}", f"--data={path}", f"--output={tmp_path / 'a.csv'}") == 0
    assert (
        _run(f"--job_dir={finished.folder}", f"--data={path}", f"--output={tmp_path / 'b.csv'}")
        == 0
    )
    assert (tmp_path / "a.csv").read_bytes() == (tmp_path / "b.csv").read_bytes()
    shutil.rmtree(moved / "assets.extra")
    with pytest.raises(UserError, match="assets.extra"):
        file_predictor.describe_export(str(moved))


def test_existing_files_are_replaced_only_with_overwrite(make, finished, tmp_path, capsys):
    path = make.csv(tmp_path / "in.csv", make.rows(20))
    mine = tmp_path / "out.csv"
    mine.write_text("mine")
    argv = [f"--export={finished.export}", f"--data={path}"]
    assert _run(*argv, f"--output={mine}") == 2
    assert mine.read_text() == "mine" and "is there already" in capsys.readouterr().err
    folder = tmp_path / "out"
    folder.mkdir()
    (folder / "in.csv").write_text("mine")
    assert _run(*argv, f"--output={folder}") == 2
    assert (folder / "in.csv").read_text() == "mine"
    assert _run(*argv, f"--output={mine}", "--overwrite") == 0
    assert len(_read(mine)) == 20


@pytest.mark.parametrize(
    "output, lock", [("out", "out/._predictions.json.lock"), ("a.csv", ".a.csv.lock")]
)
def test_a_second_prediction_into_one_output_waits(make, finished, tmp_path, capsys, output, lock):
    argv = [f"--export={finished.export}", f"--data={make.csv(tmp_path / 'in.csv', make.rows(20))}"]
    argv.append(f"--output={tmp_path / output}")
    lock = tmp_path / lock
    lock.parent.mkdir(exist_ok=True)
    # Locks of one process do not exclude each other, so another process holds this one.
    words = [sys.executable, "-c", HOLDER, str(lock)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout.readline() == b"held\n"
        assert _run(*argv) == 75
        assert "another trainer.predict writes there; wait until it ends" in capsys.readouterr().err
        holder.kill()
    assert _run(*argv) == 0 and not lock.exists()


def test_predictions_do_not_replace_their_input(make, finished, tmp_path, capsys):
    path = Path(make.csv(tmp_path / "in.csv", make.rows(20)))
    before = path.read_bytes()
    (tmp_path / "link.csv").symlink_to(path)
    argv = [f"--export={finished.export}", "--overwrite"]
    for data, output in (
        (path, path),
        (tmp_path / "i*.csv", tmp_path / "link.csv"),
        (tmp_path / "link.csv", path),
        (path, tmp_path),
    ):
        assert _run(*argv, f"--data={data}", f"--output={output}") == 2
        assert "is one of --data; name another" in capsys.readouterr().err
    assert path.read_bytes() == before
    assert sorted(tmp_path.iterdir()) == [path, tmp_path / "link.csv"]


def test_invalid_arguments_and_input(make, finished, tmp_path, capsys):
    path = make.csv(tmp_path / "in.csv", make.rows(20))
    endless = make.csv(tmp_path / "inf.csv", [{**row, "age": "inf"} for row in make.rows(3)])
    export, output = f"--export={finished.export}", f"--output={tmp_path / 'o.csv'}"
    pipe, note = tmp_path / "pipe.csv", tmp_path / "note"
    os.mkfifo(pipe)
    note.touch()
    for argv, words in [
        ([export], "either --row=JSON or --data"),
        ([f"--data={path}"], "either --export=FOLDER or --job_dir"),
        ([export, f"--data={path}"], "--output: not given"),
        ([export, "--data=none.csv", output], "no file matches"),
        ([export, f"--data={endless}", output], "row 2, column age: inf is not a finite number"),
        ([f"--job_dir={tmp_path}", f"--data={path}", output], "no export"),
        ([export, f"--data={path}", output, "--columns=cty"], "did you mean city?"),
        ([export, f"--data={path}", output, "--outputs=logit"], "did you mean logits?"),
        ([export, f"--data={path}", output, "--format=parquet"], "ends in .csv"),
        ([export, f"--data={path}", "--output=/proc/none/o.csv"], "--output=/proc/none/o.csv"),
        ([export, f"--data={path}", output, "--formt=csv"], "did you mean --format?"),
        ([export, f"--data={path}", "--output=/dev/null"], "is not a regular file; predictions"),
        ([export, f"--data={path}", f"--output={pipe}"], "is not a regular file; predictions"),
        ([export, f"--data={path}", f"--output={note}"], "is a file; name a folder, or a file"),
    ]:
        assert _run(*argv) == 2
        _, err = capsys.readouterr()
        # Progress may precede the error.
        assert words in err.splitlines()[-1], argv
    assert not (tmp_path / "o.csv").exists()
    assert pipe.is_fifo() and note.is_file()


def test_a_row_on_the_command_line(finished, capsys):
    row = {"age": 30, "hours": 3, "city": "Ulm", "job": "cook", "level": 1, "id": "k1"}
    assert _run(f"--export={finished.export}", f"--row={json.dumps(row)}") == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["id"] == "k1" and 0 < answer["logistic"][0] < 1
    assert _run(f"--job_dir={finished.folder}", f"--row={json.dumps(row)}") == 0
    assert json.loads(capsys.readouterr().out) == answer


def test_a_value_that_training_refuses_is_refused_in_a_row(make, finished, capsys):
    row = {"age": math.inf, "hours": 3, "city": "Ulm", "job": "cook", "level": 1, "id": "k1"}
    assert _run(f"--export={finished.export}", f"--row={json.dumps(row)}") == 2
    assert "row 1, age: inf is not a finite number" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("value", "error"), [("2020-12-31", None), (None, None), ("bogus", "'bogus' is not a date")]
)
def test_dates_are_checked_in_rows_and_files(tmp_path, make, value, error):
    columns = {"day": {"type": "string", "date": ["month"]}, "y": {"type": "float"}}
    schema = Schema.model_validate({"columns": columns, "label": {"column": "y"}})
    path = make.csv(tmp_path / "in.csv", [{"day": value, "y": None}])
    options = ReadOptions(["day", "y"], checked=["day"])
    source = RowSource(
        find_files([path], "auto", "data"), schema, DataConfig(), {"day": "", "y": 0.0}, 0, options
    )
    checks = [lambda: check_rows([{"day": value}], schema, ["day"]), lambda: [*source.read()]]
    for check in checks:
        if error is None:
            check()
        else:
            with pytest.raises(UserError, match=error):
                check()


def test_escaped_formulas_are_text_and_numbers_stay(tmp_path):
    texts = ["=1+1", "+1", "-x", "@a", "\t=1", "plain", "a=b", "", None, "two\n=lines"]
    numbers = [-1.5, *range(9)]
    columns = {"=id": texts, "score": numbers, "pair": [[text, "-"] for text in texts]}
    types = [pa.string(), pa.float64(), pa.list_(pa.string(), 2)]
    batch = pa.RecordBatch.from_arrays(
        [pa.array(values, kind) for values, kind in zip(columns.values(), types)], list(columns)
    )

    def write(**options):
        path = tmp_path / "out.csv"
        writer = writers.open_writer(path, "csv", batch.schema, **options)
        writer.write(batch)
        writer.close()
        with path.open(newline="") as stream:
            return list(csv.reader(stream))

    plain, escaped = write(), write(escape_formulas=True)
    assert plain[0] == ["=id", "score", "pair_0", "pair_1"]
    assert [row[0] for row in plain[1:]] == [text or "" for text in texts]
    assert escaped[0] == ["'=id", "score", "pair_0", "pair_1"]
    shown = [f"'{text}" if text and text[0] in "=+-@\t" else text or "" for text in texts]
    assert [row[0] for row in escaped[1:]] == [row[2] for row in escaped[1:]] == shown
    assert [float(row[1]) for row in escaped[1:]] == numbers
    assert {row[3] for row in escaped[1:]} == {"'-"}


def test_the_option_escape_formulas_rewrites_shards(make, finished, tmp_path):
    rows = make.rows(3, missing=False)
    rows[0]["city"] = "=1+1"
    source = make.csv(tmp_path / "in.csv", rows)
    argv = [f"--job_dir={finished.folder}", f"--data={source}", f"--output={tmp_path / 'out'}"]
    shown = []
    for more in ([], ["--escape_formulas"], []):
        _run(*argv, "--columns=city", *more)
        shown.append(_read(tmp_path / "out" / "in.csv")[0]["city"])
    assert shown == ["=1+1", "'=1+1", "=1+1"]


def test_json_lines_of_all_types(tmp_path):
    table = pa.RecordBatch.from_pydict(
        {
            'a"b': ['x"y', "é\n", None, ""],
            "f": pa.array([1.5, np.nan, np.inf, None], pa.float32()),
            "n": pa.array([1, -(2**62), 0, None]),
            "l": pa.FixedSizeListArray.from_arrays(pa.array([0.5, 1e-9, np.nan, 3, 4, 5, 6, 7]), 2),
            "w": pa.FixedSizeListArray.from_arrays(pa.array(list("abcdefgh")), 2),
        }
    )
    writer = writers.open_writer(tmp_path / "a.jsonl", "jsonl", table.schema)
    writer.write(table)
    writer.write(table.slice(1, 2))
    writer.close()
    got = [json.loads(line) for line in (tmp_path / "a.jsonl").read_text("utf-8").splitlines()]
    assert got[:4] == [
        {'a"b': 'x"y', "f": 1.5, "n": 1, "l": [0.5, 1e-9], "w": ["a", "b"]},
        {'a"b': "é\n", "f": None, "n": -(2**62), "l": [None, 3], "w": ["c", "d"]},
        {'a"b': None, "f": None, "n": 0, "l": [4, 5], "w": ["e", "f"]},
        {'a"b': "", "f": None, "n": None, "l": [6, 7], "w": ["g", "h"]},
    ]
    assert got[4:] == got[1:3]


def test_the_command_in_its_own_process(make, finished, tmp_path, run_module):
    path = make.csv(tmp_path / "in.csv", make.rows(20))
    done = run_module(
        "trainer.predict",
        f"--job_dir={finished.folder}",
        f"--data={path}",
        f"--output={tmp_path / 'o.jsonl'}",
    )
    assert done.returncode == 0, done.stderr
    assert "20 rows in" in done.errors[-1] and "rows/s" in done.errors[-1]
    assert len(_read(tmp_path / "o.jsonl")) == 20


def test_lists_and_missing_values_in_tf_examples(tmp_path):
    vectors = pa.FixedSizeListArray.from_arrays(pa.array([0.5, 1.5, 2.5, 3.5], pa.float32()), 2)
    columns = [pa.array(["é", None]), pa.array([3, None]), pa.array([True, False]), vectors]
    batch = pa.RecordBatch.from_arrays(columns, names=["text", "count", "flag", "vector"])
    writer = writers.open_writer(tmp_path / "a.tfrecord", "tfrecord", batch.schema)
    writer.write(batch)
    writer.close()
    assert _read(tmp_path / "a.tfrecord") == [
        {"text": "é", "count": 3, "flag": 1, "vector": [0.5, 1.5]},
        {"text": [], "count": [], "flag": 0, "vector": [2.5, 3.5]},
    ]


class TestBadRows:
    """--bad_rows=write: what the model cannot take goes to a file of its own."""

    @pytest.fixture
    def dated(self, make):
        """Rows of which the model cannot take the second, third and fifth."""
        rows = make.rows(6, seed=4)
        rows[1]["hours"] = "many"
        rows[2]["age"] = "inf"
        rows[4]["hours"], rows[4]["age"] = "none", "old"
        return rows

    def _read_bad(self, path):
        return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]

    @pytest.mark.parametrize("kind", ["csv", "parquet", "jsonl"])
    def test_bad_rows_keep_their_key_and_their_reason(self, make, finished, dated, tmp_path, kind):
        path = tmp_path / f"in.{kind}"
        if kind == "csv":
            make.csv(path, dated)
        elif kind == "parquet":
            texts = [{k: None if v is None else str(v) for k, v in row.items()} for row in dated]
            pa.parquet.write_table(pa.Table.from_pylist(texts), path)
        else:
            path.write_text("".join(json.dumps(row) + "\n" for row in dated) + "[1]\n")
        output = tmp_path / "out"
        command = [f"--export={finished.export}", f"--data={path}", f"--output={output}"]
        assert _run(*command, "--columns=city", "--bad_rows=write") == 0
        good = [dated[0], dated[3], dated[5]]
        assert [row["id"] for row in _read(output / "in.csv")] == [row["id"] for row in good]
        first = 2 if kind == "csv" else 1
        found = self._read_bad(output / "_bad_rows" / "in.csv.jsonl")
        if kind == "jsonl":
            assert found.pop()["row"] == 7
        assert [(row["row"] - first, row["column"]) for row in found] == [
            (1, "hours"), (2, "age"), (4, found[2]["column"]),
        ]  # fmt: skip
        assert found[0]["error"].startswith("'many' is not an int")
        assert "is not a finite number" in found[1]["error"]
        for row in found:
            source = dated[row["row"] - first]
            assert row["id"] == source["id"] and (row["city"] or "") == (source["city"] or "")
            assert row["file"] == str(path)

    def test_a_row_with_too_many_fields(self, make, finished, tmp_path):
        path = make.csv(tmp_path / "in.csv", make.rows(3))
        with open(path, "a") as stream:
            stream.write("1,2\n")
        command = [f"--export={finished.export}", f"--data={path}", f"--output={tmp_path / 'o'}"]
        assert _run(*command, "--bad_rows=write") == 0
        (row,) = self._read_bad(tmp_path / "o" / "_bad_rows" / "in.csv.jsonl")
        assert row["row"] == 5 and row["column"] == ""
        assert row["error"].startswith("2 fields instead of")

    def test_all_rows_are_bad_or_none_is(self, make, finished, tmp_path, capsys):
        rows = make.rows(3)
        path = make.csv(tmp_path / "in.csv", [{**row, "hours": "many"} for row in rows])
        output = tmp_path / "out.parquet"
        command = [f"--export={finished.export}", f"--data={path}", f"--output={output}"]
        assert _run(*command, "--bad_rows=write") == 0
        assert "0 rows" in (told := capsys.readouterr().err) and "; 3 bad rows, with" in told
        table = pa.parquet.read_table(output)
        assert table.num_rows == 0 and {"id", "logistic"} <= set(table.schema.names)
        bad = tmp_path / "_bad_rows" / "out.parquet.jsonl"
        assert len(self._read_bad(bad)) == 3
        make.csv(path, rows)
        assert _run(*command, "--bad_rows=write", "--overwrite") == 0
        assert pa.parquet.read_table(output).num_rows == 3 and bad.read_text() == ""

    def test_shards_without_bad_rows_have_no_file_of_them(self, make, finished, tmp_path):
        path = make.csv(tmp_path / "in.csv", make.rows(3))
        command = [f"--export={finished.export}", f"--data={path}", f"--output={tmp_path / 'o'}"]
        assert _run(*command, "--bad_rows=write") == 0
        assert not (tmp_path / "o" / "_bad_rows").exists()

    def test_the_first_bad_row_ends_the_command_by_default(self, make, finished, dated, tmp_path):
        path = make.csv(tmp_path / "in.csv", dated)
        output = tmp_path / "o"
        assert _run(f"--export={finished.export}", f"--data={path}", f"--output={output}") == 2
        assert not (output / "in.csv").exists()
