"""What TensorFlow's classes of Keras are when they are made without arguments that have a default.

    python defaults.py OUTPUT            (an original)
    python -m estimator_bridge run --as=2.4 defaults.py OUTPUT

writes path -> configuration, and path -> value of functions of seeds, resizing and the like.
"""

import inspect
import json
import sys

import numpy as np
import tensorflow as tf

PACKAGES = (
    *("activations", "constraints", "initializers", "layers", "losses", "metrics", "optimizers"),
    *("optimizers.schedules", "regularizers", "layers.experimental.preprocessing"),
)
NO_LOSSES = ("Loss", "Reduction", "SparseCategoricalCrossentropy")
# Values of required arguments, by their name.
GIVEN = {
    "units": 2, "filters": 2, "kernel_size": 2, "input_dim": 3, "output_dim": 2, "rate": 0.5,
    "function": "linear", "pool_size": 2, "size": 2, "n": 2, "dims": [1], "target_shape": [1],
    "axes": 1, "stddev": 0.5, "l1": 0.1, "l2": 0.1, "num_heads": 2, "key_dim": 2, "activation":
    "relu", "mask_value": 0.0, "num_classes": 3, "thresholds": 0.5, "recall": 0.5, "precision": 0.5,
    "sensitivity": 0.5, "specificity": 0.5, "initial_learning_rate": 0.1, "decay_steps": 10,
    "decay_rate": 0.9, "boundaries": [1], "values": [0.1, 0.2], "first_decay_steps": 5,
    "end_learning_rate": 0.01, "height": 3, "width": 3, "factor": 0.1, "height_factor": 0.1,
    "width_factor": 0.1, "scale": 2.0, "num_bins": 3, "bin_boundaries": [1.0], "bins": [1.0],
    "max_tokens": 5, "num_tokens": 5, "equation": "ab,bc->ac", "output_shape": [2], "cropping": 1,
    "padding": 1, "l": 0.1, "fn": tf.abs, "min_value": 0.0, "vocabulary": ["a", "b"],
}  # fmt: skip


def plain(value):
    """Returns a configuration as JSON."""
    if isinstance(value, dict):
        return {str(key): plain(one) for key, one in sorted(value.items(), key=str)}
    if isinstance(value, (list, tuple)):
        return [plain(one) for one in value]
    if isinstance(value, (bool, int, float, str, type(None))):
        return value
    if isinstance(value, (np.generic, np.ndarray, tf.Tensor)):
        return np.asarray(value).tolist()
    return type(value).__name__


def configuration(kind):
    """Returns the configuration of a class, made with what it requires; None if that fails."""
    parameters = list(inspect.signature(kind.__init__).parameters.values())[1:]
    required = [
        one.name
        for one in parameters
        if one.default is one.empty and one.kind is one.POSITIONAL_OR_KEYWORD
    ]
    try:
        made = kind(**{name: GIVEN[name] for name in required})
        return plain(made.get_config())
    except Exception:
        return None


def configurations():
    found = {}
    for package in PACKAGES:
        module = tf.keras
        for part in package.split("."):
            module = getattr(module, part)
        for name in dir(module):
            kind = getattr(module, name)
            if inspect.isclass(kind) and hasattr(kind, "get_config"):
                one = configuration(kind)
                if one is not None:
                    found[package + "." + name] = one
    return found


def values():
    """Returns what functions compute that a version may compute otherwise."""
    tf.random.set_seed(3)
    image = np.arange(48, dtype=np.float32).reshape(1, 4, 4, 3)
    x = np.linspace(-1, 1, 24).reshape(2, 4, 3).astype(np.float32)
    found = {}
    for method in ("bilinear", "nearest", "bicubic", "area", "lanczos3", "gaussian"):
        for size in ((2, 2), (5, 7)):
            one = tf.image.resize(image, size, method=method)
            found[f"resize {method} {size[0]}"] = one
    old = tf.compat.v1.image
    for align in (False, True):
        one = old.resize_bilinear(image, (5, 7), align_corners=align)
        found[f"v1 resize_bilinear {align}"] = one
    for name in ("normal", "uniform"):
        found["random." + name] = getattr(tf.random, name)([3], seed=5)
        found["stateless " + name] = getattr(tf.random, "stateless_" + name)([3], [1, 2])
    for name in ("GlorotUniform", "HeNormal", "Orthogonal", "TruncatedNormal", "VarianceScaling",
                 "LecunNormal", "RandomNormal", "RandomUniform"):  # fmt: skip
        kind = getattr(tf.keras.initializers, name, None)
        if kind is not None:
            found["initializer " + name] = kind(seed=7)([3, 2])
            found["v1 initializer " + name] = v1_initial(name)
    found["dropout"] = tf.nn.dropout(x, 0.5, seed=1)
    found["shuffle"] = list(tf.data.Dataset.range(8).shuffle(8, seed=2).as_numpy_iterator())
    found["hash"] = tf.strings.to_hash_bucket_fast(["a", "b"], 100)
    for name, layer in layers().items():
        tf.random.set_seed(3)
        found["layer " + name] = layer(x)
    labels = np.array([[0.0, 1.0], [1.0, 0.0]], np.float32)
    scores = np.array([[0.2, 0.7], [0.6, 0.0]], np.float32)
    for name in dir(tf.keras.losses):
        kind = getattr(tf.keras.losses, name)
        if inspect.isclass(kind) and name not in NO_LOSSES:
            found["loss " + name] = kind()(labels, scores)
    return {name: np.asarray(one, np.float64).ravel().tolist() for name, one in found.items()}


def v1_initial(name):
    kind = getattr(tf.compat.v1.keras.initializers, name, None)
    return [] if kind is None else tf.keras.backend.get_value(kind(seed=7)([3, 2]))


def layers():
    ones = tf.keras.initializers.Constant(0.3)
    given = {"kernel_initializer": ones, "recurrent_initializer": ones}
    kinds = tf.keras.layers
    return {
        "LSTM": kinds.LSTM(2, **given),
        "GRU": kinds.GRU(2, **given),
        "SimpleRNN": kinds.SimpleRNN(2, **given),
        "LSTM of cells": kinds.RNN(kinds.LSTMCell(2, **given)),
        "GRU of cells": kinds.RNN(kinds.GRUCell(2, **given)),
        "Bidirectional": kinds.Bidirectional(kinds.LSTM(2, **given)),
        "LayerNormalization": kinds.LayerNormalization(),
        "BatchNormalization": kinds.BatchNormalization(),
        "Conv1D": kinds.Conv1D(2, 2, kernel_initializer=ones),
        "SeparableConv1D": kinds.SeparableConv1D(
            2, 2, depthwise_initializer=ones, pointwise_initializer=ones
        ),
        "Attention": lambda x: kinds.Attention()([x, x]),
        "ELU": kinds.ELU(),
        "LeakyReLU": kinds.LeakyReLU(),
        "Softmax": kinds.Softmax(),
    }


if __name__ == "__main__":
    with open(sys.argv[1], "w") as file:
        json.dump({"configurations": configurations(), "values": values()}, file, sort_keys=True)
