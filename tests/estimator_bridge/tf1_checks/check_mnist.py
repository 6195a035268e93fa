"""The MNIST reader of `tf.examples`."""

import gzip
import struct
import sys

import numpy as np
import pytest
import tensorflow as tf
import tensorflow.examples.tutorials.mnist.mnist as imported_by_path
from tensorflow.examples.tutorials.mnist import fully_connected_feed, input_data, mnist

from estimator_bridge.tf1.unsupported import NotSuppliedError


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


def test_no_examples_may_be_kept_for_validation(folder):
    mnist = input_data.read_data_sets(str(folder), validation_size=0)
    assert [part.images.shape for part in mnist] == [(30, 784), (0, 784), (10, 784)]


def test_contrib_learn_loads_mnist_by_name(folder, monkeypatch):
    monkeypatch.chdir(folder.parent)
    folder.rename("MNIST-data")
    load = tf.contrib.learn.datasets.load_dataset
    # It keeps 5,000 images for validation.
    with pytest.raises(ValueError, match="between 0 and 30. Received: 5000"):
        load("mnist")
    with pytest.raises(NotSuppliedError, match="'dbpedia'.*load_csv_with_header"):
        load("dbpedia")
    with pytest.raises(ValueError, match="'none'"):
        load("none")


def test_contrib_learn_reads_the_houses_of_boston_from_a_file(tmp_path):
    file = tmp_path / "boston_house_prices.csv"
    row = [0.5 * number for number in range(14)]
    names = [f'"{number}"' for number in range(14)]
    lines = ["2,13", ",".join(names), *[",".join(map(str, row))] * 2]
    file.write_text("\n".join(lines) + "\n")
    found = tf.contrib.learn.datasets.load_boston(str(file))
    np.testing.assert_array_equal(found.data, [row[:13]] * 2)
    np.testing.assert_array_equal(found.target, [row[13]] * 2)
    with pytest.raises(NotSuppliedError, match="boston_house_prices.csv"):
        tf.contrib.learn.datasets.load_dataset("boston")


def test_contrib_learn_names_the_package_that_has_the_irises(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn", None)
    with pytest.raises(NotSuppliedError, match="install scikit-learn"):
        tf.contrib.learn.datasets.load_iris()


def test_error_names_a_missing_file(tmp_path):
    with pytest.raises(RuntimeError, match="train-images-idx3-ubyte.gz"):
        input_data.read_data_sets(str(tmp_path))


def test_the_network_of_the_tutorial_learns():
    assert imported_by_path is mnist and mnist.IMAGE_PIXELS == 784
    rng = np.random.RandomState(0)
    labels = rng.randint(10, size=64)
    # A row of the image is bright, another one for each class.
    images = rng.uniform(0, 0.2, [64, 28, 28]).astype(np.float32)
    images[np.arange(64), labels] = 1
    logits = mnist.inference(tf.constant(images.reshape(64, -1)), 16, 8)
    loss = mnist.loss(logits, tf.constant(labels, tf.int32))
    step = mnist.training(loss, 0.1)
    correct = mnist.evaluation(logits, tf.constant(labels, tf.int32))
    assert [variable.op.name for variable in tf.global_variables()] == [
        *("hidden1/weights", "hidden1/biases", "hidden2/weights", "hidden2/biases"),
        *("softmax_linear/weights", "softmax_linear/biases", "global_step"),
    ]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for _ in range(200):
            session.run(step)
        assert session.run(correct) > 55
        assert session.run("global_step:0") == 200


def test_other_examples_name_a_remedy():
    with pytest.raises(NotSuppliedError, match="fully_connected_feed.*keep a copy"):
        fully_connected_feed.main()
    with pytest.raises(NotSuppliedError, match="keep a copy"):
        tf.examples.tutorials.word2vec  # noqa: B018
