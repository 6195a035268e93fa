"""Models of tf.keras."""

import json

import numpy as np
import pytest
import tensorflow as tf


def test_a_functional_model_has_a_node_before_it_is_called(tmp_path):
    # get_input_at(0) raised that the model has never been called.
    inputs = tf.keras.Input((3,), name="x")
    model = tf.keras.Model(inputs, tf.keras.layers.Dense(2, name="y")(inputs))
    assert model.get_input_at(0) is inputs and model.get_output_at(0) is model.output
    assert model.get_input_shape_at(0) == (None, 3) and len(model.inbound_nodes) == 1
    # Calls come after it; neither the history of the output nor the layers inside change.
    called = model(inputs)
    assert called is model.get_output_at(1) and len(model.inbound_nodes) == 2
    assert model.output._keras_history[0].name == "y" and len(model.layers[1].inbound_nodes) == 2
    outer = tf.keras.Model(inputs, tf.keras.layers.add([called, model(inputs)]))
    path = str(tmp_path / "model.h5")
    outer.save(path)
    for copy in (tf.keras.models.load_model(path), tf.keras.models.clone_model(outer)):
        assert len(copy.layers[1].inbound_nodes) == 3
        nodes = [layer["inbound_nodes"] for layer in copy.get_config()["layers"]]
        assert nodes[2] == [[["model", 1, 0, {}], ["model", 2, 0, {}]]]


def test_a_sequential_model_has_one_node_before_it_is_called():
    model = tf.keras.Sequential([tf.keras.layers.Dense(2, input_shape=(3,))])
    model.add(tf.keras.layers.Dense(1))
    assert len(model.inbound_nodes) == 1 and model.get_output_at(0) is model.output
    assert model.get_input_shape_at(0) == (None, 3)
    assert not tf.keras.Sequential([tf.keras.layers.Dense(2)]).inbound_nodes


def served(folder, rows):
    """Returns what a server answers: the only output of the only signature."""
    with tf.Graph().as_default(), tf.Session() as session:
        meta = tf.saved_model.loader.load(session, [tf.saved_model.tag_constants.SERVING], folder)
        assert list(meta.signature_def) == ["serving_default"]
        signature = meta.signature_def["serving_default"]
        assert signature.method_name == "tensorflow/serving/predict"
        ((name, given),) = signature.inputs.items()
        ((key, output),) = signature.outputs.items()
        return name, key, session.run(output.name, {given.name: rows})


@pytest.mark.parametrize("kind", ["functional", "sequential"])
def test_a_keras_model_is_exported_for_servers(tmp_path, kind):
    """As programs of 1.12 to 1.15 do, and Cloud ML Engine's samples."""
    layers = tf.keras.layers
    hidden = [layers.BatchNormalization(), layers.Dropout(0.5), layers.Dense(2, name="out")]
    if kind == "functional":
        inputs = outputs = layers.Input([3], name="feats")
        for layer in hidden:
            outputs = layer(outputs)
        model = tf.keras.Model(inputs, outputs)
    else:
        model = tf.keras.Sequential([layers.InputLayer([3], name="feats"), *hidden])
    model.compile("adam", "mse")
    rows = np.random.RandomState(0).rand(8, 3).astype(np.float32)
    model.fit(rows, rows[:, :2], verbose=0)
    folder = str(tmp_path / "export")
    tf.contrib.saved_model.save_keras_model(model, folder)
    expected = model.predict(rows)
    name, key, found = served(folder, rows)
    assert (name, key) == ("feats", "out")
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    copy = tf.keras.experimental.load_from_saved_model(folder)
    np.testing.assert_array_equal(copy.predict(rows), expected)
    assert [one.name for one in copy.layers] == [one.name for one in model.layers]
    with pytest.raises(AssertionError, match="already exists"):
        tf.keras.experimental.export_saved_model(model, folder)


def test_an_exported_model_may_have_classes_of_the_program(tmp_path):
    class Double(tf.keras.layers.Layer):
        def call(self, inputs):
            return inputs * 2.0

    model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(2,)), Double(name="twice")])
    custom = {"Double": Double}
    tf.contrib.saved_model.save_keras_model(model, str(tmp_path / "e"), custom_objects=custom)
    rows = np.ones([1, 2], np.float32)
    assert served(str(tmp_path / "e"), rows)[2] == model.predict(rows)
    with pytest.raises(ValueError, match="Double"):
        tf.contrib.saved_model.load_keras_model(str(tmp_path / "e"))
    loaded = tf.contrib.saved_model.load_keras_model(str(tmp_path / "e"), custom)
    assert loaded.predict(rows) == model.predict(rows)


def test_a_model_without_an_architecture_is_not_exported(tmp_path):
    class Own(tf.keras.Model):
        def call(self, inputs):
            return inputs

    folder = tmp_path / "export"
    with pytest.raises(NotImplementedError, match="subclassed"):
        tf.keras.experimental.export_saved_model(Own(), str(folder))
    with pytest.raises(ValueError, match="input_shape"):
        unknown = tf.keras.Sequential([tf.keras.layers.Dense(1)])
        tf.keras.experimental.export_saved_model(unknown, str(folder))
    assert not folder.exists()


def test_a_folder_of_1_15_is_loaded(tmp_path):
    # What 1.15.5 writes of tf.keras.Sequential([Dense(1, input_shape=(2,))]), as far as it is read.
    config = {"layers": [], "name": "sequential"}
    dense = {"name": "dense", "units": 1, "batch_input_shape": [None, 2], "dtype": "float32"}
    config["layers"].append({"class_name": "Dense", "config": dense})
    (tmp_path / "assets").mkdir()
    text = {"class_name": "Sequential", "config": config, "keras_version": "2.2.4-tf"}
    (tmp_path / "assets/saved_model.json").write_text(json.dumps(text))
    model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(2,))])
    model.save_weights(str(tmp_path / "variables/variables"), save_format="tf")
    loaded = tf.keras.experimental.load_from_saved_model(str(tmp_path))
    rows = np.ones([3, 2], np.float32)
    np.testing.assert_array_equal(loaded.predict(rows), model.predict(rows))
