"""Labels that come later tell how good the served model is, and how many are still missing."""

import json
import os
import shlex
import sys
import textwrap
import threading

import numpy as np
import pyarrow as pa
import pytest
from waiting import wait_for_file

from estimator_bridge.command_line.signals import SignalReceived, handle_signals
from trainer.schema import Schema
from trainer.watching import following, labels

pytestmark = pytest.mark.quick


@pytest.fixture
def label(log, make):
    """label(day, change=None, share=1) writes the labels of a day."""

    def write(day, change=None, share=1.0, rows=400):
        truth = make.rows(rows, seed=100 + day)
        found = [{"id": f"{day}-{row['id']}", "bought": row["bought"]} for row in truth]
        found = found[: int(share * len(found))]
        for row in found if change else ():
            change(row)
        folder = log.folder.parent / "labels"
        folder.mkdir(exist_ok=True)
        make.csv(folder / f"{day}.csv", found)
        return f"--labels={folder}"

    return write


def flip(row):
    if row["id"].endswith(("1", "2", "3")):
        row["bought"] = "no" if row["bought"] == "yes" else "yes"


def test_metrics_of_labels_that_come_later(watch, log, label):
    for day in range(5):
        log.write(day)
    for day in range(3):
        flag = label(day)
    found = watch(0, flag, "--label_delay_days=3")
    assert [one["labels"] for one in found["labels"]] == [400, 400, 400, 0, 0]
    auc = [one for one in found["findings"] if one["name"] == "auc"]
    assert len(auc) == 2 and all(one["value"] > 0.99 and one["noise"] < 0.01 for one in auc)
    # Two days later, the labels of the last days have another quality.
    for day in (3, 4):
        flag = label(day, flip)
    found = watch(3, flag)
    worse = {one["name"]: one for one in found["current"]}
    assert worse["auc"]["status"] == "red" and worse["auc"]["since"] == "2026-03-05"
    assert "in the first labelled period 1" in worse["auc"]["reason"]
    assert "calibration_error" in worse


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_scores_without_spread_are_measured_without_a_warning(watch, log, label):
    # No sample has a precision.
    for day in range(2):
        log.write(day, lambda row: row.update(logistic=0.5))
    found = watch(0, label(0), label(1))
    assert {one["name"] for one in found["findings"]} >= {"auc", "log_loss"}


def test_whole_labels_that_a_float_rounds():
    schema = Schema.model_validate(
        {"columns": {"x": {"type": "float"}, "y": {"type": "int"}}, "label": {"column": "y"}}
    )
    found = labels.find_ids(pa.array([2**60 + 1, None]), schema)
    np.testing.assert_array_equal(found, [2.0**60, np.nan])


def test_a_metric_of_unknown_noise_is_no_evidence():
    then = labels.Expected(0.9, float("nan"), "the gate")
    assert labels._judge_metric("auc", 0.5, then, float("nan")) == ("green", "")
    assert np.isnan(labels._find_error(np.array([np.nan, np.nan])))


def test_missing_labels_are_told_after_their_delay(watch, log, label):
    for day in range(12):
        log.write(day, rows=120)
    flag = label(0, rows=120)
    label(1, rows=120, share=0.5)
    current = watch(3, flag, "--label_delay_days=1")["current"]
    assert [one["reason"] for one in current] == ["120 of 120 answers have no label"]
    assert current[0]["since"] == "2026-03-03"
    assert watch(4, flag, "--label_delay_days=10")["current"][0]["reason"].startswith("60 of 120")
    assert watch(0, flag, "--label_delay_days=11")["status"] == "green"
    assert len(watch(0, flag, "--label_delay_days=11", "--keep_days=4")["labels"]) == 5


@pytest.mark.parametrize("weight", [False, True])
def test_the_gate_says_what_is_expected(described, watch, log, label, make, weight):
    # A log has no weights, with which the gate has measured.
    model = described(make.schema_values("bought", weight), name="gated")
    interval = {"candidate": 0.999, "candidate_interval": [0.998, 1.0]}
    subject = {"by": "", "value": "", "metrics": {"auc": interval}}
    (model / "assets.extra/gate.json").write_text(json.dumps({"metrics": [subject]}))
    log.write(0)
    found = watch(0 if weight else 3, label(0, flip), model=model)["current"]
    reasons = [one["reason"] for one in found if one["name"] == "auc"]
    assert [reason.endswith("in the gate 0.999") for reason in reasons] == [True][weight:]


