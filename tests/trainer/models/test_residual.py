"""trainer.models.residual: the model_fn that users copy."""

import numpy as np
import pytest

from estimator_bridge import estimator, tf
from trainer.export.receivers import make_serving_receiver_fn
from trainer.models.residual import ResidualNetwork
from trainer.schema import Statistics

LABEL = {"column": "label", "num_classes": 2}


def build(bench, name="job", seed=1, **model):
    config = bench.build_config(model={"type": "residual", **model})
    return bench.build(config, bench.build_schema(LABEL), name, seed)


@pytest.fixture
def trained(bench):
    """Rows, an Estimator, and the variables of its checkpoints after 1 and 40 steps."""
    built = build(bench)
    feed = bench.feed(bench.positive)
    built.train(feed, steps=1)
    first = {name: built.get_variable_value(name) for name in built.get_variable_names()}
    built.train(feed, steps=39)
    last = {name: built.get_variable_value(name) for name in built.get_variable_names()}
    return bench, built, first, last


def test_training_updates_step_weights_and_moving_averages(trained):
    bench, built, first, last = trained
    # The optimizer counts the global step.
    assert (first["global_step"], last["global_step"]) == (1, 40)
    moving = [name for name in last if "moving_" in name]
    assert len(moving) == 2 * 5  # two norms in each of two blocks, one before the logits
    for name in moving:
        start = 0.0 if name.endswith("mean") else 1.0
        assert not np.allclose(first[name], start), name
        assert not np.allclose(first[name], last[name]), name
    # Every trained variable has changed.
    kinds = ("kernel", "bias", "gamma", "beta", "embedding_weights")
    weights = [name for name in last if name.startswith("residual") and name.endswith(kinds)]
    assert len(weights) == 2 * 2 + 4 * 2 + 5 * 2
    for name in weights:
        # Batch normalisation cancels a bias just before it.
        if not name.endswith("bias"):
            assert not np.array_equal(first[name], last[name]), name
    metrics = built.evaluate(bench.feed(bench.positive, epochs=1))
    assert metrics["auc"] > 0.95

    # Evaluation uses the moving averages: a prediction does not depend on its batch.
    def scores(rows, batch):
        feed = bench.feed(bench.positive[: len(rows["x"])], batch, epochs=1, rows=rows)
        return [row["logistic"][0] for row in built.predict(feed)]

    few = {name: values[:3] for name, values in bench.rows.items()}
    assert np.allclose(scores(few, 1), scores(bench.rows, 60)[:3], atol=1e-6)


def test_metrics_and_signatures_equal_a_canned_model(bench):
    schema = bench.build_schema(LABEL)
    keys, signatures = [], []
    for kind in ("residual", "dnn"):
        built = bench.build(bench.build_config(model={"type": kind}), schema, kind)
        built.train(bench.feed(bench.positive), steps=1)
        keys.append(set(built.evaluate(bench.feed(bench.positive, epochs=1))))
        receiver_fn = make_serving_receiver_fn(schema, Statistics(0, {}), "example", ",")
        path = built.export_saved_model(str(bench.folder / "export"), receiver_fn).decode()
        loaded = tf.saved_model.load(path)
        signatures.append(
            {name: set(one.structured_outputs) for name, one in loaded.signatures.items()}
        )
    assert keys[0] == keys[1] >= {"auc", "accuracy", "loss", "log_loss"}
    assert signatures[0] == signatures[1]
    assert set(signatures[0]["predict"]) >= {"logistic", "probabilities", "classes"}


@pytest.mark.newest
def test_seed_decides_initial_values_and_dropout(bench):
    def last_loss(name, seed):
        built = build(bench, name, seed, dropout=0.3)
        built.train(bench.feed(bench.positive), steps=3)
        return built.evaluate(bench.feed(bench.positive, epochs=1))["loss"]

    loss = last_loss("a", 1)
    assert loss == last_loss("b", 1)
    assert loss != last_loss("c", 2)


@pytest.mark.newest
def test_block_adds_to_its_input(bench):
    config = bench.build_config(model={"type": "residual", "hidden_units": [4, 4, 6]})
    columns = [tf.feature_column.numeric_column("x")]
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        network = ResidualNetwork(columns, config.model, 1)
        features = {"x": tf.constant([0.3, -0.8])}
        network(features, training=False)
        session.run(tf.compat.v1.global_variables_initializer())
        blocks = [layer for layer in network.layers if layer.name.startswith("block")]
        around = [
            {variable.name.split("/")[-2] for variable in block.variables} for block in blocks
        ]
        assert ["around" in names for names in around] == [False, False, True]
        # With zeros in its last layer, a block returns its input.
        last = blocks[0].variables[-2:]
        kernel = next(v for v in blocks[0].variables if "dense_1/kernel" in v.name)
        session.run(tf.compat.v1.assign(kernel, tf.zeros_like(kernel)))
        inputs = tf.constant(np.arange(8, dtype=np.float32).reshape(2, 4))
        assert len(last) == 2
        got, given = session.run([blocks[0](inputs, training=False), inputs])
    assert np.array_equal(got, given)


@pytest.mark.newest
def test_only_training_updates_moving_averages(bench):
    schema = bench.build_schema(LABEL)
    built = bench.build(bench.build_config(model={"type": "residual"}), schema)
    for mode in (estimator.ModeKeys.EVAL, estimator.ModeKeys.PREDICT):
        with tf.Graph().as_default():
            features, labels = next_batch(bench)
            spec = built.model_fn(features, labels, mode, built.config)
            assert spec.train_op is None
            kinds = {
                operation.type for operation in tf.compat.v1.get_default_graph().get_operations()
            }
            assert "FusedBatchNormV3" not in kinds
    with tf.Graph().as_default():
        features, labels = next_batch(bench)
        tf.compat.v1.train.create_global_step()
        spec = built.model_fn(features, labels, estimator.ModeKeys.TRAIN, built.config)
        assert spec.train_op is not None and spec.loss.shape == []


def next_batch(bench):
    data = tf.compat.v1.data.make_one_shot_iterator(bench.feed(bench.positive)())
    return data.get_next()


@pytest.mark.newest
def test_every_task(bench):
    feed = bench.feed(bench.score.astype(np.float32))
    config = bench.build_config(model={"type": "residual"})
    built = bench.build(
        config, bench.build_schema({"column": "label"}, {"label": {"type": "float"}})
    )
    built.train(feed, steps=60)
    assert built.evaluate(bench.feed(bench.score.astype(np.float32), epochs=1))["rmse"] < 0.4
    label = {"column": "label", "vocabulary": ["low", "mid", "high"]}
    names = np.array([b"low", b"mid", b"high"], object)[np.digitize(bench.score, [-0.5, 1.0])]
    schema = bench.build_schema(label, {"label": {"type": "string"}})
    built = bench.build(config, schema, "classes")
    built.train(bench.feed(names.tolist()), steps=60)
    assert built.evaluate(bench.feed(names.tolist(), epochs=1))["accuracy"] > 0.9
