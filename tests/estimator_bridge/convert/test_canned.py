"""Converts rebuilt canned Estimators to Keras 3 models with the same outputs."""

import importlib.metadata
import json
import subprocess
import sys

import numpy as np
import pytest

from estimator_bridge.convert.plan.columns import (
    HASH_KEY,
    Bucketized,
    Crossed,
    Embedding,
    Hashed,
    Identity,
    Indicator,
    Normalizer,
    Numeric,
    Raw,
    Vocabulary,
    inputs_of,
    name_of,
    safe_name,
)
from estimator_bridge.convert.plan.derived import Renamed
from estimator_bridge.convert.plan.model import Head, Network, Optimizer, Plan
from estimator_bridge.convert.plan.optimizers import keras2_options

KERAS = importlib.metadata.version("keras")
needs_keras_3 = pytest.mark.skipif(
    KERAS.startswith("2."), reason=f"writes Keras 3 models; installed: Keras {KERAS}"
)
TOLERANCE = 1e-6
NUM_ROWS = 64

AGE = Numeric("age", 1, "float32", None)
BUCKETS = Bucketized(AGE, (20.0, 30.0, 45.0))
PAIR = Numeric("pair", 2, "float32", None)
COLOR = Vocabulary("color", "string", ("red", "green", "blue"), 0, -1)
SIZE = Vocabulary("size", "int64", (3, 5, 7), 4, -1)
CITY = Hashed("city", "string", 13)
ZIP = Hashed("zip", "int64", 11)
RANK = Identity("rank", 6, 0)
RAW_COLOR = Raw("color", "string", sparse=False)
RAW_CITY = Raw("city", "string", sparse=False)
TWO = Crossed((RAW_COLOR, BUCKETS), 50, HASH_KEY)
OF_COLUMNS = Crossed((COLOR, RANK), 40, HASH_KEY)
THREE = Crossed((RAW_COLOR, BUCKETS, RAW_CITY), 101, HASH_KEY)
KEYED = Crossed((RAW_COLOR, RAW_CITY), 37, 1234567)
TAGS = Hashed("tags", "string", 17)
DEFAULTED = Vocabulary("color", "string", ("red", "green"), 0, 1)
# For tests that are not about columns.
FEW = (BUCKETS, COLOR)

WIDE = (BUCKETS, COLOR, SIZE, CITY, ZIP, RANK, TWO, OF_COLUMNS, THREE, KEYED, PAIR, TAGS)


def embedded(column, dimension=3, combiner="mean", max_norm=None):
    table = f"{name_of(column)}_embedding"
    return Embedding(column, dimension, combiner, max_norm, table, False)


DEEP = (
    AGE._replace(
        normalizer=Normalizer("ops.divide(ops.subtract(x, 40.0), 12.5)", lambda x: (x - 40) / 12.5)
    ),
    PAIR,
    Bucketized(PAIR, (0.0, 1.0)),
    Indicator(COLOR),
    Indicator(SIZE),
    Indicator(TAGS),
    embedded(CITY),
    embedded(TAGS, combiner="sqrtn"),
    embedded(TWO, combiner="sum"),
    embedded(RANK, max_norm=0.3),
)


def make_features():
    random = np.random.default_rng(7)

    def text(values, shape=NUM_ROWS):
        return np.array(random.choice(values, shape), object)

    def whole(values):
        return random.choice(np.array(values, np.int64), NUM_ROWS)

    features = {
        "age": random.uniform(10, 60, NUM_ROWS).astype(np.float32),
        "pair": random.normal(size=(NUM_ROWS, 2)).astype(np.float32),
        "color": text(["red", "green", "blue", "mauve", ""]),
        "size": whole([3, 5, 7, 9, 11, -1]),
        "city": text(["Oslo", "Rome", "", "São Paulo", "a rather long name " * 5]),
        "zip": whole([1, 22, 333, -1, 2**40]),
        "rank": whole([0, 1, 2, 3, 4, 5, 77, -1]),
        "tags": text(["x", "y", "z", ""], (NUM_ROWS, 3)),
    }
    return {**features, **{odd: features[name] for name, odd in ODD_NAMES.items()}}


