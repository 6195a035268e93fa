"""The half-way house for a model_fn of any kind: its forward pass as a Keras layer with the
checkpoint's variables.

The layer is Keras' own TFSMLayer around a SavedModel of the forward pass, so no class of ours is
needed to load it.
It is the pass of mode PREDICT: dropout is off in training too, and moving averages stand still.
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
      checkpoint: prefix of the checkpoint whose variables the layer holds.
      rows: some rows; names, types and shapes of the model's inputs are taken from them.
      output: the Keras model, *.keras.
      folder: the SavedModel; the Keras model refers to it and both have to stay together.

    Returns:
      the Keras model: a dict of features in, the model_fn's predictions out.

    Raises:
      BridgeError: the model_fn fails in mode PREDICT, or gives no tensors.
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
        # Tables and variables are saved with what holds them.
        holder.loaded = loaded

        @tf.function(input_signature=[specs])
        def serve(features):
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


def _export(built, checkpoint, specs, folder, tf) -> str:
    from estimator_bridge import estimator

    def receiver():
        raw = {
            name: tf.compat.v1.placeholder(spec.dtype, spec.shape, name=f"raw_{index}")
            for index, (name, spec) in enumerate(specs.items())
        }
        return estimator.export.ServingInputReceiver(raw, dict(raw))

    try:
        path = built.export_saved_model(folder, receiver, checkpoint_path=checkpoint)
    except Exception as error:  # Code of the user's: whatever it raises is about the model_fn.
        raise BridgeError(
            "the model_fn cannot be exported in mode PREDICT: "
            f"{str(error).strip().splitlines()[0][:300]}"
        ) from error
    return path.decode() if isinstance(path, bytes) else path
