"""Functions of `keras.backend` in Keras 2.0 to 2.3."""

import tensorflow.compat.v1 as tf

from estimator_bridge.tf1 import private_keras

_backend = tf.keras.backend
_conv_utils = private_keras.load_source("utils.conv_utils")

__all__ = [
    "_EPSILON",
    "_FLOATX",
    "Function",
    "control_dependencies",
    "get_variable_shape",
    "image_dim_ordering",
    "is_symbolic",
    "is_tensor",
    "is_variable",
    "normalize_data_format",
    "set_image_dim_ordering",
    "size",
    "slice",
    "symbolic",
]

_EPSILON = 1e-7
_FLOATX = "float32"

# Keras 1 named the format of images after the package that preferred it.
_FORMATS = {"tf": "channels_last", "th": "channels_first"}

Function = private_keras.load_source("backend").GraphExecutionFunction
normalize_data_format = _conv_utils.normalize_data_format


def image_dim_ordering():
    """Returns "tf" if the channels are the last dimension of images, and "th" otherwise."""
    return "tf" if _backend.image_data_format() == "channels_last" else "th"


def set_image_dim_ordering(dim_ordering):
    """Sets the format of images.

    Args:
      dim_ordering: "tf" for channels_last, or "th" for channels_first.

    Raises:
      ValueError: it is another one.
    """
    if dim_ordering not in _FORMATS:
        raise ValueError(f"Unknown dim_ordering: {dim_ordering!r}; use 'tf' or 'th'")
    _backend.set_image_data_format(_FORMATS[dim_ordering])


def is_tensor(x):
    """Returns whether an object is a tensor or variable of TensorFlow.

    Args:
      x: the object.
    """
    return tf.is_tensor(x)


def is_variable(x):
    """Returns whether an object is a variable of TensorFlow.

    Args:
      x: the object.
    """
    return isinstance(x, tf.compat.v2.Variable)


def is_symbolic(x):
    """Returns whether an object is a tensor of a graph.

    Args:
      x: the object.
    """
    return isinstance(x, tf.Tensor) and hasattr(x, "graph")


def symbolic(func):
    """Returns the function, which runs in the default graph anyway.

    Args:
      func: the function.
    """
    return func


def size(x, name=None):
    """Returns the number of elements, int32 tensor of shape [].

    Args:
      x: tensor.
      name: of the operation; None for one that follows from the operation.
    """
    return tf.size(x, name=name)


def slice(x, start, size):
    """Returns a part of a tensor.

    Args:
      x: tensor.
      start: int for each dimension, where the part begins.
      size: int for each dimension, how long it is.
    """
    return tf.slice(x, start, size)


def control_dependencies(control_inputs):
    """Returns the context manager of `tf.control_dependencies`.

    Args:
      control_inputs: list of operations and tensors.
    """
    return tf.control_dependencies(control_inputs)


def get_variable_shape(x):
    """Returns the shape of a variable, a tuple of ints.

    Args:
      x: the variable.
    """
    return _backend.int_shape(x)
