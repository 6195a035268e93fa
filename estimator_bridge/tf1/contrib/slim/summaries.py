"""Summaries that are named after their tensors."""

import tensorflow.compat.v1 as tf

__all__ = [
    "add_histogram_summaries",
    "add_histogram_summary",
    "add_image_summaries",
    "add_image_summary",
    "add_scalar_summaries",
    "add_scalar_summary",
    "add_zero_fraction_summaries",
    "add_zero_fraction_summary",
]


def _name(tensor, name, prefix, postfix=""):
    parts = [prefix, name or tensor.op.name, postfix]
    return "/".join(part for part in parts if part)


def _collect(summary, tensor, name, print_summary):
    """Adds a summary without a collection to that of summaries; prints its tensor if wanted."""
    if print_summary:
        summary = tf.Print(summary, [tensor], name)
    tf.add_to_collection(tf.GraphKeys.SUMMARIES, summary)
    return summary


def add_histogram_summary(tensor, name=None, prefix=None):
    """Adds a histogram of a tensor; returns the summary.

    Args:
      tensor: tensor or variable.
      name: name of the summary; None for that of the tensor.
      prefix: scope before the name, or None.
    """
    return tf.summary.histogram(_name(tensor, name, prefix), tensor)


def add_image_summary(tensor, name=None, prefix=None, print_summary=False):
    """Adds the images of a tensor; returns the summary.

    Args:
      tensor: tensor [batch, height, width, channels].
      name: name of the summary; None for that of the tensor.
      prefix: scope before the name, or None.
      print_summary: whether to print the tensor with each summary.
    """
    name = _name(tensor, name, prefix)
    return _collect(tf.summary.image(name, tensor, collections=[]), tensor, name, print_summary)


def add_scalar_summary(tensor, name=None, prefix=None, print_summary=False):
    """Adds the value of a tensor; returns the summary.

    Args:
      tensor: scalar tensor or variable.
      name: name of the summary; None for that of the tensor.
      prefix: scope before the name, or None.
      print_summary: whether to print the value with each summary.
    """
    name = _name(tensor, name, prefix)
    return _collect(tf.summary.scalar(name, tensor, collections=[]), tensor, name, print_summary)


def add_zero_fraction_summary(tensor, name=None, prefix=None, print_summary=False):
    """Adds the share of zeros in a tensor; returns the summary.

    Args:
      tensor: tensor or variable.
      name: name of the summary; None for that of the tensor.
      prefix: scope before the name, or None.
      print_summary: whether to print the share with each summary.
    """
    name = _name(tensor, name, prefix, "Fraction_of_Zero_Values")
    return add_scalar_summary(tf.nn.zero_fraction(tensor), name, print_summary=print_summary)


def add_histogram_summaries(tensors, prefix=None):
    """Adds a histogram of each tensor; returns the list of summaries.

    Args:
      tensors: list of tensors or variables.
      prefix: scope before the names, or None.
    """
    return [add_histogram_summary(tensor, prefix=prefix) for tensor in tensors]


def add_image_summaries(tensors, prefix=None):
    """Adds the images of each tensor; returns the list of summaries.

    Args:
      tensors: list of tensors [batch, height, width, channels].
      prefix: scope before the names, or None.
    """
    return [add_image_summary(tensor, prefix=prefix) for tensor in tensors]


def add_scalar_summaries(tensors, prefix=None, print_summary=False):
    """Adds the value of each tensor; returns the list of summaries.

    Args:
      tensors: list of scalar tensors or variables.
      prefix: scope before the names, or None.
      print_summary: whether to print the values with each summary.
    """
    return [add_scalar_summary(one, prefix=prefix, print_summary=print_summary) for one in tensors]


def add_zero_fraction_summaries(tensors, prefix=None):
    """Adds the share of zeros in each tensor; returns the list of summaries.

    Args:
      tensors: list of tensors or variables.
      prefix: scope before the names, or None.
    """
    return [add_zero_fraction_summary(tensor, prefix=prefix) for tensor in tensors]
