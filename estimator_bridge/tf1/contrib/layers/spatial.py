"""Layers of `tf.contrib.layers` that rearrange images, and `spatial_softmax`."""

import tensorflow.compat.v1 as tf

from estimator_bridge.tf1.contrib.framework.arg_scope import add_arg_scope
from estimator_bridge.tf1.contrib.layers.utils import collect_named_outputs
from estimator_bridge.tf1.contrib.layers.variables import layer_variable

__all__ = ["images_to_sequence", "scale_gradient", "sequence_to_images", "spatial_softmax"]


def _check_format(data_format):
    if data_format not in ("NCHW", "NHWC"):
        raise ValueError("data_format has to be either NCHW or NHWC.")


@add_arg_scope
def spatial_softmax(
    features,
    temperature=None,
    name=None,
    variables_collections=None,
    trainable=True,
    data_format="NHWC",
):
    """Returns the expected position of each channel's activations (Finn et al., 2015).

    The softmax of a channel over all places is a distribution of places, whose coordinates are
    between -1 and 1. Creates the variable `<name>/temperature` [], by which the activations are
    divided. The default name is `spatial_softmax`.

    Args:
      features: floating tensor [batch, rows, columns, channels].
      temperature: number, initial value of the temperature; None for 1.
      name: name of the variable scope.
      variables_collections: collections for the variable: a list, or {variable name: list}; as in
        1.x, ignored with a given temperature.
      trainable: whether the variable is trainable, also with a given temperature.
      data_format: `NHWC`, or `NCHW` for [batch, channels, rows, columns].

    Returns:
      float32 tensor [batch, 2 channels]: row and column of the first channel, and so on.

    Raises:
      ValueError: the data format is unknown, or the number of channels.
    """
    _check_format(data_format)
    with tf.variable_scope(name, "spatial_softmax"):
        features = tf.convert_to_tensor(features)
        by_channel = features if data_format == "NCHW" else tf.transpose(features, [0, 3, 1, 2])
        channels = tf.compat.dimension_value(by_channel.shape[1])
        if channels is None:
            raise ValueError("spatial_softmax: the number of channels must be known, got None")
        rows, columns = tf.unstack(tf.shape(by_channel)[2:])
        down, right = (
            tf.raw_ops.LinSpace(start=tf.constant(-1.0), stop=tf.constant(1.0), num=size)
            for size in (rows, columns)
        )
        initial = tf.ones_initializer()
        if temperature is not None:
            initial, variables_collections = tf.constant_initializer(temperature), None
        divisor = layer_variable(
            *("temperature", (), tf.float32, initial),
            trainable=trainable,
            variables_collections=variables_collections,
        )
        logits = tf.reshape(by_channel, [-1, rows * columns]) / divisor
        shares = tf.nn.softmax(logits)
        places = [
            tf.reshape(tf.tile(down[:, None], [1, columns]), [-1]),
            tf.reshape(tf.tile(right[None], [rows, 1]), [-1]),
        ]
        expected = [tf.reduce_sum(place * shares, 1) for place in places]
        return tf.reshape(tf.stack(expected, 1), [-1, 2 * channels])


@tf.custom_gradient
def scale_gradient(inputs, scale):
    """Returns the inputs, whose gradients are multiplied by `scale`.

    Args:
      inputs: float32 tensor.
      scale: float32 number or tensor, broadcastable to the inputs; it gets no gradient.
    """

    def gradients(above):
        return above * scale, None

    return tf.identity(inputs), gradients


@add_arg_scope
def images_to_sequence(inputs, data_format="NHWC", outputs_collections=None, scope=None):
    """Turns images into sequences, whose steps are the columns of the images.

    Args:
      inputs: tensor [images, rows, columns, depth].
      data_format: `NHWC`, or `NCHW` for [images, depth, rows, columns].
      outputs_collections: collections that receive the outputs.
      scope: name of the name scope.

    Returns:
      Tensor [columns, images * rows, depth].

    Raises:
      ValueError: the data format is unknown.
    """
    _check_format(data_format)
    with tf.name_scope(scope, "ImagesToSequence", [inputs]) as name:
        inputs = tf.convert_to_tensor(inputs)
        if data_format == "NCHW":
            inputs = tf.transpose(inputs, [0, 2, 3, 1])
        _, rows, columns, depth = inputs.shape.as_list()
        images = tf.shape(inputs)[0]
        turned = tf.transpose(inputs, [2, 0, 1, 3])
        rows = tf.shape(inputs)[1] if rows is None else rows
        columns = tf.shape(inputs)[2] if columns is None else columns
        outputs = tf.reshape(turned, [columns, images * rows, depth])
        return collect_named_outputs(outputs_collections, name, outputs)


@add_arg_scope
def sequence_to_images(
    inputs, height, output_data_format="channels_last", outputs_collections=None, scope=None
):
    """Turns sequences into images; the inverse of `images_to_sequence`.

    Args:
      inputs: tensor [columns, images * height, depth].
      height: int, rows of the images.
      output_data_format: `channels_last` or `channels_first`.
      outputs_collections: collections that receive the outputs.
      scope: name of the name scope.

    Returns:
      Tensor [images, height, columns, depth], or [images, depth, height, columns].
    """
    with tf.name_scope(scope, "SequenceToImages", [inputs]) as name:
        inputs = tf.convert_to_tensor(inputs)
        columns, rows, depth = inputs.shape.as_list()
        images = -1 if rows is None else rows // height
        columns = tf.shape(inputs)[0] if columns is None else columns
        parts = tf.reshape(inputs, [columns, images, height, depth])
        first = output_data_format == "channels_first"
        outputs = tf.transpose(parts, [1, 3, 2, 0] if first else [1, 2, 0, 3])
        return collect_named_outputs(outputs_collections, name, outputs)
