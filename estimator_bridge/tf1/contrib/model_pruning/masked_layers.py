"""Layers of `tf.contrib.layers` whose weights have a mask."""

import tensorflow.compat.v1 as tf

from estimator_bridge.tf1.contrib.framework.arg_scope import add_arg_scope
from estimator_bridge.tf1.contrib.layers.convolutional import find_channels_axis
from estimator_bridge.tf1.contrib.layers.dense import finish, multiply
from estimator_bridge.tf1.contrib.layers.initializers import xavier_initializer
from estimator_bridge.tf1.contrib.layers.utils import n_positive_integers
from estimator_bridge.tf1.contrib.layers.variables import bias_adder, layer_variable, static_size
from estimator_bridge.tf1.contrib.model_pruning.masks import collect_masked

__all__ = ["masked_convolution", "masked_fully_connected"]

_XAVIER = xavier_initializer()
_ZEROS = tf.zeros_initializer()


def _mask(shape, dtype):
    return layer_variable("mask", shape, dtype, tf.ones_initializer(), trainable=False)


def _threshold(dtype):
    return layer_variable("threshold", [], dtype, tf.zeros_initializer(), trainable=False)


@add_arg_scope
def masked_convolution(
    inputs,
    num_outputs,
    kernel_size,
    stride=1,
    padding="SAME",
    data_format=None,
    rate=1,
    activation_fn=tf.nn.relu,
    normalizer_fn=None,
    normalizer_params=None,
    weights_initializer=_XAVIER,
    weights_regularizer=None,
    biases_initializer=_ZEROS,
    biases_regularizer=None,
    reuse=None,
    variables_collections=None,
    outputs_collections=None,
    trainable=True,
    scope=None,
):
    """Convolves two spatial axes with weights x mask.

    Creates the variables `<scope>/mask` and `<scope>/weights` [*kernel, inputs, outputs],
    `<scope>/threshold`, a scalar, and `<scope>/biases` [outputs]. With a normalizer, it creates the
    variables of the normalizer instead of the biases. The default scope is `Conv`.

    Args:
      inputs: floating tensor of rank 4; the number of channels must be known.
      num_outputs: int, number of output channels.
      kernel_size: int, or one int per spatial axis.
      stride: int, or one int per spatial axis.
      padding: `SAME` or `VALID`.
      data_format: order of the axes; a name that starts with `NC` has the channels first.
      rate: dilation, an int or one int per spatial axis.
      activation_fn: function applied to the outputs, or None.
      normalizer_fn: function that normalizes the outputs and replaces the bias, or None.
      normalizer_params: keyword arguments of `normalizer_fn`.
      weights_initializer: initializer of the weights.
      weights_regularizer: regularizer of the weights, or None.
      biases_initializer: initializer of the biases; None for no bias.
      biases_regularizer: regularizer of the biases, or None.
      reuse: whether to reuse the variables of `scope`; None inherits it from the enclosing scope.
      variables_collections: collections for weights and biases: a list, or {variable name: list}.
      outputs_collections: collections that receive the outputs.
      trainable: whether weights and biases are trainable.
      scope: name of the variable scope, or a VariableScope.

    Returns:
      Tensor of the rank of `inputs`, with `num_outputs` channels.

    Raises:
      ValueError: the rank or the data format does not fit, the number of channels is unknown, or
        stride and rate are both above 1.
    """
    with tf.variable_scope(scope, "Conv", [inputs], reuse=reuse) as sc:
        inputs = tf.convert_to_tensor(inputs)
        rank = inputs.shape.ndims
        if rank != 4:
            raise ValueError(f"inputs: expected rank 4, got {rank}")
        kernel = n_positive_integers(2, kernel_size)
        strides = n_positive_integers(2, stride)
        rates = n_positive_integers(2, rate)
        if max(strides) > 1 and max(rates) > 1:
            raise ValueError("masked_convolution: stride and rate cannot both be above 1")
        channels = static_size(inputs, find_channels_axis(data_format, rank), "convolution")
        dtype, shape = inputs.dtype.base_dtype, [*kernel, channels, num_outputs]
        mask = _mask(shape, dtype)
        weights = layer_variable(
            *("weights", shape, dtype, weights_initializer, weights_regularizer, trainable),
            variables_collections,
        )
        outputs = tf.nn.convolution(
            inputs,
            collect_masked(weights, mask, _threshold(dtype)),
            padding=padding.upper(),
            strides=strides,
            dilation_rate=rates,
            data_format=data_format,
        )
        bias = bias_adder(
            *(num_outputs, dtype, data_format, biases_initializer, biases_regularizer, trainable),
            variables_collections,
        )
        return finish(
            outputs, sc, activation_fn, normalizer_fn, normalizer_params, bias, outputs_collections
        )


@add_arg_scope
def masked_fully_connected(
    inputs,
    num_outputs,
    activation_fn=tf.nn.relu,
    normalizer_fn=None,
    normalizer_params=None,
    weights_initializer=_XAVIER,
    weights_regularizer=None,
    biases_initializer=_ZEROS,
    biases_regularizer=None,
    reuse=None,
    variables_collections=None,
    outputs_collections=None,
    trainable=True,
    scope=None,
):
    """Computes inputs x (weights x mask) + biases over the last axis.

    Creates the variables `<scope>/weights` and `<scope>/mask` [inputs, num_outputs],
    `<scope>/threshold`, a scalar, and `<scope>/biases` [num_outputs]. With a normalizer, it creates
    the variables of the normalizer instead of the biases. The default scope is `fully_connected`.

    Args:
      inputs: floating tensor [batch, ..., inputs], rank 2 or more.
      num_outputs: int, number of output units.
      activation_fn: function applied to the outputs, or None.
      normalizer_fn: function that normalizes the outputs and replaces the bias, or None.
      normalizer_params: keyword arguments of `normalizer_fn`.
      weights_initializer: initializer of the weights.
      weights_regularizer: regularizer of the weights, or None.
      biases_initializer: initializer of the biases; None for no bias.
      biases_regularizer: regularizer of the biases, or None.
      reuse: whether to reuse the variables of `scope`; None inherits it from the enclosing scope.
      variables_collections: collections for weights and biases: a list, or {variable name: list}.
      outputs_collections: collections that receive the outputs.
      trainable: whether weights and biases are trainable.
      scope: name of the variable scope, or a VariableScope.

    Returns:
      Tensor [batch, ..., num_outputs].

    Raises:
      ValueError: the rank is below 2, the last dimension is unknown, or num_outputs is no integer.
    """
    if not hasattr(num_outputs, "__index__"):
        raise ValueError(f"num_outputs: expected an int, got {num_outputs!r}")
    with tf.variable_scope(scope, "fully_connected", [inputs], reuse=reuse) as sc:
        inputs = tf.convert_to_tensor(inputs)
        rank = inputs.shape.ndims
        if rank is None or rank < 2:
            raise ValueError(f"inputs: expected rank 2 or more, got {inputs.shape}")
        size = static_size(inputs, -1, "masked_fully_connected")
        dtype, shape = inputs.dtype.base_dtype, [size, num_outputs]
        weights = layer_variable(
            *("weights", shape, dtype, weights_initializer, weights_regularizer, trainable),
            variables_collections,
        )
        mask = _mask(shape, dtype)
        masked = collect_masked(weights, mask, _threshold(dtype))
        outputs = multiply(inputs, masked)
        bias = bias_adder(
            *(num_outputs, dtype, None, biases_initializer, biases_regularizer, trainable),
            variables_collections,
        )
        return finish(
            outputs, sc, activation_fn, normalizer_fn, normalizer_params, bias, outputs_collections
        )
