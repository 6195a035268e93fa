"""Batches of rows of arrays, with the numbers of their rows."""

from typing import Any, Optional

import numpy as np
import tensorflow as tf

from .. import row_batches
from ..process import batch_first
from .columns import Layout, depend_on_rows

__all__ = ["NumberedRows", "number"]

# Buckets that are kept for each row take so much memory at most.
_MOST_BYTES = 1 << 29


class NumberedRows(dict[str, Any]):
    """The features of a batch, whose rows have numbers.

    Args:
      features: name -> tensor.
      rows: int64 [batch], the numbers.
      count: how many rows there are.
    """

    def __init__(self, features: dict[str, Any], rows: Any, count: int):
        super().__init__(features)
        self.rows = rows
        self.count = count


def number(dataset: Any, layout: Layout) -> Optional[tuple[Any, int]]:
    """Returns a dataset of ((features, labels), numbers of rows), and how many rows there are.

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
    size = len(layout.names) * np.dtype(layout.dtype).itemsize
    return found if found and found[1] * size <= _MOST_BYTES else None