def make_plan(kind="wide_deep", head=None, wide=WIDE, deep=DEEP, optimizers=None, **network):
    wide = wide if kind in ("linear", "wide_deep") else ()
    deep = deep if kind in ("dnn", "wide_deep") else ()
    ftrl = Optimizer("ftrl", 0.1, keras2_options("ftrl", {"l1": 0.01, "l2": 0.02}), 2)
    adagrad = Optimizer("adagrad", 0.05, keras2_options("adagrad", {}), 2)
    first, second = optimizers or (ftrl, adagrad)
    columns = (*wide, *deep) or (AGE,)
    options = {"hidden_units": (8, 4), "activation": "relu", "dropout": 0.0, "batch_norm": False}
    return Plan(
        kind=kind,
        inputs=inputs_of(columns, multivalued=("tags",)),
        wide=tuple(wide),
        wide_combiner="sum",
        deep=tuple(deep),
        network=Network(**{**options, **network}) if deep else None,
        head=head or Head("binary", 1, None, "sum_over_batch_size", None),
        wide_optimizer=first if kind != "dnn" else None,
        deep_optimizer=second if deep else None,
        keys=(),
        data=None,
    )


def make_labels(plan):
    random = np.random.default_rng(3)
    if plan.head.task in ("binary", "multiclass"):
        labels = random.integers(0, max(2, plan.head.units), NUM_ROWS)
        if plan.head.classes:
            return np.array(plan.head.classes, object)[labels], labels
        return labels, labels
    if plan.head.task == "multilabel":
        labels = random.integers(0, 2, (NUM_ROWS, plan.head.units))
        return labels, labels
    labels = random.poisson(3, NUM_ROWS).astype(np.float32)
    return labels, labels


def make_input_fn(features, labels, num_batches, batch_size=16):
    from estimator_bridge import tf

    def input_fn():
        rows = tf.data.Dataset.from_tensor_slices((features, labels))
        return rows.repeat().batch(batch_size).take(num_batches)

    return input_fn


def train(plan, folder, steps=12):
    from estimator_bridge.convert.verify.rebuild import build_estimator

    features = {name: make_features()[name] for name in [i.name for i in plan.inputs]}
    built = build_estimator(plan, str(folder))
    built.train(make_input_fn(features, make_labels(plan)[0], steps))
    return built, features


def convert(plan, folder):
    from estimator_bridge.convert.read.checkpoint import open_checkpoint
    from estimator_bridge.convert.write.build import build_model
    from estimator_bridge.convert.write.module import write_module

    return build_model(plan, write_module(plan, "a test"), open_checkpoint(str(folder)))


def predict(built, features):
    from estimator_bridge import tf

    def input_fn():
        return tf.data.Dataset.from_tensor_slices(features).batch(NUM_ROWS)

    rows = list(built.predict(input_fn))
    return {name: np.stack([row[name] for row in rows]) for name in rows[0]}


def answers_of(model, features):
    from estimator_bridge import tf

    found = model({name: tf.constant(value) for name, value in features.items()})
    return {name: value.numpy() for name, value in found.items()}


def assert_same_answers(expected, found):
    assert sorted(expected) == sorted(found)
    for name, value in expected.items():
        assert value.dtype == found[name].dtype, name
        assert value.shape == found[name].shape, name
        if value.dtype == object or value.dtype.kind in "iu":
            assert (value == found[name]).all(), name
        else:
            np.testing.assert_allclose(found[name], value, rtol=TOLERANCE, atol=TOLERANCE)


def of_few(kind="wide_deep", head=None, **network):
    return make_plan(kind, head, FEW, (AGE, embedded(CITY)), **network)


ODD_NAMES = {"age": "Age (years)", "color": "a/b", "city": 'ü "x"'}


def with_odd_names(plan):
    inputs = (feature._replace(name=ODD_NAMES[feature.name]) for feature in plan.inputs)
    derived = (Renamed(name, odd) for name, odd in ODD_NAMES.items())
    return plan._replace(inputs=tuple(inputs), derived=tuple(derived))


