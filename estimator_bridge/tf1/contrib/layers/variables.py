"""Helpers shared by the layers: variables, static sizes."""

import tensorflow.compat.v1 as tf

from estimator_bridge.tf1.contrib.framework.variables import model_variable
from estimator_bridge.tf1.contrib.layers.utils import get_variable_collections

__all__ = ["bias_adder", "layer_variable", "static_size"]


def layer_variable(
    name, shape, dtype, initializer, regularizer=None, trainable=True, variables_collections=None
):
    """Creates (or reuses) a variable of a layer in the current variable scope.

    Args:
      name: str, name of the variable.
      shape: shape of the variable.
      dtype: dtype of the variable.
      initializer: initializer of the variable.
      regularizer: regularizer of the variable, or None.
      trainable: whether the variables are trainable.
      variables_collections: collections for the variables: a list, or {variable name: list}.

    Returns:
      The variable.
    """
    collections = get_variable_collections(variables_collections, name)
    return model_variable(
        name,
        shape=shape,
        dtype=dtype,
        initializer=initializer,
        regularizer=regularizer,
        trainable=trainable,
        collections=list(collections or ()),
    )


def bias_adder(num_outputs, dtype, data_format, initializer, regularizer, trainable, collections):
    """Returns a function that adds the biases, or None without an initializer.

    Args:
      num_outputs: int, number of output channels.
      dtype: dtype of the biases.
      data_format: name such as `NHWC` or `NCHW`; None for channels last.
      initializer: initializer of the biases, or None.
      regularizer: regularizer of the biases, or None.
      trainable: whether the variables are trainable.
      collections: collections for the biases.

    Returns:
      Function from the outputs to the outputs with bias, or None.
    """
    if initializer is None:
        return None

    def bias(values):
        biases = layer_variable(
            "biases", [num_outputs], dtype, initializer, regularizer, trainable, collections
        )
        channels_first = data_format is not None and data_format.startswith("NC")
        return tf.nn.bias_add(values, biases, data_format="NCHW" if channels_first else None)

    return bias


def static_size(inputs, axis, layer):
    """Returns the static size of an axis.

    Args:
      inputs: tensor.
      axis: int.
      layer: name of the layer, for the message.

    Returns:
      int.

    Raises:
      ValueError: the size is unknown.
    """
    size = tf.compat.dimension_value(inputs.shape[axis])
    if size is None:
        raise ValueError(
            f"{layer}: dimension {axis} of the input must be known, got {inputs.shape}"
        )
    return size
