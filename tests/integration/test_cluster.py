"""Whole clusters on this machine: one process a role, on loopback."""

import json
import os
import re
import signal
import socket
import subprocess
import time
from pathlib import Path

import numpy as np
import pytest
from network import can_connect, find_own_address, list_listening

from trainer import job_layout
from trainer.cluster.heartbeat import FAILED, FINISHED, HeartbeatFile
from trainer.cluster.processes import SHARING, find_addresses
from trainer.job_dir.metrics_log import MetricsLog

pytestmark = pytest.mark.slow
LIMIT_SECS = 240
ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def shop(make, tmp_path_factory):
    folder = tmp_path_factory.mktemp("cluster")
    for number in range(3):
        make.csv(folder / f"train-{number}.csv", make.rows(400, seed=number))
    make.csv(folder / "eval.csv", make.rows(300, seed=9))
    make.yaml(folder / "schema.yaml", make.schema_values())
    return folder


def _run(start_module, shop, job_dir, roles, *flags):
    """Starts a process for each role; returns name → (exit status, stdout, stderr)."""
    counts = {role: roles.count(role) for role in ("chief", "worker", "ps")}
    addresses = iter(find_addresses(sum(counts.values())))
    cluster = {role: [next(addresses) for _ in range(n)] for role, n in counts.items() if n}
    processes = {}
    # The evaluator first: a chief that has trained before it appears does its work itself.
    for place, role in sorted(enumerate(roles), key=lambda item: item[1] != "evaluator"):
        index = roles[:place].count(role)
        config = {"cluster": cluster, "task": {"type": role, "index": index}}
        processes[f"{role}-{index}"] = start_module(
            "trainer.task",
            f"--train_data={shop}/train-*.csv",
            f"--eval_data={shop}/eval.csv",
            f"--data.schema_file={shop}/schema.yaml",
            f"--job_dir={job_dir}",
            "--hidden_units=8",
            "--batch_size=40",
            "--noexport.verify",
            "--norun.report",
            *flags,
            env={"TF_CONFIG": json.dumps(config)},
        )
        if role == "evaluator":
            _await(processes[f"{role}-{index}"], lambda: _status(job_dir, "evaluator-0"))
    deadline = time.monotonic() + LIMIT_SECS
    finished = {}
    for name, process in processes.items():
        output, errors = process.communicate(timeout=max(1, deadline - time.monotonic()))
        finished[name] = (process.returncode, output, errors)
    return finished


def _evaluations(job_dir):
    return MetricsLog(str(job_dir)).read("eval")


def _evaluated(job_dir):
    return [line["step"] for line in _evaluations(job_dir)]


def test_parameter_servers_and_an_evaluator(start_module, shop, tmp_path):
    job = tmp_path / "job"
    roles = ["chief", "worker", "ps", "evaluator"]
    finished = _run(
        start_module,
        shop,
        job,
        roles,
        "--train_steps=200",
        "--run.save_checkpoints_steps=50",
        "--export.verify",
        "--run.report",
    )
    assert {name: status for name, (status, _, _) in finished.items()} == dict.fromkeys(finished, 0)
    _, summary, said = finished["chief-0"]
    assert "Summary of" in summary and "2 loaded in a fresh process, each answered" in said
    last = int(re.search(r"waiting for the evaluator to evaluate and export step ([\d,]+)", said)
               .group(1).replace(",", ""))  # fmt: skip
    # Each process stops by itself: the last of them may take a step more.
    assert 200 <= last <= 202
    assert _evaluated(job)[-1] == last
    assert "evaluation at step" in finished["evaluator-0"][2]
    assert "\nevaluation at step" not in said
    assert len(list((job / "export" / "final").glob("[0-9]*"))) == 1


def test_a_parameter_server_trains_like_one_process(start_module, shop, tmp_path):
    from estimator_bridge import tf

    one, served = tmp_path / "one", tmp_path / "served"

    def compare():
        every = [tf.train.load_checkpoint(str(job)) for job in (one, served)]
        names = every[0].get_variable_to_shape_map()
        assert names == every[1].get_variable_to_shape_map()
        for name in names:
            before, after = (each.get_tensor(name) for each in every)
            assert np.array_equal(before, after), name

    def train(job, roles, steps):
        flags = [f"--train_steps={steps}", "--export.exporters=", "--eval.steps=1"]
        flags += ["--strategy=parameter_server"] if "ps" in roles else []
        finished = _run(start_module, shop, job, roles, *flags)
        assert {status for status, _, _ in finished.values()} == {0}, finished
        return finished["chief-0"][2]

    train(one, ["chief"], 40)
    assert "; engine fused, up to 32 steps in a session run" in train(
        served, ["chief", "ps", "ps"], 40
    )
    compare()
    # A checkpoint of either goes on in the other.
    assert "resuming at step 40" in train(one, ["chief", "ps"], 60)
    train(served, ["chief"], 60)
    compare()


