"""Convolutions of `tf.contrib.layers`."""

import functools

import tensorflow.compat.v1 as tf

from estimator_bridge.tf1.contrib.framework.arg_scope import add_arg_scope
from estimator_bridge.tf1.contrib.layers.dense import finish
from estimator_bridge.tf1.contrib.layers.initializers import xavier_initializer
from estimator_bridge.tf1.contrib.layers.utils import get_variable_collections, n_positive_integers
from estimator_bridge.tf1.contrib.layers.variables import bias_adder, layer_variable, static_size

_XAVIER = xavier_initializer()
_ZEROS = tf.zeros_initializer()


def find_channels_axis(data_format, rank):
    """Returns the axis of the channels.

    Args:
      data_format: name such as `NHWC` or `NCHW`; None for channels last.
      rank: int, rank of the inputs.

    Returns:
      int.

    Raises:
      ValueError: the data format is unknown.
    """
    if data_format is not None and data_format not in (
        "NHWC",
        "NCHW",
        "NWC",
        "NCW",
        "NDHWC",
        "NCDHW",
    ):
        raise ValueError(f"data_format: {data_format!r} is unknown")
    return 1 if data_format and data_format.startswith("NC") else rank - 1


@add_arg_scope
def convolution(
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
    conv_dims=None,
):
    """Convolves 1, 2 or 3 spatial axes (the rank of the inputs minus 2).

    Creates the variables `<scope>/weights` [*kernel, inputs, outputs] and `<scope>/biases`
    [outputs]. With a normalizer, it creates the variables of the normalizer instead of the biases.
    The default scope is `Conv`.

    Args:
      inputs: floating tensor of rank 3 to 5; the number of channels must be known.
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
      variables_collections: collections for the variables: a list, or {variable name: list}.
      outputs_collections: collections that receive the outputs.
      trainable: whether the variables are trainable.
      scope: name of the variable scope, or a VariableScope.
      conv_dims: int, expected number of spatial axes, or None.

    Returns:
      Tensor of the rank of `inputs`, with `num_outputs` channels.

    Raises:
      ValueError: the rank does not fit, the number of channels is unknown, or stride and rate are
        both above 1.
    """
    with tf.variable_scope(scope, "Conv", [inputs], reuse=reuse) as sc:
        inputs = tf.convert_to_tensor(inputs)
        rank = inputs.shape.ndims
        if conv_dims is not None and conv_dims + 2 != rank:
            raise ValueError(f"inputs: expected rank {conv_dims + 2}, got {rank}")
        if rank not in (3, 4, 5):
            raise ValueError(f"inputs: expected rank 3, 4 or 5, got {rank}")
        spatial = rank - 2
        kernel = n_positive_integers(spatial, kernel_size)
        strides = n_positive_integers(spatial, stride)
        rates = n_positive_integers(spatial, rate)
        if any(s > 1 for s in strides) and any(r > 1 for r in rates):
            raise ValueError("convolution: stride and rate cannot both be above 1")
        channels = static_size(inputs, find_channels_axis(data_format, rank), "convolution")
        dtype = inputs.dtype.base_dtype
        weights = layer_variable(
            "weights",
            [*kernel, channels, num_outputs],
            dtype,
            weights_initializer,
            weights_regularizer,
            trainable,
            variables_collections,
        )
        outputs = tf.nn.convolution(
            inputs,
            weights,
            padding=padding.upper(),
            strides=strides,
            dilation_rate=rates,
            data_format=data_format,
        )
        bias = bias_adder(
            num_outputs,
            dtype,
            data_format,
            biases_initializer,
            biases_regularizer,
            trainable,
            variables_collections,
        )
        return finish(
            outputs, sc, activation_fn, normalizer_fn, normalizer_params, bias, outputs_collections
        )


def _of_dims(dims, name):
    @functools.wraps(convolution.__wrapped__)
    def layer(inputs, num_outputs, kernel_size, *args, **kwargs):
        return convolution.__wrapped__(
            inputs, num_outputs, kernel_size, *args, conv_dims=dims, **kwargs
        )

    layer.__name__ = layer.__qualname__ = name
    return add_arg_scope(layer)


convolution1d = _of_dims(1, "convolution1d")
convolution2d = _of_dims(2, "convolution2d")
convolution3d = _of_dims(3, "convolution3d")
conv1d, conv2d, conv3d = convolution1d, convolution2d, convolution3d


