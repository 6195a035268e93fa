"""Wraps the forward pass of any model_fn as a Keras layer with the variables of the checkpoint.

The layer is Keras' own TFSMLayer around a SavedModel of the forward pass, so it loads without a
class of this package. It always runs the model_fn in mode PREDICT. Even in training there is no
dropout, and moving averages do not change.
"""

from collections.abc import Iterable
from typing import Any

from ..plan.columns import layer_name
from ..read.forward_pass import ForwardPass
from .columns import identifier
from .signatures import is_argument

__all__ = ["ENDPOINT", "wrap_forward_pass", "write_forward_pass"]

ENDPOINT = "serve"


def _choose_arguments(names: Iterable[str]) -> dict[str, str]:
    """Returns name of a feature -> the argument of the signatures of the SavedModel."""
    names = sorted(names, key=lambda name: not is_argument(name))
    arguments: dict[str, str] = {}
    for name in names:
        argument = name if is_argument(name) else identifier(name)
        while argument in arguments.values():
            argument += "_"
        arguments[name] = argument
    return arguments


def _make_specs(exported: ForwardPass) -> dict[str, Any]:
    """Returns name of a feature -> its TensorSpec, with the name of the argument."""
    from estimator_bridge import tf

    arguments = _choose_arguments(exported.specs)
    return {
        name: tf.TensorSpec(shape, dtype, arguments[name])
        for name, (shape, dtype) in exported.specs.items()
    }


def write_forward_pass(exported: ForwardPass, folder: str) -> None:
    """Writes the SavedModel, with an endpoint that takes a dict of features.

    Args:
      exported: the forward pass of an Estimator.
      folder: the new folder to write.
    """
    from estimator_bridge import tf

    loaded = tf.saved_model.load(exported.export)
    signature = loaded.signatures[
        "predict" if "predict" in loaded.signatures else "serving_default"
    ]
    holder = tf.Module()
    # The tables and variables to save must be attributes of the module.
    holder.loaded = loaded

    @tf.function(input_signature=[_make_specs(exported)])
    def serve(features: dict[str, Any]) -> Any:
        return signature(**{exported.keys[name]: one for name, one in features.items()})

    setattr(holder, ENDPOINT, serve)
    tf.saved_model.save(holder, folder, signatures={"serving_default": serve, "predict": serve})


def wrap_forward_pass(exported: ForwardPass, output: str, folder: str) -> Any:
    """Writes the Keras model around the SavedModel.

    Args:
      exported: the forward pass of an Estimator.
      output: path of the Keras model, *.keras.
      folder: folder of the SavedModel, which the Keras model refers to.

    Returns:
      The Keras model, which maps a dict of features to the predictions of the model_fn.
    """
    import keras

    layer = keras.layers.TFSMLayer(folder, call_endpoint=ENDPOINT, name="model_fn")
    inputs = {
        name: keras.Input(tuple(spec.shape[1:]), name=layer_name(name), dtype=spec.dtype.name)
        for name, spec in _make_specs(exported).items()
    }
    model = keras.Model(inputs, layer(inputs), name="model")
    model.save(output)
    return model
