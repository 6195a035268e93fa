"""Computes what layers of a Keras model return, in a process without Estimators.

    python -m estimator_bridge.convert.verify.keras_layers REQUEST.json

The request contains the paths of a model.keras, of its SavedModel or none, and of rows in an .npz
file, the places to read and the weights. The program writes the arrays to an .npz file.
"""

import sys
from collections.abc import Iterable
from typing import Any, Optional

import numpy as np

from ..write.build import find_variable
from .arrays import read_request, write_arrays

__all__ = ["compute_taps", "find_weights", "main"]


def _find_sum(model: Any, tensor: Any) -> Any:
    """Returns the operation that adds up a tensor and others."""
    for operation in model.operations:
        for node in operation._inbound_nodes:
            if any(given is tensor for given in node.input_tensors) and len(node.input_tensors) > 1:
                return node
    raise ValueError("the linear part is not a sum")


def _find(model: Any, tap: dict[str, Any]) -> Optional[Any]:
    """Returns the tensor of a place; None if the model does not have the layer."""
    try:
        layer = model.get_layer(tap["layer"])
        if tap["take"] in ("input", "output"):
            return getattr(layer, tap["take"])
        node = _find_sum(model, layer.output)
    except (ValueError, AttributeError):
        return None
    if tap["take"] == "sum":
        return node.output_tensors[0]
    given = node.input_tensors
    return given[tap["term"]] if tap["term"] < len(given) else None


def compute_taps(
    model: Any, taps: Iterable[dict[str, Any]], features: dict[str, Any]
) -> dict[str, np.ndarray]:
    """Returns key of a tap -> array [rows, ...]; without those that the model does not have.

    Args:
      model: the Keras model.
      taps: fields of each Tap.
      features: name -> tensor [rows, ...].
    """
    import keras

    found = {tap["key"]: _find(model, tap) for tap in taps}
    tensors = {key: tensor for key, tensor in found.items() if tensor is not None}
    if not tensors:
        return {}
    values = keras.Model(model.input, tensors)(features, training=False)
    return {key: np.asarray(value) for key, value in values.items()}


def find_weights(model: Any, names: Iterable[str]) -> dict[str, Any]:
    """Returns name of a Weight -> variable; without those that the model does not have.

    Args:
      model: the Keras model.
      names: the names.
    """
    found = {}
    for name in names:
        layer, _, path = name.partition("/")
        try:
            found[name] = find_variable(model.get_layer(layer), path)
        except (ValueError, AttributeError, IndexError):
            continue
    return found


def _read_saved_model(path: str, variables: dict[str, Any]) -> dict[str, np.ndarray]:
    """Returns the values of the variables that a SavedModel has by the same names."""
    import tensorflow as tf

    stored = {one.name: one for one in getattr(tf.saved_model.load(path), "variables", ())}
    return {
        name: stored[f"{variable.path}:0"].numpy()
        for name, variable in variables.items()
        if f"{variable.path}:0" in stored
    }


def main(argv: list[str]) -> int:
    """Runs the program.

    Args:
      argv: path of the request.

    Returns:
      The exit status.
    """
    request, model, features = read_request(argv[0])
    arrays = {"values": compute_taps(model, request["taps"], features)}
    variables = find_weights(model, request["weights"])
    arrays["keras"] = {name: np.asarray(value) for name, value in variables.items()}
    if request["saved_model"]:
        arrays["saved_model"] = _read_saved_model(request["saved_model"], variables)
    write_arrays(request["outputs"], arrays)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
