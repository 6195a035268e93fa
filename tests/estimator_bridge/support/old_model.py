"""Builds a small combined Estimator with two optimizers; golden/ has its checkpoints of 2.15.1.

Write them again with TensorFlow 2.15.1 by

    cd tests/estimator_bridge; python support/old_model.py golden/tf215_checkpoints
"""

import sys
from pathlib import Path

import numpy as np

NUM_ROWS = 48
STEPS = 200
# Optimizers of the wide and of the deep part, each of them once.
PAIRS = [("ftrl", "adagrad"), ("adam", "rmsprop"), ("sgd", "momentum"), ("centered", "nesterov")]


def make_rows():
    """Returns the features of the input function, with text as bytes, and labels."""
    draw = np.random.default_rng(9)
    features = {
        "age": draw.uniform(10, 60, NUM_ROWS).astype(np.float32),
        "color": draw.choice(np.array([b"red", b"green", b"mauve", b""], object), NUM_ROWS),
        "zip": draw.integers(0, 9, NUM_ROWS),
    }
    return features, draw.integers(0, 2, NUM_ROWS)


def make_batches():
    """Returns the row numbers of the training steps after the checkpoint, [steps, rows]."""
    return np.arange(STEPS * 16).reshape(STEPS, 16) % NUM_ROWS


def v1_optimizers(train):
    """Returns functions that create an optimizer of tf.compat.v1.train, by name."""
    return {
        "adagrad": lambda: train.AdagradOptimizer(0.05),
        "adam": lambda: train.AdamOptimizer(0.003),
        "ftrl": lambda: train.FtrlOptimizer(0.1, l1_regularization_strength=0.01),
        "sgd": lambda: train.GradientDescentOptimizer(0.01),
        "momentum": lambda: train.MomentumOptimizer(0.005, 0.9),
        "nesterov": lambda: train.MomentumOptimizer(0.005, 0.9, use_nesterov=True),
        "rmsprop": lambda: train.RMSPropOptimizer(0.003),
        "centered": lambda: train.RMSPropOptimizer(0.003, momentum=0.5, centered=True),
    }


def v2_optimizers(kinds):
    """Returns functions that create an optimizer of Keras 2, by name."""
    return {
        "adagrad": lambda: kinds.Adagrad(0.05),
        "adam": lambda: kinds.Adam(0.003),
        "ftrl": lambda: kinds.Ftrl(0.1, l2_regularization_strength=0.01),
        "sgd": lambda: kinds.SGD(0.05),
        "momentum": lambda: kinds.SGD(0.01, momentum=0.9),
        "nesterov": lambda: kinds.SGD(0.01, momentum=0.9, nesterov=True),
        "rmsprop": lambda: kinds.RMSprop(0.003),
        "centered": lambda: kinds.RMSprop(0.003, momentum=0.5, centered=True),
    }


def build(model_dir, version, wide, deep):
    """Returns a wide and deep Estimator with a cross and two embeddings, of either API version."""
    from estimator_bridge import tf

    if version == 1:
        api, optimizers = tf.compat.v1.estimator, v1_optimizers(tf.compat.v1.train)
    else:
        api, optimizers = tf.estimator, v2_optimizers(tf.keras.optimizers.legacy)
    column = tf.feature_column
    buckets = column.bucketized_column(column.numeric_column("age"), [20.0, 35.0])
    color = column.categorical_column_with_vocabulary_list(
        "color", ["red", "green"], num_oov_buckets=2
    )
    zips = column.categorical_column_with_hash_bucket("zip", 5, dtype=tf.int64)
    return api.DNNLinearCombinedClassifier(
        model_dir=str(model_dir),
        linear_feature_columns=[buckets, color, column.crossed_column(["color", buckets], 11)],
        linear_optimizer=optimizers[wide],
        dnn_feature_columns=[
            column.numeric_column("age", normalizer_fn=lambda x: (x - 35) / 15),
            column.embedding_column(color, 2),
            column.embedding_column(zips, 2),
        ],
        dnn_optimizer=optimizers[deep],
        dnn_hidden_units=[4],
        dnn_activation_fn=tf.nn.tanh,
    )


def train(built):
    """Trains twelve steps."""
    from estimator_bridge import tf

    given = make_rows()
    built.train(lambda: tf.data.Dataset.from_tensor_slices(given).repeat(4).batch(16))


def name_of(version, wide, deep):
    """Returns the folder name of a stored checkpoint."""
    return f"v{version}_{wide}_{deep}"


def keep(folder, version, wide, deep):
    """Trains; stores the checkpoint with its outputs and losses on this TensorFlow."""
    from estimator_bridge import tf
    from estimator_bridge.convert.read.rows import Rows
    from estimator_bridge.convert.verify.estimator_side import predict_checkpoint, train_on

    target = Path(folder) / name_of(version, wide, deep)
    built = build(target / "all", version, wide, deep)
    train(built)
    path = tf.train.latest_checkpoint(built.model_dir)
    rows = Rows(*make_rows())
    answers, _ = predict_checkpoint(built, path, rows)
    losses, _ = train_on(built, path, rows, make_batches())
    kept = {"losses": np.array(losses, np.float32), "logits": answers["logits"]}
    np.savez(target / "expected.npz", version=tf.__version__, **kept)
    for each in Path(path).parent.glob(f"{Path(path).name}.[di]*"):
        each.rename(target / each.name.replace(Path(path).name, "model.ckpt"))
    # Graphs, event files and the checkpoint of step 0 are not needed.
    for each in sorted((target / "all").rglob("*"), reverse=True):
        each.unlink() if each.is_file() else each.rmdir()
    (target / "all").rmdir()


if __name__ == "__main__":
    for number in (1, 2):
        for pair in PAIRS:
            keep(sys.argv[1], number, *pair)
