"""Compares how models are described in JSON with what Keras wrote on TensorFlow 1.15.5."""

import json
from pathlib import Path

STORED = Path(__file__).parents[1] / "golden" / "1.15.5" / "keras_configs.json"

# Layer -> the arguments with which it was made.
_ARGUMENTS = {
    **dict.fromkeys(("Activation",), ("relu",)),
    **dict.fromkeys(("CuDNNGRU", "CuDNNLSTM", "Dense", "GRU", "LSTM", "SimpleRNN"), (2,)),
    **dict.fromkeys(("Dot", "RepeatVector"), (2,)),
    **dict.fromkeys(("Reshape", "Permute"), ((1,),)),
    "DepthwiseConv2D": (3,),
    "Embedding": (3, 2),
}


def _make(layers, name):
    if name == "TimeDistributed":
        return layers.TimeDistributed(layers.Dense(2))
    if name == "Bidirectional":
        return layers.Bidirectional(layers.LSTM(2))
    arguments = _ARGUMENTS.get(name, ())
    if not arguments and "Conv" in name or name.startswith("LocallyConnected"):
        arguments = (2, 3)
    elif name.endswith("Dropout") or name.startswith(("Dropout", "SpatialDropout", "Gaussian")):
        arguments = (0.5,)
    return getattr(layers, name)(*arguments)


def _describe(keras, layer):
    """Returns the description of a layer in that of a model."""
    return json.loads(keras.models.Sequential([layer]).to_json())["config"]["layers"][-1]


def compare(keras, version):
    """Fails unless layers are described with the names, initializers and classes of that time.

    Args:
      keras: the package, or `tf.keras`.
      version: "keras" for the package 2.2.4, "tf" for tf.keras of 1.15.5.
    """
    stored = json.loads(STORED.read_text())[version]
    layers = keras.layers
    for name, expected in stored["layers"].items():
        config = _describe(keras, _make(layers, name))["config"]
        assert set(config) - {"dtype"} == set(expected) - {"dtype"}, name
    inputs = layers.Input((2,))
    model = keras.models.Model(inputs, layers.Dense(1)(inputs))
    described = json.loads(model.to_json())
    assert described["class_name"] == "Model"
    assert sorted(described["config"]["layers"][0]["config"]) == stored["input"]
    for name, expected in stored["initializers"].items():
        found = _describe(keras, layers.Dense(1, kernel_initializer=name))["config"]
        assert found["kernel_initializer"] == expected, name
    for name, expected in stored["regularizers"].items():
        kind = getattr(keras.regularizers, name)
        made = kind(0.5, 0.25) if name == "l1_l2" else kind(0.5)
        found = _describe(keras, layers.Dense(1, kernel_regularizer=made))["config"]
        assert found["kernel_regularizer"] == expected, name
