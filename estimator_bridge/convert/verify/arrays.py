"""What the process that runs Keras 3 reads and writes: requests, arrays, and its last message."""

import json
from typing import Any

import numpy as np

from estimator_bridge.process.fast_import import import_keras_3

__all__ = ["message_of", "read_arrays", "read_request", "write_arrays"]


def read_request(path: str) -> tuple[dict[str, Any], Any, dict[str, Any]]:
    """Returns a request, its Keras model, and name -> tensor [rows, ...] of the model's features.

    Args:
      path: the request, a JSON file with the paths of "model" (*.keras) and "features" (*.npz).
    """
    keras = import_keras_3()
    import tensorflow as tf

    with open(path, encoding="utf-8") as file:
        request = json.load(file)
    model = keras.saving.load_model(request["model"])
    with np.load(request["features"], allow_pickle=True) as stored:
        features = {name: tf.constant(stored[name]) for name in stored.files if name in model.input}
    return request, model, features


def write_arrays(path: str, arrays: dict[str, dict[str, Any]]) -> None:
    """Writes arrays to a file.

    Args:
      path: the file, *.npz.
      arrays: side -> name -> array.
    """
    flat: dict[str, Any] = {
        f"{side}/{name}": value for side, part in arrays.items() for name, value in part.items()
    }
    np.savez(path, **flat)


def read_arrays(path: str) -> dict[str, dict[str, np.ndarray]]:
    """Returns what write_arrays has written; a side without arrays is missing.

    Args:
      path: the file.
    """
    arrays: dict[str, dict[str, np.ndarray]] = {}
    with np.load(path, allow_pickle=True) as stored:
        for name in stored.files:
            side, _, output = name.partition("/")
            arrays.setdefault(side, {})[output] = stored[name]
    return arrays


def message_of(text: str) -> str:
    """Returns the last line of an error's text that says what failed.

    Args:
      text: the text; TensorFlow appends the name of a node to its message.
    """
    lines = [line.strip() for line in text.splitlines()]
    found = [line for line in lines if line and not line.startswith("[[{{node")]
    return found[-1] if found else "the process ended without a message"
