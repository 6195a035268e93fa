"""Helpers shared by the layers: variables, named outputs, static sizes."""

import tensorflow.compat.v1 as tf

from estimator_bridge.tf1.contrib.framework.variables import model_variable

__all__ = ["collect_named_outputs", "layer_variable", "n_positive_integers", "static_size"]


def collections_for(variables_collections, name):
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
    collections = collections_for(variables_collections, name)
    return model_variable(
        name,
        shape=shape,
        dtype=dtype,
        initializer=initializer,
        regularizer=regularizer,
        trainable=trainable,
        collections=list(collections or ()),
    )


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
        # `convert_collection_to_dict` reads this attribute.
        outputs.aliases = [*getattr(outputs, "aliases", ()), alias.rstrip("/")]
        tf.add_to_collections(collections, outputs)
    return outputs


def convert_collection_to_dict(collection, clear_collection=False):
    """Returns the tensors of a collection by alias.

    Args:
      collection: name of the collection.
      clear_collection: whether to empty the collection.

    Returns:
      {alias, or else operation name: tensor}.
    """
    found = {}
    for value in tf.get_collection(collection):
        for alias in getattr(value, "aliases", None) or [value.op.name]:
            found[alias] = value
    if clear_collection:
        tf.get_default_graph().clear_collection(collection)
    return found


def n_positive_integers(n, value):
    """Returns `value` as a tuple of n positive integers.

    Args:
      n: int, length of the tuple.
      value: int for all entries, or a sequence of n ints.

    Returns:
      Tuple of n ints.

    Raises:
      ValueError: the length differs from n, or an integer is below 1.
    """
    values = [value] * n if isinstance(value, int) or not hasattr(value, "__iter__") else value
    values = tuple(int(one) for one in values)
    if len(values) != n or any(one < 1 for one in values):
        raise ValueError(f"Expected {n} positive integers or one, got {value!r}")
    return values


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
