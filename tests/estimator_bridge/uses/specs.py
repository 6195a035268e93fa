"""Configuration, specs, input functions, warm start and other parts of a model."""

import math

import numpy as np
import pytest

from estimator_bridge import tf, versions

from .api import ROWS, columns, data, input_fn, x_only


def estimator(api):
    model = api.custom()
    model.train(x_only(), steps=3)
    first_loss = model.evaluate(x_only(repeat=False))["loss"]
    model.train(x_only(), steps=30)
    assert model.evaluate(x_only(repeat=False))["loss"] < first_loss
    assert model.get_variable_names() and model.latest_checkpoint().endswith("-33")
    assert len(list(model.predict(x_only(repeat=False)))) == ROWS


def estimator_spec(api):
    e = api.estimator
    with tf.Graph().as_default():
        y = tf.constant([[1.0]])
        spec = e.EstimatorSpec(e.ModeKeys.PREDICT, predictions={"y": y})
        assert spec.predictions["y"] is y
        with pytest.raises(ValueError, match="loss"):
            e.EstimatorSpec(e.ModeKeys.EVAL, predictions={"y": y})


def mode_keys(api):
    seen = []
    keys = api.estimator.ModeKeys

    def model_fn(features, labels, mode):
        seen.append(mode)
        loss, step = tf.constant(1.0), tf.compat.v1.train.get_global_step()
        return api.estimator.EstimatorSpec(
            mode, predictions=features, loss=loss, train_op=tf.compat.v1.assign_add(step, 1)
        )

    model = api.estimator.Estimator(model_fn, model_dir=api.folder)
    model.train(x_only(), steps=1)
    model.evaluate(x_only(), steps=1)
    next(model.predict(x_only()))
    assert seen == [keys.TRAIN, keys.EVAL, keys.PREDICT] == ["train", "eval", "infer"]


def run_config(api):
    e = api.estimator
    strategies = {
        "none": None,
        "one device": tf.distribute.OneDeviceStrategy("/cpu:0"),
        "mirrored": tf.distribute.MirroredStrategy(["/cpu:0"]),
        "central storage": tf.distribute.experimental.CentralStorageStrategy(["/cpu:0"], "/cpu:0"),
        "mirrored, v1": tf.compat.v1.distribute.MirroredStrategy(["/cpu:0"]),
        "several workers": tf.distribute.MultiWorkerMirroredStrategy(),
    }
    losses = {}
    for name, strategy in strategies.items():
        config = e.RunConfig(
            model_dir=f"{api.folder}/{name}",
            tf_random_seed=3,
            save_checkpoints_steps=2,
            keep_checkpoint_max=2,
            train_distribute=strategy,
            eval_distribute=None if name == "several workers" else strategy,
        )
        assert config.replace(save_summary_steps=9).save_summary_steps == 9
        model = e.LinearRegressor([tf.feature_column.numeric_column("x")], config=config)
        model.train(x_only(), steps=3)
        losses[name] = model.evaluate(x_only(repeat=False))["loss"]
    np.testing.assert_allclose(list(losses.values()), losses["none"], rtol=1e-4)


def two_replicas(api):
    """Covers MirroredStrategy over two virtual CPU devices."""
    e = api.estimator
    devices = tf.compat.v1.ConfigProto(device_count={"CPU": 2})
    with tf.Graph().as_default():  # Eager TensorFlow has one CPU device here, a session has two.
        strategy = tf.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"])
    config = e.RunConfig(
        train_distribute=strategy,
        session_config=devices,
        tf_random_seed=1,
    )
    model = e.LinearRegressor(columns(), model_dir=api.folder, config=config)
    model.train(input_fn("regression"), steps=3)
    assert model.get_variable_value("global_step") == 3


def train_and_evaluate(api):
    e = api.estimator
    train = e.TrainSpec(input_fn(), max_steps=6)
    evaluation = e.EvalSpec(
        input_fn(repeat=False), steps=2, name="held_out", start_delay_secs=0, throttle_secs=0
    )
    metrics, exports = e.train_and_evaluate(api.linear(), train, evaluation)
    assert metrics["global_step"] == 6 and exports == []
    with pytest.raises(ValueError, match="max_steps"):
        e.TrainSpec(input_fn(), max_steps=0)
    with pytest.raises(ValueError, match="steps"):
        e.EvalSpec(input_fn(), steps=0)


