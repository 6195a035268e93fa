"""What programs import from the models of images in Keras 2.0 to 2.2."""

import tensorflow.compat.v1 as tf

__all__ = ["DepthwiseConv2D", "conv_block", "identity_block", "relu6"]

_layers = tf.keras.layers
DepthwiseConv2D = _layers.DepthwiseConv2D


def relu6(x):
    """Returns values between 0 and 6; models that MobileNet of that time saved name this function.

    Args:
      x: float tensor.
    """
    return tf.keras.backend.relu(x, max_value=6)


def identity_block(input_tensor, kernel_size, filters, stage, block):
    """Adds a block of ResNet50 that keeps the shape (He et al., 2015, arXiv:1512.03385).

    Args:
      input_tensor: tensor of images.
      kernel_size: int, of the middle convolution.
      filters: three ints, of the three convolutions; the last is the depth of `input_tensor`.
      stage: int, for the names of the layers.
      block: text, for the names of the layers.

    Returns:
      A tensor of the shape of `input_tensor`.
    """
    net = _add_branch(input_tensor, kernel_size, filters, (1, 1), f"{stage}{block}_branch2")
    return _layers.Activation("relu")(_layers.add([net, input_tensor]))


def conv_block(input_tensor, kernel_size, filters, stage, block, strides=(2, 2)):
    """Adds a block of ResNet50 with a convolution in its shortcut.

    Args:
      input_tensor: tensor of images.
      kernel_size: int, of the middle convolution.
      filters: three ints, of the three convolutions; the last is the depth of the result.
      stage: int, for the names of the layers.
      block: text, for the names of the layers.
      strides: two ints, of the first convolution and the shortcut.

    Returns:
      A tensor of images.
    """
    net = _add_branch(input_tensor, kernel_size, filters, strides, f"{stage}{block}_branch2")
    shortcut = _normalize(
        _layers.Conv2D(filters[2], (1, 1), strides=strides, name=f"res{stage}{block}_branch1")(
            input_tensor
        ),
        f"bn{stage}{block}_branch1",
    )
    return _layers.Activation("relu")(_layers.add([net, shortcut]))


def _add_branch(net, kernel_size, filters, strides, place):
    kernels = (1, 1), kernel_size, (1, 1)
    for letter, depth, kernel in zip("abc", filters, kernels):
        options = {"strides": strides} if letter == "a" else {"padding": "same"}
        net = _layers.Conv2D(depth, kernel, name=f"res{place}{letter}", **options)(net)
        net = _normalize(net, f"bn{place}{letter}")
        if letter != "c":
            net = _layers.Activation("relu")(net)
    return net


def _normalize(net, name):
    axis = 3 if tf.keras.backend.image_data_format() == "channels_last" else 1
    return _layers.BatchNormalization(axis=axis, name=name)(net)
