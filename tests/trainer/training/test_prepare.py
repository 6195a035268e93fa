"""trainer.prepare: what engines put into the cache is what a job would have put there."""

import json
import pickle
import random
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest
import yaml

from trainer.console import Console
from trainer.engines.options import LOCALLY, SPARK, Engine
from trainer.errors import UserError
from trainer.inputs import parquet_files
from trainer.inputs.cache_entry import PartWriter
from trainer.job_dir import compatibility
from trainer.passes import planning
from trainer.schema import Schema
from trainer.training import prepare_command, row_files
from trainer.training.job import build_source, encode_sources, prepare

pytestmark = pytest.mark.newest

COLUMNS = {
    "x": {"type": "float", "default": "mean"},
    "kind": {"type": "string", "vocabulary": ["a", "b"]},
    "y": {"type": "float"},
}
SCHEMA = {"columns": COLUMNS, "label": {"column": "y"}}


@pytest.fixture
def engine(monkeypatch):
    """An engine whose workers get copies; tasks run in a random order, and some run twice.

    Returns:
        the number of tasks of each run; functions in `before` are called with each task.
    """
    runs, rng = [], random.Random(3)

    class Module:
        before = []

        @staticmethod
        def run_on_spark(job, tasks, options):
            runs.append(len(tasks))
            outcomes = []
            for task in rng.sample(tasks, len(tasks)):
                for call in Module.before:
                    call(task)
                packed = pickle.dumps((job, task))
                found = [worker.perform(one) for worker, one in map(pickle.loads, [packed] * 2)]
                outcomes.append(pickle.loads(pickle.dumps(found[rng.randrange(2)])))
            return job.combine(outcomes)

    monkeypatch.setitem(__import__("sys").modules, "trainer.engines.spark", Module)
    monkeypatch.setattr(prepare_command, "read_engine", lambda values: Engine(SPARK))
    monkeypatch.setattr(row_files, "_encoders", {})
    Module.runs = runs
    return Module


@pytest.fixture
def data(make, tmp_path):
    """Four training files and an evaluation file; returns the flags of their job."""
    rng = random.Random(5)
    for name, count in {"t0": 70, "t1": 30, "t2": 1, "t3": 200, "e": 40}.items():
        rows = [{"x": rng.random(), "kind": rng.choice("abc"), "y": n / 7} for n in range(count)]
        make.csv(tmp_path / f"{name}.csv", rows)
    (tmp_path / "schema.yaml").write_text(yaml.safe_dump(SCHEMA))
    options = {"train_data": f"{tmp_path}/t*.csv", "eval_data": f"{tmp_path}/e.csv"}
    options |= {"data.schema_file": f"{tmp_path}/schema.yaml", "data.shuffle_rows": 100}
    options |= {"verbosity": "warning"}
    return [f"--{name}={value}" for name, value in options.items()]


def _open(make, tmp_path, cache):
    """Returns the training and the evaluation rows that a job gets."""
    train = sorted(tmp_path.glob("t*.csv"))
    options = {"cache": str(cache), "shuffle_rows": 100}
    config = make.config(rows=train, eval_rows=[tmp_path / "e.csv"], data=options)
    schema = Schema.model_validate(SCHEMA)
    job = make.prepare(config, schema)
    return encode_sources(job, [build_source(job, True), build_source(job, False)])


def _take(rows):
    """Returns the rows of an epoch and a half, as training shuffles them."""
    return rows.iterate((1, 2)).take(450)["//rows"]


def _list_entries(folder):
    return sorted(path for path in Path(folder).iterdir() if path.is_dir())


