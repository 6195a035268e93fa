"""Converts the canned recurrent Estimators and their sequence columns to Keras models."""

import importlib.metadata
import random

import numpy as np
import pytest
from conversions import convert, train_keras

KERAS = importlib.metadata.version("keras")
pytestmark = pytest.mark.skipif(
    KERAS.startswith("2."), reason=f"writes Keras 3 models; installed: Keras {KERAS}"
)
NUM_ROWS = 32


def make_input_fn(num_batches):
    """Returns an input function with sequences of 0 to 6 steps, as SparseTensors."""
    from estimator_bridge import tf

    draw = np.random.default_rng(4)
    lengths = draw.integers(1, 7, NUM_ROWS)
    lengths[3] = 0
    words = [draw.choice(["a", "b", "c", "zz"], n) for n in lengths]
    kinds = [draw.integers(0, 5, n) for n in lengths]
    sizes = [draw.normal(size=n).astype(np.float32) for n in lengths]
    pairs = [draw.normal(size=2 * n).astype(np.float32) for n in lengths]
    age = draw.uniform(1, 9, (NUM_ROWS, 1)).astype(np.float32)
    labels = draw.integers(0, 2, NUM_ROWS)

    def sparse(rows, start):
        rows = rows[start : start + 8]
        where = [(row, step) for row, values in enumerate(rows) for step in range(len(values))]
        values = np.concatenate(rows)
        return tf.SparseTensor(where, values, (len(rows), max(map(len, rows))))

    def input_fn():
        made = None
        for number in range(num_batches):
            start = number * 8 % NUM_ROWS
            features = {
                "word": sparse(words, start),
                "city": sparse(words, start),
                "kind": sparse(kinds, start),
                "size": sparse(sizes, start),
                "pair": sparse(pairs, start),
                "age": tf.constant(age[start : start + 8]),
            }
            given = (features, tf.constant(labels[start : start + 8]))
            part = tf.data.Dataset.from_tensors(given)
            made = part if made is None else made.concatenate(part)
        return made

    return input_fn


def make_columns(tf):
    column = tf.feature_column
    word = column.sequence_categorical_column_with_vocabulary_list(
        "word", ["a", "b"], num_oov_buckets=1
    )
    kind = column.sequence_categorical_column_with_identity("kind", 5)
    hashed = column.sequence_categorical_column_with_hash_bucket("city", 4)

    def halve(values):
        return tf.SparseTensor(values.indices, values.values / 2.0, values.dense_shape)

    return [
        column.embedding_column(word, 3),
        column.embedding_column(hashed, 2, max_norm=0.5),
        column.indicator_column(kind),
        column.sequence_numeric_column("size", normalizer_fn=halve, default_value=0.5),
        column.sequence_numeric_column("pair", shape=(2,)),
    ]


def cells(tf):
    layers = tf.keras.layers
    return {
        "lstm": {"units": 5, "cell_type": "lstm"},
        "gru": {"units": 5, "cell_type": "gru"},
        "stacked": {"units": [5, 4], "cell_type": "gru"},
        "simple": {"units": [5]},
        "own": {"rnn_cell_fn": lambda: layers.LSTMCell(4, activation="relu", use_bias=False)},
    }


# "stacked" also tests GRU cells; the others differ only in options.
LONG = [pytest.param(name, marks=pytest.mark.matrix) for name in ("gru", "simple", "own")]


@pytest.mark.parametrize("name", ["lstm", "stacked", *LONG])
def test_recurrent_estimators(name, tmp_path):
    from estimator_bridge import tf
    from estimator_bridge.convert.read.input_function import read_input_fn
    from estimator_bridge.convert.verify.differences import compare_losses
    from estimator_bridge.convert.verify.estimator_side import predict_checkpoint, train_on

    age = tf.feature_column.numeric_column("age")
    built = tf.estimator.experimental.RNNClassifier(
        make_columns(tf),
        context_feature_columns=[age],
        model_dir=str(tmp_path),
        # Seeded: from some initial weights, rounding grows beyond the tolerance below.
        config=tf.estimator.RunConfig(tf_random_seed=1),
        **cells(tf)[name],
    )
    # Keras draws the seeds of its initializers from Python's generator.
    random.seed(1)
    built.train(make_input_fn(12))
    plan, converted = convert(built)
    assert converted.notes == [] and plan.deep_optimizer.options["clipnorm"] == 5.0
    rows = read_input_fn(make_input_fn(4), plan.inputs, NUM_ROWS, plan.head)
    assert set(rows.sparse) == {"word", "city", "kind", "size", "pair"}
    path = tf.train.latest_checkpoint(built.model_dir)
    expected, _ = predict_checkpoint(built, path, rows, rows.sparse)
    given = {key: tf.constant(value) for key, value in rows.features.items()}
    found = converted.model(given)
    for key, value in expected.items():
        if value.dtype.kind == "f":
            np.testing.assert_allclose(found[key].numpy(), value, rtol=1e-6, atol=1e-6)
        else:
            assert (found[key].numpy() == value).all()
    batches = np.arange(200 * 8).reshape(200, 8) % NUM_ROWS
    losses, _ = train_on(built, path, rows, batches, sparse=rows.sparse)
    mine = train_keras(converted, plan, given, rows.labels, batches)
    assert compare_losses(losses, mine)["max_relative"] < 1e-5


def test_predictions_for_every_step_are_an_error(tmp_path):
    from tensorflow_estimator.python.estimator.head import sequential_head

    from estimator_bridge import BridgeError, estimator, tf

    head = sequential_head.SequentialHeadWrapper(
        estimator.BinaryClassHead(), sequence_length_mask="mask"
    )
    built = tf.estimator.experimental.RNNEstimator(
        head, make_columns(tf), units=4, cell_type="lstm", return_sequences=True
    )
    with pytest.raises(BridgeError, match="return_sequences"):
        convert_plan(built)


def convert_plan(built):
    from estimator_bridge.convert.read.canned import Loaded, describe_estimator

    return describe_estimator(Loaded(built, "test:build"), 0)
