"""The recurrent part of the canned RNNEstimator and RNNClassifier, as a description."""

from typing import Any

from estimator_bridge.errors import BridgeError

from ..plan.model import Cell, Recurrent

__all__ = ["read_recurrent"]

_KINDS = {"LSTMCell": "LSTM", "GRUCell": "GRU", "SimpleRNNCell": "SimpleRNN"}
# Of a cell's settings those that change what it computes, and Keras 3 has too.
_SETTINGS = (
    "activation",
    "recurrent_activation",
    "use_bias",
    "reset_after",
    "dropout",
    "recurrent_dropout",
)


def read_recurrent(held: dict[str, Any]) -> Recurrent:
    """Reads the cells from what the model_fn of a canned recurrent Estimator holds on to.

    Raises:
      BridgeError: a cell of another kind than LSTM, GRU and simple, or an answer for every step.
    """
    from estimator_bridge import tf
    from estimator_bridge.private_tf import estimator_rnn as rnn

    if held["return_sequences"]:
        raise BridgeError(
            "return_sequences: an Estimator that answers for every step cannot be converted; "
            "--model_fn wraps its forward pass"
        )
    # In a graph of its own the cells are called as they are in the checkpoint.
    with tf.Graph().as_default():
        try:
            layer = rnn._make_rnn_layer(
                held["rnn_cell_fn"], held["units"], held["cell_type"], return_sequences=False
            )
        except Exception as error:  # Code of the user's.
            raise BridgeError(f"rnn_cell_fn: it fails: {error}") from error
        cells = getattr(layer.cell, "cells", [layer.cell])
        return Recurrent(tuple(_read_cell(cell) for cell in cells))


def _read_cell(cell: Any) -> Cell:
    kind = _KINDS.get(type(cell).__name__)
    if kind is None:
        raise BridgeError(
            f"rnn_cell_fn: cells of the kind {type(cell).__name__} cannot be converted; known are "
            f"{', '.join(_KINDS)}. --model_fn wraps any forward pass"
        )
    config = cell.get_config()
    options = {name: config[name] for name in _SETTINGS if name in config}
    for name, value in options.items():
        if not isinstance(value, (str, bool, int, float)):
            raise BridgeError(f"rnn_cell_fn: {name} of {cell.name} is no function that Keras names")
    return Cell(kind, cell.name, config["units"], options)
