"""Metrics of checkpoints equal those of training; metrics of slices equal those of sklearn."""

import json
import shutil
import subprocess
import sys
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
import yaml
from sklearn import metrics as sk

from trainer.config import commands
from trainer.evaluation import command, page_command
from trainer.gating import command as gate
from trainer.metrics import grouping, slices
from trainer.metrics.grouping import Grouping
from trainer.metrics.slices import Predictions
from trainer.sandboxing import command as sandbox
from trainer.schema import Bins, Range, Schema

pytestmark = pytest.mark.newest

PNG = b"\x89PNG"


def _run(tmp_path, *argv, status=0):
    output = tmp_path / "report"
    assert command.main([*map(str, argv), f"--output={output}"]) == status
    if status:
        return None
    assert (output / "evaluation.png").read_bytes().startswith(PNG)
    return json.loads((output / "evaluation.json").read_text())


@pytest.fixture(scope="module")
def several(trained):
    """A binary classifier with three checkpoints, evaluated at each."""
    return trained("wide_deep", "bought", run={"save_checkpoints_steps": 30}, weight=True)


def test_all_checkpoints_have_the_metrics_of_training(several, tmp_path, capsys):
    before = {path: path.stat().st_mtime_ns for path in several.folder.rglob("*")}
    report = _run(tmp_path, f"--job_dir={several.folder}", "--all_checkpoints")
    seen = {record["step"]: record for record in several.read("eval")}
    again = {record["step"]: record for record in report["evaluations"]}
    assert len(again) >= 3 and set(seen) <= set(again)
    for step, record in seen.items():
        for name, value in record.items():
            assert again[step][name] == pytest.approx(value, rel=1e-5), (step, name)
    out = capsys.readouterr().out
    assert out.splitlines()[0].split()[:3] == ["step", "loss", "auc"]
    # Nothing in job_dir is touched.
    assert before == {path: path.stat().st_mtime_ns for path in several.folder.rglob("*")}


def test_one_checkpoint_by_step_or_path(several, tmp_path):
    first = next(iter(several.folder.glob("model.ckpt-30.index"))).with_suffix("")
    by_step = _run(tmp_path, f"--job_dir={several.folder}", "--checkpoint=30")
    by_path = _run(tmp_path, f"--job_dir={several.folder}", f"--checkpoint={first}")
    assert by_step["evaluations"] == by_path["evaluations"]
    assert by_step["evaluations"][0]["step"] == 30
    last = _run(tmp_path, f"--job_dir={several.folder}")
    assert last["evaluations"][0]["step"] == several.result.end_step
    overall, own = last["overall"], last["evaluations"][0]
    assert last["rows"] == 200
    # Exact areas against those of 200 thresholds.
    assert overall["auc"] == pytest.approx(own["auc"], abs=0.01)
    for name in ("log_loss", "calibration_error", "precision_at_0.5", "recall_at_0.5"):
        assert overall[name] == pytest.approx(own[name], rel=1e-3, abs=1e-4), name


def test_an_engine_finds_what_this_process_does(
    several, make, large_file, tmp_path, beam_here, capsys
):
    (tmp_path / "data").mkdir()
    large_file(tmp_path / "data" / "large.parquet")
    for number in range(3):
        make.csv(tmp_path / "data" / f"part-{number}.csv", make.rows(70, seed=number))
    argv = [
        f"--job_dir={several.folder}",
        f"--data={tmp_path / 'data'}",
        "--by=city,age,city*level,w",
    ]
    here = _run(tmp_path, *argv)
    there = _run(tmp_path, *argv, "--engine=beam")
    assert "evaluating: 6 task(s) on beam" in capsys.readouterr().err
    (ours,), (own,) = there.pop("evaluations"), here.pop("evaluations")
    # Bit by bit.
    assert there == here and there["rows"] == 360 and len(there["slices"]) > 10
    assert ours == {**here["overall"], "step": own["step"], "checkpoint": own["checkpoint"]}


def test_data_of_which_no_row_counts_are_refused(several, make, tmp_path, beam_here, capsys):
    data = make.csv(tmp_path / "zero.csv", [{**row, "w": 0} for row in make.rows(40, seed=9)])
    for more in ("--all_checkpoints", "--engine=beam"):
        argv = [f"--job_dir={several.folder}", f"--data={data}", f"--output={tmp_path / 'none'}"]
        assert command.main([*argv, more]) == 2
        assert "schema.weight: w is 0 in every row of the data" in capsys.readouterr().err
    assert not (tmp_path / "none").exists()


