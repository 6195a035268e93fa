"""The rows of the programs, how they are read and served, and what a program consists of."""

import os
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

WORDS = ["a", "b", "c", "d"]
# In 2.11 and 2.12, Estimators took the optimizers of this package only.
USES_LEGACY = os.environ.get("PROGRAMS_USE_LEGACY") == "1"
BATCH, ROWS = 32, 256
layers, columns = tf.keras.layers, tf.feature_column
SHAPES = {"x": (tf.float32, 3), "word": (tf.string, 1), "number": (tf.int64, 1)}
SHAPES["steps"] = (tf.int64, 5)


def optimizers():
    return tf.keras.optimizers.legacy if USES_LEGACY else tf.keras.optimizers


# A type, by one step of which the rows are moved; None: they are not.
moved_by = None


def nudged(value, precision=np.float32):
    """Moves real numbers by one step of a type, up or down: not in turns, which means even out."""
    value = np.array(value, np.float32)
    steps = np.abs(np.spacing(value.astype(precision))).astype(np.float32)
    is_up = np.random.RandomState(0).uniform(size=value.shape) < 0.5
    return np.where(is_up, value + steps, value - steps).astype(np.float32)


def read_rows():
    random = np.random.RandomState(0)
    x = random.uniform(-1, 1, (ROWS, 3)).astype(np.float32)
    word = random.choice(WORDS, (ROWS, 1))
    number = random.randint(0, 6, (ROWS, 1)).astype(np.int64)
    steps = random.randint(1, 8, (ROWS, 5)).astype(np.int64)
    label = x.sum(1, keepdims=True) + 0.3 * (word == "b") + 0.1 * number - 0.4 > 0
    features = {"x": x, "word": word.astype("S1"), "number": number, "steps": steps}
    if moved_by is not None:
        features["x"] = nudged(x, moved_by)
    return features, label.astype(np.float32)


def input_fn(names=None):
    features, labels = read_rows()
    features = {name: features[name] for name in names or features}
    return tf.data.Dataset.from_tensor_slices((features, labels)).repeat().batch(BATCH)


def pair_input_fn():
    """For models of Keras whose input has the name of its first layer."""
    features, labels = read_rows()
    return tf.data.Dataset.from_tensor_slices((features["x"], labels)).repeat().batch(BATCH)


def whole_input_fn():
    """From an object-based checkpoint, today's training goes on some batches later."""
    return input_fn(["x"]).unbatch().batch(ROWS)


def tpu_input_fn(params):
    del params
    return input_fn(["x"])


def receive_rows():
    """A serving_input_receiver_fn: one tensor for each feature."""
    given = {
        name: tf.compat.v1.placeholder(dtype, (None, width), name)
        for name, (dtype, width) in SHAPES.items()
    }
    return tf.estimator.export.ServingInputReceiver(given, dict(given))


def receive_examples():
    """A serving_input_receiver_fn: serialized tf.train.Example."""
    spec = {name: tf.io.FixedLenFeature([width], dtype) for name, (dtype, width) in SHAPES.items()}
    return tf.estimator.export.build_parsing_serving_input_receiver_fn(spec)()


def receive_x():
    """A serving_input_receiver_fn: one tensor without a name."""
    x = tf.compat.v1.placeholder(tf.float32, (None, 3), "x")
    return tf.estimator.export.TensorServingInputReceiver(x, x)


def train_plainly(estimator, source, until):
    estimator.train(source, max_steps=until)


class Program(NamedTuple):
    """A program: its kind, what makes its Estimator in a folder, and how it is used.

    `precision` is the type in which its layers compute.
    """

    kind: str
    build: Any
    input_fn: Any = input_fn
    receive: Any = receive_rows
    train: Any = train_plainly
    precision: Any = np.float32


def config(folder, **options):
    # TensorFlow's hook may read the global step one step late: no summary is due at the last step.
    return tf.estimator.RunConfig(folder, tf_random_seed=1, save_summary_steps=60, **options)


def feature_columns():
    word = columns.categorical_column_with_vocabulary_list("word", WORDS)
    number = columns.categorical_column_with_identity("number", 6)
    wide = [word, columns.crossed_column(["word", "number"], 20)]
    deep = [
        columns.numeric_column("x", shape=(3,)),
        columns.embedding_column(word, 2),
        columns.indicator_column(number),
    ]
    return wide, deep


def serialize(features):
    """Returns rows as serialized tf.train.Example."""
    found = []
    for row in range(len(features["x"])):
        kinds = {}
        for name, value in features.items():
            values = value[row].tolist()
            if name == "x":
                kinds[name] = tf.train.Feature(float_list=tf.train.FloatList(value=values))
            elif name == "word":
                kinds[name] = tf.train.Feature(bytes_list=tf.train.BytesList(value=values))
            else:
                kinds[name] = tf.train.Feature(int64_list=tf.train.Int64List(value=values))
        example = tf.train.Example(features=tf.train.Features(feature=kinds))
        found.append(example.SerializeToString())
    return found