def test_what_an_engine_encodes_is_what_a_job_would_encode(engine, data, make, tmp_path):
    here, there = tmp_path / "here", tmp_path / "there"
    assert prepare_command.main(["--", *data, f"--data.cache={there}"]) == 0
    # One run for the scans of both data sets, one for their rows.
    assert engine.runs == [5, 5]
    for local in _open(make, tmp_path, here):
        assert local.origin == "text" and local.store()
    names = sorted(path.name for path in here.iterdir())
    assert sorted(path.name for path in there.iterdir()) == names and len(names) == 4
    for note in here.glob("*.note.json"):
        assert (there / note.name).read_bytes() == note.read_bytes()
    for wanted, found in zip(_open(make, tmp_path, here), _open(make, tmp_path, there)):
        assert found.origin == "cache"
        assert _take(found).tobytes() == _take(wanted).tobytes()
    # Each task has run twice; one of its two files is listed, and the other is removed.
    assert [len(list(entry.iterdir())) for entry in _list_entries(there)] in ([2, 5], [5, 2])
    assert prepare_command.main(["--", *data, f"--data.cache={there}"]) == 0
    assert engine.runs == [5, 5]
    # Another file for the evaluation: the training files are not read again.
    make.csv(tmp_path / "e.csv", [{"x": 1.0, "kind": "a", "y": 2.0}])
    assert prepare_command.main(["--", *data, f"--data.cache={there}"]) == 0
    assert engine.runs == [5, 5, 1, 1]


