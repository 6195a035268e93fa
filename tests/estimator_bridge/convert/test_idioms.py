"""Converts unusual canned Estimators: partitions, activations, schedules, frozen tables."""

import functools
import importlib.metadata
import runpy

import numpy as np
import pytest
from conversions import NUM_ROWS, assert_same, convert, make_rows, train

KERAS = importlib.metadata.version("keras")
pytestmark = pytest.mark.skipif(
    KERAS.startswith("2."), reason=f"writes Keras 3 models; installed: Keras {KERAS}"
)


def make_deep(tf):
    column = tf.feature_column
    color = column.categorical_column_with_hash_bucket("color", 7)
    return [column.numeric_column("age"), column.embedding_column(color, 3)]


def test_partitioned_tables_and_their_slots(tmp_path):
    from estimator_bridge import tf

    features, labels = make_rows()
    color = tf.feature_column.categorical_column_with_hash_bucket("color", 7)
    built = tf.compat.v1.estimator.DNNLinearCombinedClassifier(
        model_dir=str(tmp_path),
        linear_feature_columns=[color],
        dnn_feature_columns=make_deep(tf),
        dnn_hidden_units=[4],
        input_layer_partitioner=tf.compat.v1.fixed_size_partitioner(3),
    )
    train(tf, built, features, labels)
    plan, converted = convert(built)
    assert converted.notes == []
    assert assert_same(built, converted, plan, features, labels) < 1e-5


@pytest.mark.parametrize("num_parts", [1, 3])
def test_slots_of_linear_models_of_v1(num_parts, tmp_path):
    from estimator_bridge import tf
    from estimator_bridge.convert.read.checkpoint import open_checkpoint

    features, labels = make_rows()
    color = tf.feature_column.categorical_column_with_hash_bucket("color", 7)
    partitioner = tf.compat.v1.fixed_size_partitioner(num_parts)
    built = tf.compat.v1.estimator.LinearClassifier(
        [tf.feature_column.numeric_column("age"), color],
        model_dir=str(tmp_path),
        # By default, each variable is divided into one part.
        **({} if num_parts == 1 else {"partitioner": partitioner}),
    )
    train(tf, built, features, labels)
    plan, converted = convert(built)
    checkpoint = open_checkpoint(built.model_dir)
    slots = [name for name in checkpoint.names if name.endswith("/Ftrl")]
    assert len(slots) == 2 + num_parts and all("/part_" in name for name in slots)
    checkpoint.check()
    assert converted.notes == []
    assert assert_same(built, converted, plan, features, labels) < 1e-5


def relu(x):
    """Has the name of a function in tf.nn, but computes something else."""
    return x * 0.5


def activations(tf):
    return {
        "partial": functools.partial(tf.nn.leaky_relu, alpha=0.3),
        "lambda": lambda x: tf.nn.relu(x) * 1.5,
        "misnomer": relu,
        "string": "tanh",
        "none": None,
        "wider": tf.compat.v1.nn.crelu,
        "swish": tf.nn.swish,
    }


def make_dnn(tf, activation, folder):
    return tf.estimator.DNNClassifier(
        [4, 3],
        make_deep(tf),
        activation_fn=activation,
        model_dir=str(folder),
        optimizer=lambda: tf.keras.optimizers.legacy.SGD(0.001),
    )


def test_any_activation_function(tmp_path):
    import keras

    from estimator_bridge import tf

    values = np.linspace(-3, 3, 32, dtype=np.float32).reshape(8, 4)
    for name, given in activations(tf).items():
        found = convert_plan(make_dnn(tf, given, tmp_path)).network.activation
        room = {"keras": keras, "layers": keras.layers, "ops": keras.ops, "x": values}
        if found.isidentifier():
            found = f'keras.activations.get("{found}")(x)'
        expected = tf.keras.activations.get(given)(values)
        np.testing.assert_allclose(eval(found, room), expected, atol=1e-6, err_msg=name)


def test_activation_function_that_widens_a_layer(tmp_path):
    from estimator_bridge import tf

    features, labels = make_rows()
    built = make_dnn(tf, activations(tf)["wider"], tmp_path)
    train(tf, built, features, labels)
    plan, converted = convert(built)
    assert assert_same(built, converted, plan, features, labels, steps=20) < 1e-5


def test_unsupported_activation_function_is_an_error(tmp_path):
    from estimator_bridge import BridgeError, tf

    built = tf.estimator.DNNClassifier(
        [4], make_deep(tf), activation_fn=lambda x: tf.cumsum(x, axis=1), model_dir=str(tmp_path)
    )
    with pytest.raises(BridgeError, match="activation_fn <lambda> uses .* Cumsum"):
        convert_plan(built)


