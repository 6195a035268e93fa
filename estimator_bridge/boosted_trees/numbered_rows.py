"""Batches of rows of arrays, with the numbers of their rows."""

from collections.abc import Sequence
from typing import Any, Optional

import numpy as np
import tensorflow as tf

from ..array_datasets import row_batches
from ..private_tf import data_nest, estimator_util
from ..process import batch_first
from .columns import Layout, depend_on_rows
from .row_table import find_rows

__all__ = ["NumberedRows", "number"]

# Buckets that are kept for each row take so much memory at most.
_MOST_BYTES = 1 << 29


class _Column:
    """The rows of an array; no tuple, which TensorFlow would flatten with the features.

    Args:
      array: [rows, ...].
      spec: the tf.TensorSpec of the rows of a batch.
    """

    def __init__(self, array: np.ndarray, spec: Any):
        self.array = array
        self.spec = spec


class NumberedRows(dict[str, Any]):
    """The features of a batch, whose rows have numbers.

    Each is read by an operation of its own, so that a step reads those only that it needs.

    Args:
      columns: name -> the rows of all batches.
      rows: int64 [batch], the numbers.
      labels: the rows of the labels, in the structure of the input.

    Attributes:
      rows: the numbers.
      count: how many rows there are.
    """

    def __init__(self, columns: dict[str, _Column], rows: Any, labels: Any):
        super().__init__({name: _read([one], rows)[0] for name, one in columns.items()})
        self._columns = columns
        self._labels = labels
        self.rows = rows
        self.count = max(len(one.array) for one in columns.values())

    def read(self) -> dict[str, Any]:
        """Returns all features, read by one operation of the branch in which it is called."""
        return dict(zip(self._columns, _read(list(self._columns.values()), self.rows)))

    @property
    def label_types(self) -> list[Any]:
        """The tf.DTypes of the labels."""
        return [one.spec.dtype for one in data_nest.flatten(self._labels)]

    def take_labels(self, index: Any) -> list[np.ndarray]:
        """Returns the labels of rows, for a function that also does something else in a step.

        Args:
          index: of `find_rows`.
        """
        return _take(data_nest.flatten(self._labels), index)

    def pack_labels(self, tensors: Sequence[Any]) -> Any:
        """Returns the labels of a batch in the structure of the input.

        Args:
          tensors: what `take_labels` returned, as tensors.
        """
        columns = data_nest.flatten(self._labels)
        return data_nest.pack_sequence_as(self._labels, _set_shapes(columns, tensors))


def _read(columns: Sequence[_Column], rows: Any) -> list[Any]:
    def read(numbers: np.ndarray) -> list[np.ndarray]:
        return _take(columns, find_rows(numbers))

    types = [one.spec.dtype for one in columns]
    return _set_shapes(columns, tf.numpy_function(read, [rows], types, stateful=False))


def _take(columns: Sequence[_Column], index: Any) -> list[np.ndarray]:
    taken = [one.array[index] for one in columns]
    # Of a slice a copy, because TensorFlow may compute in the memory that it is given.
    return [one.copy() for one in taken] if isinstance(index, slice) else taken


def _set_shapes(columns: Sequence[_Column], tensors: Sequence[Any]) -> list[Any]:
    for tensor, one in zip(tensors, columns):
        tensor.set_shape(one.spec.shape)
    return list(tensors)


def number(dataset: Any, layout: Layout) -> Optional[tuple[NumberedRows, None, Any]]:
    """Returns the features, which also have the labels, and the hooks of the input.

    Args:
      dataset: what an input function returns.
      layout: the features.

    Returns:
      None if it is no dataset of batches of rows of arrays, or if nothing is to be kept of rows.
    """
    if not isinstance(dataset, tf.compat.v2.data.Dataset) or not batch_first.is_wanted():
        return None
    spec = dataset.element_spec
    is_pair = isinstance(spec, tuple) and len(spec) == 2 and type(spec[0]) is dict
    found = row_batches.number(dataset) if is_pair and depend_on_rows(layout.columns) else None
    if found is None:
        return None
    size = len(layout.names) * np.dtype(layout.dtype).itemsize
    if len(found.arrays[0]) * size > _MOST_BYTES:
        return None
    flat = [_Column(*pair) for pair in zip(found.arrays, data_nest.flatten(spec))]
    features, labels = data_nest.pack_sequence_as(spec, flat)
    rows, _, hooks = estimator_util.parse_input_fn_result(found.rows)
    return NumberedRows(features, rows, labels), None, hooks
