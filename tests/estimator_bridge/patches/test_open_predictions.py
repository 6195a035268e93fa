"""Predictions that a program has not read to their end."""

import subprocess
import sys

PROGRAM = """
import tensorflow as tf

def model_fn(features, labels, mode):
    weight = tf.get_variable("weight", [], initializer=tf.ones_initializer())
    return tf.estimator.EstimatorSpec(mode, predictions=features * weight)

model = tf.estimator.Estimator(model_fn)
predictions = model.predict(lambda: tf.data.Dataset.from_tensors([2.0]).repeat())
print(next(predictions))
"""


def test_a_program_that_has_not_read_all_predictions_ends_quietly(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    # Not forked: the modules of a forked program are not removed when it ends.
    done = subprocess.run(
        [sys.executable, "-m", "estimator_bridge", "run", "--tf1", "program.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert (done.returncode, done.stdout) == (0, "2.0\n")
    assert "Error" not in done.stderr