def test_the_last_tree_ends_a_job_of_trees(start_module, shop, tmp_path):
    job = tmp_path / "job"
    flags = ["--model=boosted_trees", "--n_trees=8", "--max_depth=3", "--batches_per_layer=4"]
    finished = _run(start_module, shop, job, ["chief", "worker", "ps"], *flags)
    assert {name: status for name, (status, _, _) in finished.items()} == dict.fromkeys(finished, 0)
    counts = re.search(r"trained by +(.*)", finished["chief-0"][1]).group(1)
    steps = [
        int(one.replace(",", "")) for one in re.findall(r"(?:chief|worker)-0 ([\d,]+)", counts)
    ]
    # Each of 24 layers needs a step of the chief and four batches of any process; how many the
    # worker reads depends on when it starts.
    assert steps[0] >= 24 and sum(steps) >= 4 * 24
    from estimator_bridge import tf
    from estimator_bridge.boosted_trees import ensemble

    reader = tf.train.load_checkpoint(str(job))
    grown = ensemble.parse(reader.get_tensor("boosted_trees:0_serialized"))
    assert sum(tree.is_finalized for tree in grown.tree_metadata) == 8


@pytest.mark.parametrize("engine", ["fused", pytest.param("canned", marks=pytest.mark.matrix)])
def test_workers_in_step_train_like_one_process(
    make, start_module, run_module, shop, tmp_path, engine
):
    # Each process reads a file of its own; one process reads the same rows, batch by batch.
    rows = [make.rows(200, seed=seed) for seed in (1, 2)]
    data, together = tmp_path / "data", tmp_path / "together"
    data.mkdir(), together.mkdir()
    for number, part in enumerate(rows):
        make.csv(data / f"train-{number}.csv", part)
    both = [row for at in range(0, 200, 20) for part in rows for row in part[at : at + 20]]
    make.csv(together / "train-0.csv", both)
    for folder in (data, together):
        for name in ("eval.csv", "schema.yaml"):
            (folder / name).write_bytes((shop / name).read_bytes())
    one = _losses(run_module, together, tmp_path / "one", "--batch_size=40", "--hidden_units=8")
    job = tmp_path / "job"
    if engine == "canned":
        # TensorFlow reads them before it builds the strategy.
        for number, part in enumerate(rows):
            make.tfrecord(data / f"train-{number}.tfrecord", part)
    finished = _run(
        start_module,
        data,
        job,
        ["chief", "worker"],
        "--strategy=multi_worker_mirrored",
        f"--model.engine={engine}",
        f"--train_data={data}/train-*.{'csv' if engine == 'fused' else 'tfrecord'}",
        "--train_steps=20",
        "--batch_size=20",
        "--run.save_checkpoints_steps=10",
        "--run.log_step_count_steps=1",
        "--data.shuffle_rows=1",
    )
    assert {name: status for name, (status, _, _) in finished.items()} == dict.fromkeys(finished, 0)
    _, summary, said = finished["chief-0"]
    assert "20 steps of 20 rows x 2 replicas" in said
    assert "evaluation by the chief" in said
    assert "0 to 20 (20 trained" in summary
    assert _evaluated(job)[-1] == 20
    assert len(list((job / "export" / "final").glob("[0-9]*"))) == 1
    two = [line["loss"] for line in MetricsLog(str(job)).read("train")]
    assert two == pytest.approx(one, rel=1e-5)


@pytest.mark.matrix
@pytest.mark.parametrize("strategy", ["none", "parameter_server"])
def test_two_servers_two_workers_and_an_evaluator(start_module, shop, tmp_path, strategy):
    job = tmp_path / "job"
    finished = _run(
        start_module,
        shop,
        job,
        ["chief", "worker", "worker", "ps", "ps", "evaluator"],
        f"--strategy={strategy}",
        "--train_steps=200",
    )
    assert {name: status for name, (status, _, _) in finished.items()} == dict.fromkeys(finished, 0)
    assert 200 <= _evaluated(job)[-1] <= 203
    assert len(list((job / "export" / "final").glob("[0-9]*"))) == 1


@pytest.mark.matrix
@pytest.mark.parametrize("strategy", ["none", "parameter_server", "multi_worker_mirrored"])
def test_an_early_stop_reaches_every_process(start_module, shop, tmp_path, strategy):
    job = tmp_path / "job"
    servers = [] if strategy == "multi_worker_mirrored" else ["ps"]
    finished = _run(
        start_module,
        shop,
        job,
        ["chief", "worker", *servers, "evaluator"],
        f"--strategy={strategy}",
        "--train_steps=1000000",
        "--run.save_checkpoints_steps=50",
        "--stop.metric=auc",
        "--stop.target=0.8",
        "--export.best_metric=auc",
    )
    assert {name: status for name, (status, _, _) in finished.items()} == dict.fromkeys(finished, 0)
    assert "has reached the target 0.8" in finished["chief-0"][1]
    assert "stopping early" in finished["evaluator-0"][2]
    last = _evaluations(job)[-1]
    assert last["step"] < 1_000_000 and last["auc"] >= 0.8
    # The last checkpoint is evaluated and exported, whichever it is.
    assert len(list((job / "export" / "final").glob("[0-9]*"))) == 1