def convert_plan(built):
    from estimator_bridge.convert.read.canned import Loaded, describe_estimator

    return describe_estimator(Loaded(built, "test:build"), 9)


def schedules(v1):
    step = v1.train.get_or_create_global_step
    return {
        "exponential": lambda: v1.train.exponential_decay(0.1, step(), 30, 0.5),
        "staircase": lambda: v1.train.exponential_decay(0.1, step(), 20, 0.7, staircase=True),
        "natural": lambda: v1.train.natural_exp_decay(0.1, step(), 100, 0.9),
        "inverse": lambda: v1.train.inverse_time_decay(0.1, step(), 10, 0.5),
        "polynomial": lambda: v1.train.polynomial_decay(0.1, step(), 150, 0.002, power=0.5),
        "cosine": lambda: v1.train.cosine_decay(0.05, step(), 100),
        "piecewise": lambda: v1.train.piecewise_constant(step(), [12, 30], [0.1, 0.03, 0.01]),
    }


NAMES = ("exponential", "staircase", "natural", "inverse", "polynomial", "cosine", "piecewise")


@pytest.mark.parametrize("name", NAMES)
def test_learning_rate_tensor_becomes_a_schedule(name):
    from estimator_bridge import tf
    from estimator_bridge.convert.plan.model import Schedule
    from estimator_bridge.convert.plan.schedules import read_rate
    from estimator_bridge.convert.read.checkpoint import rate_at

    with tf.Graph().as_default():
        counter = tf.compat.v1.train.get_or_create_global_step()
        tensor = schedules(tf.compat.v1)[name]()
        schedule, exact = read_rate(tensor, counter, 9, tf)
        assert exact and isinstance(schedule, Schedule)
        expected = {}
        with tf.compat.v1.Session() as session:
            for step in (0, 9, 12, 13, 29, 30, 31, 77, 140, 5000):
                session.run(counter.initializer)
                session.run(counter.assign(step))
                expected[step] = session.run(tensor)
    for step, rate in expected.items():
        assert rate_at(schedule, step) == pytest.approx(rate, rel=1e-5, abs=1e-8)


def test_notes_on_unsupported_optimizer_settings(tmp_path):
    from estimator_bridge import tf

    v1 = tf.compat.v1
    optimizers = {
        "optimizer Adamax is not converted": lambda: tf.keras.optimizers.legacy.Adamax(0.01),
        "a schedule that Keras does not have": lambda: tf.keras.optimizers.legacy.SGD(
            0.1 * tf.math.rsqrt(1.0 + tf.cast(v1.train.get_or_create_global_step(), tf.float32))
        ),
    }
    for text, optimizer in optimizers.items():
        built = tf.estimator.DNNClassifier(
            [4], make_deep(tf), optimizer=optimizer, model_dir=str(tmp_path)
        )
        assert text in convert_plan(built).training_notes[0]


def test_lazy_updates_with_a_decaying_rate(tmp_path):
    from estimator_bridge import tf

    v1, kinds = tf.compat.v1, tf.keras.optimizers.legacy
    features, labels = make_rows()
    features["zip"] = np.random.default_rng(1).integers(0, 10**6, NUM_ROWS)
    column = tf.feature_column
    zips = column.categorical_column_with_hash_bucket("zip", 60, dtype=tf.int64)

    def falling():
        return v1.train.exponential_decay(0.1, v1.train.get_global_step(), 30, 0.5)

    built = tf.estimator.DNNLinearCombinedClassifier(
        model_dir=str(tmp_path),
        linear_feature_columns=[zips],
        linear_optimizer=lambda: kinds.Ftrl(0.05, l1_regularization_strength=0.01),
        dnn_feature_columns=[column.embedding_column(zips, 3)],
        dnn_hidden_units=[4],
        dnn_activation_fn=tf.nn.tanh,
        # This optimizer increments the global step while the other one runs, so a rate of the other
        # that depends on the step could be that of either step.
        dnn_optimizer=lambda: kinds.Ftrl(falling(), l2_regularization_strength=0.02),
    )
    train(tf, built, features, labels)
    plan, converted = convert(built)
    assert assert_same(built, converted, plan, features, labels) < 1e-5


def test_gradient_clipping_is_converted(tmp_path):
    from estimator_bridge import tf

    features, labels = make_rows()
    built = tf.estimator.DNNClassifier(
        [4],
        [tf.feature_column.numeric_column("age")],
        activation_fn=tf.nn.tanh,
        optimizer=lambda: tf.keras.optimizers.legacy.SGD(0.05, decay=0.01, clipnorm=0.1),
        model_dir=str(tmp_path),
        config=tf.estimator.RunConfig(tf_random_seed=1),
    )
    train(tf, built, features, labels)
    plan, converted = convert(built)
    assert plan.deep_optimizer.options["clipnorm"] == 0.1
    assert plan.deep_optimizer.rate.name == "InverseTimeDecay"
    assert assert_same(built, converted, plan, features, labels) < 1e-5


