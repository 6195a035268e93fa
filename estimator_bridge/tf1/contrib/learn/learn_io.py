"""`tf.contrib.learn.io`: input functions of arrays, data frames and generators, and readers."""

import inspect
import types
from collections.abc import Container

import numpy as np
import tensorflow.compat.v1 as tf

from estimator_bridge.private_tf import estimator_feeding
from estimator_bridge.tf1.contrib.learn import utils as _utils

__all__ = [
    "extract_pandas_data",
    "extract_pandas_labels",
    "extract_pandas_matrix",
    "generator_input_fn",
    "numpy_input_fn",
    "pandas_input_fn",
]

read_batch_examples = _utils.read_batch_examples
read_batch_features = _utils.read_batch_features
read_batch_record_features = _utils.read_batch_record_features


def numpy_input_fn(
    x, y=None, batch_size=128, num_epochs=1, shuffle=True, queue_capacity=1000, num_threads=1
):
    """Returns an input function of arrays; that of tf.estimator has no default for `shuffle`.

    Args:
      x: {feature: array}, or an array.
      y: array of labels, or None.
      batch_size: int, rows per batch.
      num_epochs: int, passes over the rows; None repeats forever.
      shuffle: whether to shuffle the rows.
      queue_capacity: int, capacity of the queue.
      num_threads: int, number of threads that fill it.

    Returns:
      Function that returns features, or (features, labels).
    """
    return tf.estimator.inputs.numpy_input_fn(
        x, y, batch_size, num_epochs, shuffle, queue_capacity, num_threads
    )


def pandas_input_fn(
    x,
    y=None,
    batch_size=128,
    num_epochs=1,
    shuffle=True,
    queue_capacity=1000,
    num_threads=1,
    target_column="target",
):
    """Returns an input function of a pandas.DataFrame, shuffled by default.

    Args:
      x: pandas.DataFrame.
      y: pandas.Series of labels, or None.
      batch_size: int, rows per batch.
      num_epochs: int, passes over the rows; None repeats forever.
      shuffle: whether to shuffle the rows.
      queue_capacity: int, capacity of the queue.
      num_threads: int, number of threads that fill it.
      target_column: name of the column of labels.

    Returns:
      Function that returns features, or (features, labels).
    """
    return tf.estimator.inputs.pandas_input_fn(
        x, y, batch_size, num_epochs, shuffle, queue_capacity, num_threads, target_column
    )


def generator_input_fn(
    x,
    target_key=None,
    batch_size=128,
    num_epochs=1,
    shuffle=True,
    queue_capacity=1000,
    num_threads=1,
    pad_value=None,
):
    """Returns an input function of a generator of samples.

    Args:
      x: generator function; yields {name: array}, one sample each, for one pass.
      target_key: name of the label, or a list of names; None for features only.
      batch_size: int, samples per batch.
      num_epochs: int, passes over the samples; None repeats forever.
      shuffle: whether to shuffle the samples.
      queue_capacity: int, capacity of the queue.
      num_threads: int, number of threads that fill it.
      pad_value: number that fills up shorter samples; None if all have the same shape.

    Returns:
      Function that returns features, or (features, label), or (features, {name: label}).

    Raises:
      TypeError: `x` is not a generator function that yields dicts, or `target_key` is no string.
      KeyError: a sample has no `target_key`.
    """
    if not isinstance(x, types.FunctionType) or not inspect.isgenerator(generator := x()):
        raise TypeError(f"x: expected a generator function; got {x!r}")
    sample = next(generator)
    if not isinstance(sample, dict):
        raise TypeError(f"x: expected to yield dicts; got {type(sample).__name__}")
    names = sorted(sample)
    targets = [target_key] if isinstance(target_key, str) else target_key
    if targets is not None:
        if not isinstance(targets, Container) or not all(isinstance(one, str) for one in targets):
            raise TypeError(f"target_key: expected a string or several; got {target_key!r}")
        unknown = [one for one in targets if one not in names]
        if unknown:
            raise KeyError(f"target_key: {unknown[0]!r} is not in a sample, which has {names}")

    def input_fn():
        queue = estimator_feeding._enqueue_data(
            x,
            queue_capacity,
            shuffle=shuffle,
            num_threads=num_threads,
            enqueue_size=batch_size,
            num_epochs=num_epochs,
            pad_value=pad_value,
        )
        dequeue = queue.dequeue_many if num_epochs is None else queue.dequeue_up_to
        values = dequeue(batch_size)
        values = values if isinstance(values, list) else [values]
        features = dict(zip(names, values))
        if targets is None:
            return features
        labels = {one: features.pop(one) for one in targets}
        return features, labels if len(labels) > 1 else labels[targets[0]]

    return input_fn


def extract_pandas_data(data):
    """Returns the numbers of a pandas.DataFrame as an array of floats; other data as they are.

    Args:
      data: pandas.DataFrame, or anything else.

    Raises:
      ValueError: a column is not numeric.
    """
    if not _is_frame(data):
        return data
    bad = [f"'{name}' type='{data[name].dtype}'" for name in data if not _is_number(data[name])]
    if bad:
        raise ValueError(
            "Data types for extracting pandas data must be int, float, or bool. Found: "
            + ", ".join(bad)
        )
    return data.values.astype("float")


def extract_pandas_matrix(data):
    """Returns the values of a pandas.DataFrame as an array; other data as they are.

    Args:
      data: pandas.DataFrame, or anything else.
    """
    return data.values if _is_frame(data) else data


def extract_pandas_labels(labels):
    """Returns a column of labels as an array; other data as they are.

    Args:
      labels: pandas.DataFrame of one column, pandas.Series, or anything else.

    Raises:
      ValueError: there are several columns, or they are not numeric.
    """
    if not _is_frame(labels):
        return labels
    if len(labels.columns) > 1:
        raise ValueError("Only one column for labels is allowed.")
    if not all(_is_number(labels[name]) for name in labels):
        raise ValueError("Data types for labels must be int, float, or bool.")
    return labels.values


def _is_frame(data):
    # pandas is not imported for a program that has none of its objects.
    return hasattr(data, "columns") and hasattr(data, "iloc")


def _is_number(column):
    return isinstance(column.dtype, np.dtype) and column.dtype.kind in "biuf"