@pytest.mark.newest
def test_all_end_with_a_failed_chief(start_module, shop, tmp_path):
    # The chief alone looks at job_dir, which holds another model.
    job = tmp_path / "job"
    job.mkdir()
    (job / "config.yaml").write_text("model: {type: linear}\n")
    for name in ("schema.json", "statistics.json"):
        (job / name).write_text("{}")
    (job / "model.ckpt-1.index").write_bytes(b"")
    (job / "checkpoint").write_text('model_checkpoint_path: "model.ckpt-1"\n')
    finished = _run(start_module, shop, job, ["chief", "ps"], "--train_steps=5")
    status, _, said = finished["chief-0"]
    assert status == 2 and "its checkpoint is of another model" in said
    # However late the server has started, the chief has waited for it; a restart would not help it.
    assert finished["ps-0"][0] == 2
    assert "the chief has failed, and this process ends with it: job_dir" in finished["ps-0"][2]


@pytest.mark.newest
def test_an_error_in_a_worker_ends_all_and_saves(start_module, shop, tmp_path):
    job = tmp_path / "job"
    chief, server = find_addresses(2)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        worker = f"127.0.0.1:{taken.getsockname()[1]}"
        cluster = {"chief": [chief], "worker": [worker], "ps": [server]}
        flags = ["--train_steps=1000000", "--export.exporters="]
        processes = {
            role: _start_role(start_module, shop, job, role, cluster, *flags) for role in cluster
        }
        said = {
            role: process.communicate(timeout=LIMIT_SECS)[1] for role, process in processes.items()
        }
    statuses = {role: process.returncode for role, process in processes.items()}
    assert statuses == {"chief": 2, "worker": 2, "ps": 2}, said
    (line,) = [line for line in said["worker"].splitlines() if line.startswith("error: ")]
    assert f"worker-0 cannot listen on {worker}" in line
    last = said["chief"].splitlines()[-1]
    assert last.startswith("error: worker-0 has failed: TF_CONFIG: worker-0 cannot listen on ")
    assert last.endswith(f"this process ends with it; checkpoint saved at step {_saved(job):,}")


def _launch(start_module, shop, job, launch_flags, *flags, env=None):
    return start_module(
        "trainer.launch",
        *launch_flags,
        "--",
        f"--train_data={shop}/train-*.csv",
        f"--eval_data={shop}/eval.csv",
        f"--data.schema_file={shop}/schema.yaml",
        f"--job_dir={job}",
        "--hidden_units=8",
        "--batch_size=40",
        "--noexport.verify",
        "--norun.report",
        *flags,
        env=env,
    )


GATE = """
import os
import time

from estimator_bridge import estimator, tf


class Gate(estimator.SessionRunHook):
    def __init__(self, hparams):
        self._path, self._closed_from = hparams.gate, hparams.closed_from
        self._job = hparams.job

    def begin(self):
        self._step = tf.compat.v1.train.get_global_step()

    def after_run(self, run_context, run_values):
        if os.path.exists(self._path):
            return
        if self._job == "none":
            step = run_context.session.run(self._step)
        else:
            saved = tf.train.latest_checkpoint(self._job)
            step = int(saved.rpartition("-")[2]) if saved else 0
        if step >= self._closed_from:
            open(f"{self._path}-held", "w").close()
            while not os.path.exists(self._path):
                time.sleep(0.05)
"""


class Gate:
    """Holds training at a step until it is opened, so that what is to happen happens before.

    With `job` it holds once the job has a checkpoint of that step or a later one: of processes that
    do not keep step, one may be far ahead of another that is still to save.
    """

    def __init__(self, folder, closed_from, job="none"):
        self.folder, self._path = folder, folder / "open"
        (folder / "cluster_gate.py").write_text(GATE)
        self.flags = [
            "--hooks=cluster_gate:Gate",
            f"--user.gate={self._path}",
            f"--user.closed_from={closed_from}",
            f"--user.job={job}",
        ]

    @property
    def env(self):
        return {"PYTHONPATH": os.pathsep.join([str(ROOT), str(self.folder)])}

    def open(self):
        self._path.touch()

    def holds(self):
        """Whether a process has come to it."""
        return self._path.with_name(f"{self._path.name}-held").exists()


def _finish(launcher):
    """Waits for the launcher's end; returns (stdout, stderr). One that hangs takes all along."""
    try:
        return launcher.communicate(timeout=LIMIT_SECS)
    except subprocess.TimeoutExpired:
        for _ in range(2):
            launcher.send_signal(signal.SIGTERM)
            time.sleep(1)
        pytest.fail("".join(launcher.communicate()))


