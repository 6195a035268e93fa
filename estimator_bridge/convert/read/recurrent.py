"""Reads the recurrent part of the canned RNNEstimator and RNNClassifier."""

from typing import Any

from estimator_bridge.errors import BridgeError

from ..plan.model import Cell, Recurrent

__all__ = ["read_recurrent"]

_KINDS = {"LSTMCell": "LSTM", "GRUCell": "GRU", "SimpleRNNCell": "SimpleRNN"}
# The settings of a cell that change its result and that also exist in Keras 3.
_SETTINGS = (
    "activation",
    "recurrent_activation",
    "use_bias",
    "reset_after",
    "dropout",
    "recurrent_dropout",
)


def read_recurrent(held: dict[str, Any]) -> Recurrent:
    """Reads the cells of a canned recurrent Estimator.

    Args:
      held: variables of the closure of its model_fn, by name.

    Raises:
      BridgeError: a cell is not LSTM, GRU or simple, or the output has every step.
    """
    from estimator_bridge import tf
    from estimator_bridge.private_tf import estimator_rnn as rnn

    if held["return_sequences"]:
        raise BridgeError(
            "return_sequences: an Estimator that predicts every step cannot be converted; "
            "--model_fn wraps its forward pass"
        )
    # In a new graph the cells get the names that they have in the checkpoint.
    with tf.Graph().as_default():
        try:
            layer = rnn._make_rnn_layer(
                held["rnn_cell_fn"], held["units"], held["cell_type"], return_sequences=False
            )
        except Exception as error:  # User code may raise anything.
            raise BridgeError(f"rnn_cell_fn: the function raises: {error}") from error
        cells = getattr(layer.cell, "cells", [layer.cell])
        return Recurrent(tuple(_read_cell(cell) for cell in cells))


def _read_cell(cell: Any) -> Cell:
    kind = _KINDS.get(type(cell).__name__)
    if kind is None:
        raise BridgeError(
            f"rnn_cell_fn: a {type(cell).__name__} cannot be converted, only "
            f"{', '.join(_KINDS)}; --model_fn wraps any forward pass"
        )
    config = cell.get_config()
    options = {name: config[name] for name in _SETTINGS if name in config}
    for name, value in options.items():
        if not isinstance(value, (str, bool, int, float)):
            raise BridgeError(
                f"rnn_cell_fn: {name} of {cell.name} is not a function of Keras; "
                "--model_fn wraps any forward pass"
            )
    return Cell(kind, cell.name, config["units"], options)