def vocab_info(api):
    """Covers a warm start with a changed vocabulary."""
    e = api.estimator
    vocabularies = {}
    for name, words in {"old": "red\ngreen\n", "new": "blue\ngreen\nred\n"}.items():
        vocabularies[name] = f"{api.folder}/{name}.txt"
        with open(vocabularies[name], "w") as file:
            file.write(words)

    def column(name, size):
        return tf.feature_column.categorical_column_with_vocabulary_file(
            "c", vocabularies[name], size
        )

    old = e.LinearClassifier([column("old", 2)], model_dir=f"{api.folder}/a", config=api.config)
    old.train(input_fn(), steps=5)
    info = e.VocabInfo(
        new_vocab=vocabularies["new"],
        new_vocab_size=3,
        num_oov_buckets=0,
        old_vocab=vocabularies["old"],
        backup_initializer=tf.compat.v1.random_uniform_initializer(8.0, 9.0),
    )
    weights = "linear/linear_model/c/weights"
    settings = e.WarmStartSettings(f"{api.folder}/a", ".*", {weights: info})
    new = e.LinearClassifier(
        [column("new", 3)],
        model_dir=f"{api.folder}/b",
        config=api.config,
        warm_start_from=settings,
    )
    new.train(input_fn(), steps=1, hooks=[e.StopAtStepHook(last_step=1)])
    before = tf.train.load_checkpoint(f"{api.folder}/a").get_tensor(weights)
    start = tf.train.load_checkpoint(f"{api.folder}/b/model.ckpt-0").get_tensor(weights)
    np.testing.assert_allclose(start[1:], before[::-1])
    assert 8 <= start[0, 0] <= 9


def add_metrics(api):
    def squares(labels, predictions, features):
        mean = tf.keras.metrics.Mean()
        mean.update_state(tf.square(features["x"]))
        return {"mean_square_of_x": mean}

    model = api.estimator.add_metrics(api.linear(), squares)
    model.train(input_fn(), steps=1)
    metrics = model.evaluate(input_fn(repeat=False))
    x = data("binary")[0]["x"]
    np.testing.assert_allclose(metrics["mean_square_of_x"], np.square(x).mean(), rtol=1e-5)
    assert "accuracy" in metrics


def classifier_parse_example_spec(api):
    spec = api.estimator.classifier_parse_example_spec(columns(), label_key="y", weight_column="w")
    assert spec["y"].dtype == tf.int64 and set(spec) == {"x", "c", "y", "w"}
    with pytest.raises(ValueError, match="label"):
        api.estimator.classifier_parse_example_spec(columns(), label_key="x")


def regressor_parse_example_spec(api):
    spec = api.estimator.regressor_parse_example_spec(columns(), "y", label_dimension=2)
    assert spec["y"].dtype == tf.float32 and spec["y"].shape == (2,)


def numpy_input_fn(api):
    features, y = data("binary")
    fn = api.estimator.inputs.numpy_input_fn(features, y, batch_size=8, num_epochs=2, shuffle=True)
    model = api.linear()
    model.train(fn)
    assert model.get_variable_value("global_step") == 2 * ROWS // 8
    once = api.estimator.inputs.numpy_input_fn(features, y, shuffle=False, num_epochs=1)
    assert math.isfinite(model.evaluate(once)["loss"])


def pandas_input_fn(api):
    pandas = pytest.importorskip("pandas")
    features, y = data("binary")
    frame = pandas.DataFrame({name: values[:, 0] for name, values in features.items()})
    if versions.parse(tf.__version__) < versions.ESTIMATOR_REMOVED_IN:
        # TensorFlow 2.15 itself does not accept pandas 3's text type.
        frame = frame.astype({"c": object})
    label = pandas.Series(y[:, 0], name="y")
    fn = api.estimator.inputs.pandas_input_fn(
        frame, label, batch_size=8, num_epochs=1, shuffle=False
    )
    model = api.linear()
    model.train(fn)
    assert model.get_variable_value("global_step") == ROWS // 8


USES = {
    "Estimator": estimator,
    "EstimatorSpec": estimator_spec,
    "EvalSpec": train_and_evaluate,
    "ModeKeys": mode_keys,
    "RunConfig": run_config,
    "RunConfig, two replicas": two_replicas,
    "TrainSpec": train_and_evaluate,
    "VocabInfo": vocab_info,
    "WarmStartSettings": vocab_info,
    "add_metrics": add_metrics,
    "classifier_parse_example_spec": classifier_parse_example_spec,
    "inputs.numpy_input_fn": numpy_input_fn,
    "inputs.pandas_input_fn": pandas_input_fn,
    "regressor_parse_example_spec": regressor_parse_example_spec,
    "train_and_evaluate": train_and_evaluate,
}
