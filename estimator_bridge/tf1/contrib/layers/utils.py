"""The module `utils` of `tf.contrib.layers` and of `slim`: named outputs, constants, sizes."""

from collections import OrderedDict, namedtuple

import tensorflow.compat.v1 as tf

__all__ = [
    "NamedOutputs",
    "append_tensor_alias",
    "channel_dimension",
    "collect_named_outputs",
    "constant_value",
    "convert_collection_to_dict",
    "gather_tensors_aliases",
    "get_tensor_aliases",
    "get_variable_collections",
    "last_dimension",
    "n_positive_integers",
    "smart_cond",
    "static_cond",
    "two_element_tuple",
]

NamedOutputs = namedtuple("NamedOutputs", ["name", "outputs"])


def append_tensor_alias(tensor, alias):
    """Gives a tensor one more alias, without a slash at its end; returns the tensor.

    Args:
      tensor: tensor.
      alias: str.
    """
    tensor.aliases = [*getattr(tensor, "aliases", ()), alias.removesuffix("/")]
    return tensor


def get_tensor_aliases(tensor):
    """Returns the aliases of a tensor; without any, a list of its operation's name.

    Args:
      tensor: tensor.
    """
    return getattr(tensor, "aliases", None) or [tensor.op.name]


def gather_tensors_aliases(tensors):
    """Returns the aliases of all tensors in one list.

    Args:
      tensors: list of tensors.
    """
    return [alias for tensor in tensors for alias in get_tensor_aliases(tensor)]


def collect_named_outputs(collections, alias, outputs):
    """Adds a layer's outputs to collections, with an alias.

    Args:
      collections: collections that receive the outputs, or None.
      alias: str, name of the outputs in `convert_collection_to_dict`.
      outputs: tensor.

    Returns:
      `outputs`.
    """
    if collections:
        append_tensor_alias(outputs, alias)
        tf.add_to_collections(collections, outputs)
    return outputs


def convert_collection_to_dict(collection, clear_collection=False):
    """Returns the tensors of a collection by alias.

    Args:
      collection: name of the collection.
      clear_collection: whether to empty the collection.

    Returns:
      OrderedDict {alias, or else operation name: tensor}.
    """
    found = OrderedDict(
        (alias, tensor)
        for tensor in tf.get_collection(collection)
        for alias in get_tensor_aliases(tensor)
    )
    if clear_collection:
        tf.get_default_graph().clear_collection(collection)
    return found


def get_variable_collections(variables_collections, name):
    """Returns the collections of a variable.

    Args:
      variables_collections: list for all variables, or {variable name: list}.
      name: str, name of the variable.

    Returns:
      List of collections, or None.
    """
    if isinstance(variables_collections, dict):
        return variables_collections.get(name, None)
    return variables_collections


def constant_value(value_or_tensor_or_var, dtype=None):
    """Returns a value that is known before the graph runs; None for others.

    Args:
      value_or_tensor_or_var: Python value, which is returned, tensor or variable.
      dtype: type that a tensor or variable must have, or None.

    Raises:
      ValueError: there is no value, or it has another type.
    """
    value = value_or_tensor_or_var
    if value is None:
        raise ValueError("value_or_tensor_or_var must not be None")
    if not isinstance(value, tf.Tensor) and not hasattr(value, "initializer"):
        return value
    if dtype and value.dtype != dtype:
        raise ValueError(f"{value.name} has the type {value.dtype}, not {dtype}")
    return tf.get_static_value(value) if isinstance(value, tf.Tensor) else None


def static_cond(pred, fn1, fn2):
    """Returns fn1() or fn2(), chosen before the graph runs.

    Args:
      pred: Python value.
      fn1: function for a true value.
      fn2: function for a false value.

    Raises:
      TypeError: fn1 or fn2 cannot be called.
    """
    for name, function in (("fn1", fn1), ("fn2", fn2)):
        if not callable(function):
            raise TypeError(f"{name} must be a function, got {function!r}")
    return fn1() if pred else fn2()


def smart_cond(pred, fn1, fn2, name=None):
    """Returns fn1() or fn2(), chosen before the graph runs if that is possible.

    Args:
      pred: Python value, or boolean scalar tensor or variable.
      fn1: function for a true value.
      fn2: function for a false value.
      name: name of the operation `tf.cond`, or None.

    Raises:
      ValueError: pred is None.
      TypeError: fn1 or fn2 cannot be called.
    """
    value = constant_value(pred)
    if value is None:
        return tf.cond(pred, fn1, fn2, name=name)
    return static_cond(value, fn1, fn2)


def channel_dimension(shape, data_format, min_rank=1):
    """Returns the number of channels.

    Args:
      shape: tf.TensorShape.
      data_format: `channels_first` for the second dimension, else the last one.
      min_rank: smallest rank allowed.

    Raises:
      ValueError: the number is unknown, or the rank is lower.
    """
    return _size(shape, 1 if data_format == "channels_first" else -1, min_rank)


def last_dimension(shape, min_rank=1):
    """Returns the size of the last dimension.

    Args:
      shape: tf.TensorShape.
      min_rank: smallest rank allowed.

    Raises:
      ValueError: the size is unknown, or the rank is lower.
    """
    return _size(shape, -1, min_rank)


def _size(shape, axis, min_rank):
    if shape.dims is None or len(shape.dims) < min_rank:
        raise ValueError(f"the shape must have at least {min_rank} known dimensions, got {shape}")
    size = shape.as_list()[axis]
    if size is None:
        raise ValueError(f"dimension {axis} of the shape must be known, got {shape}")
    return size


def two_element_tuple(int_or_tuple):
    """Returns a height and a width as a pair.

    Args:
      int_or_tuple: int for both, a list or tuple of two, or a tf.TensorShape of rank 2.

    Raises:
      ValueError: it is something else.
    """
    value = int_or_tuple
    if isinstance(value, int):
        return int(value), int(value)
    if isinstance(value, (list, tuple)) and len(value) == 2:
        return int(value[0]), int(value[1])
    if isinstance(value, tf.TensorShape) and len(value) == 2:
        return value[0], value[1]
    raise ValueError(f"expected an int, or a list, tuple or shape of two, got {value!r}")


def n_positive_integers(n, value):
    """Returns `value` as a tuple of n positive integers.

    Args:
      n: int, length of the tuple.
      value: int for all entries, or a sequence of n ints.

    Returns:
      Tuple of n ints.

    Raises:
      ValueError: n or an integer is below 1, or the length differs from n.
    """
    if int(n) < 1:
        raise ValueError(f"n must be a positive integer, got {n!r}")
    if isinstance(value, tf.TensorShape):
        value = value.as_list()
    values = value if hasattr(value, "__iter__") and not isinstance(value, str) else [value] * n
    try:
        values = tuple(int(one) for one in values)
    except TypeError:
        values = ()
    if len(values) != n or any(one < 1 for one in values):
        raise ValueError(f"Expected {n} positive integers or one, got {value!r}")
    return values