def test_a_large_file_is_encoded_by_several_workers(engine, data, make, tmp_path, monkeypatch):
    rng = random.Random(2)
    rows = [{"x": rng.random(), "kind": rng.choice("ab"), "y": n / 7} for n in range(900)]
    for name, part in {"t0": rows[:800], "t9": rows[800:]}.items():
        path = tmp_path / f"{name}.parquet"
        pa.parquet.write_table(pa.Table.from_pylist(part), path, row_group_size=100)
    monkeypatch.setattr(parquet_files, "RUN_ROWS", 100)
    monkeypatch.setattr(planning, "TASK_BYTES", (tmp_path / "t0.parquet").stat().st_size // 3)
    here, there = tmp_path / "here", tmp_path / "there"
    flags = ["--", *data, f"--train_data={tmp_path}/t*.parquet"]
    assert prepare_command.main([*flags, f"--data.cache={there}"]) == 0
    # Four shares and a file, and the file of the evaluation.
    assert engine.runs == [6, 6]
    monkeypatch.setattr(prepare_command, "read_engine", lambda values: LOCALLY)
    assert prepare_command.main([*flags, f"--data.cache={here}"]) == 0
    found = []
    for cache in (here, there):
        (wanted,) = [each for each in _list_entries(cache) if _count_rows(each) == 900]
        found.append(wanted.name)
        for note in cache.glob("*.note.json"):
            assert (here / note.name).read_bytes() == note.read_bytes()
    assert found[0] == found[1]
    options = {"cache": str(there), "shuffle_rows": 100}
    paths = sorted(tmp_path.glob("t*.parquet"))
    config = make.config(rows=paths, eval_rows=[tmp_path / "e.csv"], data=options)
    schema = Schema.model_validate(SCHEMA)
    epochs = []
    for cache in (here, there):
        options = config.data.model_copy(update={"cache": str(cache)})
        job = prepare(config.model_copy(update={"data": options}), schema, Console(quiet=True))
        (rows,) = encode_sources(job, [build_source(job, True)])
        assert rows.origin == "cache"
        epochs.append(_take(rows).tobytes())
    assert epochs[0] == epochs[1]


def _count_rows(entry):
    return sum(part["num_rows"] for part in json.loads((entry / "index.json").read_text())["parts"])


def test_damage_in_one_of_many_files_is_found(engine, data, make, tmp_path, monkeypatch):
    monkeypatch.setattr("trainer.inputs.cache_entry.MAX_OPEN", 2)
    cache = tmp_path / "cache"
    assert prepare_command.main(["--", *data, f"--data.cache={cache}"]) == 0
    wanted = _take(_open(make, tmp_path, cache)[0])
    rows = max((path for path in cache.glob("*/rows-*")), key=lambda path: path.stat().st_size)
    content = bytearray(rows.read_bytes())
    content[len(content) // 2] ^= 1
    rows.write_bytes(content)
    damaged = _open(make, tmp_path, cache)[0]
    assert damaged.origin == "cache"
    assert _take(damaged).tobytes() == wanted.tobytes()
    # A file that is missing, and one that is too short.
    (entry,) = [each for each in _list_entries(cache) if sum(1 for _ in each.iterdir()) == 2]
    for change in (lambda path: path.write_bytes(path.read_bytes()[:-1]), Path.unlink):
        (part,) = entry.glob("rows*")
        change(part)
        rows = _open(make, tmp_path, cache)[1]
        assert rows.origin == "text" and rows.store()


def test_an_entry_appears_whole_or_not_at_all(engine, data, tmp_path, monkeypatch):
    cache = tmp_path / "cache"
    flags = ["--", *data, f"--data.cache={cache}"]
    assert prepare_command.main(["--scan_only", *flags]) == 0
    assert engine.runs == [5] and _list_entries(cache) == []
    engine.before.append(lambda task: (tmp_path / "t1.csv").touch())
    with pytest.raises(UserError, match="the files have changed meanwhile"):
        prepare_command.main(flags)
    assert all("building" not in path.name for path in cache.iterdir())
    engine.before.clear()
    add = PartWriter.add

    def fail_at_last(self, file, records):
        add(self, file, records)
        if file == 3:
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(PartWriter, "add", fail_at_last)
    with pytest.raises(UserError, match="a worker cannot write .*: No space left on device; name"):
        prepare_command.main(flags)
    assert all("building" not in path.name for path in cache.iterdir())


def test_a_worker_with_other_code_encodes_nothing(engine, data, tmp_path, monkeypatch):
    codes = iter(["here", "here"])
    monkeypatch.setattr(row_files, "checksum_code", lambda: next(codes, "there"))
    with pytest.raises(UserError, match="a worker would encode the rows otherwise; install the"):
        prepare_command.main(["--", *data, f"--data.cache={tmp_path}/cache"])
    assert _list_entries(tmp_path / "cache") == []


def test_what_cannot_be_prepared_is_one_line(engine, data, tmp_path, capfd):
    cache = f"--data.cache={tmp_path}/cache"
    for argv, message in {
        (): "nothing after --; write -- and the flags of trainer.task",
        ("--", *data, "--data.cache=off"): "data.cache: off: there is no place for the result",
        ("--", *data, cache, "--data.cache_max_gb=1e-6"): "the encoded rows take 0.0 GB; allow",
        ("--", *data, "--data.cache=/proc/none"): "data.cache: /proc/none: ",
    }.items():
        with pytest.raises(UserError) as error:
            prepare_command.main([*argv])
        assert message in str(error.value), error.value
    chatty = [flag for flag in data if "verbosity" not in flag]
    # The folder is tried before the data are read.
    assert engine.runs == [5]
    canned = ["--", *chatty, cache, "--model.engine=canned"]
    assert prepare_command.main(canned) == 0
    assert "not encoded, because the fused engine is not used" in capfd.readouterr().err


def test_the_statistics_of_a_started_job_are_those_of_its_rows(engine, data, make, tmp_path):
    cache, job_dir = tmp_path / "cache", tmp_path / "job"
    train = sorted(tmp_path.glob("t*.csv"))
    options = {"cache": "off", "shuffle_rows": 100}
    config = make.config(job_dir, rows=train, eval_rows=[tmp_path / "e.csv"], data=options)
    schema = Schema.model_validate(SCHEMA)
    job = make.prepare(config, schema)
    job_dir.mkdir()
    compatibility.save_inputs(config, schema, job.statistics)
    (job_dir / "model.ckpt-1.index").touch()
    (job_dir / "model.ckpt-1.data-00000-of-00001").touch()
    (job_dir / "checkpoint").write_text('model_checkpoint_path: "model.ckpt-1"\n')
    make.csv(tmp_path / "t1.csv", [{"x": 5e3, "kind": "a", "y": 0.0}])
    assert prepare_command.main(["--", *data, f"--data.cache={cache}", f"--job_dir={job_dir}"]) == 0
    config = config.model_copy(
        update={"data": config.data.model_copy(update={"cache": str(cache)})}
    )
    resumed = prepare(config, schema, Console(quiet=True))
    means = [one.columns["x"].mean for one in (resumed.statistics, job.statistics)]
    assert means[0] == means[1] != resumed.train_scan.statistics.columns["x"].mean
    (rows,) = encode_sources(resumed, [build_source(resumed, True)])
    assert rows.origin == "cache"
