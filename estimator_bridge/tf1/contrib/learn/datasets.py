"""`tf.contrib.learn.datasets`: small CSV files and MNIST as arrays."""

import csv
import os
import types
from typing import Any, NamedTuple

import numpy as np
import tensorflow.compat.v1 as tf

from estimator_bridge.errors import BridgeError
from estimator_bridge.tf1.contrib.package import unsupported_names as _unsupported_names
from estimator_bridge.tf1.examples import input_data
from estimator_bridge.tf1.unsupported import NotSuppliedError, advise

__all__ = [
    "Dataset",
    "Datasets",
    "load_boston",
    "load_csv_with_header",
    "load_csv_without_header",
    "load_iris",
]

_DATA = "read it from a CSV file with load_csv_with_header"
_NOT_SUPPLIED = ("dbpedia",)

# Rows and columns in which the file of 1.x, that of the UCI repository, differs from Fisher's
# article, and so from scikit-learn's copy since version 0.20.
_IRIS_OF_UCI = {(34, 3): 0.1, (37, 1): 3.1, (37, 2): 1.5}

__getattr__, _advice_for = _unsupported_names(
    globals(), {f"load_{name}": _DATA for name in _NOT_SUPPLIED}
)


class Dataset(NamedTuple):
    """The arrays of one split: data [rows, columns] and target [rows]."""

    data: Any
    target: Any


class Datasets(NamedTuple):
    """The train, validation and test splits."""

    train: Any
    validation: Any
    test: Any


def _as_arrays(rows, target_dtype, features_dtype, target_column):
    rows = list(rows)
    targets = [row.pop(target_column) for row in rows]
    return Dataset(np.array(rows, dtype=features_dtype), np.array(targets, dtype=target_dtype))


def load_csv_with_header(filename, target_dtype, features_dtype, target_column=-1):
    """Reads a CSV file whose header has the number of rows, of features, and the class names.

    Args:
      filename: path of the file.
      target_dtype: NumPy dtype of the target.
      features_dtype: NumPy dtype of the features.
      target_column: int, position of the target in a row.

    Returns:
      Dataset.

    Raises:
      ValueError: the file has another number of rows than its header says.
    """
    with tf.gfile.Open(filename) as file:
        lines = csv.reader(file)
        rows_stated = int(next(lines)[0])
        found = _as_arrays(lines, target_dtype, features_dtype, target_column)
    if len(found.data) != rows_stated:
        raise ValueError(
            f"{filename}: the header says {rows_stated} rows, but the file has {len(found.data)}"
        )
    return found


def load_csv_without_header(filename, target_dtype, features_dtype, target_column=-1):
    """Reads a CSV file of rows only.

    Args:
      filename: path of the file.
      target_dtype: NumPy dtype of the target.
      features_dtype: NumPy dtype of the features.
      target_column: int, position of the target in a row.

    Returns:
      Dataset.
    """
    with tf.gfile.Open(filename) as file:
        return _as_arrays(csv.reader(file), target_dtype, features_dtype, target_column)


def maybe_download(filename, work_directory, source_url=None):
    """Returns the path of an existing file; unlike 1.x, nothing is downloaded.

    Args:
      filename: name of the file.
      work_directory: directory of the file.
      source_url: URL named in the error message, or None.

    Returns:
      str.

    Raises:
      BridgeError: the file does not exist.
    """
    path = os.path.join(work_directory, filename)
    if not tf.gfile.Exists(path):
        raise BridgeError(
            f"{path}: the file does not exist and is not downloaded; copy {source_url} there"
        )
    return path


def load_iris(data_path=None):
    """Reads the iris data: 150 flowers of three kinds.

    Args:
      data_path: CSV file with the header of `load_csv_with_header`; None for scikit-learn's copy.

    Returns:
      Dataset of float64 [150, 4] and int64 [150].

    Raises:
      NotSuppliedError: there is no path, and scikit-learn is not installed.
    """
    if data_path is not None:
        return load_csv_with_header(data_path, np.int64, np.float64)
    try:
        from sklearn import datasets
    except ImportError:
        advice = "install scikit-learn, which has the data, or give the path of a CSV file"
        raise NotSuppliedError(advise("tf.contrib.learn.datasets.load_iris()", advice)) from None
    found = datasets.load_iris()
    data = found.data.copy()
    for place, value in _IRIS_OF_UCI.items():
        data[place] = value
    return Dataset(data, found.target.astype(np.int64))


def load_boston(data_path=None):
    """Reads the data of houses in Boston, which nothing supplies any more, from a file.

    Args:
      data_path: CSV file with the header of `load_csv_with_header`, and a row of names after it.

    Returns:
      Dataset of float64 [rows, 13] and [rows].

    Raises:
      NotSuppliedError: there is no path.
    """
    if data_path is None:
        advice = "give the path of a CSV file; TensorFlow 1.15 has it as boston_house_prices.csv"
        raise NotSuppliedError(advise("tf.contrib.learn.datasets.load_boston()", advice))
    with tf.gfile.Open(data_path) as file:
        lines = csv.reader(file)
        next(lines), next(lines)
        return _as_arrays(lines, np.float64, np.float64, -1)


def load_dataset(name, size="small", test_with_fake_data=False):
    """Reads a data set by its name.

    Args:
      name: "iris", or "mnist" from the four files in the folder `MNIST-data`.
      size: not used.
      test_with_fake_data: not used.

    Returns:
      Dataset of iris, or Datasets of MNIST.

    Raises:
      NotSuppliedError: it is one of the other data sets of 1.x, or nothing supplies its data.
      BridgeError: a file is missing.
      ValueError: there is no such data set.
    """
    del size, test_with_fake_data
    if name == "mnist":
        return input_data.load_mnist()
    if name in ("iris", "boston"):
        return load_iris() if name == "iris" else load_boston()
    if name in _NOT_SUPPLIED:
        raise NotSuppliedError(advise(f"tf.contrib.learn.datasets.load_dataset({name!r})", _DATA))
    raise ValueError(f"load_dataset: there is no data set {name!r}")


base = types.ModuleType(f"{__name__}.base", "The functions that are not about one data set.")
for _name in (*__all__, "maybe_download"):
    setattr(base, _name, globals()[_name])
mnist = input_data
