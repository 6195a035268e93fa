"""What strategies could do until TensorFlow 2.3, under `run --as`, and 1.15's `auto_shard`."""

import json
import subprocess
import sys

import pytest

PROGRAM = """
import json, sys
import numpy as np
import tensorflow as tf

strategy = tf.distribute.MirroredStrategy(["/cpu:0"])
rows = strategy.experimental_make_numpy_dataset(np.arange(4.0)).batch(2)
batches = strategy.experimental_distribute_dataset(rows)
sums = [
    strategy.reduce("SUM", strategy.experimental_run_v2(tf.reduce_sum, args=(one,)), axis=None)
    for one in batches
]

options = tf.data.Options()
shards = [options.experimental_distribute.auto_shard]
options.experimental_distribute.auto_shard = False
shards.append(options.experimental_distribute.auto_shard)
policy = options.experimental_distribute.auto_shard_policy

strategies = tf.distribute.experimental
config = tf.estimator.RunConfig(
    sys.argv[1], train_distribute=strategies.ParameterServerStrategy(), tf_random_seed=1
)
column = tf.feature_column.numeric_column("x")
def input_fn():
    x = np.linspace(-1, 1, 8, dtype=np.float32)
    return tf.data.Dataset.from_tensor_slices(({"x": x}, 2 * x)).repeat().batch(4)
model = tf.estimator.LinearRegressor([column], config=config)
model.train(input_fn, max_steps=5)
print(json.dumps([[float(one) for one in sums], shards, policy.name,
    isinstance(strategies.CentralStorageStrategy(), tf.distribute.Strategy),
    int(model.get_variable_value("global_step"))]))
"""
SWITCH = """
import tensorflow as tf
options = tf.data.Options()
options.experimental_distribute.auto_shard = False
print(tf.__version__, options.experimental_distribute.auto_shard_policy.name)
"""
LATER = """
import tensorflow as tf
print(hasattr(tf.distribute.Strategy, "experimental_run_v2"))
tf.distribute.experimental.ParameterServerStrategy()
"""


def run(folder, program, *options):
    """Runs a program with the bridge; returns what it printed, and its errors."""
    (folder / "program.py").write_text(program)
    done = subprocess.run(
        [sys.executable, "-m", "estimator_bridge", "run", *options, "program.py", "job"],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
    )
    return done.stdout.strip(), done.stderr


@pytest.mark.versions
def test_strategies_of_2_3(tmp_path):
    stdout, stderr = run(tmp_path, PROGRAM, "--as=2.3")
    assert stdout, stderr
    assert json.loads(stdout) == [[1.0, 5.0], [True, False], "OFF", True, 5]


def test_datasets_of_1_15_are_not_sharded(tmp_path):
    assert run(tmp_path, SWITCH, "--tf1")[0] == "1.15.5 OFF"


def test_strategies_of_2_4_need_a_coordinator(tmp_path):
    stdout, stderr = run(tmp_path, LATER, "--as=2.4")
    assert stdout == "False" and "cluster_resolver" in stderr