def test_of_very_many_rows_only_sums_are_kept_here_and_on_an_engine(
    several, make, large_file, tmp_path, beam_here, capsys, monkeypatch
):
    (tmp_path / "data").mkdir()
    large_file(tmp_path / "data" / "large.parquet")
    for number in range(2):
        make.csv(tmp_path / "data" / f"part-{number}.csv", make.rows(90, seed=number))
    argv = [f"--job_dir={several.folder}", f"--data={tmp_path / 'data'}"]
    exact = _run(tmp_path, *argv, "--by=city,age")
    assert "far from exact" not in capsys.readouterr().out and "bounds" not in exact
    # More than a file has.
    monkeypatch.setattr("trainer.metrics.rows_or_sums.EXACT_ROWS", 200)
    here = _run(tmp_path, *argv, "--by=city,age")
    assert "of each slice, at most this far from exact: auc " in capsys.readouterr().out
    there = _run(tmp_path, *argv, "--by=city,age", "--engine=beam")
    assert there.pop("evaluations") and here.pop("evaluations")
    # Bit by bit.
    assert there == here and here["rows"] == 330
    bounds = here["bounds"]["overall"]
    assert set(bounds) == {"auc", "auc_precision_recall"}
    for name, value in here["overall"].items():
        expected = pytest.approx(exact["overall"][name], rel=1e-9, abs=bounds.get(name, 0))
        assert value == expected, name
    assert [part["rows"] for part in here["slices"]] == [p["rows"] for p in exact["slices"]]
    _run(tmp_path, *argv)
    assert (tmp_path / "report" / "evaluation.png").stat().st_size > 9000


def test_a_template_writes_the_report_alone(several, make, tmp_path, beam_here, capsys):
    path = make.csv(tmp_path / "a.csv", make.rows(90, seed=4))
    argv = [f"--job_dir={several.folder}", f"--data={path}", "--by=city", "--engine=beam"]
    direct = _run(tmp_path, *argv)
    shutil.rmtree(tmp_path / "report")
    capsys.readouterr()
    later = _run(tmp_path, *argv, "--beam_options=--template_location=gs://b/t")
    assert capsys.readouterr().out == "the pipeline is in --template_location\n"
    assert later == direct and (tmp_path / "report" / "evaluation.png").is_file()


def test_an_engine_reports_what_is_wrong_with_the_data(several, make, tmp_path, beam_here, capsys):
    path = make.csv(tmp_path / "a.csv", [{**row, "hours": "many"} for row in make.rows(3)])
    _run(tmp_path, f"--job_dir={several.folder}", f"--data={path}", "--engine=beam", status=2)
    (line,) = [line for line in capsys.readouterr().err.splitlines() if "error: " in line]
    assert "a.csv: row 2, column hours: " in line


def test_an_engine_evaluates_one_checkpoint(several, tmp_path, capsys):
    argv = [f"--job_dir={several.folder}", "--engine=spark", "--all_checkpoints"]
    _run(tmp_path, *argv, status=2)
    assert "--engine=spark: evaluates one checkpoint; remove" in capsys.readouterr().err


def test_a_slice_has_the_metrics_of_its_rows_alone(several, make, shop, tmp_path, capsys):
    whole = _run(
        tmp_path,
        f"--job_dir={several.folder}",
        "--by=city,age,city*level,w",
        "--min_rows=60",
        "--threshold=0.4",
    )
    out = capsys.readouterr().out
    assert "fewer than 60 rows" in out and "(missing)" in out
    found = {(part["by"], part["value"]): part for part in whole["slices"]}
    for by in ("city", "age", "city*level", "w"):
        assert sum(part["rows"] for part in whole["slices"] if part["by"] == by) == 200
    assert ("age", "age < 30") in found and ("city*level", "Ulm, 3") in found
    rows = make.rows(200, seed=2)
    for city in ("Ulm", "Prag"):
        mine = [row for row in rows if row["city"] == city]
        path = make.csv(tmp_path / f"{city}.csv", mine)
        alone = _run(tmp_path, f"--job_dir={several.folder}", f"--data={path}", "--threshold=0.4")
        part = found[("city", city)]
        assert part["rows"] == len(mine) and part["few"] == (len(mine) < 60)
        assert part["metrics"] == pytest.approx(alone["overall"], rel=1e-6, nan_ok=True)


