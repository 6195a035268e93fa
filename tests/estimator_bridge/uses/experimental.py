"""`tf.estimator.experimental`: early stopping, k-means, SDCA, recurrent networks, logits."""

import functools
import math
import os

import numpy as np
import pytest

from estimator_bridge import tf

from .api import columns, input_fn, x_only


def _stops(api, make_hook, limit=40):
    """Runs train_and_evaluate with a stopping hook; returns the last step."""
    e = api.estimator
    model = api.custom()
    os.makedirs(model.eval_dir())  # The hooks read it before the first evaluation.
    hook = make_hook(model)
    e.train_and_evaluate(
        model,
        e.TrainSpec(x_only(), max_steps=limit, hooks=[hook]),
        e.EvalSpec(x_only(repeat=False), start_delay_secs=0, throttle_secs=0),
    )
    return int(model.get_variable_value("global_step"))


def stop_if(kind, api):
    hooks = api.estimator.experimental
    each_step = {"run_every_secs": None, "run_every_steps": 1}
    make = {
        # The loss starts above 0 and falls, so each of these is true after the first evaluations.
        "higher": lambda m: hooks.stop_if_higher_hook(m, "loss", 0.0, **each_step),
        "lower": lambda m: hooks.stop_if_lower_hook(m, "loss", 1e9, **each_step),
        "no_increase": lambda m: hooks.stop_if_no_increase_hook(m, "loss", 2, **each_step),
        "no_decrease": lambda m: hooks.stop_if_no_decrease_hook(m, "loss", 1, **each_step),
    }[kind]
    if kind == "no_decrease":
        # The loss decreases, so the hook must not stop the training.
        hook = functools.partial(
            hooks.stop_if_no_decrease_hook,
            metric_name="loss",
            max_steps_without_decrease=30,
            **each_step,
        )
        assert _stops(api, hook, limit=12) == 12
        return
    assert 1 <= _stops(api, make) < 40


def make_early_stopping_hook(api):
    calls = []

    def should_stop():
        calls.append(1)
        return len(calls) >= 3

    def make(model):
        return api.estimator.experimental.make_early_stopping_hook(
            model, should_stop, run_every_secs=None, run_every_steps=1
        )

    assert _stops(api, make) < 40 and len(calls) == 3


def make_stop_at_checkpoint_step_hook(api):
    e = api.estimator
    model = api.custom()
    hook = e.experimental.make_stop_at_checkpoint_step_hook(
        model, last_step=5, wait_after_file_check_secs=1
    )
    # In one process it is a StopAtStepHook; in a cluster the hook waits for another process.
    assert isinstance(hook, e.SessionRunHook)
    model.train(x_only(), steps=5)
    model.train(x_only(), hooks=[hook], steps=2)
    assert model.get_variable_value("global_step") >= 5


def in_memory_evaluator(api):
    e = api.estimator
    seen = []

    class Seen(e.SessionRunHook):
        def end(self, session):
            seen.append(1)

    model = api.custom()
    hook = e.experimental.InMemoryEvaluatorHook(
        model, x_only(repeat=False), hooks=[Seen()], every_n_iter=2
    )
    model.train(x_only(), hooks=[hook], steps=4)
    assert len(seen) >= 2


def kmeans(api):
    points = np.array([[0, 0], [0.1, 0], [10, 10], [10, 10.1]], np.float32)
    model = api.estimator.experimental.KMeans(
        2,
        model_dir=api.folder,
        use_mini_batch=False,
        seed=1,
        initial_clusters=np.array([[1, 1], [9, 9]], np.float32),
    )
    fn = lambda: tf.data.Dataset.from_tensors(points)  # noqa: E731
    for _ in range(3):
        model.train(fn)
    centers = sorted(model.cluster_centers().tolist())
    np.testing.assert_allclose(centers, [[0.05, 0], [10, 10.05]], atol=1e-4)
    index = [row["cluster_index"] for row in model.predict(fn)]
    assert index[0] == index[1] != index[2] == index[3]
    assert model.score(fn) == pytest.approx(0.01, abs=1e-3)


def sdca(api):
    x = np.linspace(-1, 1, 32, dtype=np.float32).reshape(-1, 1)

    def fn():
        rows = {"x": x, "id": np.arange(32).astype(str)}
        return (
            tf.data.Dataset.from_tensor_slices((rows, (x > 0).astype(np.int64))).batch(32).repeat()
        )

    optimizer = api.estimator.experimental.LinearSDCA(
        example_id_column="id", num_table_shards=1, symmetric_l2_regularization=1.0
    )
    model = api.estimator.LinearClassifier(
        [tf.feature_column.numeric_column("x")], model_dir=api.folder, optimizer=optimizer
    )
    model.train(fn, steps=30)
    assert model.evaluate(fn, steps=1)["accuracy"] > 0.9


def _sequences(labels):
    def fn():
        words = tf.constant([["red", "green"], ["blue", ""]])
        sparse = tf.sparse.from_dense(words)
        rows = tf.data.Dataset.from_tensors(({"words": sparse}, labels))
        return rows.repeat(20)

    return fn


