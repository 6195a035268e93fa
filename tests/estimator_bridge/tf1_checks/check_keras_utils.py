"""Utilities of tf.keras that TensorFlow had until 2.3."""

import h5py
import numpy as np
import pytest
import tensorflow as tf

from estimator_bridge.tf1.keras_replicas import replicate


def test_a_model_for_several_gpus_needs_them():
    model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(2,))])
    for gpus in (1, 0, [0]):
        with pytest.raises(ValueError, match="at least two"):
            tf.keras.utils.multi_gpu_model(model, gpus)
    for gpus in (2, [0, 3]):
        with pytest.raises(ValueError, match=f"/gpu:{[1, 3][gpus != 2]}; this machine has no GPU"):
            tf.keras.utils.multi_gpu_model(model, gpus)


@pytest.fixture
def two_devices():
    with tf.Session(config=tf.ConfigProto(device_count={"CPU": 2})) as session:
        tf.keras.backend.set_session(session)
        yield
    tf.keras.backend.set_session(None)


@pytest.mark.usefixtures("two_devices")
@pytest.mark.parametrize("rows", [8, 7])
def test_replicas_share_weights_and_divide_the_batch(tmp_path, rows):
    layers = tf.keras.layers
    first, second = layers.Input([3], name="first"), layers.Input([2], name="second")
    joined = layers.concatenate([first, second])
    outputs = [layers.Dense(2, name="two")(joined), layers.Dense(1, name="one")(joined)]
    model = tf.keras.Model([first, second], outputs)
    both = replicate(model, ["/cpu:0", "/cpu:1"], "/cpu:0")
    random = np.random.RandomState(0)
    given = [random.rand(rows, size).astype(np.float32) for size in (3, 2)]
    for found, expected in zip(both.predict(given), model.predict(given)):
        np.testing.assert_allclose(found, expected, rtol=1e-6)
    assert both.output_names == ["two", "one"]
    assert both.count_params() == model.count_params()
    places = {one.device for one in both.outputs[0].graph.get_operations() if "MatMul" in one.name}
    assert {"/device:CPU:0", "/device:CPU:1"} <= places
    before = model.get_weights()
    both.compile("sgd", {"two": "mse", "one": "mae"})
    both.fit(given, {"two": given[1], "one": given[0][:, :1]}, batch_size=rows, verbose=0)
    assert not np.array_equal(model.get_weights()[0], before[0])
    trained = both.predict(given)[0]
    both.save_weights(str(tmp_path / "weights.h5"))
    model.set_weights(before)
    both.load_weights(str(tmp_path / "weights.h5"))
    np.testing.assert_array_equal(both.predict(given)[0], trained)


@pytest.fixture
def file(tmp_path):
    path = str(tmp_path / "rows.h5")
    with h5py.File(path, "w") as file:
        file["features"] = np.arange(30.0).reshape(10, 3)
        file["labels"] = np.arange(10.0)
    return path


def test_rows_of_a_file_are_read_as_on_1_15(file):
    matrix = tf.keras.utils.HDF5Matrix(file, "features", 2, 9)
    assert (len(matrix), matrix.shape, matrix.ndim, matrix.size) == (7, (7, 3), 2, 21)
    assert matrix.dtype == np.float64
    assert matrix[3].tolist() == [15, 16, 17]
    for key, rows in {(0, 2): [2, 3], (2, None): range(4, 9), (None, None): range(2, 9)}.items():
        assert matrix[slice(*key)][:, 0].tolist() == [3 * row for row in rows]
    assert matrix[np.array([1, 3])][:, 0].tolist() == matrix[[1, 3]][:, 0].tolist() == [9, 15]
    for key in (7, slice(0, 100), [0, 7]):
        with pytest.raises(IndexError, match="7 rows"):
            matrix[key]
    doubled = tf.keras.utils.HDF5Matrix(file, "labels", normalizer=lambda rows: 2 * rows)
    assert doubled[8:].tolist() == [16, 18] and doubled.shape == (10,)


def test_a_model_is_trained_on_rows_of_a_file(file):
    features, labels = (tf.keras.utils.HDF5Matrix(file, name) for name in ("features", "labels"))
    model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(3,))])
    model.compile("sgd", "mse")
    history = model.fit(features, labels, batch_size=4, shuffle="batch", verbose=0).history
    assert np.isfinite(history["loss"]).all()
    assert model.predict(features).shape == (10, 1)
    assert model.evaluate(features, labels, verbose=0) >= 0
