"""Transformations of `tf.contrib.data` that tf.data provides in another form."""

import tensorflow.compat.v1 as tf

from estimator_bridge.private_tf import nest

__all__ = [
    "Dataset",
    "assert_element_shape",
    "batch_and_drop_remainder",
    "padded_batch_and_drop_remainder",
    "read_batch_features",
    "reduce_dataset",
    "sliding_window_batch",
    "sloppy_interleave",
]

# Until 1.3 this class was in tf.contrib.data.
Dataset = tf.data.Dataset


def batch_and_drop_remainder(batch_size):
    """Returns a transformation into batches of exactly `batch_size`.

    Args:
      batch_size: int.

    Returns:
      Function for Dataset.apply.
    """
    return lambda dataset: dataset.batch(batch_size, drop_remainder=True)


def padded_batch_and_drop_remainder(batch_size, padded_shapes, padding_values=None):
    """Returns a transformation into padded batches of exactly `batch_size`.

    Args:
      batch_size: int.
      padded_shapes: structure of the padded shapes.
      padding_values: structure of the padding values; None for 0 and "".

    Returns:
      Function for Dataset.apply.
    """
    return lambda dataset: dataset.padded_batch(
        batch_size, padded_shapes, padding_values, drop_remainder=True
    )


def assert_element_shape(expected_shapes):
    """Returns a transformation that checks and sets the shapes of elements.

    Args:
      expected_shapes: structure of shapes.

    Returns:
      Function for Dataset.apply.
    """

    def check(*elements):
        element = elements if len(elements) > 1 else elements[0]
        return nest.map_structure_up_to(element, tf.ensure_shape, element, expected_shapes)

    return lambda dataset: dataset.map(check)


def reduce_dataset(dataset, reducer):
    """Reduces a dataset to a state; as in 1.15, the last function of the reducer is not called.

    Args:
      dataset: tf.data.Dataset.
      reducer: tf.contrib.data.Reducer.

    Returns:
      Structure of tensors.
    """
    return dataset.reduce(reducer.init_func(tf.constant(0, tf.int64)), reducer.reduce_func)


def read_batch_features(
    file_pattern,
    batch_size,
    features,
    reader=tf.data.TFRecordDataset,
    reader_args=None,
    randomize_input=True,
    num_epochs=None,
    capacity=10000,
):
    """Returns the next batch of parsed tf.Example protocol buffers.

    Args:
      file_pattern: glob pattern, or list of them.
      batch_size: int, examples per batch.
      features: {feature: FixedLenFeature or VarLenFeature}.
      reader: dataset class that reads the files.
      reader_args: positional arguments of `reader`, or None.
      randomize_input: whether to shuffle.
      num_epochs: int, number of passes over the files; None repeats forever.
      capacity: int, size of the shuffle buffer.

    Returns:
      {feature: tensor}.
    """
    dataset = tf.data.experimental.make_batched_features_dataset(
        file_pattern,
        batch_size,
        features,
        reader=reader,
        reader_args=reader_args,
        num_epochs=num_epochs,
        shuffle=randomize_input,
        shuffle_buffer_size=capacity,
    )
    iterator = tf.data.make_one_shot_iterator(dataset)
    return iterator.get_next()


def sliding_window_batch(window_size, stride=None, window_shift=None, window_stride=1):
    """Returns a transformation into windows of `window_size` elements; the last ones are full too.

    Args:
      window_size: int, the number of elements of a window.
      stride: old name of `window_shift`.
      window_shift: int, the distance between two windows; None for 1.
      window_stride: int, the distance between two elements of a window.

    Returns:
      Function for Dataset.apply.

    Raises:
      ValueError: both `stride` and `window_shift` are given.
    """
    if stride is not None and window_shift is not None:
        raise ValueError("window_shift: give it or its old name stride, not both")
    shift = next((one for one in (stride, window_shift) if one is not None), 1)

    def join(*windows):
        windows = windows[0] if len(windows) == 1 else windows
        if isinstance(windows, (tuple, dict)):
            windows = tf.data.Dataset.zip(windows)
        return windows.batch(window_size)

    def transform(dataset):
        windows = dataset.window(window_size, shift, window_stride, drop_remainder=True)
        return windows.flat_map(join)

    return transform


def sloppy_interleave(map_func, cycle_length, block_length=1):
    """Returns a transformation that interleaves datasets and does not wait for slow ones.

    Args:
      map_func: function from an element to a tf.data.Dataset.
      cycle_length: int, the number of datasets that are read at once.
      block_length: int, the number of elements that are read from one after another.

    Returns:
      Function for Dataset.apply.
    """
    return tf.data.experimental.parallel_interleave(
        map_func, cycle_length, block_length, sloppy=True
    )
