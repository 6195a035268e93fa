"""Wraps a model_fn as a Keras layer that has the same outputs and can be trained and saved."""

import importlib.metadata
import textwrap

import numpy as np
import pytest

KERAS = importlib.metadata.version("keras")
pytestmark = pytest.mark.skipif(
    KERAS.startswith("2."), reason=f"writes Keras 3 models; installed: Keras {KERAS}"
)

PROGRAM = textwrap.dedent(
    """
    import numpy as np
    import tensorflow as tf

    def make_features():
        draw = np.random.default_rng(2)
        words = np.array(["red", "green", "mauve"], object)
        return {
            "size": draw.uniform(size=(32, 2)).astype(np.float32),
            "color": draw.choice(words, 32),
            "tags": np.tile([["a", "", ""], ["b", "", "a"]], (16, 1)).astype(object),
            # Sparse booleans are numbers here; a name need be no argument of Python.
            "on/off": np.tile([[1, 0], [1, -1]], (16, 1)).astype(np.int64),
            "marks": np.tile([[0.0, 2.0], [3.0, np.nan]], (16, 1)).astype(np.float32),
            "visits": np.tile([[7, -1, 2], [4, -1, -1], [-1, -1, -1], [1, 2, 3]], (8, 1)),
            "paths": np.tile([[["a", "b"], ["c", ""]], [["", ""], ["d", ""]]], (16, 1, 1)),
        }

    def make_sparse(values, where):
        indices = tf.where(where)
        # As wide as the longest row of a batch, like a VarLenFeature.
        shape = [tf.shape(values, tf.int64)[0], tf.reduce_max(indices[:, 1]) + 1]
        return tf.SparseTensor(indices, tf.gather_nd(values, indices), shape)

    def make_ragged(name, values):
        # What a row has after its last value is not in it; what is between two values is.
        if name == "visits":
            sizes = tf.reduce_max(tf.where(tf.not_equal(values, -1), [[1, 2, 3]], 0), 1)
            return tf.RaggedTensor.from_tensor(values, sizes)
        sizes = tf.reduce_sum(tf.cast(tf.not_equal(values, ""), tf.int32), -1)
        return tf.RaggedTensor.from_tensor(
            values, (tf.fill(tf.shape(values)[:1], 2), tf.reshape(sizes, [-1])))

    def as_trained(features):
        # Makes features sparse, and adds those that a prediction does not read.
        tags, marks = features["tags"], features["marks"]
        return {
            **features,
            "tags": make_sparse(tags, tf.not_equal(tags, "")),
            "on/off": make_sparse(features["on/off"] > 0, features["on/off"] >= 0),
            "marks": make_sparse(marks, tf.logical_not(tf.math.is_nan(marks))),
            "visits": make_ragged("visits", features["visits"]),
            "paths": make_ragged("paths", features["paths"]),
            "share": tf.ones_like(features["size"][:, :1]),
            "row_id": features["color"],
        }

    def input_fn():
        features = make_features()
        labels = (features["size"][:, :1] > 0.5).astype(np.float32)
        data = tf.data.Dataset.from_tensor_slices((features, labels)).repeat().batch(8).take(12)
        return data.map(lambda features, labels: (as_trained(features), labels))

    def model_fn(features, labels, mode):
        table = tf.lookup.StaticVocabularyTable(
            tf.lookup.KeyValueTensorInitializer(
                ["red", "green"], tf.constant([0, 1], tf.int64)
            ), 1)
        weights = tf.compat.v1.get_variable("colors", [3, 4])
        hidden = tf.nn.embedding_lookup(weights, table.lookup(features["color"]))
        hidden += tf.compat.v1.layers.dense(features["size"], 4, tf.nn.tanh, name="hidden")
        tags = features["tags"]
        codes = tf.strings.to_hash_bucket_fast(tags.values, 5)
        table = tf.compat.v1.get_variable("tags", [5, 4])
        hidden += tf.nn.embedding_lookup_sparse(
            table, tf.SparseTensor(tags.indices, codes, tags.dense_shape), None, combiner="mean")
        # A mark of 0 counts; a missing one does not.
        marks = features["marks"]
        hidden += tf.math.segment_mean(marks.values, marks.indices[:, 0])[:, None]
        switches = features["on/off"]
        assert switches.dtype == tf.bool
        counts = tf.where(switches.values, 3.0, 1.0)
        hidden += tf.math.segment_sum(counts, switches.indices[:, 0])[:, None]
        visits, paths = features["visits"], features["paths"]
        assert visits.ragged_rank == 1 and paths.ragged_rank == 2
        hidden += tf.cast(visits.row_lengths() + tf.reduce_sum(visits, 1), tf.float32)[:, None]
        lengths = tf.reduce_sum(tf.strings.length(paths), [1, 2]) + tf.shape(paths.to_tensor())[2]
        hidden += tf.cast(lengths, tf.float32)[:, None] * 0.1
        logits = tf.compat.v1.layers.dense(hidden, 1, name="logits")
        if mode == "infer":
            predictions = {"logits": logits, "score": tf.sigmoid(logits)}
            return tf.estimator.EstimatorSpec(mode, predictions=predictions)
        loss = tf.compat.v1.losses.sigmoid_cross_entropy(labels, logits, features["share"])
        train = tf.compat.v1.train.GradientDescentOptimizer(0.1).minimize(
            loss, tf.compat.v1.train.get_global_step()
        )
        return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train)

    def build():
        config = tf.estimator.RunConfig(tf_random_seed=1)
        return tf.estimator.Estimator(model_fn, "model_dir", config)
    """
)


