"""Batches that are gathered at once are those that tf.data makes of rows."""

import numpy as np
import pytest

from estimator_bridge import tf
from estimator_bridge.boosted_trees.slicing import take_batches

pytestmark = pytest.mark.versions

ROWS = 50
ARRAYS = (
    {
        "number": np.arange(ROWS, dtype=np.float32),
        "text": np.array([str(row) for row in range(ROWS)]),
        "vector": np.arange(3 * ROWS).reshape(ROWS, 3),
    },
    np.arange(ROWS),
)


def slices():
    return tf.data.Dataset.from_tensor_slices(ARRAYS)


def slices_of_1x():
    return tf.compat.v1.data.Dataset.from_tensor_slices(ARRAYS)


def read(make, change):
    """Returns all batches of a dataset, and whether it was changed."""
    with tf.Graph().as_default():
        tf.compat.v1.set_random_seed(7)
        dataset = make()
        changed = change(dataset)
        assert changed.element_spec == dataset.element_spec
        following = tf.compat.v1.data.make_initializable_iterator(changed)
        batch = tf.nest.flatten(following.get_next())
        found = []
        with tf.compat.v1.Session() as session:
            session.run(following.initializer)
            while True:
                try:
                    found.append([np.asarray(values).tolist() for values in session.run(batch)])
                except tf.errors.OutOfRangeError:
                    return found, changed is not dataset


@pytest.mark.parametrize(
    "make",
    [
        lambda: slices().batch(7),
        lambda: slices().batch(7, drop_remainder=True).repeat(3),
        lambda: slices().repeat(2).batch(7, num_parallel_calls=2).skip(1),
        lambda: slices().shuffle(20, seed=3).repeat(2).batch(7),
        lambda: slices().shuffle(20, 3, reshuffle_each_iteration=False).repeat(2).batch(7),
        lambda: slices().shuffle(ROWS).repeat(2).take(33).batch(4).prefetch(1),
        lambda: slices().batch(7).shuffle(5, seed=3).repeat(2),
        lambda: slices().skip(3).shard(2, 1).batch(7).with_options(tf.data.Options()),
        lambda: slices_of_1x().shuffle(20, 5).repeat(2).batch(6),
    ],
)
def test_the_batches_are_the_same(make):
    expected, _ = read(make, lambda dataset: dataset)
    found, is_changed = read(make, take_batches)
    assert found == expected and len(found) > 3
    assert is_changed


@pytest.mark.parametrize(
    "make",
    [
        lambda: slices().map(lambda *row: row).batch(7),
        lambda: slices().batch(7).map(lambda *batch: batch),
        lambda: slices(),
        lambda: tf.data.Dataset.from_tensors(ARRAYS),
        lambda: slices().batch(2).batch(3),
    ],
)
def test_other_datasets_stay_as_they_are(make):
    expected, _ = read(make, lambda dataset: dataset)
    assert read(make, take_batches) == (expected, False)


def test_sparse_rows_stay_as_they_are():
    sparse = tf.SparseTensor([[0, 1], [1, 0]], [1.0, 2.0], [2, 2])
    dataset = tf.data.Dataset.from_tensor_slices(sparse).batch(2)
    assert take_batches(dataset) is dataset
