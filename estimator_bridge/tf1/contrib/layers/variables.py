"""What the layers share: the model's variables, and collecting their outputs under an alias."""

import tensorflow.compat.v1 as tf

from estimator_bridge.tf1.contrib.framework.variables import model_variable

__all__ = ["collect_named_outputs", "layer_variable", "n_positive_integers", "static_size"]


def collections_for(variables_collections, name):
    """Returns the collections for the variable `name`: of a list, all; of a dict, those under its
    name.
    """
    if isinstance(variables_collections, dict):
        return variables_collections.get(name, None)
    return variables_collections


def layer_variable(
    name, shape, dtype, initializer, regularizer=None, trainable=True, variables_collections=None
):
    """Makes (or reuses) one of a layer's variables in the current variable scope."""
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
    """Puts `outputs` into collections, its alias attached; returns `outputs`."""
    if collections:
        # The attribute that `convert_collection_to_dict` reads.
        outputs.aliases = [*getattr(outputs, "aliases", ()), alias.rstrip("/")]
        tf.add_to_collections(collections, outputs)
    return outputs


def convert_collection_to_dict(collection, clear_collection=False):
    """Returns {alias or name: tensor} of a collection."""
    found = {}
    for value in tf.get_collection(collection):
        for alias in getattr(value, "aliases", None) or [value.op.name]:
            found[alias] = value
    if clear_collection:
        tf.get_default_graph().clear_collection(collection)
    return found


def n_positive_integers(n, value):
    """Returns `value` as a tuple of n: one integer for all, or a sequence of them (ValueError
    otherwise).
    """
    values = [value] * n if isinstance(value, int) or not hasattr(value, "__iter__") else value
    values = tuple(int(one) for one in values)
    if len(values) != n or any(one < 1 for one in values):
        raise ValueError(f"Expected {n} positive integers or one, got {value!r}")
    return values


def static_size(inputs, axis, layer):
    """Returns the size of an axis that must be known when the graph is built (ValueError)."""
    size = tf.compat.dimension_value(inputs.shape[axis])
    if size is None:
        raise ValueError(
            f"{layer}: dimension {axis} of the input must be known, got {inputs.shape}"
        )
    return size
