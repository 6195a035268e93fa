"""Wraps the forward pass of any model_fn as a Keras layer with the variables of the checkpoint.

The layer is Keras' own TFSMLayer around a SavedModel of the forward pass, so it loads without a
class of this package. It always runs the model_fn in mode PREDICT. Even in training there is no
dropout, and moving averages do not change.
"""

import shutil
from typing import Any

from ..plan.columns import layer_name
from ..read.forward_pass import ForwardPass

__all__ = ["ENDPOINT", "wrap_forward_pass"]

ENDPOINT = "serve"


def wrap_forward_pass(exported: ForwardPass, output: str, folder: str) -> Any:
    """Writes the SavedModel and the Keras model around it.

    Args:
      exported: the forward pass of an Estimator.
      output: path of the Keras model, *.keras.
      folder: folder of the SavedModel, which the Keras model refers to.

    Returns:
      The Keras model, which maps a dict of features to the predictions of the model_fn.
    """
    import keras

    from estimator_bridge import tf

    specs = {
        name: tf.TensorSpec(shape, dtype, name) for name, (shape, dtype) in exported.specs.items()
    }
    loaded = tf.saved_model.load(exported.export)
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