def test_values_of_slices_are_shown_on_one_line_without_control_characters(
    several, make, tmp_path, capsys
):
    rows = make.rows(40, missing=False)
    for row in rows[::2]:
        row["city"] = "\x1b[2J\nall rows $x_$"
    data = make.csv(tmp_path / "data.csv", rows)
    report = _run(tmp_path, f"--job_dir={several.folder}", f"--data={data}", "--by=city")
    assert rows[0]["city"] in [part["value"] for part in report["slices"]]
    out = capsys.readouterr().out
    assert "\x1b" not in out and "  \\x1b[2J\\nall rows $x_$ *" in out


@pytest.mark.parametrize(("label", "shown"), [("price", "rmse"), ("colour", "accuracy")])
def test_other_tasks(trained, tmp_path, label, shown):
    job = trained("linear", label)
    report = _run(tmp_path, f"--job_dir={job.folder}", "--by=city")
    own = report["evaluations"][0]
    assert report["overall"][shown] == pytest.approx(own[shown], rel=1e-4)
    other = {"price": "r2", "colour": "log_loss"}[label]
    assert report["overall"][other] == pytest.approx(own[other], rel=1e-3)
    weighted = sum(part["rows"] * part["metrics"][shown] for part in report["slices"])
    if label == "colour":
        assert weighted / 200 == pytest.approx(own[shown], rel=1e-4)
    _run(tmp_path, f"--job_dir={job.folder}")


def test_bad_input(several, make, tmp_path, capsys):
    job = f"--job_dir={several.folder}"
    lacking = make.csv(tmp_path / "a.csv", [{"age": 1}])
    bad = make.rows(20, missing=False)
    bad[7]["bought"] = "maybe"
    bad = make.csv(tmp_path / "b.csv", bad)
    endless = [{**row, "age": "inf"} for row in make.rows(3)]
    endless = make.csv(tmp_path / "c.csv", endless)
    other = tmp_path / "other"
    shutil.copytree(several.folder, other)
    schema = json.loads((other / "schema.json").read_text())
    schema["columns"]["job"]["hash_buckets"] = 7
    (other / "schema.json").write_text(json.dumps(schema))
    damaged = tmp_path / "damaged"
    shutil.copytree(several.folder, damaged)
    for shard in damaged.glob("model.ckpt-30.data-*"):
        shard.write_bytes(bytes(shard.stat().st_size))
    for argv, words in [
        ([], "--job_dir: not given"),
        ([f"--job_dir={tmp_path}"], "no config.yaml"),
        ([job, "--checkpoint=31"], "choose one of the steps"),
        ([job, "--checkpoint=30", "--all_checkpoints"], "both given"),
        ([job, "--by=cty"], "did you mean city?"),
        ([job, "--by=city", "--all_checkpoints"], "remove"),
        ([job, "--data=none.csv"], "no file matches"),
        ([job, f"--data={lacking}"], "no column"),
        ([job, f"--data={bad}"], "row 9, column bought: 'maybe' is none of the label's classes"),
        ([job, f"--data={endless}"], "row 2, column age: inf is not a finite number; fix it"),
        ([job, "--threshold=0"], "between 0 and 1"),
        ([job, "--min_rows=0"], "min_rows"),
        ([job, "--delimiter=é"], "use one ASCII character"),
        ([job, "--encoding=nonsense"], "no such text encoding"),
        ([job, "--chekpoint=30"], "did you mean --checkpoint?"),
        ([f"--job_dir={other}"], "was it written by this job?"),
        ([f"--job_dir={damaged}", "--checkpoint=30"], "its files are damaged (the checksum of "),
    ]:
        _run(tmp_path, *argv, status=2)
        assert words in capsys.readouterr().err.splitlines()[-1], argv
    assert not (tmp_path / "report").exists()