def _saved(job):
    """Step of the newest checkpoint."""
    # One that is being written has another name.
    paths = job.glob("model.ckpt-*[0-9].index")
    return max([int(path.stem.rpartition("-")[2]) for path in paths], default=-1)


def _await(launcher, condition):
    """Waits until a condition holds, while the launcher runs; what it says is not lost."""
    deadline = time.monotonic() + LIMIT_SECS
    while not condition():
        if launcher.poll() is not None or time.monotonic() > deadline:
            pytest.fail("".join(_finish(launcher)))
        time.sleep(0.1)


def _wait_for(condition):
    """Waits until a condition holds of processes that nobody listens to."""
    deadline = time.monotonic() + LIMIT_SECS
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.1)


def _status(job, name):
    """Returns what the last start of a process has written; {} if that is nothing yet."""
    folder = job / "cluster"
    names = os.listdir(folder) if folder.exists() else []
    files = job_layout.find_status_files(names).get(name, {})
    for text in (file.read_text() for file in map(folder.joinpath, files.values())):
        if text:
            return json.loads(text)
    return {}


def _check_only_this_machine_can_connect(job):
    own = find_own_address()
    for name in ("chief-0", "worker-0", "ps-0"):
        # The guard and the server, which has several sockets on TensorFlow 2.15.
        (port,) = set(list_listening(_status(job, name)["pid"]))
        assert can_connect("127.0.0.1", port)
        assert own is None or not can_connect(own, port)


@pytest.mark.parametrize(
    "victim",
    [
        "chief-0",
        pytest.param("worker-0", marks=pytest.mark.matrix),
        pytest.param("ps-0", marks=pytest.mark.matrix),
        pytest.param("evaluator-0", marks=pytest.mark.matrix),
    ],
)
def test_a_killed_process_is_restarted_and_the_job_finishes(start_module, shop, tmp_path, victim):
    job, gate = tmp_path / "job", Gate(tmp_path, 200, tmp_path / "job")
    launcher = _launch(
        start_module,
        shop,
        job,
        ["--workers=1", "--ps=1", "--evaluator", "--max_restarts=1"],
        "--train_steps=800",
        "--run.save_checkpoints_steps=100",
        *gate.flags,
        env=gate.env,
    )
    # At the gate the checkpoint is not only there, but noted as the newest.
    _await(launcher, lambda: gate.holds() and _evaluated(job) and _status(job, victim))
    _check_only_this_machine_can_connect(job)
    os.kill(_status(job, victim)["pid"], signal.SIGKILL)
    gate.open()
    summary, said = _finish(launcher)
    assert launcher.returncode == 0, said
    assert f"{victim} ended with status -9; starting it again" in said
    if victim == "chief-0":
        # At most a checkpoint's interval is lost.
        resumed = re.search(r"resuming at step ([\d,]+)", said)
        assert int(resumed.group(1).replace(",", "")) >= 200
    last = _evaluations(job)[-1]
    assert 800 <= last["step"] <= 803
    # As without the kill, where it is between 0.95 and 0.97.
    assert last["auc"] > 0.93
    assert len(list((job / "export" / "final").glob("[0-9]*"))) == 1
    assert "Summary of" in summary


@pytest.mark.newest
@pytest.mark.parametrize("strategy", ["none", "parameter_server"])
def test_a_worker_at_the_last_step_goes_on_with_a_restarted_chief(
    start_module, shop, tmp_path, strategy
):
    job, gate = tmp_path / "job", Gate(tmp_path, 100, tmp_path / "job")
    # The servers of the fused engine need a fraction of the time for a step.
    steps = {"none": 500, "parameter_server": 800}[strategy]
    chief, worker, server = find_addresses(3)
    cluster = {"chief": [chief], "worker": [worker], "ps": [server]}

    def start(role):
        flags = (
            f"--strategy={strategy}",
            f"--train_steps={steps}",
            "--run.save_checkpoints_steps=100",
            "--export.exporters=",
            "--eval.steps=1",
            *gate.flags,
        )
        names = {"run": "a", "path": gate.folder}
        return _start_role(start_module, shop, job, role, cluster, *flags, **names)

    others = [start("ps"), start("worker")]
    first = start("chief")
    _await(first, lambda: gate.holds() and _saved(job) >= 100 and _status(job, "worker-0"))
    first.kill()
    first.wait()
    gate.open()

    def stands_still():
        before = _status(job, "worker-0")
        if not before["num_steps"]:
            return False
        _await(others[1], lambda: _status(job, "worker-0")["beat"] > before["beat"] + 2)
        return _status(job, "worker-0")["num_steps"] == before["num_steps"]

    # All steps that the first chief left are trained, and only its checkpoint is kept of them.
    _await(others[1], stands_still)
    done = _status(job, "worker-0")["num_steps"]
    last = start("chief")
    summary, said = last.communicate(timeout=LIMIT_SECS)
    assert last.returncode == 0, said
    said = others[1].communicate(timeout=LIMIT_SECS)[1]
    assert [each.wait(LIMIT_SECS) for each in others] == [0, 0], said
    metrics = json.loads((job / "metrics.json").read_text())
    assert metrics["steps_each"]["worker-0"] > done
    assert f"worker-0 {metrics['steps_each']['worker-0']:,}" in summary
    assert steps <= metrics["end_step"] <= steps + 2


