"""`tensorflow.examples.tutorials.mnist.input_data`, which reads MNIST."""

import gzip
import math
import os
from typing import NamedTuple, Optional

import numpy as np

from estimator_bridge.errors import BridgeError

__all__ = ["DataSet", "Datasets", "dense_to_one_hot", "load_mnist", "read_data_sets"]

_FILES = (
    "train-images-idx3-ubyte.gz",
    "train-labels-idx1-ubyte.gz",
    "t10k-images-idx3-ubyte.gz",
    "t10k-labels-idx1-ubyte.gz",
)


class DataSet:
    """Images and labels in memory, in batches.

    Args:
      images: [rows, 28, 28, 1], uint8.
      labels: [rows], uint8; or [rows, classes] if one-hot.
      fake_data: not used.
      one_hot: not used.
      dtype: float32 or uint8, of the images that are returned.
      reshape: whether images are flattened to [rows, 784].
      seed: seed of the shuffling.

    Attributes:
      images: [rows, 784] (or [rows, 28, 28, 1] if not reshaped), float32 in [0, 1] or uint8.
      labels: [rows], uint8; or [rows, classes] if one-hot.
      num_examples: number of rows.
      epochs_completed: number of whole epochs returned.
    """

    def __init__(
        self,
        images,
        labels,
        fake_data=False,
        one_hot=False,
        dtype="float32",
        reshape=True,
        seed=None,
    ):
        del fake_data, one_hot
        if reshape:
            images = images.reshape(images.shape[0], math.prod(images.shape[1:]))
        if np.dtype(getattr(dtype, "as_numpy_dtype", dtype)) == np.float32:
            images = images.astype(np.float32) * np.float32(1.0 / 255.0)
        self.images, self.labels = images, labels
        self.num_examples = len(images)
        self.epochs_completed = 0
        self._random = np.random.RandomState(seed)
        self._order = np.arange(self.num_examples)
        self._at = 0

    def next_batch(self, batch_size, fake_data=False, shuffle=True):
        """Returns the next batch, which may continue into the next epoch.

        Args:
          batch_size: number of rows.
          fake_data: not used.
          shuffle: whether the rows of an epoch are shuffled.

        Returns:
          (images, labels) as in the attributes.
        """
        del fake_data
        chosen = []
        while len(chosen) < batch_size:
            if self._at == 0 and shuffle:
                self._random.shuffle(self._order)
            end = min(self._at + batch_size - len(chosen), self.num_examples)
            chosen.extend(self._order[self._at : end])
            self._at = end
            if end == self.num_examples:
                self._at, self.epochs_completed = 0, self.epochs_completed + 1
        return self.images[chosen], self.labels[chosen]


class Datasets(NamedTuple):
    """The three parts of MNIST."""

    train: DataSet
    validation: DataSet
    test: DataSet


def extract_images(f):
    """Returns the images of an idx file.

    Args:
      f: the open file, gzipped.

    Returns:
      [rows, 28, 28, 1], uint8.
    """
    with gzip.GzipFile(fileobj=f) as stream:
        magic, rows, height, width = np.frombuffer(stream.read(16), ">i4")
        if magic != 2051:
            raise ValueError(f"Invalid magic number {magic} in MNIST image file: {f.name}")
        return np.frombuffer(stream.read(), np.uint8).reshape(rows, height, width, 1)


def extract_labels(f, one_hot=False, num_classes=10):
    """Returns the labels of an idx file.

    Args:
      f: the open file, gzipped.
      one_hot: whether the labels are one-hot.
      num_classes: number of classes, for one-hot labels.

    Returns:
      [rows], uint8; or [rows, num_classes] if one-hot.
    """
    with gzip.GzipFile(fileobj=f) as stream:
        magic, _ = np.frombuffer(stream.read(8), ">i4")
        if magic != 2049:
            raise ValueError(f"Invalid magic number {magic} in MNIST label file: {f.name}")
        labels = np.frombuffer(stream.read(), np.uint8)
    return dense_to_one_hot(labels, num_classes) if one_hot else labels


def dense_to_one_hot(labels_dense, num_classes):
    """Returns classes as one-hot rows.

    Args:
      labels_dense: int [rows].
      num_classes: int.

    Returns:
      float64 [rows, num_classes].
    """
    return np.eye(num_classes)[labels_dense]


def load_mnist(train_dir="MNIST-data"):
    """Reads MNIST from its four files.

    Args:
      train_dir: folder of the files.

    Returns:
      Datasets.

    Raises:
      BridgeError: a file is missing.
    """
    return read_data_sets(train_dir)


def read_data_sets(
    train_dir,
    fake_data=False,
    one_hot=False,
    dtype="float32",
    reshape=True,
    validation_size=5000,
    seed: Optional[int] = None,
    source_url=None,
):
    """Reads the four files of MNIST from a folder.

    Args:
      train_dir: the folder.
      fake_data: not used.
      one_hot: whether the labels are one-hot.
      dtype: float32 (images in [0, 1]) or uint8.
      reshape: whether images are flattened to [rows, 784].
      validation_size: number of training rows that are used for validation instead.
      seed: seed of the shuffling.
      source_url: not used.

    Raises:
      BridgeError: a file does not exist. It is not downloaded, unlike in 1.x.
      ValueError: validation_size is negative or larger than the number of rows.
    """
    del fake_data, source_url
    for name in _FILES:
        if not os.path.isfile(os.path.join(train_dir, name)):
            raise BridgeError(
                f"MNIST: no file {os.path.join(train_dir, name)}. Put the four idx files of MNIST "
                f"({', '.join(_FILES)}) into that folder; they are no longer downloaded"
            )

    def read(name, extract, **options):
        with open(os.path.join(train_dir, name), "rb") as file:
            return extract(file, **options)

    images, labels = (
        read(_FILES[0], extract_images),
        read(_FILES[1], extract_labels, one_hot=one_hot),
    )
    if not 0 <= validation_size <= len(images):
        raise ValueError(
            f"Validation size should be between 0 and {len(images)}. Received: {validation_size}."
        )
    parts = [
        (images[validation_size:], labels[validation_size:]),
        (images[:validation_size], labels[:validation_size]),
        (read(_FILES[2], extract_images), read(_FILES[3], extract_labels, one_hot=one_hot)),
    ]
    return Datasets(*(DataSet(i, t, dtype=dtype, reshape=reshape, seed=seed) for i, t in parts))
