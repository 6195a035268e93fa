"""The transformations of `tf.contrib.data` that tf.data has in another form."""

import tensorflow.compat.v1 as tf

from estimator_bridge.private_tf import nest

__all__ = [
    "Dataset",
    "assert_element_shape",
    "batch_and_drop_remainder",
    "padded_batch_and_drop_remainder",
    "read_batch_features",
    "reduce_dataset",
]

# The class was contrib's until 1.3.
Dataset = tf.data.Dataset


def batch_and_drop_remainder(batch_size):
    """Returns a transformation for Dataset.apply: batches of exactly `batch_size`."""
    return lambda dataset: dataset.batch(batch_size, drop_remainder=True)


def padded_batch_and_drop_remainder(batch_size, padded_shapes, padding_values=None):
    """Returns a transformation for Dataset.apply: padded batches of exactly `batch_size`."""
    return lambda dataset: dataset.padded_batch(
        batch_size, padded_shapes, padding_values, drop_remainder=True
    )


def assert_element_shape(expected_shapes):
    """Returns a transformation for Dataset.apply that gives elements these static shapes, and
    checks them as they run.
    """

    def check(*elements):
        element = elements if len(elements) > 1 else elements[0]
        return nest.map_structure_up_to(element, tf.ensure_shape, element, expected_shapes)

    return lambda dataset: dataset.map(check)


def reduce_dataset(dataset, reducer):
    """Returns the single result of a tf.contrib.data.Reducer over a dataset, as a tensor."""
    grouped = dataset.apply(
        tf.data.experimental.group_by_reducer(lambda *_: tf.constant(0, tf.int64), reducer)
    )
    return tf.data.experimental.get_single_element(grouped.take(1))


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
    """Returns {feature: tensor} of the next batch of tf.Example from files."""
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
