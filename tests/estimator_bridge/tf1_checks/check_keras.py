"""Models of tf.keras."""

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