@pytest.mark.matrix
@pytest.mark.parametrize("victim", ["chief-0", "worker-0"])
def test_processes_in_step_restart_together(start_module, shop, tmp_path, victim):
    job, gate = tmp_path / "job", Gate(tmp_path, 30)
    launcher = _launch(
        start_module,
        shop,
        job,
        ["--workers=1", "--evaluator", "--max_restarts=1"],
        "--strategy=multi_worker_mirrored",
        "--train_steps=60",
        "--run.save_checkpoints_steps=20",
        *gate.flags,
        env=gate.env,
    )
    _await(launcher, lambda: 20 in _evaluated(job))
    os.kill(_status(job, victim)["pid"], signal.SIGKILL)
    gate.open()
    _, said = _finish(launcher)
    assert launcher.returncode == 0, said
    assert said.count("starting it again") == 1
    assert "resuming at step 20" in said
    last = _evaluations(job)[-1]
    assert last["step"] == 60 and last["auc"] > 0.8
    assert len(list((job / "export" / "final").glob("[0-9]*"))) == 1


@pytest.mark.matrix
@pytest.mark.parametrize(
    "victim, engine",
    [
        ("chief-0", "auto"),
        ("worker-0", "auto"),
        ("ps-0", "auto"),
        ("evaluator-0", "auto"),
        ("chief-0", "canned"),
        ("ps-0", "canned"),
    ],
)
def test_a_kill_under_the_parameter_server_strategy(start_module, shop, tmp_path, victim, engine):
    job, gate = tmp_path / "job", Gate(tmp_path, 400, tmp_path / "job")
    launcher = _launch(
        start_module,
        shop,
        job,
        ["--workers=1", "--ps=1", "--evaluator", "--max_restarts=2"],
        "--strategy=parameter_server",
        f"--model.engine={engine}",
        "--train_steps=1200",
        "--run.save_checkpoints_steps=200",
        *gate.flags,
        env=gate.env,
    )
    # At the gate the checkpoint is not only there, but noted as the newest.
    _await(launcher, lambda: gate.holds() and _evaluated(job) and _status(job, victim))
    os.kill(_status(job, victim)["pid"], signal.SIGKILL)
    gate.open()
    _, said = _finish(launcher)
    assert launcher.returncode == 0, said
    last = _evaluations(job)[-1]
    # The servers of the fused engine accept no step after the last.
    assert 1200 <= last["step"] <= (1200 if engine == "auto" else 1203)
    assert last["auc"] > 0.93
    assert len(list((job / "export" / "final").glob("[0-9]*"))) == 1


@pytest.mark.newest
@pytest.mark.parametrize(
    "victims", [["ps-1"], pytest.param(["ps-1", "chief-0"], marks=pytest.mark.matrix)]
)
def test_one_of_two_servers_is_killed(start_module, shop, tmp_path, victims):
    job, gate = tmp_path / "job", Gate(tmp_path, 200, tmp_path / "job")
    launcher = _launch(
        start_module,
        shop,
        job,
        ["--workers=1", "--ps=2", "--max_restarts=2"],
        "--strategy=parameter_server",
        "--train_steps=800",
        "--run.save_checkpoints_steps=200",
        "--export.exporters=",
        "--eval.steps=1",
        *gate.flags,
        env=gate.env,
    )
    _await(launcher, lambda: gate.holds() and _status(job, "worker-0"))
    for victim in victims:
        os.kill(_status(job, victim)["pid"], signal.SIGKILL)
    gate.open()
    _, said = _finish(launcher)
    assert launcher.returncode == 0, said
    assert said.count("starting it again") == len(victims), said
    assert "Traceback" not in said
    # The others have gone on by themselves, from the checkpoint.
    assert ("resuming at step" in said) == ("chief-0" in victims)
    metrics = json.loads((job / "metrics.json").read_text())
    assert metrics["end_step"] == _saved(job) == 800


