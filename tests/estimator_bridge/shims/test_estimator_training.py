"""Estimators under distribution strategies: the RunConfig, and real clusters of processes."""

import json
import os
import subprocess
import sys
import textwrap

import pytest

from estimator_bridge import tf, versions
from trainer.cluster.processes import SHARING, find_addresses

pytestmark = pytest.mark.versions

CLUSTER = {"chief": ["c:1"], "worker": ["a:1", "b:1"], "ps": ["p:1"]}
REMOVED = versions.parse(tf.__version__) >= versions.ESTIMATOR_REMOVED_IN


def run_config(monkeypatch, tf_config, **options):
    monkeypatch.setenv("TF_CONFIG", "{}")
    strategy = tf.distribute.MirroredStrategy(["/cpu:0"])
    given = {name: strategy if value == "S" else value for name, value in options.items()}
    monkeypatch.setenv("TF_CONFIG", json.dumps(tf_config))
    return tf.estimator.RunConfig(**given)


def distribute_config(**options):
    from tensorflow.python.distribute import distribute_config

    return distribute_config.DistributeConfig(**options)


@pytest.mark.parametrize(
    ("tf_config", "mode", "seen"),
    [
        ({}, None, ("worker", 0, "", {})),
        (
            {"cluster": CLUSTER, "task": {"type": "worker", "index": 1}},
            "independent_worker",
            ("worker", 0, "", CLUSTER),
        ),
        (
            {"cluster": {"worker": ["a:1"]}, "task": {"type": "worker", "index": 0}},
            "independent_worker",
            ("worker", 0, "", {"worker": ["a:1"]}),
        ),
        (
            {
                "cluster": {"master": ["m:1"], "worker": ["a:1"]},
                "task": {"type": "master", "index": 0},
            },
            None,
            ("master", 0, "grpc://m:1", {"master": ["m:1"], "worker": ["a:1"]}),
        ),
        ({"session_master": "x"}, None, ("worker", 0, "x", {})),
    ],
)
def test_run_config_of_an_independent_worker(monkeypatch, tf_config, mode, seen):
    config = run_config(monkeypatch, tf_config, train_distribute="S")
    assert config._distribute_coordinator_mode == mode
    found = (config.task_type, config.task_id, config.master, config.cluster_spec.as_dict())
    assert found == seen


def test_run_config_of_a_standalone_client(monkeypatch):
    remote = {"chief": ["q:1"], "worker": ["r:1"]}
    grouped = distribute_config(remote_cluster=remote)
    config = run_config(monkeypatch, {}, train_distribute="S", experimental_distribute=grouped)
    assert config._distribute_coordinator_mode == "standalone_client"
    assert config.cluster_spec == remote
    tf_config = {"cluster": CLUSTER, "task": {"type": "chief", "index": 0}}
    with pytest.raises(ValueError, match="Cannot set both"):
        run_config(monkeypatch, tf_config, train_distribute="S", experimental_distribute=grouped)


def test_strategy_for_evaluation_only(monkeypatch):
    tf_config = {"cluster": CLUSTER, "task": {"type": "worker", "index": 1}}
    config = run_config(monkeypatch, tf_config, eval_distribute="S")
    assert config._distribute_coordinator_mode is None
    assert (config.task_type, config.task_id, config.num_worker_replicas) == ("worker", 1, 3)
    assert config.session_config.device_filters == ["/job:ps", "/job:worker/task:1"]


@pytest.mark.parametrize("kind", ["train_distribute", "eval_distribute"])
def test_strategy_given_twice(monkeypatch, kind):
    strategy = tf.distribute.MirroredStrategy(["/cpu:0"])
    grouped = distribute_config(**{kind: strategy})
    with pytest.raises(ValueError, match=kind):
        run_config(monkeypatch, {}, **{kind: strategy}, experimental_distribute=grouped)


def test_only_train_and_evaluate_uses_a_cluster(monkeypatch, tmp_path):
    tf_config = {"cluster": CLUSTER, "task": {"type": "chief", "index": 0}}
    config = run_config(monkeypatch, tf_config, train_distribute="S", eval_distribute="S")
    model = tf.estimator.LinearRegressor(
        [tf.feature_column.numeric_column("x")], model_dir=str(tmp_path), config=config
    )
    for call in (model.train, model.evaluate):
        with pytest.raises(ValueError, match="Only `STANDALONE_CLIENT` mode is supported"):
            call(lambda: None)