def test_labels_before_their_requests_and_wrong_files(watch, log, label, make):
    log.write(0)
    flag = label(1)
    (log.folder.parent / "labels" / "wrong.csv").write_text("id,bought\n1,maybe\n")
    delay = "--label_delay_days=5"
    found = watch(4, flag, delay)
    assert "wrong.csv: no row has a value in id and a known label in bought" in found["problems"][0]
    log.write(1)
    assert watch(4, flag, delay)["labels"][1]["labels"] == 400


def test_requests_may_contain_their_labels(watch, log, make):
    truth = {f"0-{row['id']}": row["bought"] for row in make.rows(400, seed=100)}
    log.write(0, lambda row: row.update(bought=truth[row["id"]]))
    for _ in range(2):
        assert watch(0, f"--labels={log.folder}")["labels"][0]["labels"] == 400


def test_answers_without_a_key_are_told(watch, log, label):
    log.write(0, lambda row: row.pop("id"))
    (note,) = watch(0, label(0))["notes"]
    assert note == "--labels: no logged answer has a id, so none is joined; check --key"


def test_a_command_is_started_once_for_what_turned_red(watch, log, tmp_path):
    started = tmp_path / "started"
    program = f"import sys; open({str(started)!r}, 'a').write('x'); sys.exit(len(sys.argv) - 1)"
    (tmp_path / "then.py").write_text(program)
    then = f"--then={sys.executable} {tmp_path / 'then.py'}"

    def break_it(row):
        row["hours"] = None

    log.write(0)
    watch(0, then)
    assert not started.exists()
    log.write(1, break_it)
    watch(3, f"{then} fail")
    watch(3, then)
    watch(3, then)
    assert started.read_text() == "xx"
    log.write(2)
    watch(0, then)
    log.write(3, break_it)
    watch(3, then)
    assert started.read_text() == "xxx"


def test_a_command_that_cannot_start_is_told_before_anything_is_read(watch, log, tmp_path):
    log.write(0)
    assert "--then=no_such x: there is no program 'no_such'" in watch(2, "--then=no_such x")
    error = watch(2, "--then=sh 'unbalanced")
    assert "--then=sh 'unbalanced: No closing quotation" in error
    assert "--then: the command is empty" in watch(2, "--then=")
    (tmp_path / "script").touch(mode=0o644)
    assert "there is no program" in watch(2, f"--then={tmp_path / 'script'}")
    assert watch(0, "--then=sh retrain.sh")["new_rows"] == 400


def test_a_signal_reaches_the_command_that_was_started(tmp_path):
    marks = [tmp_path / name for name in ("started", "ended")]
    program = textwrap.dedent(
        f"""
        import os, signal, sys, time
        def end(number, frame):
            open({str(marks[1])!r}, "w").close()
            sys.exit(1)
        signal.signal(signal.SIGTERM, end)
        open({str(marks[0])!r}, "w").close()
        time.sleep(60)
        """
    )
    # As sh starts training; a shell ends at once.
    command = f"sh -c {shlex.quote(shlex.join([sys.executable, '-c', program]) + '; true')}"
    threading.Thread(target=lambda: (wait_for_file(marks[0]), os.kill(os.getpid(), 15))).start()
    with pytest.raises(SignalReceived), handle_signals():
        following._run(command)
    wait_for_file(marks[1])


@pytest.mark.long
def test_a_command_is_started_for_enough_new_labels(watch, log, label, tmp_path):
    started = tmp_path / "started"
    program = f"open({str(started)!r}, 'a').write('x')"
    (tmp_path / "then.py").write_text(program)
    then = [f"--then={sys.executable} {tmp_path / 'then.py'}", "--then_labels=600"]
    assert "--then_labels: needs --then=COMMAND and --labels" in watch(2, *then)
    for day, times in enumerate(["", "x", "x", "xx"]):
        log.write(day)
        watch(0, *then, label(day))
        # Of 400 rows a day, the 600th comes on the second day, and then on the fourth.
        assert (started.read_text() if started.exists() else "") == times
