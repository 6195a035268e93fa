"""python -m trainer.runs on the files of jobs; test_inputs_record.py has jobs that were trained."""

import contextlib
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from estimator_bridge.command_line.signals import SignalReceived
from trainer.config.commands import run
from trainer.history.command import main
from trainer.history.runs import INDEX, VERSION, list_runs
from trainer.job_layout import CONFIG, INPUTS, LOCK, METRICS, METRICS_LOG
from trainer.release import push_command

pytestmark = pytest.mark.quick
HOLDER = (
    "import fcntl, sys; stream = open(sys.argv[1], 'r+'); fcntl.lockf(stream, fcntl.LOCK_EX); "
    "print('held', flush=True); sys.stdin.read()"
)
FILE = ["/data/train.csv", "csv", False, 100, [1, 1], 7]


def make_job(folder, name, auc, *, rate=0.1, ended=True, **changes):
    """Writes the files of a job that was trained."""
    job_dir = folder / name
    job_dir.mkdir(parents=True)
    config = {"job_dir": str(job_dir), "train": {"learning_rate": rate}, "model": {"type": "dnn"}}
    (job_dir / CONFIG).write_text(yaml.safe_dump(config))
    data = {"fingerprint": "a" * 64, "rows": 10, "files": [FILE]}
    inputs = {
        "started": f"2026-01-0{len(name)}T00:00:00+00:00",
        "data": {"train": data, "eval": data},
        "schema": "b" * 64,
        "code": {"version": "1", "trainer": "c" * 64, "user": {"mine": "d"}, "git": None},
        "tensorflow": "2.21.0",
        "parent": {"warm_start": None, "study": None},
        **changes,
    }
    if ended:
        inputs.update(ended="2026-01-09T00:00:00+00:00", secs=3.0)
    (job_dir / INPUTS).write_text(json.dumps({"runs": [inputs]}))
    best = {"step": 20, "auc": auc, "loss": 1 - auc}
    (job_dir / METRICS).write_text(json.dumps({"best": best, "best_metric": "auc"}))
    (job_dir / METRICS_LOG).write_text(json.dumps({"kind": "eval", **best}) + "\n")
    return job_dir


@pytest.fixture
def jobs(tmp_path):
    folder = tmp_path / "jobs"
    make_job(folder, "a", 0.8)
    make_job(folder, "bb", 0.9, rate=0.5)
    make_job(folder, "ccc", 0.7, ended=False)
    return folder


def _call(capsys, *argv):
    status = run(main, [str(word) for word in argv])
    out = capsys.readouterr()
    return status, out.out.splitlines(), out.err.splitlines()


def test_list_filters_and_sorts(jobs, capsys):
    def names(*more):
        status, lines, errors = _call(capsys, "list", f"--folder={jobs}", *more)
        assert status == 0, errors
        return [line.split()[0] for line in lines[1:]]

    assert names() == ["ccc", "bb", "a"]
    assert names("--sort=auc") == ["bb", "a", "ccc"]
    assert names("--sort=loss") == ["bb", "a", "ccc"]
    assert names("--where=auc>0.75", "--sort=learning_rate") == ["bb", "a"]
    assert names("--where=state=incomplete") == ["ccc"]
    assert names("--where=train.learning_rate!=0.5") == ["ccc", "a"]


def test_the_index_is_derived_and_can_be_deleted_or_damaged(jobs):
    before, _ = list_runs(jobs)
    assert (jobs / INDEX).exists()
    # A changed job is read again, and a removed one is forgotten.
    (jobs / "a" / METRICS).write_text(json.dumps({"best": {"step": 20, "auc": 0.85}}))
    (jobs / "ccc" / CONFIG).unlink()
    after, _ = list_runs(jobs)
    assert [run.name for run in after] == ["a", "bb"]
    assert after[0].metrics["auc"] == 0.85 and after[1] == before[1]
    for content in (b"", b"no database" * 100):
        (jobs / INDEX).write_bytes(content)
        assert list_runs(jobs)[0] == after
    (jobs / INDEX).unlink()
    assert list_runs(jobs)[0] == after


def test_a_damaged_job_is_left_out_with_its_reason(jobs, capsys):
    (jobs / "a" / INPUTS).write_text("{")
    status, lines, _ = _call(capsys, "list", f"--folder={jobs}")
    assert status == 0 and lines[0].startswith("left out: ") and "damaged" in lines[0]
    assert len(lines) == 4