@add_arg_scope
def conv2d_in_plane(
    inputs,
    kernel_size,
    stride=1,
    padding="SAME",
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
    """Convolves each channel with the same kernel.

    Creates the variables `<scope>/weights` [*kernel, 1, 1] and `<scope>/biases` [channels].

    Args:
      inputs: floating tensor [batch, height, width, channels].
      kernel_size: int, or [height, width].
      stride: int, or [height, width].
      padding: `SAME` or `VALID`.
      activation_fn: function applied to the outputs, or None.
      normalizer_fn: function that normalizes the outputs and replaces the bias, or None.
      normalizer_params: keyword arguments of `normalizer_fn`.
      weights_initializer: initializer of the weights.
      weights_regularizer: regularizer of the weights, or None.
      biases_initializer: initializer of the biases; None for no bias.
      biases_regularizer: regularizer of the biases, or None.
      reuse: whether to reuse the variables of `scope`; None inherits it from the enclosing scope.
      variables_collections: collections for the variables: a list, or {variable name: list}.
      outputs_collections: collections that receive the outputs.
      trainable: whether the variables are trainable.
      scope: name of the variable scope, or a VariableScope.

    Returns:
      Tensor [batch, height, width, channels].
    """
    with tf.variable_scope(scope, "ConvInPlane", [inputs], reuse=reuse) as sc:
        inputs = tf.convert_to_tensor(inputs)
        dtype = inputs.dtype.base_dtype
        channels = static_size(inputs, -1, "conv2d_in_plane")
        weights = layer_variable(
            "weights",
            [*n_positive_integers(2, kernel_size), 1, 1],
            dtype,
            weights_initializer,
            weights_regularizer,
            trainable,
            variables_collections,
        )
        outputs = tf.nn.depthwise_conv2d(
            inputs,
            tf.tile(weights, [1, 1, channels, 1]),
            [1, *n_positive_integers(2, stride), 1],
            padding,
        )
        bias = bias_adder(
            channels,
            dtype,
            None,
            biases_initializer,
            biases_regularizer,
            trainable,
            variables_collections,
        )
        return finish(
            outputs, sc, activation_fn, normalizer_fn, normalizer_params, bias, outputs_collections
        )


@add_arg_scope
def separable_convolution2d(
    inputs,
    num_outputs,
    kernel_size,
    depth_multiplier=1,
    stride=1,
    padding="SAME",
    data_format="NHWC",
    rate=1,
    activation_fn=tf.nn.relu,
    normalizer_fn=None,
    normalizer_params=None,
    weights_initializer=_XAVIER,
    pointwise_initializer=None,
    weights_regularizer=None,
    biases_initializer=_ZEROS,
    biases_regularizer=None,
    reuse=None,
    variables_collections=None,
    outputs_collections=None,
    trainable=True,
    scope=None,
):
    """Applies a depthwise convolution, then a 1 x 1 convolution unless `num_outputs` is None.

    Creates the variables `<scope>/depthwise_weights` [*kernel, inputs, depth_multiplier],
    `<scope>/pointwise_weights` [1, 1, inputs x depth_multiplier, outputs] and `<scope>/biases`. The
    default scope is `SeparableConv2d`.

    Args:
      inputs: floating tensor [batch, height, width, channels], or channels first.
      num_outputs: int, number of output channels, or None for a depthwise convolution only.
      kernel_size: int, or [height, width].
      depth_multiplier: int, depthwise outputs per input channel.
      stride: int, or [height, width].
      padding: `SAME` or `VALID`.
      data_format: order of the axes, channels last (`NHWC`) or channels first (`NCHW`).
      rate: dilation, an int or [height, width].
      activation_fn: function applied to the outputs, or None.
      normalizer_fn: function that normalizes the outputs and replaces the bias, or None.
      normalizer_params: keyword arguments of `normalizer_fn`.
      weights_initializer: initializer of the depthwise weights.
      pointwise_initializer: initializer of the pointwise weights; None for the depthwise one.
      weights_regularizer: regularizer of the weights, or None.
      biases_initializer: initializer of the biases; None for no bias.
      biases_regularizer: regularizer of the biases, or None.
      reuse: whether to reuse the variables of `scope`; None inherits it from the enclosing scope.
      variables_collections: collections for the variables: a list, or {variable name: list}.
      outputs_collections: collections that receive the outputs.
      trainable: whether the variables are trainable.
      scope: name of the variable scope, or a VariableScope.

    Returns:
      Tensor of rank 4.
    """
    with tf.variable_scope(scope, "SeparableConv2d", [inputs], reuse=reuse) as sc:
        inputs = tf.convert_to_tensor(inputs)
        dtype = inputs.dtype.base_dtype
        channels = static_size(inputs, find_channels_axis(data_format, 4), "separable_conv2d")
        of_weights = get_variable_collections(variables_collections, "weights")
        depthwise = layer_variable(
            "depthwise_weights",
            [*n_positive_integers(2, kernel_size), channels, depth_multiplier],
            dtype,
            weights_initializer,
            weights_regularizer,
            trainable,
            of_weights,
        )
        stride = n_positive_integers(2, stride)
        strides = [1, 1, *stride] if data_format == "NCHW" else [1, *stride, 1]
        rates = n_positive_integers(2, rate)
        if num_outputs is None:
            num_outputs = channels * depth_multiplier
            outputs = tf.nn.depthwise_conv2d(
                inputs, depthwise, strides, padding, rate=rates, data_format=data_format
            )
        else:
            pointwise = layer_variable(
                "pointwise_weights",
                [1, 1, channels * depth_multiplier, num_outputs],
                dtype,
                pointwise_initializer or weights_initializer,
                weights_regularizer,
                trainable,
                of_weights,
            )
            outputs = tf.nn.separable_conv2d(
                inputs, depthwise, pointwise, strides, padding, rate=rates, data_format=data_format
            )
        bias = bias_adder(
            num_outputs,
            dtype,
            data_format,
            biases_initializer,
            biases_regularizer,
            trainable,
            variables_collections,
        )
        return finish(
            outputs, sc, activation_fn, normalizer_fn, normalizer_params, bias, outputs_collections
        )


separable_conv2d = separable_convolution2d
