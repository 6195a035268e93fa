"""The MNIST reader of `tf.examples`."""

import gzip
import struct

import numpy as np
import pytest
from tensorflow.examples.tutorials.mnist import input_data


@pytest.fixture
def folder(tmp_path):
    rng = np.random.RandomState(0)
    for name, rows in (("train", 30), ("t10k", 10)):
        with gzip.open(tmp_path / f"{name}-images-idx3-ubyte.gz", "wb") as file:
            file.write(struct.pack(">4i", 2051, rows, 28, 28))
            file.write(rng.randint(256, size=[rows, 28, 28]).astype(np.uint8).tobytes())
        with gzip.open(tmp_path / f"{name}-labels-idx1-ubyte.gz", "wb") as file:
            file.write(struct.pack(">2i", 2049, rows) + bytes(i % 10 for i in range(rows)))
    return tmp_path


def test_batches_cover_all_examples(folder):
    mnist = input_data.read_data_sets(str(folder), one_hot=True, validation_size=6, seed=1)
    assert [part.num_examples for part in mnist] == [24, 6, 10]
    assert mnist.test.labels.argmax(1).tolist() == list(range(10))
    seen = [mnist.train.next_batch(8) for _ in range(3)]
    assert mnist.train.epochs_completed == 1
    images = np.concatenate([images for images, _ in seen])
    assert images.shape == (24, 784) and images.dtype == np.float32 and images.max() <= 1.0
    order = np.lexsort(images.T), np.lexsort(mnist.train.images.T)
    np.testing.assert_array_equal(images[order[0]], mnist.train.images[order[1]])


def test_error_names_a_missing_file(tmp_path):
    with pytest.raises(RuntimeError, match="train-images-idx3-ubyte.gz"):
        input_data.read_data_sets(str(tmp_path))
