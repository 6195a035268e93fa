"""Sparse gradients of two processes, whose lengths change from step to step."""

import json
import os
import subprocess
import sys
import textwrap

import numpy as np
import pytest

from estimator_bridge import tf
from trainer.cluster.processes import SHARING, find_addresses

pytestmark = pytest.mark.versions

IDS = np.array([0, 0, 1, 2, 3, 3, 3, 3, 4, 1, 1, 4, 0, 1, 2, 5]).reshape(4, 2, 2)
STEPS, RATE = 12, 0.5
PROGRAM = f"""
    import sys
    import estimator_bridge
    from estimator_bridge import tf
    import numpy as np

    ids = np.array({IDS.tolist()})

    def rows(input_context):
        own = ids[:, input_context.input_pipeline_id]
        return tf.data.Dataset.from_tensor_slices((own, own.astype(np.float32))).repeat()

    def model_fn(features, labels, mode):
        table = tf.compat.v1.get_variable("table", [6], initializer=tf.zeros_initializer())
        unique, places = tf.unique(features)
        y = tf.gather(tf.gather(table, unique), places)
        loss = tf.compat.v1.losses.mean_squared_error(labels, y)
        optimizer = tf.compat.v1.train.GradientDescentOptimizer({RATE})
        train_op = optimizer.minimize(loss, tf.compat.v1.train.get_global_step())
        return tf.estimator.EstimatorSpec(mode, y, loss, train_op)

    config = tf.estimator.RunConfig(
        sys.argv[1], train_distribute=tf.distribute.MultiWorkerMirroredStrategy()
    )
    tf.estimator.train_and_evaluate(
        tf.estimator.Estimator(model_fn, config=config),
        tf.estimator.TrainSpec(rows, max_steps={STEPS}),
        tf.estimator.EvalSpec(rows),
    )
"""


def train_in_one_process():
    """Returns the table after the same steps on the rows of both processes."""
    table = np.zeros(6)
    for step in range(STEPS):
        gradient = np.zeros(6)
        ids = IDS[step % len(IDS)].reshape(-1)
        np.add.at(gradient, ids, 2 * (table[ids] - ids) / ids.size)
        table -= RATE * gradient
    return table


def test_two_processes_train_as_one(tmp_path):
    workers = find_addresses(2)
    program = tmp_path / "program.py"
    program.write_text(textwrap.dedent(PROGRAM))
    processes = []
    for index in range(2):
        task = {"cluster": {"worker": workers}, "task": {"type": "worker", "index": index}}
        processes.append(
            subprocess.Popen(
                [sys.executable, str(program), str(tmp_path / "model")],
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                env={**os.environ, **SHARING, "TF_CONFIG": json.dumps(task)},
            )
        )
    try:
        for process in processes:
            printed, _ = process.communicate(timeout=240)
            assert process.returncode == 0, printed
    finally:
        for process in processes:
            process.kill()
            process.communicate()
    newest = tf.train.latest_checkpoint(str(tmp_path / "model"))
    np.testing.assert_allclose(
        tf.train.load_variable(newest, "table"), train_in_one_process(), atol=1e-5
    )