@pytest.mark.matrix
def test_a_server_wakes_up_after_its_successor_has_started(
    start_module, shop, tmp_path, monkeypatch
):
    job, gate = tmp_path / "job", Gate(tmp_path, 200, tmp_path / "job")
    # Both listen on the same port, as if they were on two machines.
    for name, value in SHARING.items():
        monkeypatch.setenv(name, value)
    chief, worker, *servers = find_addresses(4)
    cluster = {"chief": [chief], "worker": [worker], "ps": servers}

    def start(role, index=0):
        flags = (
            "--strategy=parameter_server",
            "--train_steps=800",
            "--run.save_checkpoints_steps=200",
            "--export.exporters=",
            *gate.flags,
        )
        names = {"run": "a", "path": gate.folder, "index": index}
        return _start_role(start_module, shop, job, role, cluster, *flags, **names)

    old = start("ps", 1)
    others = [start("ps"), start("chief"), start("worker")]
    _await(others[1], lambda: gate.holds() and _status(job, "worker-0").get("num_steps"))
    old.send_signal(signal.SIGSTOP)
    try:
        gate.open()
        following = start("ps", 1)
        # Nothing but the heartbeats tells the others that it does not answer any more.
        _await(
            others[1], lambda: _status(job, "ps-1")["pid"] == following.pid and _saved(job) > 200
        )
    finally:
        old.send_signal(signal.SIGCONT)
    _, said = old.communicate(timeout=LIMIT_SECS)
    assert old.returncode == 75 and "ps-1 has been started again elsewhere" in said
    said = [process.communicate(timeout=LIMIT_SECS)[1] for process in [*others, following]]
    assert [process.returncode for process in [*others, following]] == [0] * 4, said
    assert json.loads((job / "metrics.json").read_text())["end_step"] == _saved(job) == 800


@pytest.mark.matrix
@pytest.mark.parametrize("strategy", ["none", "multi_worker_mirrored"])
def test_a_worker_that_is_stopped_for_a_while(start_module, shop, tmp_path, strategy):
    job, gate = tmp_path / "job", Gate(tmp_path, 30)
    launcher = _launch(
        start_module,
        shop,
        job,
        ["--workers=1", *({"none": ["--ps=1"]}.get(strategy, ["--evaluator", "--max_restarts=1"]))],
        f"--strategy={strategy}",
        "--train_steps=80",
        "--run.save_checkpoints_steps=20",
        *gate.flags,
        env=gate.env,
    )
    there = (job / "model.ckpt-20.index").exists
    _await(launcher, lambda: there() and _status(job, "worker-0"))
    worker = _status(job, "worker-0")["pid"]
    os.kill(worker, signal.SIGSTOP)
    try:
        gate.open()
        if strategy == "none":
            # The chief goes on alone.
            _await(launcher, (job / "model.ckpt-60.index").exists)
        else:
            before = _status(job, "chief-0")["beat"]
            _await(launcher, lambda: _status(job, "chief-0")["beat"] > before + 25)
            assert not (job / "model.ckpt-60.index").exists()
    finally:
        os.kill(worker, signal.SIGCONT)
    _, said = _finish(launcher)
    assert launcher.returncode == 0, said
    # Of those in step TensorFlow gives the step up; they begin together again.
    assert "first to fail" not in said and "ended with status" not in said
    assert 80 <= _evaluated(job)[-1] <= 82


HANG = """
import threading
import time

from estimator_bridge import estimator, tf


class Sleep(estimator.SessionRunHook):
    def __init__(self, hparams):
        self._steps = 0

    def after_run(self, run_context, run_values):
        self._steps += 1
        if self._steps == 12:
            time.sleep(1000)


class Hang(estimator.SessionRunHook):
    def __init__(self, hparams):
        self._steps = 0

    def begin(self):
        self._hangs = tf.compat.v1.placeholder_with_default(False, [])
        forever = lambda: tf.compat.v1.py_func(threading.Event().wait, [], tf.bool)
        self._op = tf.cond(self._hangs, forever, lambda: self._hangs)

    def before_run(self, run_context):
        self._steps += 1
        feed = {self._hangs: self._steps == 12}
        return tf.compat.v1.train.SessionRunArgs(self._op, feed)
"""


@pytest.mark.newest
@pytest.mark.parametrize(
    "hook, line",
    [
        ("Hang", "a training step has not ended within"),
        pytest.param(
            "Sleep",
            "the scan of the data, a checkpoint, an evaluation, an export or a hook has made no "
            "progress for",
            marks=pytest.mark.matrix,
        ),
    ],
)
def test_a_step_that_does_not_end_ends_the_process(start_module, shop, tmp_path, hook, line):
    (tmp_path / "cluster_hang.py").write_text(HANG)
    process = _start_role(
        start_module,
        shop,
        tmp_path / "job",
        "chief",
        {"chief": find_addresses(1)},
        "--train_steps=20",
        "--run.save_checkpoints_steps=10",
        f"--hooks=cluster_hang:{hook}",
        "--cluster.stall_secs=3",
        path=tmp_path,
    )
    _, said = process.communicate(timeout=LIMIT_SECS)
    assert process.returncode == 1, said
    last = said.splitlines()[-1]
    assert f"error: chief-0: {line}" in last
    assert hook != "Sleep" or f"in after_run of {tmp_path / 'cluster_hang.py'}" in last
    assert _status(tmp_path / "job", "chief-0")["state"] == FAILED


