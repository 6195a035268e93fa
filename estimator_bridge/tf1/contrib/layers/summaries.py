"""Summaries of `tf.contrib.layers`."""

import functools
import re

import tensorflow.compat.v1 as tf

__all__ = [
    "summarize_activation",
    "summarize_activations",
    "summarize_collection",
    "summarize_tensor",
    "summarize_tensors",
]


def summarize_tensor(tensor, tag=None):
    """Writes a summary: a scalar, or a histogram for tensors of rank 1 or more.

    Args:
      tensor: numeric tensor.
      tag: str, name of the summary; None for the operation's name and `_summary`.

    Returns:
      Summary, a scalar string tensor.
    """
    tag = tag or f"{tensor.op.name}_summary"
    write = tf.summary.scalar if tensor.shape.ndims == 0 else tf.summary.histogram
    return write(tag, tensor)


def summarize_activation(op):
    """Writes the histogram of an activation and the share of its saturated units.

    Args:
      op: tensor, output of an activation function.

    Returns:
      Summary of the histogram, a scalar string tensor.
    """
    if op.op.type in ("Relu", "Softplus", "Relu6"):
        name = op.op.name + "/zeros"
        # The share of the inputs of the activation, as in 1.x.
        given = op.op.inputs[0]
        below = tf.less(given, tf.cast(0.0, given.dtype))
        tf.summary.scalar(name, tf.reduce_mean(tf.to_float(below)))
    if op.op.type == "Relu6":
        name = op.op.name + "/sixes"
        tf.summary.scalar(name, tf.reduce_mean(tf.to_float(tf.greater(op.op.inputs[0], 6.0))))
    return tf.summary.histogram(op.op.name + "/activation", op)


def summarize_tensors(tensors, summarizer=summarize_tensor):
    """Applies a summarizer to each tensor.

    Args:
      tensors: list of tensors.
      summarizer: function of a tensor that returns a summary.

    Returns:
      List of summaries.
    """
    return [summarizer(tensor) for tensor in tensors]


def summarize_collection(collection, name_filter=None, summarizer=summarize_tensor):
    """Applies a summarizer to the tensors of a collection.

    Args:
      collection: name of the collection.
      name_filter: regular expression matched at the start of operation names; None for all.
      summarizer: function of a tensor that returns a summary.

    Returns:
      List of summaries.
    """
    tensors = tf.get_collection(collection)
    if name_filter is not None:
        tensors = [tensor for tensor in tensors if re.match(name_filter, tensor.op.name)]
    return summarize_tensors(tensors, summarizer)


def summarize_activations(name_filter=None, summarizer=summarize_activation):
    """Applies a summarizer to the tensors of the collection of activations.

    Args:
      name_filter: regular expression matched at the start of operation names; None for all.
      summarizer: function of a tensor that returns a summary.

    Returns:
      List of summaries.
    """
    return summarize_collection(tf.GraphKeys.ACTIVATIONS, name_filter, summarizer)


summarize_variables = functools.partial(summarize_collection, tf.GraphKeys.GLOBAL_VARIABLES)
summarize_weights = functools.partial(summarize_collection, tf.GraphKeys.WEIGHTS)
summarize_biases = functools.partial(summarize_collection, tf.GraphKeys.BIASES)
