"""Arrays of input functions: read by the graph, not held by it."""

import types

import numpy as np
import pandas as pd
import pytest
import tensorflow as tf

import estimator_bridge
from estimator_bridge.patches import array_inputs

estimator_bridge.install()

ROWS = 20_000


@pytest.fixture
def arrays():
    random = np.random.default_rng(3)
    return {
        "x": random.standard_normal(ROWS).astype(np.float32),
        "n": random.integers(0, 9, ROWS),
        "pair": random.standard_normal((ROWS, 2)),
    }


class Losses(tf.compat.v1.train.SessionRunHook):
    def __init__(self):
        self.found = []

    def before_run(self, run_context):
        return tf.compat.v1.train.SessionRunArgs("mean_squared_error/value:0")

    def after_run(self, run_context, run_values):
        self.found.append(float(run_values.results))


def model_fn(features, labels, mode):
    weights = tf.compat.v1.get_variable("weights", [2, 3])
    columns = tf.stack([features["x"], tf.cast(features["n"], tf.float32)], axis=1)
    score = tf.reduce_sum(tf.nn.dropout(columns @ weights, rate=0.5), axis=1)
    loss = tf.compat.v1.losses.mean_squared_error(labels, score)
    step = tf.compat.v1.train.get_or_create_global_step()
    train = tf.compat.v1.train.GradientDescentOptimizer(0.001).minimize(loss, step)
    return tf.estimator.EstimatorSpec(mode, predictions=score, loss=loss, train_op=train)


def train(folder, input_fn, **options):
    config = tf.estimator.RunConfig(tf_random_seed=5, **options)
    model, losses = tf.estimator.Estimator(model_fn, str(folder), config), Losses()
    model.train(input_fn, hooks=[losses], steps=8)
    model.evaluate(input_fn, steps=2)
    return losses.found


def read_rows(arrays):
    rows = tf.data.Dataset.from_tensor_slices((dict(arrays), np.asarray(arrays["x"])))
    return rows.shuffle(5_000).repeat().batch(64)


def read_whole(arrays):
    return tf.data.Dataset.from_tensors((dict(arrays), arrays["x"])).repeat()


def read_by_one_shot_iterator(arrays):
    return tf.compat.v1.data.make_one_shot_iterator(read_rows(arrays)).get_next()


@pytest.mark.parametrize("read", [read_rows, read_whole, read_by_one_shot_iterator])
def test_losses_are_equal_and_graphs_hold_no_array(tmp_path, monkeypatch, arrays, read):
    ours = train(tmp_path / "ours", lambda: read(arrays))
    monkeypatch.setattr(array_inputs, "_FEWEST_BYTES", 1 << 40)
    assert train(tmp_path / "theirs", lambda: read(arrays)) == ours and len(set(ours)) == 8
    sizes = {
        name: (tmp_path / name / "model.ckpt-8.meta").stat().st_size for name in ("ours", "theirs")
    }
    assert sizes["theirs"] - sizes["ours"] > 0.9 * sum(one.nbytes for one in arrays.values())
    assert (tmp_path / "ours" / "graph.pbtxt").stat().st_size < 500_000


def test_columns_of_a_table_are_read_too(tmp_path, monkeypatch, arrays):
    table = pd.DataFrame({"x": arrays["x"], "n": arrays["n"]})
    ours = train(tmp_path / "ours", lambda: read_rows(table))
    assert (tmp_path / "ours" / "graph.pbtxt").stat().st_size < 500_000
    monkeypatch.setattr(array_inputs, "_FEWEST_BYTES", 1 << 40)
    assert train(tmp_path / "theirs", lambda: read_rows(table)) == ours


def test_an_array_that_the_program_changes_afterwards_counts_as_it_was(tmp_path, arrays):
    def read():
        given = {name: one.copy() for name, one in arrays.items()}
        rows = read_rows(given)
        for one in given.values():
            one[:] = 0
        return rows

    assert train(tmp_path / "a", read) == train(tmp_path / "b", lambda: read_rows(arrays))


def is_read(value):
    with tf.Graph().as_default(), array_inputs._calling(True):
        dataset = tf.data.Dataset.from_tensor_slices(value)
        element = tf.compat.v1.data.make_one_shot_iterator(dataset).get_next()
        expected = tf.data.Dataset.from_tensor_slices(value[:1]).element_spec
        assert dataset.element_spec == expected
        with tf.compat.v1.Session() as session:
            assert np.array_equal(session.run(element), np.asarray(value[:1])[0])
        return dataset._tensors[0].op.type != "Const"


@pytest.mark.parametrize("dtype", ["?", "i1", "u2", "i4", "u8", "f2", "f4", "f8", "c8"])
def test_numbers_of_all_types_are_read(dtype):
    value = (np.arange(100_000) % 2).astype(dtype)
    assert is_read(value) and is_read(value[::-1]) and is_read(value.reshape(-1, 2).T)
    assert not is_read(value[:100])


@pytest.mark.parametrize(
    "value",
    [
        np.full(20_000, b"text"),
        np.full(20_000, "text", object).tolist(),
        [1.5] * 20_000,
    ],
    ids=["bytes", "texts", "list"],
)
def test_other_values_stay_constants(value):
    with tf.Graph().as_default(), array_inputs._calling(True):
        tensors = tf.data.Dataset.from_tensor_slices(value)._tensors
    assert tensors[0].op.type == "Const"


def test_arrays_beyond_estimators_stay_constants(arrays):
    with tf.Graph().as_default():
        tensors = tf.data.Dataset.from_tensor_slices(arrays)._tensors
    assert {one.op.type for one in tensors} == {"Const"}
    eager = tf.data.Dataset.from_tensor_slices(arrays["n"])
    assert [int(one) for one in eager.take(3)] == arrays["n"][:3].tolist()


@pytest.mark.parametrize(
    "options, is_alone",
    [
        ({}, True),
        ({"num_worker_replicas": 2}, False),
        ({"num_ps_replicas": 1}, False),
        ({"master": "grpc://127.0.0.1:1"}, False),
        ({"evaluation_master": "grpc://127.0.0.1:1"}, False),
    ],
)
def test_a_graph_of_other_processes_holds_its_arrays(arrays, options, is_alone):
    alone = {"num_worker_replicas": 1, "num_ps_replicas": 0, "master": "", "evaluation_master": ""}
    model = types.SimpleNamespace(config=types.SimpleNamespace(**{**alone, **options}))
    with tf.Graph().as_default() as graph:
        tf.estimator.Estimator._call_input_fn(model, lambda: read_whole(arrays), "train")
        kinds = [one.type for one in graph.get_operations()]
    assert kinds.count("PyFuncStateless") == (4 if is_alone else 0)