@pytest.mark.newest
def test_a_corrupt_checkpoint_and_a_full_disk(run_module, shop, tmp_path):
    job = tmp_path / "job"
    flags = [
        f"--train_data={shop}/train-*.csv",
        f"--eval_data={shop}/eval.csv",
        f"--data.schema_file={shop}/schema.yaml",
        f"--job_dir={job}",
        "--batch_size=40",
        "--export.exporters=",
        "--norun.report",
        "--run.save_checkpoints_steps=10",
    ]
    assert run_module("trainer.task", *flags, "--train_steps=20").returncode == 0
    whole = (job / "model.ckpt-10.index").read_bytes()
    data = job / "model.ckpt-20.data-00000-of-00001"
    data.write_bytes(data.read_bytes()[:1000])
    # Under a module of its own, so that the limit is there before TensorFlow is.
    (tmp_path / "full_disk.py").write_text(FULL_DISK)
    path = os.pathsep.join([str(ROOT), str(tmp_path)])
    full = run_module("full_disk", *flags, "--train_steps=30", env={"PYTHONPATH": path})
    assert full.returncode == 2, full.stderr
    assert "checkpoint model.ckpt-20 is corrupt" in full.stderr
    assert "resuming from model.ckpt-10" in full.stderr
    assert full.errors[-1].startswith("error: job_dir")
    assert "a file has reached the greatest size" in full.errors[-1]
    assert "Traceback" not in full.stderr
    assert (job / "model.ckpt-10.index").read_bytes() == whole
    done = run_module("trainer.task", *flags, "--train_steps=30")
    assert done.returncode == 0, done.stderr
    assert "resuming at step 10" in done.stderr
    assert _evaluated(job)[-1] == 30


FULL_DISK = """
import resource
import signal
import sys

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, 60_000))
from trainer import task

sys.exit(task.main(sys.argv[1:]))
"""


@pytest.mark.newest
def test_ctrl_c_ends_the_whole_cluster_and_saves(start_module, shop, tmp_path):
    job = tmp_path / "job"
    launcher = _launch(
        start_module, shop, job, ["--evaluator"], "--train_steps=1000000", "--export.exporters="
    )
    # Before the first step there is nothing to save; who is not there yet is told of nothing.
    _await(launcher, lambda: (job / "metrics.jsonl").exists() and _status(job, "evaluator-0"))
    launcher.send_signal(signal.SIGINT)
    _, said = _finish(launcher)
    assert launcher.returncode == 130
    assert "stopped by SIGTERM; checkpoint saved at step" in said
    for name, how in (("chief-0", "interrupted"), ("evaluator-0", "lost")):
        state = _status(job, name)
        assert state["state"] == how
        with pytest.raises(ProcessLookupError):
            os.kill(state["pid"], 0)


@pytest.mark.newest
@pytest.mark.parametrize(
    "strategy", ["parameter_server", pytest.param("none", marks=pytest.mark.matrix)]
)
def test_a_signal_to_all_processes_saves(start_module, shop, tmp_path, strategy):
    job = tmp_path / "job"
    chief, server = find_addresses(2)
    cluster = {"chief": [chief], "ps": [server]}
    flags = [f"--strategy={strategy}", "--train_steps=1000000", "--export.exporters="]
    started = {
        role: _start_role(start_module, shop, job, role, cluster, *flags) for role in cluster
    }
    chief = started["chief"]
    _await(chief, lambda: _status(job, "chief-0").get("num_steps", 0) > 50)
    # A machine of a server is taken away: the chief saves its variables before it ends.
    started["ps"].terminate()
    _, said = started["ps"].communicate(timeout=LIMIT_SECS)
    assert started["ps"].returncode == 143, said
    assert _saved(job) > 50, said
    first = _saved(job)
    started["ps"] = _start_role(start_module, shop, job, "ps", cluster, *flags)
    _await(chief, lambda: _status(job, "ps-0")["pid"] == started["ps"].pid)
    # The steps after the checkpoint went with the server, and the status may be a second old: only
    # more steps than these show that the new server has the variables.
    lost = _status(job, "chief-0")["num_steps"]
    _await(chief, lambda: _status(job, "chief-0")["num_steps"] > lost + 3000)
    # As a service does that ends a job; the server first, to whom it comes at a bad time.
    for role in ("ps", "chief"):
        started[role].terminate()
        time.sleep(0.3)
    said = {role: process.communicate(timeout=LIMIT_SECS)[1] for role, process in started.items()}
    assert [process.returncode for process in started.values()] == [143, 143], said
    assert f"checkpoint saved at step {_saved(job):,}" in said["chief"]
    assert _saved(job) > first