def test_untrained_tables_stay_untrained(tmp_path):
    from estimator_bridge import tf

    features, labels = make_rows()
    column = tf.feature_column
    parts = [
        column.categorical_column_with_vocabulary_list(name, ["red", "green"], num_oov_buckets=1)
        for name in ("color", "shade")
    ]
    with tf.Graph().as_default():
        shared = column.shared_embeddings(parts, 3)
    frozen = column.embedding_column(parts[0], 2, trainable=False)
    built = tf.estimator.DNNClassifier(
        [4], [*shared, frozen], activation_fn=tf.nn.tanh, model_dir=str(tmp_path)
    )
    train(tf, built, features, labels)
    plan, converted = convert(built)
    assert converted.notes == []
    assert len(converted.model.trainable_weights) == 4
    assert assert_same(built, converted, plan, features, labels) < 1e-5


def test_numbers_of_more_than_one_dimension(tmp_path):
    from estimator_bridge import tf

    features, labels = make_rows()
    features["map"] = np.random.default_rng(1).normal(size=(NUM_ROWS, 2, 3)).astype(np.float32)
    scale = np.arange(1, 7, dtype=np.float32).reshape(2, 3)
    given = tf.feature_column.numeric_column("map", (2, 3), normalizer_fn=lambda x: x / scale)
    built = tf.estimator.LinearClassifier([given], model_dir=str(tmp_path))
    train(tf, built, features, labels)
    plan, converted = convert(built)
    assert assert_same(built, converted, plan, features, labels) < 1e-5


@pytest.mark.parametrize("kind", ["BaselineClassifier", "BaselineRegressor"])
def test_baselines_of_the_v1_api(kind, tmp_path):
    from estimator_bridge import tf

    features, labels = make_rows()
    built = getattr(tf.compat.v1.estimator, kind)(model_dir=str(tmp_path))
    train(tf, built, features, labels.astype(np.float32))
    plan, converted = convert(built)
    features["rows"] = np.zeros(NUM_ROWS, np.int64)
    assert assert_same(built, converted, plan, features, labels.astype(np.float32)) < 1e-5


BASELINE = """
import numpy as np
import tensorflow as tf

def build():
    return tf.compat.v1.estimator.BaselineClassifier(
        "job", weight_column="share", optimizer="Ftrl", loss_reduction="REDUCTION")

def input_fn():
    random = np.random.RandomState(0)
    features = {"x": random.rand(40), "share": random.randint(0, 3, 40).astype("f")}
    return tf.data.Dataset.from_tensor_slices((features, random.randint(0, 2, 40))).batch(10)
"""


# The weights of some rows are 0. Keras has no loss that is divided by the number of the others.
@pytest.mark.parametrize("reduction", ["weighted_mean", "weighted_sum_by_nonzero_weights"])
def test_a_baseline_is_verified(reduction, tmp_path, monkeypatch, capsys):
    from estimator_bridge.convert import command
    from estimator_bridge.convert.read.user_code import load_function
    from estimator_bridge.convert.verify import command as verify

    monkeypatch.chdir(tmp_path)
    name = f"program_with_{reduction}"
    (tmp_path / f"{name}.py").write_text(BASELINE.replace("REDUCTION", reduction))
    input_fn = load_function(f"{name}:input_fn", "--input_fn")
    load_function(f"{name}:build", "--estimator")().train(input_fn)
    flags = [f"--estimator={name}:build", f"--input_fn={name}:input_fn"]
    assert command.main([*flags, "--output=model.keras", "--emit_code=written.py"]) == 0
    is_scaled = reduction == "weighted_sum_by_nonzero_weights"
    assert ("scales the weights" in capsys.readouterr().err) == is_scaled
    weights = {"logits": np.float32([2, 0, 1, 0])}
    make_dataset = runpy.run_path("written.py")["make_dataset"]
    batches = make_dataset({}, {"logits": np.ones((4, 1))}, weights, 4, shuffle=False)
    (_, _, found), *_ = batches.as_numpy_iterator()
    assert found["logits"].tolist() == ([4, 0, 2, 0] if is_scaled else [2, 0, 1, 0])
    assert verify.main([*flags, "--keras_model=model.keras", "--steps=5"]) == 0
    assert "PASSED" in capsys.readouterr().out
