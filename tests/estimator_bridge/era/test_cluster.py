"""A cluster whose TF_CONFIG is set by hand, of a program of TensorFlow 2.8 under `run --as`."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from trainer.cluster.processes import SHARING, find_addresses

PROGRAM = """
import sys
import tensorflow as tf
import old_trainer
estimator = old_trainer.build("canned", sys.argv[1])
train = tf.estimator.TrainSpec(old_trainer.input_fn, max_steps=40)
evaluate = tf.estimator.EvalSpec(old_trainer.input_fn, steps=2, start_delay_secs=0)
tf.estimator.train_and_evaluate(estimator, train, evaluate)
print(estimator.config.task_type, tf.keras.optimizers.Adam.__module__.split(".")[-2])
"""


@pytest.mark.matrix
def test_chief_worker_and_parameter_server_train_with_old_optimizers(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    roles = ("ps", "chief", "worker")
    cluster = {role: [one] for role, one in zip(roles, find_addresses(3))}
    processes = {}
    for role in roles:
        config = {"cluster": cluster, "task": {"type": role, "index": 0}}
        processes[role] = subprocess.Popen(
            [sys.executable, "-m", "estimator_bridge", "run", "--as=2.8", "program.py", "job"],
            cwd=tmp_path,
            env={
                **os.environ,
                **SHARING,
                "TF_CONFIG": json.dumps(config),
                "PYTHONPATH": os.pathsep.join(
                    [str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")]
                ),
            },
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
    try:
        for role in ("chief", "worker"):
            stdout, stderr = processes[role].communicate(timeout=300)
            assert stdout.split() == [role, "legacy"], stderr[-3000:]
    finally:
        for process in processes.values():
            process.kill()
            process.communicate()
    assert "model.ckpt-4" in (tmp_path / "job" / "checkpoint").read_text()