def test_a_place_that_is_read_only_is_told_before_the_work(several, make, monkeypatch, capsys):
    # Root may write everywhere but on a file system that is mounted read-only.
    monkeypatch.setattr("trainer.storage.disk.os.access", lambda path, mode: False)
    job, data = str(several.folder), make.csv(several.folder / "some.csv", make.rows(20, seed=9))
    cases = [
        (
            command,
            [f"--job_dir={job}"],
            f"--output={job}/evaluation: {job} is not writable; choose",
        ),
        (page_command, [job], f"--output={job}/report.html: {job} is not writable;"),
        (sandbox, [f"--job_dir={job}"], "is not writable; the report is written there; copy the"),
        (
            gate,
            [f"--candidate={job}", f"--data={data}", "--may_be_first"],
            "is not writable; the verdict is written there; copy the export",
        ),
    ]
    for module, argv, words in cases:
        assert commands.run(module.main, argv) == 2
        assert words in capsys.readouterr().err.splitlines()[-1], argv


def test_what_needs_no_tensorflow_is_refused_before_it_is_imported(several, tmp_path):
    job = str(several.folder)
    cases = {
        "evaluate": ([f"--job_dir={job}", "--checkpoint=77"], "--checkpoint=77: no such"),
        "report": ([job, "--checkpoint=77"], "--checkpoint=77: no such checkpoint"),
        "predict": ([f"--job_dir={job}", "--data=none", "--output=o.csv"], "no file matches"),
        "gate": ([f"--candidate={job}", "--data=none", "--may_be_first"], "no file matches"),
    }
    for module, (argv, words) in cases.items():
        program = (
            f"import sys, trainer.{module} as command\n"
            f"from trainer.config.commands import run\nstatus = run(command.main, {argv!r})\n"
            "print(status, 'tensorflow' in sys.modules)"
        )
        done = subprocess.run(
            [sys.executable, "-c", program],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert done.stdout == "2 False\n", (module, done.stderr)
        assert words in done.stderr and len(done.stderr.splitlines()) == 1


def test_an_output_that_cannot_be_written_is_found_before_the_evaluation(several, tmp_path, capsys):
    from trainer.evaluation import page_command

    file = tmp_path / "file"
    file.write_text("mine")
    for main, output in (
        (command.main, file),
        (command.main, file / "report"),
        (run_with(page_command.main), file / "report.html"),
        (run_with(page_command.main), tmp_path),
    ):
        assert main([f"--job_dir={several.folder}", f"--output={output}"]) == 2
        (line,) = capsys.readouterr().err.splitlines()
        assert f"--output={output}: " in line and "folder" in line
    assert file.read_text() == "mine"


def run_with(main):
    """A main that prints a UserError, as the module of its command does."""
    return lambda argv: commands.run(main, argv)


def test_code_of_a_job_runs_only_if_the_user_allows_it(several, tmp_path, capsys, monkeypatch):
    job, ran = tmp_path / "job", tmp_path / "ran"
    shutil.copytree(several.folder, job)
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "theirs_of_job.py").write_text(
        f"import pathlib, tensorflow as tf\npathlib.Path({str(ran)!r}).touch()\n"
        "def metrics(predictions):\n    mean = tf.keras.metrics.Mean()\n"
        "    mean.update_state(predictions['logistic'])\n    return {'share': mean}\n"
    )
    content = yaml.safe_load((job / "config.yaml").read_text())
    for section, option, refused in (
        ("model", "type", "theirs_of_job:build"),
        ("eval", "metric_fn", "theirs_of_job:metrics"),
    ):
        changed = {**content, section: {**content[section], option: refused}}
        (job / "config.yaml").write_text(yaml.safe_dump(changed))
        _run(tmp_path, f"--job_dir={job}", status=2)
        line = capsys.readouterr().err.splitlines()[-1]
        assert f"{section}.{option} {refused}" in line and "--allow_code" in line
        assert not ran.exists() and not (tmp_path / "report").exists()
    report = _run(tmp_path, f"--job_dir={job}", "--allow_code")
    assert ran.exists() and 0 < report["evaluations"][0]["share"] < 1
    assert "eval.metric_fn theirs_of_job:metrics" in capsys.readouterr().err


def test_a_schema_of_a_job_that_is_no_schema_is_one_line(several, tmp_path, capsys):
    job = tmp_path / "job"
    shutil.copytree(several.folder, job)
    (job / "schema.json").write_text('{"columns": {"age": 3}}')
    _run(tmp_path, f"--job_dir={job}", status=2)
    assert "schema.json: columns.age" in capsys.readouterr().err


