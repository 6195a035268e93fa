"""Kills a tuner, its trials and the server that forks them at random moments; nothing may be lost.

More kills, with another seed:
make test ARGS='tests/trainer/tuning/test_kills.py --kills=30 --kills_seed=2'
"""

import json
import os
import random
import re
import signal
import time
from pathlib import Path

import pytest

from trainer.job_dir.metrics_log import MetricsLog

SECS = 180
# Environment variable by which the processes of a study are found.
MARK = "TEST_OF_STUDY"
STEPS = 6000
# A tuner starts a trial's process three times; the third kill would make the trial fail.
KILLS_OF_A_TRIAL = 2
pytestmark = [pytest.mark.newest, pytest.mark.slow]


@pytest.fixture
def words(shop, tmp_path, request):
    return [
        f"--study_dir={tmp_path / 'study'}",
        "--search=learning_rate=log:0.01..1",
        f"--max_trials={max(2, request.config.option.kills // 3)}",
        "--parallel=2",
        "--objectives=auc",
        "--pruner=none",
        "--share=1",
        "--evaluations=5",
        "--",
        f"--data.schema_file={shop / 'bought.yaml'}",
        f"--train_data={shop / 'train.csv'}",
        f"--eval_data={shop / 'eval.csv'}",
        "--hidden_units=4",
        f"--max_steps={STEPS}",
        "--batch_size=32",
    ]


def _list_processes(study):
    """Returns (process id, name, command) of all processes of the study, of any tuner."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            name = (path / "comm").read_text().strip()
            is_ours = f"{MARK}={study}".encode() in (path / "environ").read_bytes().split(b"\0")
            command = (path / "cmdline").read_text().split("\0")
        except OSError:
            continue
        if is_ours:
            found.append((int(path.name), name, command))
    return found


def _find_trials(study):
    """Returns process id → folder of the trials that run, forked or started in the usual way."""
    found = {}
    for number, name, command in _list_processes(study):
        folders = [word.partition("=")[2] for word in command if word.startswith("--job_dir=")]
        if name.startswith("trial-"):
            found[number] = study / "trials" / name.partition("-")[2]
        elif folders:
            found[number] = Path(folders[0])
    return found


def _find_servers(study):
    """Returns the process ids of the servers that fork trials."""
    return [
        number
        for number, name, command in _list_processes(study)
        if "trainer.cluster.forking" in command and not name.startswith("trial-")
    ]


def _list_training(study):
    """Returns the trials that have saved a checkpoint, and have not ended."""
    return {
        number: folder
        for number, folder in _find_trials(study).items()
        if (folder / "checkpoint").exists() and _read_step(folder) < STEPS
    }


def _read_step(folder):
    try:
        text = (folder / "checkpoint").read_text()
    except OSError:
        return 0
    match = re.search(r"model\.ckpt-(\d+)", text)
    return int(match[1]) if match else 0


def _list_states(study):
    """Returns trial → its state in the journal; a trial that is told twice fails."""
    states = {}
    for line in (study / "journal.log").read_text().splitlines():
        record = json.loads(line)
        if record["op_code"] == 4:  # A trial is created.
            states[len(states)] = "begun"
        elif record["op_code"] == 6 and record["state"] in (1, 2, 3):  # A trial ends.
            assert states[record["trial_id"]] == "begun", "a trial ended twice"
            states[record["trial_id"]] = record["state"]
    return states


def _has_trial(process, study):
    """Waits until a trial trains; returns False if the search ends before."""
    deadline = time.monotonic() + SECS
    while not _list_training(study):
        assert time.monotonic() < deadline
        if process.poll() is not None:
            return False
        time.sleep(0.02)
    return True


def test_kills_while_trials_train_lose_nothing(words, tmp_path, start_module, run_module, request):
    study = tmp_path / "study"
    chance = random.Random(request.config.option.kills_seed)
    process = start_module("trainer.tune", *words, env={MARK: str(study)}, fresh=True)
    killed, kills_of, of_tuner, of_server = 0, {}, 0, 0
    while killed < request.config.option.kills and _has_trial(process, study):
        time.sleep(chance.uniform(0, 0.7))
        trials = _list_training(study)
        number, folder = chance.choice(sorted(trials.items())) if trials else (0, None)
        share, servers = chance.random(), _find_servers(study)
        if share < 0.2 and servers:
            os.kill(servers[0], signal.SIGKILL)
            of_server += 1
        elif share < 0.6 and folder and kills_of.get(folder, 0) < KILLS_OF_A_TRIAL:
            try:
                os.kill(number, signal.SIGKILL)
            except ProcessLookupError:
                continue
            kills_of[folder] = kills_of.get(folder, 0) + 1
        else:
            process.kill()
            process.communicate(timeout=SECS)
            kills_of, of_tuner = {}, of_tuner + 1
            process = start_module("trainer.tune", *words, env={MARK: str(study)}, fresh=True)
        killed += 1
    _, errors = process.communicate(timeout=SECS)
    assert process.returncode == 0, errors
    print(f"{killed} kills, {of_tuner} of them of the tuner, {of_server} of the server")
    done = run_module("trainer.tune", *words)
    assert done.returncode == 0, done.stderr
    wanted = int(words[2].partition("=")[2])
    assert _list_states(study) == dict.fromkeys(range(wanted), 1)
    assert sorted(int(path.name) for path in (study / "trials").iterdir()) == list(range(wanted))
    for number in range(wanted):
        folder = study / "trials" / str(number)
        # Evaluations are there from the first step to the last. A trial whose tuner is killed saves
        # a checkpoint at any step, and the next evaluation is a fifth of the steps after that.
        steps = [0, *(line["step"] for line in MetricsLog(str(folder)).read("eval"))]
        gaps = [after - before for before, after in zip(steps, steps[1:])]
        assert steps[-1] == STEPS and min(gaps) > 0 and max(gaps) < 2 * STEPS // 5, (folder, steps)
        assert _read_step(folder) == STEPS
    assert not _list_processes(study)
