"""Batches of arrays in memory, in the order of `tf.contrib.learn`."""

import numpy as np
import tensorflow.compat.v1 as tf

__all__ = ["arrays_input_fn"]

# `fit` of 1.15 draws its orders from this seed, so every call trains on the same batches.
_SEED = 42


def arrays_input_fn(x, y, batch_size, for_training=False):
    """Returns an input_fn over arrays in memory.

    Args:
      x: array or {feature: array}. An array with one dimension becomes a column.
      y: array of labels, {label: array}, or None.
      batch_size: int, examples per batch; None for all at once.
      for_training: whether to repeat the rows without end, in a new order in each pass. The last
        batch of a pass has the remaining rows.
    """
    features = {key: _as_columns(value) for key, value in _as_dict(x).items()}
    labels = {key: np.asarray(value) for key, value in _as_dict(y).items()}
    labels = labels if isinstance(y, dict) else labels[""]
    rows = len(next(iter(features.values())))
    arrays = features if y is None else (features, labels)
    if for_training:
        read = _repeating_input_fn(arrays, rows, batch_size or rows)
    else:
        read = tf.estimator.inputs.numpy_input_fn(
            features, None if y is None else labels, batch_size or rows, shuffle=False
        )

    def input_fn():
        result = read()
        given = result if y is None else result[0]
        given = given if isinstance(x, dict) else given[""]
        return given if y is None else (given, result[1])

    return input_fn


def _as_dict(values):
    return values if isinstance(values, dict) else {"": values}


def _as_columns(values):
    array = np.asarray(values)
    return array.reshape([-1, 1]) if array.ndim == 1 else array


def _repeating_input_fn(arrays, rows, batch_size):
    def batches():
        random = np.random.RandomState(_SEED)
        while True:
            order = random.permutation(rows)
            for start in range(0, rows, batch_size):
                chosen = order[start : start + batch_size]
                yield tf.nest.map_structure(lambda array, rows=chosen: array[rows], arrays)

    def input_fn():
        dataset = tf.data.Dataset.from_generator(
            batches,
            tf.nest.map_structure(lambda array: tf.as_dtype(array.dtype), arrays),
            tf.nest.map_structure(lambda array: tf.TensorShape([None, *array.shape[1:]]), arrays),
        )
        return tf.data.make_one_shot_iterator(dataset).get_next()

    return input_fn
