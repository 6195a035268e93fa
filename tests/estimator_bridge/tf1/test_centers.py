"""Optimizers of tf.contrib.opt with a center train a real cluster: a server and two workers."""

import ast
import json
import os
import subprocess
import sys
import time

import forked
import numpy as np
import pytest

from trainer.cluster.processes import SHARING, find_addresses

pytestmark = [pytest.mark.versions, pytest.mark.newest]

# The workers have their own targets, and initial values that differ.
PROGRAM = """
import json, os, sys, time
import tensorflow as tf
opt = tf.contrib.opt
kind, job, index, addresses = sys.argv[1], sys.argv[2], int(sys.argv[3]), json.loads(sys.argv[4])
cluster = tf.train.ClusterSpec({"ps": addresses[:1], "worker": addresses[1:]})
# Without filters, a session would wait for the other worker.
filters = ["/job:ps", "/job:worker/task:%d" % index]
config = tf.ConfigProto(device_filters=filters if job == "worker" else [])
server = tf.train.Server(cluster, job_name=job, task_index=index, config=config)
if job == "ps":
    server.join()
tf.logging.set_verbosity(tf.logging.INFO)
device = "/job:worker/task:%d/cpu:0" % index
getter = getattr(opt, kind + "CustomGetter")(device)
with tf.device(tf.train.replica_device_setter(worker_device=device, cluster=cluster)):
    step = tf.train.get_or_create_global_step()
    with tf.variable_scope("", custom_getter=getter):
        w = tf.get_variable("w", initializer=tf.constant([1.0, 2.0]) + index)
    loss = tf.reduce_sum(tf.square(w - 4.0 * (1 + index)))
    inner = tf.train.MomentumOptimizer(0.1, 0.5)
    if kind == "ModelAverage":
        optimizer = opt.ModelAverageOptimizer(inner, 2, index == 0, getter, interval_steps=2)
        hook = optimizer.make_session_run_hook()
    elif kind == "ElasticAverage":
        optimizer = opt.ElasticAverageOptimizer(inner, 2, getter, 2, synchronous=True)
        hook = optimizer.make_session_run_hook(index == 0, index)
    else:
        optimizer = opt.AGNOptimizer(inner, 2, getter, 2)
        hook = optimizer.make_session_run_hook(index == 0, index)
    train = optimizer.apply_gradients(optimizer.compute_gradients(loss), step)
places = {one.op.name: one.device for one in tf.global_variables() + tf.local_variables()}
print("places", places, flush=True)
center = next(one for one in tf.global_variables() if one.op.name == "global_center_variable/w")
with tf.train.MonitoredTrainingSession(
    server.target, index == 0, "job", hooks=[hook], config=config, save_checkpoint_steps=100
) as session:
    print("begins", session.run([w, center])[0].tolist(), flush=True)
    for _ in range(6):
        session.run(train)
    print("ends", session.run(w).tolist(), flush=True)
    open("done-%d" % index, "w").close()
    while not all(os.path.exists("done-%d" % one) for one in (0, 1)):
        time.sleep(0.1)
"""


def environment(**extra):
    return {**os.environ, "CUDA_VISIBLE_DEVICES": "-1", "TF_CPP_MIN_LOG_LEVEL": "3", **extra}


def run_cluster(folder, kind):
    """Returns what each worker printed, word -> value."""
    (folder / "program.py").write_text(PROGRAM)
    addresses = find_addresses(3)
    processes = {}

    def start(job, index):
        with open(folder / f"{job}{index}.log", "w") as log:
            processes[job, index] = forked.Popen(
                [
                    *(sys.executable, "-m", "estimator_bridge", "run", "--tf1"),
                    *("program.py", kind, job, str(index), json.dumps(addresses)),
                ],
                cwd=folder,
                env=environment(**SHARING),
                stdout=log,
                stderr=subprocess.STDOUT,
            )

    def read(index):
        return (folder / f"worker{index}.log").read_text()

    try:
        start("ps", 0)
        start("worker", 0)
        # A worker that comes before the variables are initialized sleeps for half a minute.
        deadline = time.monotonic() + 120
        while "Done running local_init_op" not in read(0) and time.monotonic() < deadline:
            time.sleep(0.1)
        start("worker", 1)
        for index in (0, 1):
            assert processes["worker", index].wait(timeout=180) == 0, read(index)[-4000:]
    finally:
        for process in processes.values():
            process.kill()
            process.wait()
    lines = [read(index).splitlines() for index in (0, 1)]
    return [
        {
            line.split()[0]: ast.literal_eval(line.partition(" ")[2])
            for line in one
            if line.startswith(("begins [", "ends [", "places {"))
        }
        for one in lines
    ]


def read_checkpoint(folder):
    """Returns name -> value of the newest checkpoint, read by another process."""
    program = (
        "import tensorflow as tf\n"
        "read = tf.train.load_checkpoint('job')\n"
        "print({name: read.get_tensor(name).tolist() for name in read.get_variable_to_shape_map()})"
    )
    done = forked.run(
        [sys.executable, "-c", program],
        preload="tensorflow",
        cwd=folder,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=120,
    )
    return ast.literal_eval(done.stdout)


def average_models():
    """Returns the variables of two workers after six steps with an average after every second."""
    workers = np.float32([[1, 2], [1, 2]])
    targets, momenta = np.float32([[4], [8]]), np.zeros([2, 2], np.float32)
    for step in range(6):
        momenta = np.float32(0.5) * momenta + 2 * (workers - targets)
        workers = workers - np.float32(0.1) * momenta
        if step % 2:
            workers = np.float32([workers.mean(0)] * 2)
    return workers[0]


def check_places(found, index):
    """Checks that the center is on the server, and all other variables are on the worker."""
    for name, place in found["places"].items():
        is_center = name.startswith(("global_center_variable/", "global_step"))
        assert ("/job:ps/" if is_center else f"/job:worker/task:{index}/") in place, name


def test_workers_average_their_models(tmp_path):
    first, second = run_cluster(tmp_path, "ModelAverage")
    check_places(first, 0)
    check_places(second, 1)
    # The second one begins with the center, not with initial values of its own.
    assert first["begins"] == second["begins"] == [1, 2]
    assert first["ends"] == second["ends"] == pytest.approx(average_models().tolist(), rel=1e-5)
    stored = read_checkpoint(tmp_path)
    assert sorted(stored) == ["global_center_variable/w", "global_step", "w/Momentum"]
    assert stored["global_center_variable/w"] == first["ends"]
    assert stored["global_step"] == 3


@pytest.mark.parametrize(
    ("kind", "slots"), [("ElasticAverage", []), ("AGN", ["global_center_variable/w/Momentum"])]
)
def test_workers_move_a_center(tmp_path, kind, slots):
    first, second = run_cluster(tmp_path, kind)
    check_places(first, 0)
    check_places(second, 1)
    assert first["begins"] == [1, 2]
    if kind == "ElasticAverage":
        # They have waited for each other.
        assert second["begins"] == [1, 2]
    stored = read_checkpoint(tmp_path)
    assert sorted(stored) == ["global_center_variable/w", *slots, "global_step"]
    # Three exchanges of each worker, whose targets are 4 and 8.
    assert stored["global_step"] == 6
    assert all(1.5 < one < 9 for one in stored["global_center_variable/w"])
    assert second["ends"][0] > second["begins"][0]
