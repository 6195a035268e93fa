"""Saved Keras models have the descriptions of TensorFlow 1.15.5, which can read them."""

import h5py
import numpy as np
import tensorflow as tf
from keras_descriptions import compare

keras = tf.keras


def test_layers_are_described_as_in_1_15():
    compare(keras, "tf")


def make_model():
    inputs = keras.Input((4, 4, 1))
    net = keras.layers.Conv2D(2, 2, kernel_initializer="he_normal", kernel_regularizer="l2")(inputs)
    net = keras.layers.GlobalAveragePooling2D()(net)
    inner = keras.Sequential([keras.layers.Dense(2, input_shape=(2,))])
    model = keras.Model(inputs, inner(net))
    model.compile("adam", "mse")
    model.fit(np.ones((2, 4, 4, 1)), np.ones((2, 2)), verbose=0)
    return model


def test_a_model_is_saved_for_1_15_and_loaded_again(tmp_path):
    model = make_model()
    path = str(tmp_path / "model.h5")
    model.save(path)
    with h5py.File(path, "r") as file:
        assert isinstance(file.attrs["keras_version"], bytes)
        described = file.attrs["model_config"]
        assert b'"class_name": "Model"' in described and b"Functional" not in described
        for name in (b"groups", b"keepdims", b"optional", b"HeNormal", b"shared_object_id"):
            assert name not in described, name
        assert file["optimizer_weights"].attrs["weight_names"].dtype.kind == "S"
    loaded = keras.models.load_model(path)
    images = np.random.RandomState(0).rand(3, 4, 4, 1)
    np.testing.assert_array_equal(loaded.predict(images), model.predict(images))
    assert loaded.to_json() == model.to_json()
    weights = [one.optimizer.get_weights() for one in (loaded, model)]
    for ours, theirs in zip(*weights):
        np.testing.assert_array_equal(ours, theirs)


def test_an_argument_without_its_default_stays():
    model = keras.Sequential([keras.layers.Conv2D(2, 1, groups=2, input_shape=(2, 2, 2))])
    assert '"groups": 2' in model.to_json()


def test_the_optimizer_adagrad_begins_with_zero():
    assert keras.optimizers.get("adagrad").get_config()["initial_accumulator_value"] == 0
    assert keras.optimizers.Adagrad().get_config()["initial_accumulator_value"] == 0.1