def _sequence_column():
    fc = tf.feature_column
    column = fc.sequence_categorical_column_with_vocabulary_list("words", ["red", "green", "blue"])
    return fc.embedding_column(column, 3)


def rnn_classifier(api):
    model = api.estimator.experimental.RNNClassifier(
        sequence_feature_columns=[_sequence_column()],
        units=[4],
        cell_type="lstm",
        model_dir=api.folder,
        config=api.config,
    )
    fn = _sequences([[1], [0]])
    model.train(fn, steps=8)
    assert math.isfinite(model.evaluate(fn, steps=1)["loss"])
    assert next(model.predict(fn))["probabilities"].shape == (2,)


def rnn_estimator(api):
    model = api.estimator.experimental.RNNEstimator(
        head=api.estimator.RegressionHead(),
        sequence_feature_columns=[_sequence_column()],
        units=[4],
        cell_type="gru",
        model_dir=api.folder,
        config=api.config,
    )
    fn = _sequences([[1.0], [0.0]])
    model.train(fn, steps=4)
    assert math.isfinite(model.evaluate(fn, steps=1)["loss"])


def _with_logits(api, logit_fn):
    """Trains an Estimator whose logits come from the given function."""
    e = api.estimator
    head = e.BinaryClassHead()

    def model_fn(features, labels, mode, config):
        logits = e.experimental.call_logit_fn(logit_fn, features, mode, {"p": 1}, config)
        step = tf.compat.v1.train.get_global_step()
        optimizer = tf.compat.v1.train.GradientDescentOptimizer(0.1)
        return head.create_estimator_spec(
            features, mode, logits, labels, train_op_fn=lambda loss: optimizer.minimize(loss, step)
        )

    model = e.Estimator(model_fn, model_dir=api.folder, config=api.config)
    model.train(input_fn(), steps=2)
    assert math.isfinite(model.evaluate(input_fn(repeat=False))["loss"])
    return model.get_variable_names()


def call_logit_fn(api):
    def logit_fn(features, mode, params):
        assert mode in ("train", "eval") and params == {"p": 1}
        return tf.compat.v1.layers.dense(features["x"], 1)

    _with_logits(api, logit_fn)


def dnn_logit_fn_builder(api):
    logit_fn = api.estimator.experimental.dnn_logit_fn_builder(
        units=1,
        hidden_units=[4],
        feature_columns=columns(),
        activation_fn=tf.nn.relu,
        dropout=None,
        input_layer_partitioner=None,
        batch_norm=False,
    )
    assert any("hiddenlayer_0/kernel" in name for name in _with_logits(api, logit_fn))


def linear_logit_fn_builder(api):
    logit_fn = api.estimator.experimental.linear_logit_fn_builder(1, columns())
    assert any("linear_model/x/weights" in name for name in _with_logits(api, logit_fn))


def build_raw_supervised_input_receiver_fn(api):
    """Exports a model for training; the export contains a train op."""
    e = api.estimator
    features = {"x": tf.TensorSpec((None, 1), tf.float32)}
    with tf.Graph().as_default():
        receiver = e.experimental.build_raw_supervised_input_receiver_fn(
            {"x": tf.compat.v1.placeholder(tf.float32, (None, 1))},
            tf.compat.v1.placeholder(tf.float32, (None, 1)),
        )
    model = api.custom()
    model.train(x_only(), steps=1)
    path = model.experimental_export_all_saved_models(
        f"{api.folder}/all", {e.ModeKeys.TRAIN: receiver, e.ModeKeys.EVAL: receiver}
    )
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        meta = tf.compat.v1.saved_model.load(session, ["train"], path.decode())
        assert "train" in meta.signature_def and features


USES = {
    "experimental.InMemoryEvaluatorHook": in_memory_evaluator,
    "experimental.KMeans": kmeans,
    "experimental.LinearSDCA": sdca,
    "experimental.RNNClassifier": rnn_classifier,
    "experimental.RNNEstimator": rnn_estimator,
    "experimental.build_raw_supervised_input_receiver_fn": build_raw_supervised_input_receiver_fn,
    "experimental.call_logit_fn": call_logit_fn,
    "experimental.dnn_logit_fn_builder": dnn_logit_fn_builder,
    "experimental.linear_logit_fn_builder": linear_logit_fn_builder,
    "experimental.make_early_stopping_hook": make_early_stopping_hook,
    "experimental.make_stop_at_checkpoint_step_hook": make_stop_at_checkpoint_step_hook,
    "experimental.stop_if_higher_hook": functools.partial(stop_if, "higher"),
    "experimental.stop_if_lower_hook": functools.partial(stop_if, "lower"),
    "experimental.stop_if_no_decrease_hook": functools.partial(stop_if, "no_decrease"),
    "experimental.stop_if_no_increase_hook": functools.partial(stop_if, "no_increase"),
}