@pytest.mark.newest
def test_all_end_with_a_killed_launcher(make, start_module, shop, tmp_path):
    job, gate = tmp_path / "job", Gate(tmp_path, 30)
    launcher = _launch(
        start_module,
        shop,
        job,
        ["--evaluator"],
        "--train_steps=1000000",
        "--run.save_checkpoints_steps=20",
        *gate.flags,
        env=gate.env,
    )
    _await(launcher, lambda: gate.holds() and _status(job, "evaluator-0"))
    pids = [_status(job, name)["pid"] for name in ("chief-0", "evaluator-0")]
    launcher.kill()
    # The chief is held after a step; what it says goes nowhere once it has noticed.
    _wait_for(lambda: os.readlink(f"/proc/{pids[0]}/fd/2") == os.devnull)
    gate.open()
    _wait_for(lambda: not any(map(make.is_running, pids)))
    assert _status(job, "chief-0")["state"] == "interrupted"
    assert _saved(job) >= 30


def _losses(run_module, shop, job, *flags):
    done = run_module(
        "trainer.task",
        f"--train_data={shop}/train-*.csv",
        f"--eval_data={shop}/eval.csv",
        f"--data.schema_file={shop}/schema.yaml",
        f"--job_dir={job}",
        "--train_steps=20",
        "--run.log_step_count_steps=1",
        "--data.shuffle_rows=1",
        "--export.exporters=",
        "--norun.report",
        *flags,
    )
    assert done.returncode == 0, done.stderr
    assert "UserWarning" not in done.stderr
    return [line["loss"] for line in MetricsLog(str(job)).read("train")]


def test_two_replicas_train_like_one(run_module, shop, tmp_path):
    one = _losses(run_module, shop, tmp_path / "one", "--batch_size=40")
    assert len(one) == 20
    for strategy in ("mirrored", "central_storage"):
        two = _losses(
            run_module,
            shop,
            tmp_path / strategy,
            f"--strategy={strategy}",
            "--cluster.devices=cpu:0,cpu:1",
            "--batch_size=20",
        )
        assert two == pytest.approx(one, rel=1e-5), strategy


def _start_role(start_module, shop, job, role, cluster, *flags, run=None, path=ROOT, index=0):
    config = {"cluster": cluster, "task": {"type": role, "index": index}, "run": run}
    return start_module(
        "trainer.task",
        f"--train_data={shop}/train-*.csv",
        f"--eval_data={shop}/eval.csv",
        f"--data.schema_file={shop}/schema.yaml",
        f"--job_dir={job}",
        "--hidden_units=8",
        "--batch_size=40",
        "--noexport.verify",
        "--norun.report",
        *flags,
        env={
            "TF_CONFIG": json.dumps(config),
            "PYTHONPATH": os.pathsep.join([str(ROOT), str(path)]),
        },
    )


@pytest.mark.newest
def test_a_server_waits_for_the_restart_of_a_failed_chief(start_module, shop, tmp_path):
    job = tmp_path / "job"
    chief, server = find_addresses(2)
    failed = HeartbeatFile(str(job), "chief-0", run_id="a")
    failed.start(lambda: None)
    failed.end(FAILED)
    # Its last word stays, of which nobody can know whether its writer is still there.
    process = _start_role(
        start_module, shop, job, "ps", {"chief": [chief], "ps": [server]}, run="a"
    )
    _await(
        process, lambda: _status(job, "ps-0").get("serving") and _status(job, "ps-0")["beat"] > 3
    )
    following = HeartbeatFile(str(job), "chief-0", run_id="a")
    following.start(lambda: None)
    beat = _status(job, "ps-0")["beat"]
    _await(process, lambda: _status(job, "ps-0")["beat"] > beat + 3)
    assert process.poll() is None
    following.end(FINISHED)
    assert process.wait(LIMIT_SECS) == 0, process.communicate()

    late = _start_role(start_module, shop, job, "ps", {"chief": [chief], "ps": [server]}, run="a")
    _, said = late.communicate(timeout=LIMIT_SECS)
    assert late.returncode == 0
    assert "ps-0: the job has finished already" in said


@pytest.mark.newest
def test_a_chief_killed_after_the_final_export_does_not_export_again(start_module, shop, tmp_path):
    job = tmp_path / "job"
    cluster = {"chief": find_addresses(1)}

    def run(name):
        process = _start_role(
            start_module, shop, job, "chief", cluster, "--train_steps=20", run=name
        )
        _, said = process.communicate(timeout=LIMIT_SECS)
        assert process.returncode == 0, said
        return len(list((job / "export" / "final").glob("[0-9]*")))

    assert run("a") == 1
    # As the kill would have left it: everything but the report was done.
    status = _status(job, "chief-0")
    (job / "cluster" / "chief-0.1.json").write_text(json.dumps({**status, "state": "trained"}))
    assert run("a") == 1
