"""Builds the summaries of the shares of zeros without branches. Slow in all TensorFlow versions.

Canned Estimators summarise the share of zeros of each layer, and of all weights of a linear model.
TensorFlow counts them by a branch on their number, and in linear models by one branch more. Each
branch is two functions, which every graph of the Estimator contains: for training, for evaluation,
for prediction and for each export. With few columns and layers, building them takes a sixth of the
time of a graph. Here the same numbers are computed without branches, under the same names.
"""

import functools
import importlib
from typing import Any

from ..process.importing import call_when_imported

__all__ = ["apply"]

_CANNED = "tensorflow_estimator.python.estimator.canned"
# Module → its function that adds the summaries of a layer, or computes the share of all weights.
_FUNCTIONS = {
    "dnn": "_add_hidden_layer_summary",
    "dnn_linear_combined": "_add_layer_summary",
    "linear": "_compute_fraction_of_zero",
}


def apply() -> None:
    """Replaces the functions of the canned Estimators once their modules are imported.

    Call it before any of them is: one of them may be the first module that imports TensorFlow.
    """
    for name in _FUNCTIONS:
        call_when_imported(f"{_CANNED}.{name}", functools.partial(_replace, name))


def _replace(name: str) -> None:
    import tensorflow as tf

    own = _share_of_weights if name == "linear" else _summarise_layer
    # AutoGraph would otherwise convert the function, which has no control flow of its own.
    plain = tf.autograph.experimental.do_not_convert(own)
    setattr(importlib.import_module(f"{_CANNED}.{name}"), _FUNCTIONS[name], plain)


def _summarise_layer(value: Any, tag: str) -> None:
    """Adds the summaries of a layer.

    Args:
      value: the layer's output, a number of any dtype and shape.
      tag: begins the names of the summaries.
    """
    import tensorflow as tf

    v1 = tf.compat.v1
    with v1.name_scope(None, "zero_fraction", [value]):
        size = v1.size(value, out_type=tf.int64)
        num_zeros = _count_zeros(value, size)
        # NaN where there are no values.
        share = tf.identity(num_zeros / tf.cast(size, tf.float32), "fraction")
    v1.summary.scalar(f"{tag}/fraction_of_zero_values", share)
    v1.summary.histogram(f"{tag}/activation", value)


def _share_of_weights(variables: Any) -> Any:
    """Returns the share of zeros of all variables together, float32; NaN if they have no values.

    Args:
      variables: a list of variables, or of lists of them.
    """
    import tensorflow as tf

    v1 = tf.compat.v1
    with v1.name_scope("zero_fraction"):
        variables = tf.nest.flatten(variables)
        with v1.name_scope("total_size"):
            sizes = [v1.size(variable, out_type=tf.int64) for variable in variables]
            total = tf.math.add_n(sizes)
        with v1.name_scope("total_zero"):
            num_zeros = []
            for variable, size in zip(variables, sizes):
                # This rounds as TensorFlow's share of one variable, times its size, does.
                number = tf.cast(size, tf.float32)
                share = tf.math.divide_no_nan(_count_zeros(variable, size), number)
                num_zeros.append(share * number)
            total_zero = tf.math.add_n(num_zeros)
        with v1.name_scope("compute"):
            share = total_zero / tf.cast(total, tf.float32, name="float32_size")
        return tf.identity(share, name="zero_fraction_or_nan")


def _count_zeros(value: Any, size: Any) -> Any:
    """Returns the number of zeros of a tensor or variable, counted as int64, as float32."""
    import tensorflow as tf

    found = tf.not_equal(value, tf.zeros([], value.dtype.base_dtype))
    return tf.cast(size - tf.reduce_sum(tf.cast(found, tf.int64)), tf.float32)
