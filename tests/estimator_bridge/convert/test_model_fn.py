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
        }

    def input_fn():
        features = make_features()
        labels = (features["size"][:, :1] > 0.5).astype(np.float32)
        return tf.data.Dataset.from_tensor_slices((features, labels)).repeat().batch(8).take(12)

    def model_fn(features, labels, mode):
        table = tf.lookup.StaticVocabularyTable(
            tf.lookup.KeyValueTensorInitializer(
                ["red", "green"], tf.constant([0, 1], tf.int64)
            ), 1)
        weights = tf.compat.v1.get_variable("colors", [3, 4])
        hidden = tf.nn.embedding_lookup(weights, table.lookup(features["color"]))
        hidden += tf.compat.v1.layers.dense(features["size"], 4, tf.nn.tanh, name="hidden")
        logits = tf.compat.v1.layers.dense(hidden, 1, name="logits")
        if mode == "infer":
            predictions = {"logits": logits, "score": tf.sigmoid(logits)}
            return tf.estimator.EstimatorSpec(mode, predictions=predictions)
        loss = tf.compat.v1.losses.sigmoid_cross_entropy(labels, logits)
        train = tf.compat.v1.train.GradientDescentOptimizer(0.1).minimize(
            loss, tf.compat.v1.train.get_global_step()
        )
        return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train)

    def build():
        return tf.estimator.Estimator(model_fn, model_dir="model_dir")
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
    built.train(input_fn)
    flags = [f"--estimator={name}:build", "--model_fn", "--output=wrapped.keras"]
    with pytest.raises(BridgeError, match="--model_fn requires --estimator"):
        main(flags)
    assert main([*flags, f"--input_fn={name}:input_fn"]) == 0
    assert "5 trainable variables" in capsys.readouterr().out

    import keras

    from estimator_bridge import tf

    model = keras.saving.load_model("wrapped.keras", safe_mode=False)
    given = {key: tf.constant(value) for key, value in features.items()}

    def ask():
        return tf.data.Dataset.from_tensor_slices(features).batch(32)

    expected = np.stack([row["logits"] for row in built.predict(ask)])
    np.testing.assert_allclose(model(given)["logits"], expected, atol=1e-6)
    model.compile(keras.optimizers.SGD(0.5), loss={"logits": keras.losses.BinaryCrossentropy(True)})
    target = {"logits": tf.constant((features["size"][:, :1] > 0.5).astype(np.float32))}
    losses = [float(model.train_on_batch(given, target)) for _ in range(20)]
    assert losses[-1] < losses[0]
    trained = model(given)["logits"].numpy()
    assert np.abs(trained - expected).max() > 1e-3
    model.save("again.keras")
    again = keras.saving.load_model("again.keras", safe_mode=False)
    np.testing.assert_allclose(again(given)["logits"], trained, atol=1e-6)