def test_why_names_the_changes(jobs, capsys):
    _, lines, _ = _call(capsys, "why", jobs / "a", jobs / "bb")
    assert lines == [
        "auc: 0.8 -> 0.9",
        "one recorded change may explain it:",
        "  train.learning_rate: 0.1 -> 0.5",
    ]
    other = {"fingerprint": "f" * 64, "rows": 11, "files": [[*FILE[:3], 110, [2, 2], 8]]}
    code = {"version": "1", "trainer": "c" * 64, "user": {"mine": "e"}, "git": None}
    make_job(jobs, "dddd", 0.8, data={"train": other, "eval": other}, code=code)
    _, lines, _ = _call(capsys, "why", jobs / "a", jobs / "dddd")
    assert "  train data: /data/train.csv differs in size, times, content" in lines
    assert "  module mine differs" in lines
    make_job(jobs, "eeeee", 0.81)
    _, lines, _ = _call(capsys, "why", jobs / "a", jobs / "eeeee")
    assert "are the same" in lines[1]


def test_another_spelling_of_the_same_data_path_is_no_change(jobs, capsys):
    for name, path in (("a", "/data/train.csv"), ("eeeee", "/data/*.csv")):
        job_dir = jobs / name if name == "a" else make_job(jobs, name, 0.81)
        config = yaml.safe_load((job_dir / CONFIG).read_text())
        (job_dir / CONFIG).write_text(yaml.safe_dump({**config, "data": {"train": path}}))
    _, lines, _ = _call(capsys, "why", jobs / "a", jobs / "eeeee")
    assert "are the same" in lines[1]


@pytest.mark.long
def test_compare_draws_the_curves(jobs, capsys, tmp_path):
    plot = tmp_path / "curves.png"
    status, lines, _ = _call(capsys, "compare", jobs / "a", jobs / "bb", f"--plot={plot}")
    assert status == 0 and plot.read_bytes().startswith(b"\x89PNG")
    assert any(line.split() == ["train.learning_rate", "0.1", "0.5"] for line in lines)