def test_wrapped_model_fn_can_be_trained_saved_and_loaded(tmp_path, monkeypatch, capsys):
    from estimator_bridge import BridgeError
    from estimator_bridge.convert.command import main
    from estimator_bridge.convert.read.user_code import load_function

    monkeypatch.chdir(tmp_path)
    (tmp_path / "program_with_a_model_fn.py").write_text(PROGRAM)
    name = "program_with_a_model_fn"
    built = load_function(f"{name}:build", "--estimator")()
    input_fn = load_function(f"{name}:input_fn", "--input_fn")
    features = load_function(f"{name}:make_features", "--input_fn")()
    as_trained = load_function(f"{name}:as_trained", "--input_fn")
    built.train(input_fn)
    flags = [f"--estimator={name}:build", "--model_fn", "--output=wrapped.keras"]
    with pytest.raises(BridgeError, match="--model_fn requires --estimator"):
        main(flags)
    assert main([*flags, f"--input_fn={name}:input_fn"]) == 0
    assert "6 trainable variables" in capsys.readouterr().out

    import keras

    from estimator_bridge import tf

    model = keras.saving.load_model("wrapped.keras", safe_mode=False)
    given = {key: tf.constant(value) for key, value in features.items()}

    def ask():
        return tf.data.Dataset.from_tensor_slices(features).batch(32).map(as_trained)

    expected = np.stack([row["logits"] for row in built.predict(ask)])
    # Neither the weights of rows nor the key, and any number of tags.
    assert set(model.input) == {"size", "color", "tags", "on/off", "marks", "visits", "paths"}
    assert model.input["visits"].shape == (None, None)
    assert model.input["paths"].shape == (None, None, None)
    np.testing.assert_allclose(model(given)["logits"], expected, atol=1e-6)
    served = tf.saved_model.load("wrapped").signatures["predict"]
    answer = served(**{key.replace("/", "_"): value for key, value in given.items()})
    np.testing.assert_allclose(answer["logits"], expected, atol=1e-6)
    wide = {
        **given,
        "tags": tf.pad(given["tags"], [[0, 0], [0, 4]], constant_values=""),
        "visits": tf.pad(given["visits"], [[0, 0], [0, 2]], constant_values=-1),
    }
    np.testing.assert_allclose(model(wide)["logits"], expected, atol=1e-6)
    # A higher rate diverges from some initial values: the sums of visits are not scaled.
    model.compile(
        keras.optimizers.SGD(0.01), loss={"logits": keras.losses.BinaryCrossentropy(True)}
    )
    target = {"logits": tf.constant((features["size"][:, :1] > 0.5).astype(np.float32))}
    losses = [float(model.train_on_batch(given, target)) for _ in range(20)]
    assert losses[-1] < losses[0]
    trained = model(given)["logits"].numpy()
    assert np.abs(trained - expected).max() > 1e-3
    model.save("again.keras")
    again = keras.saving.load_model("again.keras", safe_mode=False)
    np.testing.assert_allclose(again(given)["logits"], trained, atol=1e-6)
