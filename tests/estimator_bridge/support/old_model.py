"""A small combined Estimator whose checkpoint of TensorFlow 2.15.1 is kept in golden/.

Written anew, where TensorFlow 2.15.1 is installed, by

    cd tests/estimator_bridge; python support/old_model.py golden/tf215_checkpoint
"""

import os
import sys

import numpy as np

NUM_ROWS = 48
STEPS = 60


def make_rows():
    """Features as the input function gives them, text as bytes, and labels."""
    draw = np.random.default_rng(9)
    features = {
        "age": draw.uniform(10, 60, NUM_ROWS).astype(np.float32),
        "color": draw.choice(np.array([b"red", b"green", b"mauve", b""], object), NUM_ROWS),
        "zip": draw.integers(0, 9, NUM_ROWS),
    }
    return features, draw.integers(0, 2, NUM_ROWS)


def make_batches():
    """Row numbers of the training steps that follow the checkpoint, [steps, rows]."""
    return np.arange(STEPS * 16).reshape(STEPS, 16) % NUM_ROWS


def build(model_dir):
    """Ftrl and Adagrad, a cross, two embeddings: the wide-and-deep tutorial's kind."""
    from estimator_bridge import tf

    column = tf.feature_column
    buckets = column.bucketized_column(column.numeric_column("age"), [20.0, 35.0])
    color = column.categorical_column_with_vocabulary_list(
        "color", ["red", "green"], num_oov_buckets=2
    )
    zips = column.categorical_column_with_hash_bucket("zip", 5, dtype=tf.int64)
    return tf.estimator.DNNLinearCombinedClassifier(
        model_dir=model_dir,
        linear_feature_columns=[buckets, color, column.crossed_column(["color", buckets], 11)],
        dnn_feature_columns=[
            column.numeric_column("age", normalizer_fn=lambda x: (x - 35) / 15),
            column.embedding_column(color, 2),
            column.embedding_column(zips, 2),
        ],
        dnn_hidden_units=[4],
        dnn_activation_fn=tf.nn.tanh,
        linear_optimizer="Ftrl",
        dnn_optimizer="Adagrad",
    )


def main(folder):
    """Trains, and keeps the checkpoint with what this TensorFlow makes of it."""
    from estimator_bridge import tf
    from estimator_bridge.convert.estimator_side import ask_checkpoint, train_on
    from estimator_bridge.convert.rows import Rows

    features, labels = make_rows()
    built = build(folder)
    built.train(lambda: tf.data.Dataset.from_tensor_slices((features, labels)).repeat(4).batch(16))
    path = tf.train.latest_checkpoint(folder)
    rows = Rows(features, labels)
    answers, _ = ask_checkpoint(built, path, rows)
    losses, _ = train_on(built, path, rows, make_batches())
    kept = {"losses": np.array(losses), "logits": answers["logits"]}
    np.savez(os.path.join(folder, "expected.npz"), version=tf.__version__, **kept)


if __name__ == "__main__":
    main(sys.argv[1])
