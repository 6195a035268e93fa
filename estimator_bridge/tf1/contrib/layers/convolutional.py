"""Convolutions of `tf.contrib.layers`."""

import functools

import tensorflow.compat.v1 as tf

from estimator_bridge.tf1.contrib.framework.arg_scope import add_arg_scope
from estimator_bridge.tf1.contrib.layers.dense import finish
from estimator_bridge.tf1.contrib.layers.initializers import xavier_initializer
from estimator_bridge.tf1.contrib.layers.variables import (
    layer_variable,
    n_positive_integers,
    static_size,
)

_XAVIER = xavier_initializer()
_ZEROS = tf.zeros_initializer()


def _channels_axis(data_format, rank):
    if data_format is not None and data_format not in (
        "NHWC",
        "NCHW",
        "NWC",
        "NCW",
        "NDHWC",
        "NCDHW",
    ):
        raise ValueError(f"Invalid data_format: {data_format!r}")
    return 1 if data_format and data_format.startswith("NC") else rank - 1


def _bias_for(num_outputs, dtype, data_format, initializer, regularizer, trainable, collections):
    """Returns a function that adds the biases, or None where there are none."""
    if initializer is None:
        return None

    def bias(values):
        biases = layer_variable(
            "biases", [num_outputs], dtype, initializer, regularizer, trainable, collections
        )
        channels_first = data_format is not None and data_format.startswith("NC")
        return tf.nn.bias_add(values, biases, data_format="NCHW" if channels_first else None)

    return bias


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
    """Convolution over 1, 2 or 3 dimensions (the rank of the inputs less 2).

    Variables: `<scope>/weights` [*kernel, inputs, outputs] and `<scope>/biases`; with a normalizer,
      its instead of the
    biases. The default scope is `Conv`.

    Raises:
      ValueError: the rank is not 3 to 5 (or not conv_dims + 2), the channels' number is not known,
        or stride and rate are both above 1.
    """
    with tf.variable_scope(scope, "Conv", [inputs], reuse=reuse) as sc:
        inputs = tf.convert_to_tensor(inputs)
        rank = inputs.shape.ndims
        if conv_dims is not None and conv_dims + 2 != rank:
            raise ValueError(f"Convolution expects input with rank {conv_dims + 2}, got {rank}")
        if rank not in (3, 4, 5):
            raise ValueError(f"Convolution not supported for input with rank {rank}")
        spatial = rank - 2
        kernel = n_positive_integers(spatial, kernel_size)
        strides = n_positive_integers(spatial, stride)
        rates = n_positive_integers(spatial, rate)
        if any(s > 1 for s in strides) and any(r > 1 for r in rates):
            raise ValueError("convolution: stride and rate cannot both be above 1")
        channels = static_size(inputs, _channels_axis(data_format, rank), "convolution")
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
        bias = _bias_for(
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
    """One kernel, the same for each channel.

    Variables: `<scope>/weights` [*kernel, 1, 1], `<scope>/biases`.
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
        bias = _bias_for(
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
    """Depthwise convolution, then (unless num_outputs is None) a 1 x 1 convolution.

    Variables: `<scope>/depthwise_weights` [*kernel, inputs, depth_multiplier],
      `<scope>/pointwise_weights`
    [1, 1, inputs x depth_multiplier, outputs], `<scope>/biases`. The default scope is
    `SeparableConv2d`.
    """
    with tf.variable_scope(scope, "SeparableConv2d", [inputs], reuse=reuse) as sc:
        inputs = tf.convert_to_tensor(inputs)
        dtype = inputs.dtype.base_dtype
        channels = static_size(inputs, _channels_axis(data_format, 4), "separable_conv2d")
        depthwise = layer_variable(
            "depthwise_weights",
            [*n_positive_integers(2, kernel_size), channels, depth_multiplier],
            dtype,
            weights_initializer,
            weights_regularizer,
            trainable,
            variables_collections,
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
                variables_collections,
            )
            outputs = tf.nn.separable_conv2d(
                inputs, depthwise, pointwise, strides, padding, rate=rates, data_format=data_format
            )
        bias = _bias_for(
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


def _transposed(dims, transpose, default_scope, name):
    default_format = {2: "NHWC", 3: "NDHWC"}[dims]

    def layer(
        inputs,
        num_outputs,
        kernel_size,
        stride=1,
        padding="SAME",
        data_format=default_format,
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
        with tf.variable_scope(scope, default_scope, [inputs], reuse=reuse) as sc:
            inputs = tf.convert_to_tensor(inputs)
            dtype = inputs.dtype.base_dtype
            axis = _channels_axis(data_format, dims + 2)
            first = 2 if axis == 1 else 1
            kernel = n_positive_integers(dims, kernel_size)
            stride = n_positive_integers(dims, stride)
            weights = layer_variable(
                "weights",
                [*kernel, num_outputs, static_size(inputs, axis, name)],
                dtype,
                weights_initializer,
                weights_regularizer,
                trainable,
                variables_collections,
            )

            def stretched(sizes, i):
                # VALID keeps what the kernel adds beyond the last stride.
                extra = max(kernel[i] - stride[i], 0) if padding.upper() == "VALID" else 0
                size = sizes[first + i]
                return None if size is None else size * stride[i] + extra

            def around(batch, channels, sides):
                return [batch, channels, *sides] if axis == 1 else [batch, *sides, channels]

            def full(sizes):
                sides = [stretched(sizes, i) for i in range(dims)]
                return around(sizes[0], num_outputs, sides)

            outputs = transpose(
                inputs,
                weights,
                tf.stack(full(tf.unstack(tf.shape(inputs)))),
                around(1, 1, stride),
                padding=padding.upper(),
                data_format=data_format,
            )
            outputs.set_shape(full(inputs.shape.as_list()))
            bias = _bias_for(
                num_outputs,
                dtype,
                data_format,
                biases_initializer,
                biases_regularizer,
                trainable,
                variables_collections,
            )
            return finish(
                outputs,
                sc,
                activation_fn,
                normalizer_fn,
                normalizer_params,
                bias,
                outputs_collections,
            )

    layer.__name__ = layer.__qualname__ = name
    layer.__doc__ = (
        f"The transpose of a convolution over {dims} dimensions.\n\n"
        "Variables: `<scope>/weights` [*kernel, outputs, inputs], `<scope>/biases`."
    )
    return add_arg_scope(layer)


convolution2d_transpose = _transposed(
    2, tf.nn.conv2d_transpose, "Conv2d_transpose", "conv2d_transpose"
)
convolution3d_transpose = _transposed(
    3, tf.nn.conv3d_transpose, "Conv3d_transpose", "conv3d_transpose"
)
conv2d_transpose, conv3d_transpose = convolution2d_transpose, convolution3d_transpose
