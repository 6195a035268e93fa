"""Exports the forward pass of any Estimator, to be wrapped as a Keras layer."""

import argparse
from typing import Any, NamedTuple, Optional

from estimator_bridge.errors import BridgeError

from .canned import load_estimator
from .checkpoint import open_checkpoint
from .input_function import read_input_fn
from .user_code import load_function

__all__ = ["ForwardPass", "export_forward_pass"]


class ForwardPass(NamedTuple):
    """An exported forward pass, in mode PREDICT.

    Attributes:
      export: folder of the SavedModel, whose signatures take the raw features.
      checkpoint: prefix of the checkpoint that it was made from.
      specs: name -> (shape, dtype) of the features; the first dimension of a shape is None.
    """

    export: str
    checkpoint: str
    specs: dict[str, tuple[tuple[Optional[int], ...], str]]


def export_forward_pass(options: argparse.Namespace, folder: str) -> ForwardPass:
    """Exports the Estimator that the options choose.

    Args:
      options: parsed options of convert, with --estimator and --input_fn.
      folder: folder below which the SavedModel is written.

    Raises:
      BridgeError: the Estimator or its rows cannot be read, or the model_fn fails in mode PREDICT.
    """
    built = load_estimator(options.estimator).estimator
    checkpoint = open_checkpoint(options.checkpoint or built.model_dir)
    rows = read_input_fn(load_function(options.input_fn, "--input_fn"), None, 1)
    specs: dict[str, tuple[tuple[Optional[int], ...], str]] = {
        name: (
            (None, *map(int, values.shape[1:])),
            "string" if values.dtype == object else values.dtype.name,
        )
        for name, values in rows.features.items()
    }
    return ForwardPass(_export(built, checkpoint.path, specs, folder), checkpoint.path, specs)


def _export(built: Any, checkpoint: str, specs: dict[str, Any], folder: str) -> str:
    from estimator_bridge import estimator, tf

    # Of a graph with reference variables, which 1.x creates, a SavedModel has constants only.
    tf.compat.v1.enable_resource_variables()

    def receiver() -> Any:
        raw = {
            name: tf.compat.v1.placeholder(dtype, shape, name=f"raw_{index}")
            for index, (name, (shape, dtype)) in enumerate(specs.items())
        }
        return estimator.export.ServingInputReceiver(raw, dict(raw))

    try:
        path = built.export_saved_model(folder, receiver, checkpoint_path=checkpoint)
    except Exception as error:  # User code may raise anything.
        raise BridgeError(
            "model_fn: the export in mode PREDICT fails: "
            f"{str(error).strip().splitlines()[0][:300]}"
        ) from error
    return path.decode() if isinstance(path, bytes) else str(path)
