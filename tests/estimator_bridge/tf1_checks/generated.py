"""Datasets of the bridge and of TensorFlow, for the checks that compare them."""

import numpy as np
import tensorflow as tf

from estimator_bridge.private_tf import batch_op, from_generator_op


class Problem(Exception):
    """What a generator of a test raises."""


def own(generator, output_types=None, output_shapes=None, args=None, output_signature=None):
    """Returns TensorFlow's own dataset."""
    original = from_generator_op._from_generator.args[0]
    return original(generator, output_types, output_shapes, args, output_signature, None)


def both(*arguments, **options):
    """Yields the dataset of the bridge, and TensorFlow's own."""
    yield tf.data.Dataset.from_generator(*arguments, **options)
    yield own(*arguments, **options)


def as_written(monkeypatch, build):
    """Returns what a function builds with TensorFlow's own `batch`."""
    with monkeypatch.context() as patch:
        patch.setattr(batch_op, "_batch", batch_op._batch.args[0])
        return build()


def unprefetched(dataset):
    """Returns a dataset to which TensorFlow 2 adds no prefetch of its own."""
    options = tf.data.Options()
    if hasattr(options.experimental_optimization, "inject_prefetch"):
        options.experimental_optimization.inject_prefetch = False
    return dataset.with_options(options)


def read(dataset, most=10_000):
    """Returns the elements, and the type and the text of the error that ends them, or None."""
    element = tf.data.make_one_shot_iterator(dataset).get_next()
    found = []
    with tf.Session() as session:
        while len(found) < most:
            try:
                found.append(session.run(element))
            except tf.errors.OutOfRangeError:
                return found, None
            except tf.errors.OpError as error:
                return found, (type(error), error.message)
    return found, None


def assert_same(ours, theirs):
    """Compares structures, types, shapes and values of elements."""
    assert len(ours) == len(theirs)
    for one, other in zip(ours, theirs):
        flat, flat_other = tf.nest.flatten(one), tf.nest.flatten(other)
        tf.nest.assert_same_structure(one, other)
        for array, expected in zip(flat, flat_other):
            if isinstance(expected, tf.ragged.RaggedTensorValue):
                assert_same(
                    [array.values, *array.nested_row_splits],
                    [expected.values, *expected.nested_row_splits],
                )
                continue
            array, expected = np.asarray(array), np.asarray(expected)
            assert array.dtype == expected.dtype and array.shape == expected.shape
            assert array.tolist() == expected.tolist()
