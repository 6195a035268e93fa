"""A TensorFlow 1.x program that trains an Estimator and prints one JSON record, as `probe` does.

The doctor runs it with `run --tf1`.
"""

import json
import tempfile
import time

START = time.monotonic()
NAME = "a TensorFlow 1.x program"


def model_fn(features, labels, mode):
    """Returns the EstimatorSpec of a small network.

    Args:
        features: column → float32 [rows, 1].
        labels: int32 [rows, 1].
        mode: train, evaluate or predict.
    """
    hidden = tf.contrib.layers.fully_connected(features["x"], 4)
    logits = tf.layers.dense(hidden, 1)
    loss = tf.losses.sigmoid_cross_entropy(labels, logits)
    train_op = tf.contrib.layers.optimize_loss(
        loss, tf.train.get_global_step(), learning_rate=0.1, optimizer="Adam"
    )
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op)


def input_fn():
    """Returns the features and labels of a batch."""
    rows = tf.data.Dataset.from_tensor_slices(({"x": [[0.0], [1.0]]}, [[0], [1]]))
    return rows.repeat(4).batch(2).make_one_shot_iterator().get_next()


if __name__ == "__main__":
    try:
        import tensorflow as tf

        with tempfile.TemporaryDirectory() as folder:
            tf.estimator.Estimator(model_fn, folder).train(input_fn, max_steps=2)
        record = {"name": NAME, "secs": time.monotonic() - START}
    except Exception as error:  # The doctor reports any error.
        record = {"name": NAME, "error": f"{type(error).__name__}: {error}".splitlines()[0][:200]}
    print(json.dumps(record), flush=True)