def test_evaluate_as_a_process(several, tmp_path, run_module):
    done = run_module(
        "trainer.evaluate", f"--job_dir={several.folder}", "--by=city", f"--output={tmp_path}"
    )
    assert done.returncode == 0, done.stderr
    assert "all rows" in done.stdout and str(tmp_path / "evaluation.json") in done.stdout


# The measures underneath


@pytest.mark.parametrize("weighted", [False, True])
def test_binary_metrics_equal_those_of_sklearn(weighted):
    rng = np.random.default_rng(0)
    scores = np.round(rng.uniform(size=500), 2).clip(0.01, 0.99)
    labels = (rng.uniform(size=500) < scores).astype(int)
    weights = rng.uniform(0.1, 3, 500) if weighted else None
    got = slices.measure("binary", Predictions(labels, scores, weights), 0.3)
    called = scores > 0.3
    options = {"sample_weight": weights}
    assert got["auc"] == pytest.approx(sk.roc_auc_score(labels, scores, **options))
    assert got["auc_precision_recall"] == pytest.approx(
        sk.average_precision_score(labels, scores, **options)
    )
    assert got["log_loss"] == pytest.approx(sk.log_loss(labels, scores, **options))
    assert got["precision_at_0.3"] == pytest.approx(sk.precision_score(labels, called, **options))
    assert got["recall_at_0.3"] == pytest.approx(sk.recall_score(labels, called, **options))


def test_multiclass_metrics_equal_those_of_sklearn():
    rng = np.random.default_rng(1)
    scores = rng.dirichlet(np.ones(4), 300)
    labels = np.array([rng.choice(4, p=row) for row in scores])
    weights = rng.uniform(0.1, 3, 300)
    got = slices.measure("multiclass", Predictions(labels, scores, weights), 0.5)
    assert got["accuracy"] == pytest.approx(
        sk.accuracy_score(labels, scores.argmax(1), sample_weight=weights)
    )
    assert got["log_loss"] == pytest.approx(
        sk.log_loss(labels, scores, labels=range(4), sample_weight=weights)
    )


def test_a_slice_of_one_class_has_no_auc_and_zero_weight_no_metrics():
    ones = Predictions(np.ones(3), np.array([0.2, 0.5, 0.9]), None)
    got = slices.measure("binary", ones, 0.5)
    assert np.isnan(got["auc"]) and got["recall_at_0.5"] == pytest.approx(1 / 3)
    assert slices.measure("binary", ones._replace(weights=np.zeros(3)), 0.5) == {}


def test_slices_are_sorted_by_size_and_numbers_by_value():
    predictions = Predictions(np.arange(6.0), np.arange(6.0), None)
    codes = np.array([1, 1, 1, 0, 0, 2])
    words = Grouping(["a", "b", "c", "never"], codes)
    parts = slices.measure_slices("regression", predictions, {"s": words}, 0.5, 2)
    assert [(part.value, part.rows, part.few) for part in parts] == [
        ("b", 3, False),
        ("a", 2, False),
        ("c", 1, True),
    ]
    numbers = words._replace(ordered=True)
    parts = slices.measure_slices("regression", predictions, {"s": numbers}, 0.5, 2)
    assert [part.value for part in parts] == ["a", "b", "c"]


def test_slices_of_missing_values_and_of_pairs_that_occur():
    columns = {name: {"type": "float"} for name in ("none", "a", "b", "y")}
    schema = Schema.model_validate({"columns": columns, "label": {"column": "y"}})
    chunk = {
        "none": np.full(300, np.nan),
        "a": np.arange(300.0) // 100,
        "b": np.arange(300.0) // 50 % 4,
    }
    got = grouping.group([chunk], [["none"], ["a", "b"]], schema, {})
    assert {got["none"].names[code] for code in got["none"].codes} == {"(missing)"}
    found = got["a*b"]
    assert len(found.names) == 6
    for row in (0, 120, 299):
        expected = f"{chunk['a'][row]:g}, {chunk['b'][row]:g}"
        assert found.names[found.codes[row]] == expected


