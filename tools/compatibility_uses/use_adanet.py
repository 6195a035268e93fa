"""Uses of adanet: ensembles that grow, are evaluated, resumed and exported."""

import adanet
import numpy as np
import pytest
import tensorflow as tf
from adanet.examples import simple_dnn

COLUMN = tf.feature_column.numeric_column("x", shape=[2])


def input_fn():
    x = np.random.default_rng(0).normal(size=(64, 2)).astype(np.float32)
    labels = (x[:, :1] * x[:, 1:] > 0).astype(np.float32)
    return tf.data.Dataset.from_tensor_slices(({"x": x}, labels)).repeat().batch(16)


def build(folder, **options):
    return adanet.Estimator(
        head=tf.estimator.BinaryClassHead(),
        subnetwork_generator=simple_dnn.Generator(
            feature_columns=[COLUMN],
            optimizer=tf.compat.v1.train.AdamOptimizer(0.01),
            layer_size=8,
            seed=1,
        ),
        max_iteration_steps=10,
        model_dir=str(folder),
        **options,
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("model")
    build(folder).train(input_fn, max_steps=20)
    return folder


def test_train_and_evaluate(folder):
    metrics = build(folder).evaluate(input_fn, steps=4)
    assert metrics["global_step"] == 20 and 0 < metrics["loss"] < 1


def test_resume(folder):
    model = build(folder, max_iterations=3)
    model.train(input_fn, max_steps=30)
    assert model.evaluate(input_fn, steps=1)["global_step"] == 30


def test_predict(folder):
    rows = build(folder).predict(lambda: input_fn().take(1))
    assert len([row["logistic"] for row in rows]) == 16


def test_export(folder):
    spec = tf.feature_column.make_parse_example_spec([COLUMN])
    receiver = tf.estimator.export.build_parsing_serving_input_receiver_fn(spec)
    path = build(folder).export_saved_model(str(folder / "export"), receiver)
    path = path.decode() if isinstance(path, bytes) else path
    feature = tf.train.Feature(float_list=tf.train.FloatList(value=[0.5, -0.5]))
    example = tf.train.Example(features=tf.train.Features(feature={"x": feature}))
    predict = tf.saved_model.load(path).signatures["predict"]
    assert predict(tf.constant([example.SerializeToString()]))["logits"].shape == (1, 1)


def test_ensembler_with_learned_weights(tmp_path):
    ensembler = adanet.ensemble.ComplexityRegularizedEnsembler(
        optimizer=tf.compat.v1.train.AdamOptimizer(0.01), adanet_lambda=0.01, use_bias=True
    )
    build(tmp_path, ensemblers=[ensembler]).train(input_fn, max_steps=20)


def test_auto_ensemble_of_canned_estimators(tmp_path):
    head = tf.estimator.BinaryClassHead()
    pool = {
        "linear": tf.estimator.LinearEstimator(head, [COLUMN]),
        "deep": tf.estimator.DNNEstimator(head, [4], [COLUMN]),
    }
    model = adanet.AutoEnsembleEstimator(
        head=head, candidate_pool=pool, max_iteration_steps=5, model_dir=str(tmp_path)
    )
    model.train(input_fn, max_steps=10)
    assert model.evaluate(input_fn, steps=1)["global_step"] == 10