CASES = {
    "odd names": with_odd_names(of_few()),
    "baseline": make_plan("baseline"),
    "linear mean": make_plan("linear", wide=(TAGS, PAIR, DEFAULTED))._replace(wide_combiner="mean"),
    "dnn": of_few("dnn", Head("multiclass", 4, tuple("abcd"), "sum", None)),
    "batch norm": of_few("dnn", batch_norm=True, activation="tanh"),
    "wide multiclass": of_few(head=Head("multiclass", 3, None, "sum", None)),
    "regression": of_few(head=Head("regression", 1, None, "sum_over_batch_size", None)),
    "multilabel": of_few("dnn", Head("multilabel", 3, tuple("xyz"), "sum", None)),
    "poisson": of_few("linear", Head("poisson", 1, None, "sum_over_batch_size", None)),
}


@needs_keras_3
@pytest.mark.parametrize("case", CASES)
def test_outputs_equal_those_of_the_estimator(case, tmp_path):
    plan = CASES[case]
    built, features = train(plan, tmp_path)
    converted = convert(plan, tmp_path)
    assert converted.notes == []
    assert_same_answers(predict(built, features), answers_of(converted.model, features))


def test_safe_names_equal_those_of_the_trainer():
    from trainer.features.columns import name_feature

    for name in ("age", "a.b-c_1", "Page kind", "", *ODD_NAMES.values()):
        assert safe_name(name) == name_feature(name)


@pytest.mark.parametrize("kind", ["linear", "dnn", "wide_deep"])
def test_reading_a_rebuilt_estimator_returns_its_plan(kind, tmp_path):
    from estimator_bridge.convert.read.canned import Loaded, describe_estimator
    from estimator_bridge.convert.verify.rebuild import build_estimator
    from estimator_bridge.convert.write.module import write_module

    plan = make_plan(kind, deep=tuple(c for c in DEEP if not isinstance(c, Numeric)))
    built = build_estimator(plan, str(tmp_path))
    found = describe_estimator(Loaded(built, "test:build"), 0, multivalued=("tags",))
    bare = {"wide_optimizer": None, "deep_optimizer": None}
    assert found._replace(**bare) == plan._replace(**bare)
    for name in bare:
        optimizer, expected = getattr(found, name), getattr(plan, name)
        if expected is not None:
            assert optimizer.kind == expected.kind
            assert optimizer.rate == pytest.approx(expected.rate)
            assert optimizer.options == pytest.approx(expected.options)
    compile(write_module(found, "a test").code, "model.py", "exec")


LOAD_ALONE = """
import json, sys
import keras, numpy as np, tensorflow as tf
model = keras.saving.load_model(sys.argv[1])
with np.load(sys.argv[2], allow_pickle=True) as stored:
    features = {name: tf.constant(stored[name]) for name in stored.files}
np.save(sys.argv[3], model(features)["logits"].numpy())
print(json.dumps([name for name in sys.modules if name.startswith("estimator_bridge")]))
"""


@needs_keras_3
def test_saved_model_of_every_column_loads_with_keras_alone(tmp_path):
    plan = make_plan(head=Head("binary", 1, ("no", "yes"), "sum", None))
    built, features = train(plan, tmp_path)
    converted = convert(plan, tmp_path)
    assert converted.notes == []
    expected = predict(built, features)
    assert_same_answers(expected, answers_of(converted.model, features))
    path, rows, logits = (str(tmp_path / name) for name in ("m.keras", "rows.npz", "logits.npy"))
    converted.model.save(path)
    np.savez(rows, **features)
    done = subprocess.run(
        [sys.executable, "-c", LOAD_ALONE, path, rows, logits],
        capture_output=True,
        text=True,
        timeout=120,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert json.loads(done.stdout.splitlines()[-1]) == []
    found = np.load(logits)
    np.testing.assert_allclose(found, expected["logits"], rtol=TOLERANCE, atol=TOLERANCE)


@needs_keras_3
def test_checkpoint_of_another_model_is_an_error(tmp_path):
    from estimator_bridge import BridgeError

    train(make_plan("linear", wide=(BUCKETS,)), tmp_path)
    with pytest.raises(BridgeError, match="no variable linear/linear_model/city/weights"):
        convert(make_plan("linear", wide=(CITY,)), tmp_path)
    other = BUCKETS._replace(boundaries=(20.0, 30.0))
    with pytest.raises(BridgeError, match=r"age_bucketized/weights is \[4, 1\]"):
        convert(make_plan("linear", wide=(other,)), tmp_path)
