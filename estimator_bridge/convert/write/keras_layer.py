"""Wraps the forward pass of any model_fn as a Keras layer with the variables of the checkpoint.

The layer is Keras' own TFSMLayer around a SavedModel of the forward pass, so it loads without a
class of this package. It always runs the model_fn in mode PREDICT. Even in training there is no
dropout, and moving averages do not change.
"""

import shutil
import tempfile
from typing import Any

from estimator_bridge.errors import BridgeError

from ..plan.columns import layer_name
from ..read.rows import Rows

__all__ = ["ENDPOINT", "wrap_model_fn"]

ENDPOINT = "serve"


def wrap_model_fn(built: Any, checkpoint: str, rows: Rows, output: str, folder: str) -> Any:
    """Writes the SavedModel and the Keras model around it.

    Args:
      built: any Estimator.
      checkpoint: prefix of the checkpoint with the variables.
      rows: some rows, which define names, dtypes and shapes of the inputs.
      output: path of the Keras model, *.keras.
      folder: folder of the SavedModel, which the Keras model refers to.

    Returns:
      The Keras model, which maps a dict of features to the predictions of the model_fn.

    Raises:
      BridgeError: the model_fn fails in mode PREDICT.
    """
    import keras

    from estimator_bridge import tf

    specs = {
        name: tf.TensorSpec(
            [None, *values.shape[1:]], tf.string if values.dtype == object else values.dtype, name
        )
        for name, values in rows.features.items()
    }
    with tempfile.TemporaryDirectory() as exports:
        loaded = tf.saved_model.load(_export(built, checkpoint, specs, exports, tf))
        signature = loaded.signatures[
            "predict" if "predict" in loaded.signatures else "serving_default"
        ]
        holder = tf.Module()
        # The tables and variables to save must be attributes of the module.
        holder.loaded = loaded

        @tf.function(input_signature=[specs])
        def serve(features: dict[str, Any]) -> Any:
            return signature(**features)

        setattr(holder, ENDPOINT, serve)
        shutil.rmtree(folder, ignore_errors=True)
        tf.saved_model.save(holder, folder, signatures={"serving_default": serve, "predict": serve})
    layer = keras.layers.TFSMLayer(folder, call_endpoint=ENDPOINT, name="model_fn")
    inputs = {
        name: keras.Input(tuple(spec.shape[1:]), name=layer_name(name), dtype=spec.dtype.name)
        for name, spec in specs.items()
    }
    model = keras.Model(inputs, layer(inputs), name="model")
    model.save(output)
    return model


def _export(built: Any, checkpoint: str, specs: dict[str, Any], folder: str, tf: Any) -> str:
    from estimator_bridge import estimator

    def receiver() -> Any:
        raw = {
            name: tf.compat.v1.placeholder(spec.dtype, spec.shape, name=f"raw_{index}")
            for index, (name, spec) in enumerate(specs.items())
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
