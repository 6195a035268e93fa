"""Trains Estimators on random rows, converts them, and compares them with their Keras models."""

import numpy as np

TOLERANCE = 1e-6
NUM_ROWS = 48


def make_rows():
    random = np.random.default_rng(5)
    features = {
        "age": random.uniform(10, 60, (NUM_ROWS, 1)).astype(np.float32),
        "color": random.choice(np.array(["red", "green", "mauve", ""], object), NUM_ROWS),
        "shade": random.choice(np.array(["red", "green", ""], object), NUM_ROWS),
        "tags": random.choice(np.array(["x", "y", "z", ""], object), (NUM_ROWS, 3)),
        "count": random.integers(0, 5, NUM_ROWS),
    }
    features["share"] = np.where(features["tags"] == "", 0, 0.5).astype(np.float32)
    return features, random.integers(0, 2, NUM_ROWS)


def train(tf, built, features, labels, sparse=()):
    def input_fn():
        rows = tf.data.Dataset.from_tensor_slices((features, labels)).repeat().batch(16).take(9)

        def restore(features, labels):
            def to_sparse(value):
                where = tf.where(tf.not_equal(value, ""))
                shape = tf.shape(value, out_type=tf.int64)
                return tf.SparseTensor(where, tf.gather_nd(value, where), shape)

            made = {n: to_sparse(v) if n in sparse else v for n, v in features.items()}
            return made, labels

        return rows.map(restore)

    return built.train(input_fn)


def read(built, checkpoint=None, **options):
    """Returns the plan of an Estimator, and a checkpoint: its newest by default."""
    from estimator_bridge.convert.read.canned import Loaded, describe_estimator
    from estimator_bridge.convert.read.checkpoint import open_checkpoint

    checkpoint = open_checkpoint(str(checkpoint or built.model_dir))
    return describe_estimator(Loaded(built, "test:build"), checkpoint.step, **options), checkpoint


def convert(built, checkpoint=None, **options):
    """Returns the plan and the converted model of an Estimator and its newest checkpoint."""
    from estimator_bridge.convert.write.build import build_model
    from estimator_bridge.convert.write.module import write_module

    plan, checkpoint = read(built, checkpoint, **options)
    return plan, build_model(plan, write_module(plan, "a test"), checkpoint)


def assert_same(built, converted, plan, features, labels, sparse=(), steps=60):
    """Checks equal outputs; returns the largest relative difference of the next losses."""
    from estimator_bridge import tf
    from estimator_bridge.convert.read.rows import Rows
    from estimator_bridge.convert.verify.differences import compare_losses
    from estimator_bridge.convert.verify.estimator_side import predict_checkpoint, train_on

    rows, path = Rows(features, labels), tf.train.latest_checkpoint(built.model_dir)
    names = {feature.name for feature in plan.inputs}
    given = {name: tf.constant(value) for name, value in features.items() if name in names}
    expected, _ = predict_checkpoint(built, path, rows, sparse)
    found = converted.model(given)
    for name, value in expected.items():
        if value.dtype.kind == "f":
            np.testing.assert_allclose(
                found[name].numpy(), value, rtol=TOLERANCE, atol=TOLERANCE, err_msg=name
            )
        else:
            assert (found[name].numpy() == value).all(), name
    batches = np.arange(steps * 16).reshape(steps, 16) % NUM_ROWS
    losses, _ = train_on(built, path, rows, batches, sparse=sparse)
    mine = train_keras(converted, plan, given, labels, batches)
    return compare_losses(losses, mine)["max_relative"]


def train_keras(converted, plan, given, labels, batches):
    """Returns the loss of the Keras model before each step."""
    from estimator_bridge import tf

    model, losses = converted.model, []
    if hasattr(converted.module, "use_estimator_updates"):
        model = converted.module.use_estimator_updates(model)
    for batch in batches:
        model.reset_metrics()
        target = {plan.head.target: tf.constant(labels[batch].astype(np.float32)[:, None])}
        inputs = {name: tf.gather(value, batch) for name, value in given.items()}
        losses.append(float(model.train_on_batch(inputs, target)))
    return losses