def test_prune_lists_first_and_removes_nothing_that_is_needed(jobs, capsys, tmp_path):
    served = tmp_path / "served"
    served.mkdir()
    export = jobs / "a" / "export" / "best" / "1700000000"
    entry = {"export": str(export), "fingerprint": "x", "verdict": "BLESSED"}
    (served / "push.json").write_text(json.dumps({"name": "m", "versions": {"1": entry}}))
    make_job(jobs, "dddd", 0.1)
    # Of a chain of warm starts, only the source of a job that is kept is needed.
    make_job(jobs, "eeeee", 0.2, parent={"warm_start": str(jobs / "dddd"), "study": None})
    make_job(jobs, "ffffff", 0.95, parent={"warm_start": str(jobs / "eeeee"), "study": None})
    make_job(jobs, "ggggggg", 0.3)
    (jobs / "ggggggg" / LOCK).touch()
    flags = [f"--folder={jobs}", "--keep=1", "--sort=auc", f"--served={served}"]
    status, lines, errors = _call(capsys, "prune", *flags)
    assert status == 0, errors
    assert [line for line in lines if line.startswith("remove")] == [
        "remove  bb",
        "remove  ggggggg",
        "remove  dddd",
    ]
    assert "keep    a: an export of it is pushed" in lines
    assert "keep    eeeee: a job that is kept was warm-started from it" in lines
    assert "keep    ccc: its state is incomplete" in lines
    assert len([path for path in jobs.iterdir() if path.is_dir()]) == 7
    # Locks of one process do not exclude each other, so another process holds this one.
    words = [sys.executable, "-c", HOLDER, str(jobs / "ggggggg" / LOCK)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout.readline() == b"held\n"
        _, lines, _ = _call(capsys, "prune", *flags, "--remove")
        holder.stdin.close()
    assert lines[-1] == "2 of 7 jobs removed"
    left = sorted(path.name for path in jobs.iterdir() if path.is_dir())
    assert left == ["a", "ccc", "eeeee", "ffffff", "ggggggg"]


def test_prune_removes_no_served_model_and_no_search(jobs, capsys):
    (jobs / "a" / "served").mkdir()
    (jobs / "a" / "served" / "push.json").write_text("{}")
    (jobs / "bb" / "study.json").write_text("{}")
    flags = [f"--folder={jobs}", "--keep=0", "--served=none", "--remove"]
    _, lines, _ = _call(capsys, "prune", *flags)
    assert "keep    a: it contains the state of a served model, served/push.json" in lines
    assert "keep    bb: it contains a search, study.json" in lines
    assert (jobs / "a").exists() and (jobs / "bb").exists()


def test_a_prune_that_was_interrupted_goes_on(jobs, capsys, monkeypatch):
    make_job(jobs, "dddd", 0.95)
    (jobs / "bb" / "variables").mkdir()
    flags = ["prune", f"--folder={jobs}", "--keep=1", "--sort=auc", "--served=none", "--remove"]

    def interrupt(path, **options):
        for part in ("config.yaml", "inputs.json"):
            (Path(path) / part).unlink(missing_ok=True)
        raise SignalReceived(signal.SIGTERM)

    monkeypatch.setattr(shutil, "rmtree", interrupt)
    assert _call(capsys, *flags)[0] == 143
    monkeypatch.undo()
    _, lines, _ = _call(capsys, *flags)
    assert "remove  bb" in lines and not (jobs / "bb").exists()


def test_prune_keeps_a_pushed_job_that_was_moved(jobs, capsys, tmp_path):
    served = tmp_path / "served"
    for name, label in (("a", "stable"), ("bb", "canary")):
        export = jobs / name / "export" / "best" / "1700000000"
        export.mkdir(parents=True)
        (export / "saved_model.pb").write_bytes(b"\x12\0" * len(name))
        argv = [str(export), f"--to={served}", "--force", "--reason=x", f"--label={label}"]
        assert push_command.main(argv) == 0
        (jobs / name).rename(jobs / f"moved-{name}")
    # The push of the second one has not been completed.
    state = json.loads((served / "push.json").read_text())
    state["pending"] = {
        "version": 2,
        "token": "0" * 32,
        "label": "",
        "entry": state["versions"].pop("2"),
    }
    (served / "push.json").write_text(json.dumps(state))
    _, lines, _ = _call(capsys, "prune", f"--folder={jobs}", "--keep=0", f"--served={served}")
    for name in ("a", "bb"):
        assert f"keep    moved-{name}: an export of it is pushed" in lines


def test_lineage_shortens_digests_and_names_what_is_missing(jobs, capsys):
    export = jobs / "a" / "export" / "best" / "1800000000"
    status, lines, errors = _call(capsys, "lineage", str(export))
    assert status == 0, errors
    assert {"  code.trainer: cccccccc", "  code.git: none"} < set(lines)


def push_from(jobs, capsys, name="a"):
    """Pushes an export that a job has just made; returns the path of the version."""
    export = jobs / name / "export" / "best" / "1800000000"
    export.mkdir(parents=True)
    (export / "saved_model.pb").write_bytes(b"\x12\x02\x1a\x00")
    served = jobs.parent / "served"
    argv = [str(export), f"--to={served}", "--force", "--reason=x"]
    assert push_command.main(argv) == 0, capsys.readouterr().err
    capsys.readouterr()
    return str(served / "1")


def start_again(jobs, name, started):
    """Replaces the files of a job by those of one with other data."""
    shutil.rmtree(jobs / name)
    other = {"fingerprint": "f" * 64, "rows": 5, "files": [["/data/half.csv"]]}
    make_job(jobs, name, 0.6, started=started, data={"train": other, "eval": other})


def test_lineage_of_a_version_shows_the_data_of_its_own_run(jobs, capsys):
    version = push_from(jobs, capsys)
    _, before, _ = _call(capsys, "lineage", version)
    assert f"job {jobs / 'a'}: complete, 20 steps" in before
    assert (
        "  train data: 10 rows, aaaaaaaa" in before and "  train files: /data/train.csv" in before
    )
    start_again(jobs, "a", "2028-01-01T00:00:00+00:00")
    _, after, _ = _call(capsys, "lineage", version)
    assert f"job {jobs / 'a'}: started again since" in after
    assert after[3:] == before[3:]
    shutil.rmtree(jobs / "a")
    status, lines, _ = _call(capsys, "lineage", version)
    assert status == 0 and lines[2] == f"job {jobs / 'a'}: not there any more, or damaged"
    assert lines[3:] == before[3:]


def test_lineage_of_an_older_push_says_that_the_job_was_started_again(jobs, capsys):
    version = push_from(jobs, capsys)
    path = Path(version).with_name("push.json")
    state = json.loads(path.read_text())
    del state["versions"]["1"]["inputs"]
    path.write_text(json.dumps(state))
    assert "  train data: 10 rows, aaaaaaaa" in _call(capsys, "lineage", version)[1]
    start_again(jobs, "a", "2028-01-01T00:00:00+00:00")
    status, lines, _ = _call(capsys, "lineage", version)
    assert status == 0
    assert lines[2:] == [
        f"job {jobs / 'a'}: started again since",
        "  inputs: not known, only those of the new run",
    ]


def test_lineage_of_an_export_shows_the_run_that_made_it(jobs, capsys):
    first = json.loads((jobs / "a" / INPUTS).read_text())["runs"][0]
    later = {**first, "started": "2028-01-01T00:00:00+00:00", "tensorflow": "3.0.0"}
    (jobs / "a" / INPUTS).write_text(json.dumps({"runs": [first, later]}))
    for number, shown in ((1800000000, "2.21.0"), (1900000000, "3.0.0")):
        export = jobs / "a" / "export" / "best" / str(number)
        _, lines, _ = _call(capsys, "lineage", str(export))
        assert f"  tensorflow: {shown}" in lines
        assert ("not the last one" in lines[1]) == (shown == "2.21.0")


def test_lineage_of_a_warm_start_shows_the_run_that_it_started_from(jobs, capsys):
    parent = {"warm_start": str(jobs / "a"), "study": None}
    make_job(jobs, "dddd", 0.9, parent=parent)
    export = str(jobs / "dddd" / "export" / "best" / "1800000000")
    assert "  train data: 10 rows, aaaaaaaa" in _call(capsys, "lineage", export)[1]
    start_again(jobs, "a", "2026-01-05T00:00:00+00:00")
    assert f"job {jobs / 'a'}: started again since" in _call(capsys, "lineage", export)[1]


@pytest.mark.parametrize(
    "words, message",
    [
        ([], "command: none; use one of list"),
        (["lst"], "did you mean list?"),
        (["list", "x"], "list: name the folder of the jobs as --folder=x"),
        (["list", "--folder=missing"], "error: --folder=missing: no such folder"),
        (
            ["compare", "FOLDER/a", "missing"],
            "error: missing: no such folder; name the folder of a job",
        ),
        (["list", "--folder=FOLDER", "--where=auc"], "write NAME=VALUE"),
        (["list", "--folder=FOLDER", "--where=acu>1"], "did you mean auc?"),
        (["list", "--folder=FOLDER", "--where=auc>>0.9"], "no comparison is written >>; write"),
        (["list", "--folder=FOLDER", "--where=auc=>0.9"], "no comparison is written =>; write"),
        (["list", "--folder=FOLDER", "--where=state==complete"], "is written ==; write one of ="),
        (["list", "--folder=FOLDER", "--where=auc>x"], "> compares numbers, and 'x' is none"),
        (["list", "--folder=FOLDER", "--where=auc<nan"], "< compares numbers, and 'nan' is none"),
        (["list", "--folder=FOLDER", "--where=auc>"], "> compares numbers, and '' is none"),
        (["list", "--folder=FOLDER", "--where=auc>0.9 and loss<1"], "has several conditions;"),
        (["list", "--folder=FOLDER", "--where=state=complete or auc>0"], "has several conditions;"),
        (["export", "--folder=FOLDER", "--to=x", "--where=auc>x"], "> compares numbers"),
        (["list", "--folder=FOLDER", "--sort=acu"], "did you mean auc?"),
        (["compare", "FOLDER/a"], "give two or more folders"),
        (["why", "FOLDER/a", "FOLDER"], "no config.yaml there"),
        (["lineage", "FOLDER/a"], "neither an export"),
        (["prune", "--folder=FOLDER", "--served=none"], "--keep: not given"),
        (["prune", "--folder=FOLDER", "--keep=1"], "--served: not given"),
        (["prune", "--folder=gs://a/b", "--keep=1"], "set a lifecycle rule"),
        (["prune", "--folder=FOLDER", "--keep=1", "--served=FOLDER"], "no pushed versions there"),
    ],
)
def test_one_line_says_what_is_wrong(jobs, capsys, words, message):
    status, _, errors = _call(capsys, *(word.replace("FOLDER", str(jobs)) for word in words))
    assert status == 2 and len(errors) == 1 and message in errors[0]


def test_show_names_the_verdicts_of_the_gate(jobs, capsys):
    extra = jobs / "a/export/best/17/assets.extra"
    extra.mkdir(parents=True)
    report = {"verdict": "blessed", "time": "2026-01-02", "forced": True, "reason": "first"}
    (extra / "gate.json").write_text(json.dumps(report))
    status, lines, _ = _call(capsys, "show", jobs / "a")
    (line,) = [line for line in lines if line.startswith("gate on export/best/17")]
    assert status == 0 and line.endswith("blessed 2026-01-02, forced: 'first'")


@pytest.mark.parametrize(
    "file, values",
    [
        (INPUTS, {"runs": [5]}),
        (INPUTS, {"runs": 5}),
        (INPUTS, {"runs": [{"started": 3}]}),
        (INPUTS, {"runs": [{"parent": "x"}]}),
        (INPUTS, {"runs": [{"data": {"train": {"rows": "5", "fingerprint": "a"}}}]}),
        (INPUTS, {"runs": [{"data": {"train": {"rows": 5, "fingerprint": "a", "files": [[]]}}}]}),
        (INPUTS, {"runs": [{"code": {"user": ["x"]}}]}),
        (METRICS, {"best": [1]}),
        (METRICS, {"best_metric": {"a": 1}}),
    ],
)
def test_values_of_another_type_are_damage(jobs, capsys, file, values):
    (jobs / "a" / file).write_text(json.dumps(values))
    status, lines, _ = _call(capsys, "list", f"--folder={jobs}")
    assert status == 0 and "damaged" in lines[0] and file in lines[0]
    for words in (["show", "a"], ["why", "a", "bb"], ["compare", "a", "bb"]):
        status, _, errors = _call(capsys, words[0], *(str(jobs / word) for word in words[1:]))
        assert status == 2 and len(errors) == 1 and "damaged" in errors[0]


def test_a_row_of_the_index_names_no_other_folder(jobs, tmp_path, capsys):
    """prune removes the folders that runs name, and others may have written the index."""
    list_runs(jobs)
    victim = tmp_path / "victim"
    victim.mkdir()
    with contextlib.closing(sqlite3.connect(jobs / INDEX)) as index:
        for name, text in index.execute("SELECT name, text FROM runs").fetchall():
            moved = json.dumps({**json.loads(text), "name": "../victim"})
            index.execute("UPDATE runs SET text = ? WHERE name = ?", (moved, name))
        index.commit()
    command = ["prune", f"--folder={jobs}", "--keep=0", "--served=none", "--remove"]
    status, lines, errors = _call(capsys, *command)
    assert status == 0, errors
    assert victim.is_dir() and not any("victim" in line for line in lines)


def test_the_index_changes_no_other_database(jobs, tmp_path):
    """A link, or what is no index of ours, is not written; text in it is not run."""
    expected, _ = list_runs(jobs)
    assert (jobs / INDEX).stat().st_mode & 0o077 == 0
    foreign = tmp_path / "foreign.sqlite"
    with contextlib.closing(sqlite3.connect(foreign)) as database:
        database.execute("CREATE TABLE runs (mine)")
        database.execute("INSERT INTO runs VALUES (1)")
        database.commit()
    content = foreign.read_bytes()
    (jobs / INDEX).unlink()
    (jobs / INDEX).symlink_to(foreign)
    assert list_runs(jobs)[0] == expected
    assert foreign.read_bytes() == content
    (jobs / INDEX).unlink()
    os.mkfifo(jobs / INDEX)
    assert list_runs(jobs)[0] == expected
    (jobs / INDEX).unlink()
    with contextlib.closing(sqlite3.connect(jobs / INDEX)) as index:
        endless = (
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i FROM n) SELECT i, i, i FROM n"
        )
        index.execute(f"CREATE VIEW runs (name, stamp, text) AS {endless}")
        index.execute(f"PRAGMA user_version = {VERSION}")
        index.commit()
    assert list_runs(jobs)[0] == expected


def test_a_name_of_a_job_stays_on_its_line(jobs, capsys):
    (jobs / "a").rename(jobs / "a\nremove  bb")
    _, lines, _ = _call(capsys, "list", f"--folder={jobs}")
    assert len(lines) == 4 and any("a\\nremove" in line for line in lines)
