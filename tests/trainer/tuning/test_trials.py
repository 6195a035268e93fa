"""A search with real trials: stopped, killed, continued, and its results."""

import re
import shlex
import signal
import sys
import time

import pytest

from trainer.cluster.processes import OUTPUT_SECS
from trainer.config import load_config
from trainer.config.search_space import parse_search
from trainer.errors import TemporaryError
from trainer.tuning.rehearsal import rehearse
from trainer.tuning.search import Objective, Search
from trainer.tuning.trials import TRIALS_FOLDER, Signals

SECS = 120
pytestmark = [pytest.mark.newest, pytest.mark.slow]


@pytest.fixture(scope="module")
def words(shop, tmp_path_factory):
    folder = tmp_path_factory.mktemp("tune") / "a study"
    task = [
        f"--data.schema_file={shop / 'bought.yaml'}",
        f"--train_data={shop / 'train.csv'}",
        f"--eval_data={shop / 'eval.csv'}",
        "--hidden_units=4",
        "--max_steps=10000",
        "--batch_size=32",
    ]
    own = ["--max_trials=2", "--parallel=1", "--objectives=auc", "--share=0.2"]
    return folder, [
        f"--study_dir={folder}",
        "--search=learning_rate=log:0.01..1",
        *own,
        "--",
        *task,
    ]


def _wait(process, path):
    deadline = time.monotonic() + SECS
    while not path.exists():
        assert process.poll() is None and time.monotonic() < deadline
        time.sleep(0.05)


def test_a_check_that_is_killed_is_a_temporary_error(tmp_path, monkeypatch):
    # A Python that is killed at its start, as the system does when memory runs out.
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\nkill -9 $$\n")
    python.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(python))
    search = Search(None, {}, parse_search(["max_steps=10|20"]), (Objective("auc", "max"),), 1.0, 2)
    with pytest.raises(TemporaryError, match="ended with status 137; give the same command again"):
        rehearse(search, tmp_path, Signals(), print)


def test_a_signal_during_the_check_ends_it_at_once(tmp_path, monkeypatch):
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\nexec sleep 60\n")
    python.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(python))
    search = Search(None, {}, parse_search(["max_steps=10|20"]), (Objective("auc", "max"),), 1.0, 2)
    signals, started = Signals(), time.monotonic()
    signals.note(signal.SIGINT, None)
    rehearse(search, tmp_path, signals, print)
    assert time.monotonic() - started < OUTPUT_SECS


def test_a_search_survives_a_signal_and_kills(words, start_module, run_module):
    folder, flags = words
    trials = folder / TRIALS_FOLDER
    # SIGTERM: the trial saves a checkpoint, and the search ends with 143.
    process = start_module("trainer.tune", *flags, fresh=True)
    _wait(process, trials / "0" / "checkpoint")
    process.send_signal(signal.SIGTERM)
    output, errors = process.communicate(timeout=SECS)
    assert process.returncode == 128 + signal.SIGTERM, errors
    assert "the same command continues the search" in errors
    saved = re.search(r"model\.ckpt-(\d+)", (trials / "0" / "checkpoint").read_text())
    assert int(saved[1]) < 2000
    # SIGKILL: the orphaned trial ends by itself, and the next command waits for it.
    process = start_module("trainer.tune", *flags, fresh=True)
    _wait(process, trials / "1" / "checkpoint")
    process.kill()
    process.communicate(timeout=SECS)
    done = run_module("trainer.tune", *flags)
    assert done.returncode == 0, done.stderr
    assert sorted(path.name for path in trials.iterdir()) == ["0", "1"]
    rows = (folder / "trials.txt").read_text().splitlines()
    assert len([row for row in rows if "complete" in row or "pruned" in row]) == 2
    # best.yaml is a preset of a full job. A shell takes the command that names it.
    assert f"--hparams={folder / 'best.yaml'}" in shlex.split(done.stdout.splitlines()[-1])
    config = load_config(str(folder / "best.yaml"), {})
    assert config.train.max_steps == 10000
    assert {path.name for path in (folder / "plots").iterdir()} == {
        "history.png",
        "parallel.png",
        "slices.png",
    }
    # A trial draws nothing, and its summary names no drawing.
    assert not (trials / "0" / "curves.png").exists()
    summaries = [path.read_text() for path in trials.glob("*/summary.txt")]
    assert summaries and not any("curves.png" in text for text in summaries)
    # Nothing is left to do, and other flags are another study.
    again = run_module("trainer.tune", *flags)
    assert again.returncode == 0 and "best: trial" in again.stdout
    heading = "a trial trains 20 % of the steps of the job (--share), with"
    assert heading in done.stderr and heading not in again.stderr
    assert not re.search("^ trial ", again.stderr, re.MULTILINE)
    other = run_module("trainer.tune", *flags, "--l1=0.5")
    assert other.returncode == 2
    assert "its trials differ in config.train.l1 (was 0.0, now 0.5)" in other.errors[-1]
