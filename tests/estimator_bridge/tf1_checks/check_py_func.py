"""A py_func whose arrays NumPy 2 makes wider than they are in NumPy 1, and one of an export."""

import gc

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python.eager import context


def run(tensors):
    with tf.Session() as session:
        return session.run(tensors)


def windows(number):
    # NumPy 2: int64, int64, float64.
    ones = np.ones(2, np.int32), np.ones(2, np.uint8), np.ones(2, np.float32)
    return [ones[0] * number, ones[1] + number, ones[2] * np.float64(number)]


@pytest.mark.parametrize("function", [tf.py_func, tf.numpy_function])
def test_arrays_are_converted_to_the_declared_types(function):
    types = [tf.int32, "uint8", np.float32]
    rows = tf.data.Dataset.range(3).map(lambda number: function(windows, [number], types))
    first, second, third = run(rows.batch(3).make_one_shot_iterator().get_next())
    assert (first.dtype, second.dtype, third.dtype) == (np.int32, np.uint8, np.float32)
    assert first.tolist() == third.tolist() == [[0, 0], [1, 1], [2, 2]]
    assert second.tolist() == [[1, 1], [2, 2], [3, 3]]


def test_one_array():
    assert run(tf.py_func(lambda x: x - np.float64(0.5), [np.ones(2, "f")], tf.float32))[0] == 0.5


def test_one_array_where_operations_run_at_once():
    with context.eager_mode():
        found = tf.numpy_function(lambda x: x - np.float64(0.5), [np.ones(2, "f")], tf.float32)
        assert found.numpy().dtype == np.float32


def test_a_method_and_an_array_of_objects():
    class Words:
        def find(self, number):
            return np.array([b"a"] * int(number), object)

    assert run(tf.py_func(Words().find, [2], tf.string)).tolist() == [b"a", b"a"]


@pytest.mark.parametrize(
    ("result", "declared"),
    [
        # As in 1.15.5: numbers are not converted, nor is another kind of number.
        (np.float64(1), tf.float32),
        (1.0, tf.float32),
        (np.ones(2, np.float32), tf.float64),
        (np.ones(2, np.int64), tf.float32),
        (np.ones(2, np.float64), tf.int32),
    ],
)
def test_other_results_are_refused(result, declared):
    with pytest.raises(tf.errors.InvalidArgumentError, match="returned by pyfunc_"):
        run(tf.py_func(lambda: result, [], declared))


def test_an_export_is_loaded_although_its_graph_is_gone(tmp_path):
    def model_fn(features, labels, mode):
        doubled = tf.py_func(lambda x: x * 2, [features["x"]], tf.float32)
        step = tf.train.get_or_create_global_step()
        loss = tf.reduce_sum(tf.get_variable("weight", []))
        return tf.estimator.EstimatorSpec(
            mode, {"y": doubled}, loss=loss, train_op=step.assign_add(1)
        )

    model = tf.estimator.Estimator(model_fn, str(tmp_path / "job"))
    model.train(lambda: ({"x": tf.constant([1.0])}, tf.constant([1.0])), steps=1)
    with tf.Graph().as_default():
        receiver = tf.estimator.export.build_raw_serving_input_receiver_fn(
            {"x": tf.placeholder(tf.float32, [None])}
        )
    folder = model.export_saved_model(str(tmp_path / "exports"), receiver)
    gc.collect()
    predict = tf.contrib.predictor.from_saved_model(folder)
    assert predict({"x": [1.0, 3.0]})["y"].tolist() == [2.0, 6.0]
