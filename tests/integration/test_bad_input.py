"""Wrong options, files, folders and disks: one line, exit status 2, nothing changed."""

import gzip
import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from trainer import task

pytestmark = pytest.mark.newest

ROOT = Path(__file__).resolve().parents[2]


def _fingerprint(folder):
    return {
        str(path): hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "folder"
        for path in sorted(folder.rglob("*"))
    }


def _check(status, errors, words):
    assert status == 2, errors
    (line,) = [line for line in errors if line.startswith("error: ")]
    assert line == errors[-1] and "Traceback" not in "\n".join(errors)
    for word in words:
        assert word in line, line


@pytest.fixture
def place(tmp_path, make):
    """A folder with files of every kind of damage."""
    rows = make.rows(60, missing=False)
    make.csv(tmp_path / "good.csv", rows)
    make.yaml(tmp_path / "schema.yaml", make.schema_values("bought"))
    (tmp_path / "tags.yaml").write_text(
        f"train: !!python/object/apply:os.mkdir ['{tmp_path / 'made'}']\n"
    )
    (tmp_path / "types.yaml").write_text("train: {batch_size: [1, 2]}\n")
    (tmp_path / "text.yaml").write_text("train: fast\n")
    (tmp_path / "list.yaml").write_text("- train\n- eval\n")
    (tmp_path / "binary.yaml").write_bytes(b"\x80\x81\xff\x00")
    values = make.schema_values("bought")
    changes = {
        "tagged_schema": "columns: !!python/name:os.system\nlabel: {column: y}\n",
        "bare_schema": "columns: age\nlabel: {column: y}\n",
    }
    for name, text in changes.items():
        (tmp_path / f"{name}.yaml").write_text(text)
    for name, change in {
        "type": {"type": "double"},
        "vocabulary": {"type": "string", "vocabulary": ["a", "a"]},
        "norway": {"type": "string", "vocabulary": ["no", False]},
        "field": {"type": "float", "bucket": [1]},
        "weights": {"type": "string", "hash_buckets": 3, "separator": "|", "weights": "agee"},
    }.items():
        columns = {**values["columns"], "city": change}
        make.yaml(tmp_path / f"bad_{name}.yaml", {**values, "columns": columns, "crosses": []})
    plain = (tmp_path / "good.csv").read_bytes()
    lines = plain.decode().splitlines()
    (tmp_path / "wide.csv").write_text("\n".join([*lines[:4], lines[4] + ",more", *lines[5:]]))
    (tmp_path / "bytes.csv").write_bytes(plain.replace(b"Ulm", b"\xff\xfe", 1))
    (tmp_path / "header.csv").write_text(lines[0] + "\n")
    packed = gzip.compress(plain)
    (tmp_path / "cut.csv.gz").write_bytes(packed[: len(packed) // 2])
    (tmp_path / "rotten.csv.gz").write_bytes(packed[:20] + b"\0" * 50 + packed[70:])
    make.tfrecord(tmp_path / "whole.tfrecord", rows)
    records = (tmp_path / "whole.tfrecord").read_bytes()
    (tmp_path / "cut.tfrecord").write_bytes(records[: len(records) - 7])
    (tmp_path / "rotten.tfrecord").write_bytes(records[:200] + b"\xff" * 8 + records[208:])
    make.tfrecord(tmp_path / "old.tfrecord", [{**row, "age": "old"} for row in rows])
    make.parquet(tmp_path / "whole.parquet", rows)
    table = (tmp_path / "whole.parquet").read_bytes()
    (tmp_path / "cut.parquet").write_bytes(table[:-20])
    (tmp_path / "rotten.parquet").write_bytes(table[:4] + b"\xff" * 400 + table[404:])
    make.parquet(tmp_path / "lists.parquet", [{**row, "age": [1.0]} for row in rows])
    make.yaml(tmp_path / "weak.yaml", {"train": {"batch_sise": 3}})
    (tmp_path / "broken.yaml").write_text("train: {a: b: c\n")
    make.yaml(tmp_path / "empty_schema.yaml", {"columns": {}, "label": {"column": "y"}})
    odd = {"columns": {"x": {"type": "float"}}, "label": {"column": "xx"}}
    make.yaml(tmp_path / "odd_schema.yaml", odd)
    (tmp_path / "empty.csv").touch()
    make.csv(tmp_path / "short.csv", [{"age": 1.0, "bought": "yes"}])
    make.csv(tmp_path / "old.csv", [rows[0], {**rows[1], "age": "old"}])
    make.csv(tmp_path / "maybe.csv", [rows[0], {**rows[1], "bought": "maybe"}])
    make.csv(tmp_path / "unlabelled.csv", [rows[0], {**rows[1], "bought": None}])
    (tmp_path / "a_file").write_text("x")
    (tmp_path / "folder").mkdir()
    (tmp_path / "job").mkdir()
    (tmp_path / "job" / "precious.txt").write_text("do not touch")
    (tmp_path / "broken_module.py").write_text("1 / 0\n")
    return tmp_path


GOOD = {
    "job_dir": "job",
    "data.schema_file": "schema.yaml",
    "train_data": "good.csv",
    "eval_data": "good.csv",
    "train_steps": "2",
    "verbosity": "error",
}
# What is changed in a good command, None for left out → what the line says.
# Of options and schemas, told before TensorFlow is loaded:
OPTIONS = {
    "misspelt flag": ({"lerning_rate": "1"}, ["--lerning_rate", "did you mean --learning_rate?"]),
    "unknown flag": ({"zzz": "1"}, ["--zzz: no such flag", "--help"]),
    "no job_dir": ({"job_dir": None}, ["job_dir", "--job_dir="]),
    "no schema": ({"data.schema_file": None}, ["schema_file", "--hparams=PRESET"]),
    "no such preset": ({"hparams": "censsus"}, ["'censsus'", "did you mean census?"]),
    "text for a number": ({"batch_size": "many"}, ["--train.batch_size", "'many'"]),
    "negative rate": ({"learning_rate": "-1"}, ["--train.learning_rate", "'-1'", "greater than 0"]),
    "no such model": ({"type": "forest"}, ["--model.type", "'forest'", "wide_deep"]),
    "no such optimizer": ({"optimizer": "addam"}, ["--train.optimizer", "'addam'", "'adam'"]),
    "layers of text": ({"hidden_units": "8,big"}, ["--model.hidden_units", "'big'"]),
    "dropout of one": ({"dropout": "1"}, ["--model.dropout", "less than 1"]),
    "both intervals": (
        {"run.save_checkpoints_steps": "1", "run.save_checkpoints_secs": "1"},
        ["save_checkpoints_steps and save_checkpoints_secs", "remove one"],
    ),
    "both lengths": ({"epochs": "1"}, ["max_steps and epochs", "remove one"]),
    "the same twice": ({"max_steps": "3"}, ["--train_steps=2", "--max_steps=3", "remove one"]),
    "delimiter": ({"data.delimiter": "::"}, ["--data.delimiter", "'::'"]),
    "unknown key": ({"hparams": "weak.yaml"}, ["weak.yaml", "train.batch_size?"]),
    "broken YAML": ({"hparams": "broken.yaml"}, ["broken.yaml", "line 1", "correct the YAML"]),
    "no such schema": ({"data.schema_file": "none.yaml"}, ["none.yaml", "No such file"]),
    "a folder as schema": ({"data.schema_file": "job"}, ["job", "directory"]),
    "empty schema": ({"data.schema_file": "empty_schema.yaml"}, ["empty_schema.yaml", "columns"]),
    "odd schema": ({"data.schema_file": "odd_schema.yaml"}, ["'xx'", "did you mean x?"]),
    "boolean": ({"batch_norm": "maybe"}, ["batch_norm", "maybe"]),
}
# Of the data and of how they go with the options:
DATA = {
    "no training data": ({"train_data": None}, ["data.train", "--data.train="]),
    "no such file": ({"train_data": "gone.csv"}, ["data.train", "'gone.csv'", "check the path"]),
    "no match": ({"eval_data": "x-*.csv"}, ["data.eval", "'x-*.csv'"]),
    "empty file": ({"train_data": "empty.csv"}, ["empty.csv is empty"]),
    "no such column": ({"train_data": "short.csv"}, ["short.csv", "no column 'id'"]),
    "bad value": ({"train_data": "old.csv"}, ["old.csv: row 3, column age: 'old' is not a float"]),
    "bad evaluation value": ({"eval_data": "old.csv"}, ["old.csv: row 3, column age: 'old'"]),
    "no class": ({"train_data": "maybe.csv"}, ["row 3, column bought: 'maybe'", "'no', 'yes'"]),
    "no label": ({"train_data": "unlabelled.csv"}, ["row 3, column bought", "label is missing"]),
    "damaged": ({"train_data": "cut.parquet"}, ["cut.parquet", "write"]),
    "wrong format": ({"data.format": "tfrecord"}, ["good.csv", "damaged"]),
    "wrong delimiter": ({"data.delimiter": ";"}, ["good.csv", "--data.delimiter"]),
    "no such metric": ({"export.best_metric": "rmse"}, ["export.best_metric", "'rmse'", "auc"]),
    "no such baseline": ({"eval.baseline_column": "agee"}, ["'agee'", "did you mean age?"]),
    "regularisation": ({"type": "dnn", "l1": "0.1"}, ["train.l1", "choose ftrl"]),
    "file as job_dir": ({"job_dir": "a_file"}, ["job_dir", "a_file", "choose another"]),
    "job_dir in a file": ({"job_dir": "a_file/job"}, ["job_dir", "a_file/job"]),
}
# Of files that are damaged, or other than the schema has it, and of code and folders:
DAMAGE = {
    "YAML with a tag": (
        {"hparams": "tags.yaml"},
        ["tags.yaml", "python/object", "correct the YAML"],
    ),
    "list for a number": ({"hparams": "types.yaml"}, ["types.yaml", "train.batch_size", "[1, 2]"]),
    "text for a section": ({"hparams": "text.yaml"}, ["text.yaml: train", "'name: value' lines"]),
    "list for options": ({"hparams": "list.yaml"}, ["list.yaml"]),
    "no text at all": ({"hparams": "binary.yaml"}, ["binary.yaml"]),
    "schema with a tag": ({"data.schema_file": "tagged_schema.yaml"}, ["tagged_schema.yaml"]),
    "schema of text": ({"data.schema_file": "bare_schema.yaml"}, ["columns", "'age'"]),
    "no such type": ({"data.schema_file": "bad_type.yaml"}, ["columns.city.type", "'double'"]),
    "word twice": ({"data.schema_file": "bad_vocabulary.yaml"}, ["city", "'a' appears twice"]),
    "unquoted no": ({"data.schema_file": "bad_norway.yaml"}, ["city", "False", "quotes"]),
    "no such field": ({"data.schema_file": "bad_field.yaml"}, ["bucket", "did you mean buckets?"]),
    "no such weights": ({"data.schema_file": "bad_weights.yaml"}, ["'agee'", "did you mean age?"]),
    "more fields": ({"train_data": "wide.csv"}, ["wide.csv: row 5", "14 fields instead of 13"]),
    "no UTF-8": ({"train_data": "bytes.csv"}, ["bytes.csv: row", "column city", "UTF-8"]),
    "header alone": ({"train_data": "header.csv"}, ["header.csv: holds no rows"]),
    "cut gzip": ({"train_data": "cut.csv.gz"}, ["cut.csv.gz", "write"]),
    "rotten gzip": ({"train_data": "rotten.csv.gz"}, ["rotten.csv.gz", "write"]),
    "cut TFRecord": ({"train_data": "cut.tfrecord"}, ["cut.tfrecord: damaged after row", "write"]),
    "rotten TFRecord": ({"eval_data": "rotten.tfrecord"}, ["rotten.tfrecord: damaged", "write"]),
    "TFRecord of text": ({"train_data": "old.tfrecord"}, ["old.tfrecord: rows", "column age"]),
    "cut Parquet": ({"train_data": "cut.parquet"}, ["cut.parquet: damaged", "write"]),
    "rotten Parquet": ({"train_data": "rotten.parquet"}, ["rotten.parquet", "write"]),
    "lists for numbers": ({"train_data": "lists.parquet"}, ["row 1, column age", "[1.0]"]),
    "empty folder": ({"train_data": "folder"}, ["data.train", "'folder'"]),
    "no such module": ({"type": "nowhere:build"}, ["model.type nowhere:build", "nowhere"]),
    "broken module": ({"type": "broken_module:build"}, ["broken_module", "ZeroDivisionError"]),
    "no sequence": ({"type": "rnn"}, ["model.type rnn", "sequence", "use: [sequence]"]),
    "no image": ({"type": "image"}, ["model.type image", "image:"]),
    "warm start": ({"train.warm_start": "folder"}, ["train.warm_start", "no checkpoint", "folder"]),
    "no such cell": ({"model.cell": "lstn"}, ["--model.cell", "'lstn'", "'lstm'"]),
    "fresh elsewhere": ({"fresh": "folder"}, ["--fresh=folder", "must be the job_dir"]),
    "fresh of a stranger's": (
        {"fresh": "job"},
        ["--fresh=job", "no config.yaml", "delete it yourself"],
    ),
}


TABLE = {**OPTIONS, **DATA, **DAMAGE}


@pytest.mark.parametrize("case", TABLE)
def test_bad_input_is_reported_in_one_line_and_changes_nothing(case, place, monkeypatch, capfd):
    change, words = TABLE[case]
    monkeypatch.chdir(place)
    monkeypatch.syspath_prepend(place)
    before = _fingerprint(place)
    options = {**GOOD, **change}
    status = task.main([f"--{name}={value}" for name, value in options.items() if value])
    errors = capfd.readouterr().err.splitlines()
    _check(status, errors, words)
    if case in OPTIONS:
        assert len(errors) == 1
    after = {path: mark for path, mark in _fingerprint(place).items() if "__pycache__" not in path}
    # What a job records of itself, once its data have been found to be right, is its own.
    added = set(after) - set(before)
    assert {path: after[path] for path in before} == before
    assert not added or case in DAMAGE
    assert all(path.startswith(str(place / "job")) for path in added), added


def test_the_table_has_enough_cases():
    assert len(TABLE) == len(OPTIONS) + len(DATA) + len(DAMAGE) >= 40


@pytest.fixture
def mounted(tmp_path):
    """Mounts a small disk; skips the test where that is not allowed."""
    folder = tmp_path / "disk"
    folder.mkdir()

    def mount(size, *options):
        wanted = ",".join([f"size={size}", *options])
        command = ["mount", "-t", "tmpfs", "-o", wanted, "tmpfs", str(folder)]
        try:
            done = subprocess.run(command, capture_output=True, text=True)
        except OSError as error:
            pytest.skip(f"mount: {error}")
        if done.returncode:
            pytest.skip(f"mount: {done.stderr.strip()}")
        return folder

    yield mount
    if os.path.ismount(folder):
        subprocess.run(["umount", "-l", str(folder)], check=True)


def _arguments(shop, job_dir, *more):
    return [
        f"--job_dir={job_dir}",
        f"--train_data={shop / 'train.csv'}",
        f"--eval_data={shop / 'eval.csv'}",
        f"--data.schema_file={shop / 'bought.yaml'}",
        "--type=dnn",
        "--batch_size=50",
        "--noexport.verify",
        *more,
    ]


def test_a_folder_that_cannot_be_written(mounted, shop, capfd):
    folder = mounted("1m", "ro")
    status = task.main(_arguments(shop, folder / "job", "--train_steps=1", "--verbosity=error"))
    _check(status, capfd.readouterr().err.splitlines(), ["job_dir", "cannot be written", "choose"])


@pytest.fixture
def bound():
    """A command prefix under which file permissions apply to root too."""
    if os.geteuid():
        return []
    if shutil.which("setpriv") is None:
        pytest.skip("root needs setpriv for it")
    return ["setpriv", "--bounding-set=-dac_override,-dac_read_search"]


@pytest.mark.parametrize(
    ("closed", "mode", "words"),
    [
        ("job", 0o500, ["job_dir job: cannot be written: Permission denied", "choose another"]),
        ("good.csv", 0o000, ["good.csv", "Permission denied"]),
        ("schema.yaml", 0o000, ["schema.yaml: Permission denied", "check the path"]),
        ("types.yaml", 0o000, ["hparams types.yaml: Permission denied", "check the path"]),
    ],
)
def test_missing_permissions_are_reported(bound, place, closed, mode, words):
    before = _fingerprint(place)
    options = {**GOOD, **({"hparams": closed} if closed == "types.yaml" else {})}
    arguments = [f"--{name}={value}" for name, value in options.items()]
    (place / closed).chmod(mode)
    done = subprocess.run(
        [*bound, sys.executable, "-m", "trainer.task", *arguments],
        cwd=place,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=300,
    )
    (place / closed).chmod(0o700)
    _check(done.returncode, done.stderr.splitlines(), words)
    after = {path: mark for path, mark in _fingerprint(place).items() if path in before}
    assert after == before


# Exports take little more than the graph; what grows is checkpoints.
FULL = {
    "checkpoint": ("5m", ["--hidden_units=400,400", "--export.exporters=", "--train_steps=60"]),
    "export": ("1200k", ["--hidden_units=8", "--train_steps=20"]),
}


@pytest.mark.parametrize("when", FULL)
def test_a_full_disk_loses_nothing(mounted, shop, run_module, when):
    size, options = FULL[when]
    folder = mounted(size)
    often = "--run.save_checkpoints_steps=10"
    done = run_module("trainer.task", *_arguments(shop, folder / "job", *options, often))
    words = ["job_dir", "its disk is full", "make room", "run.keep_checkpoint_max", "is complete"]
    _check(done.returncode, done.errors, words)
    kept = done.errors[-1].split("; ")[-1].split()[0]
    # What is half written takes space that is wanted.
    assert not list(folder.glob("job/export/*/temp-*"))
    # With more room, the same command goes on.
    subprocess.run(["mount", "-o", "remount,size=60m", str(folder)], check=True)
    again = run_module("trainer.task", *_arguments(shop, folder / "job", *options, often))
    assert again.returncode == 0, again.stderr
    assert f"resuming at step {kept.rpartition('-')[2]} " in again.stderr or "nothing to train" in (
        again.stderr
    )
    metrics = json.loads((folder / "job" / "metrics.json").read_text(encoding="utf-8"))
    assert metrics["end_step"] == int(options[-1].rpartition("=")[2])


@pytest.fixture(scope="module")
def trained(shop, run_module, tmp_path_factory):
    """A finished job with checkpoints at steps 0, 10 and 20."""
    folder = tmp_path_factory.mktemp("torn") / "job"
    options = ["--hidden_units=8", "--export.exporters=", "--run.save_checkpoints_steps=10"]
    done = run_module("trainer.task", *_arguments(shop, folder, *options, "--train_steps=20"))
    assert done.returncode == 0, done.stderr
    return folder, options


def test_the_checkpoint_before_a_corrupt_one_is_resumed(trained, shop, tmp_path, capfd):
    folder, options = trained
    shutil.copytree(folder, tmp_path / "job")
    data = tmp_path / "job" / "model.ckpt-20.data-00000-of-00001"
    data.write_bytes(data.read_bytes()[:-9])
    arguments = _arguments(shop, tmp_path / "job", *options, "--train_steps=30")
    assert task.main(arguments) == 0
    said = capfd.readouterr().err
    assert "checkpoint model.ckpt-20 is corrupt" in said and "resuming from model.ckpt-10" in said
    assert "resuming at step 10" in said


def test_no_readable_checkpoint_is_an_error(trained, shop, tmp_path, capfd):
    folder, options = trained
    shutil.copytree(folder, tmp_path / "job")
    for data in (tmp_path / "job").glob("model.ckpt-*.data-*"):
        data.write_bytes(b"")
    before = _fingerprint(tmp_path / "job")
    status = task.main(_arguments(shop, tmp_path / "job", *options, "--train_steps=30"))
    words = ["none of its 3 checkpoint(s) can be read", "another --job_dir", "--fresh="]
    _check(status, capfd.readouterr().err.splitlines(), words)
    assert _fingerprint(tmp_path / "job") == before