def test_slicing_keeps_no_words_of_rows_and_makes_few_names():
    columns = {name: {"type": "string", "hash_buckets": 9} for name in "ab"}
    schema = Schema.model_validate(
        {"columns": {**columns, "y": {"type": "float"}}, "label": {"column": "y"}}
    )
    grouper = grouping.Grouper([["a", "b"]], schema, {})
    rows = 20_000
    tracemalloc.start()
    try:
        for first in range(0, 5 * rows, rows):
            numbers = range(first, first + rows)
            words = np.array([b"%0200d" % (number % 7) for number in numbers], object)
            grouper.add({"a": words, "b": np.array([b"%d" % number for number in numbers], object)})
        del words
        # Each row has a different b: two codes a row, and each different word once.
        assert tracemalloc.get_traced_memory()[0] < 5 * rows * 200
        found = grouper.finish()["a*b"]
        assert tracemalloc.get_traced_memory()[0] < 5 * rows * 200
    finally:
        tracemalloc.stop()
    assert len(found.names) == 5 * rows
    assert found.names[int(found.codes[8])] == f"{1:0200d}, 8"


@pytest.mark.parametrize("kind", ["string", "float", "int"])
def test_a_column_without_any_value_is_one_slice(kind):
    column = {"type": kind, **({"hash_buckets": 9} if kind == "string" else {})}
    schema = Schema.model_validate(
        {"columns": {"a": column, "y": {"type": "float"}}, "label": {"column": "y"}}
    )
    missing = np.full(5, b"", object) if kind == "string" else np.full(5, np.nan)
    found = grouping.group([{"a": missing}] * 2, [["a"], ["a", "a"]], schema, {})
    assert [found["a"].names[code] for code in found["a"].codes] == ["(missing)"] * 10
    assert found["a*a"].names[0] == "(missing), (missing)"


def test_numbers_are_sliced_by_buckets_then_by_training_bins_then_by_tenths():
    columns = {
        "bucketed": {"type": "float", "buckets": [10, 20]},
        "trained": {"type": "float"},
        "free": {"type": "float"},
        "few": {"type": "int"},
        "word": {"type": "string", "hash_buckets": 5},
        "y": {"type": "float"},
    }
    schema = Schema.model_validate({"columns": columns, "label": {"column": "y"}})
    values = np.arange(30.0)
    values[29] = np.nan
    chunk = {
        "bucketed": values,
        "trained": values,
        "free": values,
        "few": np.arange(30) % 3,
        "word": np.array([b"a", b"", b"b"] * 10, object),
    }
    bins = Bins(edges=(7.0,), shares=(0.5, 0.5))
    trained = Range(count=9, missing=0, mean=0, std=1, min=0, max=9, bins=bins)
    by = [["bucketed"], ["trained"], ["free"], ["few"], ["word"], ["few", "word"]]
    halves = [{n: a[:14] for n, a in chunk.items()}, {n: a[14:] for n, a in chunk.items()}]
    got = grouping.group(halves, by, schema, {"trained": trained})

    def names(key):
        return [got[key].names[code] for code in got[key].codes]

    assert names("bucketed")[9:11] == ["bucketed < 10", "10 <= bucketed < 20"]
    assert names("bucketed")[28:] == ["bucketed >= 20", "(missing)"]
    assert names("trained")[6:8] == ["trained < 7", "trained >= 7"]
    assert len(set(names("free"))) == 11
    assert names("few")[:4] == ["0", "1", "2", "0"]
    assert names("word")[:4] == ["a", "(missing)", "b", "a"]
    assert names("few*word")[:3] == ["0, a", "1, (missing)", "2, b"]


def test_labels_follow_the_vocabulary(make):
    schema = make.schema("size")
    chunk = {"size": np.array([30, 10, 20, 20])}
    assert slices.read_labels(chunk, schema).tolist() == [2, 0, 1, 1]
    schema = make.schema("colour")
    chunk = {"colour": np.array([b"blue", b"red"], object)}
    assert slices.read_labels(chunk, schema).tolist() == [2, 0]
    schema = make.schema("flag")
    assert slices.read_labels({"flag": np.array([1, 0])}, schema).tolist() == [1, 0]


def test_plots_are_drawn_for_one_row(tmp_path):
    from trainer.reporting import plots

    for task, scores in (
        ("binary", np.array([0.5])),
        ("regression", np.array([0.5])),
        ("multiclass", np.array([[0.2, 0.8]])),
    ):
        path = Path(tmp_path / f"{task}.png")
        plots.draw_predictions(task, Predictions(np.array([1]), scores, None), ["a", "b"], path)
        assert path.read_bytes().startswith(PNG)