TASK = """
    import json, os, sys
    import estimator_bridge
    estimator_bridge.set_verbosity("error")
    from estimator_bridge import tf
    import numpy as np

    strategy, model_dir = sys.argv[1:]
    train = {
        "mirrored": tf.distribute.MultiWorkerMirroredStrategy,
        "ps": tf.compat.v1.distribute.experimental.ParameterServerStrategy,
    }[strategy]()
    task = json.loads(os.environ["TF_CONFIG"])["task"]

    def rows():
        x = np.linspace(-1, 1, 32, dtype=np.float32).reshape(-1, 1)
        return tf.data.Dataset.from_tensor_slices(({"x": x}, 2 * x)).batch(8)

    class Ends(tf.estimator.SessionRunHook):
        def end(self, session):
            print("trained", flush=True)

    def model_fn(features, labels, mode, config):
        if mode == "train":
            print(config.task_type, config.num_worker_replicas, config.global_id_in_cluster)
        y = tf.compat.v1.layers.dense(features["x"], 1)
        loss = None if labels is None else tf.reduce_mean((y - labels) ** 2)
        train_op = None
        if mode == "train":
            optimizer = tf.compat.v1.train.GradientDescentOptimizer(0.1)
            train_op = optimizer.minimize(loss, tf.compat.v1.train.get_global_step())
        return tf.estimator.EstimatorSpec(mode, {"y": y}, loss, train_op)

    def receiver():
        x = tf.compat.v1.placeholder(tf.float32, (None, 1))
        return tf.estimator.export.ServingInputReceiver({"x": x}, {"x": x})

    config = tf.estimator.RunConfig(
        model_dir=model_dir, train_distribute=train, save_checkpoints_steps=20
    )
    tf.estimator.train_and_evaluate(
        tf.estimator.Estimator(model_fn, config=config),
        tf.estimator.TrainSpec(lambda: rows().repeat(), max_steps=40, hooks=[Ends()]),
        tf.estimator.EvalSpec(
            rows, exporters=tf.estimator.FinalExporter("last", receiver),
            start_delay_secs=0, throttle_secs=0,
        ),
    )
    print("done", flush=True)
"""


def start_cluster(tmp_path, strategy, jobs):
    """Starts one process a task; returns ("job", index) -> Popen, and the model's folder."""
    cluster = {job: find_addresses(count) for job, count in jobs.items()}
    program = tmp_path / "task.py"
    program.write_text(textwrap.dedent(TASK))
    # The evaluator is no member of the cluster, as Estimators have it.
    members = {job: tasks for job, tasks in cluster.items() if job != "evaluator"}
    processes = {}
    for job, tasks in cluster.items():
        for index in range(len(tasks)):
            tf_config = {"cluster": members, "task": {"type": job, "index": index}}
            with open(tmp_path / f"{job}{index}.txt", "w") as log:
                processes[job, index] = subprocess.Popen(
                    [sys.executable, str(program), strategy, str(tmp_path / "model")],
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    env={**os.environ, **SHARING, "TF_CONFIG": json.dumps(tf_config)},
                )
    return processes, tmp_path / "model"


def finish(processes, tmp_path, waited):
    """Waits for the tasks of some jobs, ends the others, returns what each has printed."""
    try:
        for task, process in processes.items():
            if task[0] in waited:
                process.wait(timeout=240)
    finally:
        for process in processes.values():
            if process.poll() is None:
                process.kill()
                process.wait()
    return {task: (tmp_path / f"{task[0]}{task[1]}.txt").read_text() for task in processes}


def test_two_workers_mirrored(tmp_path):
    jobs = {"worker": 2, **({"evaluator": 1} if REMOVED else {})}
    processes, model_dir = start_cluster(tmp_path, "mirrored", jobs)
    printed = finish(processes, tmp_path, jobs)
    for index in range(2):
        text = printed["worker", index]
        assert processes["worker", index].returncode == 0, text
        assert f"worker 2 {index}" in text and "trained" in text and "done" in text
    assert tf.train.latest_checkpoint(str(model_dir)).endswith("-40")
    if REMOVED:
        assert processes["evaluator", 0].returncode == 0, printed["evaluator", 0]
        assert len(list((model_dir / "export" / "last").iterdir())) == 1
        assert list((model_dir / "eval").glob("events*"))


@pytest.mark.matrix
def test_parameter_servers(tmp_path):
    jobs = {"chief": 1, "worker": 1, "ps": 1}
    processes, model_dir = start_cluster(tmp_path, "ps", jobs)
    # A parameter server never ends by itself, and the workers' ends race with their servers'.
    printed = finish(processes, tmp_path, ("chief",))
    assert processes["chief", 0].returncode == 0, printed["chief", 0]
    assert "chief 2 0" in printed["chief", 0] and "done" in printed["chief", 0]
    assert "worker 2 1" in printed["worker", 0]
    reached = int(tf.train.latest_checkpoint(str(model_dir)).rpartition("-")[2])
    assert reached >= 40
