"""Transposed convolutions of `tf.contrib.layers`."""

import tensorflow.compat.v1 as tf

from estimator_bridge.tf1.contrib.framework.arg_scope import add_arg_scope
from estimator_bridge.tf1.contrib.layers.convolutional import find_channels_axis
from estimator_bridge.tf1.contrib.layers.dense import finish
from estimator_bridge.tf1.contrib.layers.initializers import xavier_initializer
from estimator_bridge.tf1.contrib.layers.utils import n_positive_integers
from estimator_bridge.tf1.contrib.layers.variables import bias_adder, layer_variable, static_size

_XAVIER = xavier_initializer()
_ZEROS = tf.zeros_initializer()


def _transposed(dims, transpose, default_scope, name):
    """Returns the layer for a number of spatial axes."""
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
            axis = find_channels_axis(data_format, dims + 2)
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
                # VALID padding also keeps the part of the kernel beyond the last stride.
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
        f"Applies the transpose of a convolution over {dims} spatial axes.\n\n"
        "Creates the variables `<scope>/weights` [*kernel, outputs, inputs] and `<scope>/biases`."
    )
    return add_arg_scope(layer)


convolution2d_transpose = _transposed(
    2, tf.nn.conv2d_transpose, "Conv2d_transpose", "conv2d_transpose"
)


convolution3d_transpose = _transposed(
    3, tf.nn.conv3d_transpose, "Conv3d_transpose", "conv3d_transpose"
)


conv2d_transpose, conv3d_transpose = convolution2d_transpose, convolution3d_transpose
