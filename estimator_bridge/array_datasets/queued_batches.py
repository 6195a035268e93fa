"""Queues of batches of rows, for numpy_input_fn and pandas_input_fn.

TensorFlow's queue holds each value of each row as a tensor of its own: a batch is sliced into rows
on its way into the queue, and the rows are stacked again on their way out. This queue holds
batches. Rows are put in order and shuffled by their numbers, and each batch is gathered from the
arrays by its numbers. As in TensorFlow, a queue runner of the graph feeds the queue, so arrays may
change while a model is trained.
"""

import array
import sys
import threading
from collections.abc import Mapping
from typing import Any, Optional

import numpy as np
import tensorflow as tf

from .. import private_tf

__all__ = ["BatchQueue", "RowNumbers", "get_columns"]

# How many batches one call of a session puts into the queue, and of how many bytes together.
_FED_BATCHES = 8
_FED_BYTES = 1 << 20
_int64 = np.dtype(np.int64)


class RowNumbers:
    """Numbers the rows of a table, pass after pass, perhaps in random order.

    A window of `window` numbers is shuffled as tf.queue.RandomShuffleQueue shuffles its rows: a
    random number leaves it, and the next one takes its place. The first pass then begins with a
    random row. The order differs in each run, as it does with TensorFlow's own queue, also if the
    graph has a seed.

    Args:
      rows: int, at least 1.
      passes: int, how many times the table is read; None for no end.
      window: int, how many numbers are shuffled at a time; 0 leaves them in order.
    """

    def __init__(self, rows: int, passes: Optional[int], window: int):
        self._rows, self._window = rows, window
        self._left = sys.maxsize if passes is None else rows * passes
        self._random = np.random.default_rng()
        self._next = int(self._random.integers(rows)) if window else 0
        self._shuffled = array.array("q")
        self._is_ending = False

    def take(self, count: int) -> Any:
        """Returns the next numbers, int64 [count]; fewer at the end, and none after it.

        Args:
          count: int.
        """
        if not self._window:
            return self._count(count)
        missing = self._window - len(self._shuffled)
        if missing:
            self._shuffled.frombytes(self._count(missing).tobytes())
        entering = self._count(count).tolist()
        places = self._random.integers(max(len(self._shuffled), 1), size=len(entering)).tolist()
        leaving, window = [], self._shuffled
        for place, number in zip(places, entering):
            leaving.append(window[place])
            window[place] = number
        if len(leaving) < count:
            leaving += self._empty(count - len(leaving))
        return np.array(leaving, _int64)

    def _count(self, count: int) -> Any:
        """Returns the next numbers in order."""
        count = min(count, self._left)
        numbers = np.arange(self._next, self._next + count, dtype=_int64) % self._rows
        self._next = (self._next + count) % self._rows
        self._left -= count
        return numbers

    def _empty(self, count: int) -> list[int]:
        """Takes up to `count` numbers, at least 1, from the window when no others enter it."""
        if not self._is_ending:
            self._is_ending = True
            self._random.shuffle(np.frombuffer(self._shuffled, _int64))
        leaving = self._shuffled[-count:].tolist()
        del self._shuffled[-count:]
        return leaving


class BatchQueue:
    """A queue of batches of rows of a table, with what input functions ask of a queue.

    It adds operations to the default graph, a queue runner that fills the queue, and a summary of
    the share of the queue that is full, all under the names that TensorFlow gives them.

    Args:
      columns: name -> array [rows, ...]; at least one row.
      capacity: int, how many rows may wait; a few batches may, too.
      size: int, rows in a batch.
      shuffle: whether to shuffle the rows, `capacity` at a time.
      passes: int, how many times to read the rows; None for no end.
      least: int, rows that TensorFlow's queue keeps to shuffle them, for the name of the summary.
    """

    def __init__(
        self,
        columns: Mapping[Any, Any],
        capacity: int,
        size: int,
        shuffle: bool,
        passes: Optional[int],
        least: int,
    ):
        self._size, self._columns = size, list(columns.values())
        row_bytes = sum(column.nbytes for column in self._columns) / len(self._columns[0])
        most = max(1, min(_FED_BATCHES, int(_FED_BYTES / max(1, row_bytes * size))))
        batches = max(capacity // size, 2 * most)
        self._at_once = max(1, min(batches // 2, most))
        types = [tf.as_dtype(column.dtype) for column in self._columns]
        self._shapes = [column.shape[1:] for column in self._columns]
        if shuffle:
            # TensorFlow's queue takes a seed of the graph. What follows must get the same ones.
            tf.compat.v1.get_seed(None)
        self._name = "random_shuffle_queue" if shuffle else "fifo_queue"
        with tf.name_scope("enqueue_input"):
            self._queue = tf.queue.FIFOQueue(batches, types, name=self._name)
            self._fed = [tf.compat.v1.placeholder(one) for one in types]
            enqueue = self._queue.enqueue_many(self._fed)
            full = tf.cast(self._queue.size(), tf.float32) * (1.0 / batches)
            tf.compat.v1.summary.scalar(
                f"queue/{self._queue.name}fraction_over_{least}_of_{capacity - least}_full", full
            )
        self._numbers = RowNumbers(len(self._columns[0]), passes, capacity if shuffle else 0)
        self._ahead, self._lock = np.empty(0, _int64), threading.Lock()
        tf.compat.v1.train.add_queue_runner(
            private_tf.estimator_feeding_queue_runner._FeedingQueueRunner(
                queue=self._queue, enqueue_ops=[enqueue], feed_fns=[self._feed]
            )
        )

    def dequeue_many(self, count: int) -> list[Any]:
        """Returns the next batch; all batches are full.

        Args:
          count: int, the size of a batch.

        Returns:
          None for the numbers of the rows, and a tensor [count, ...] for each column.
        """
        return self._dequeue("DequeueMany", count, count)

    def dequeue_up_to(self, count: int) -> list[Any]:
        """Returns the next batch; the last one may be smaller.

        Args:
          count: int, the size of a batch.

        Returns:
          None for the numbers of the rows, and a tensor [None, ...] for each column.
        """
        return self._dequeue("DequeueUpTo", count, None)

    def _dequeue(self, kind: str, count: int, rows: Optional[int]) -> list[Any]:
        if count != self._size:
            raise ValueError(f"count: expected {self._size}, as enqueued; got {count}")
        batch = self._queue.dequeue(name=f"{self._name}_{kind}")
        batch = batch if isinstance(batch, list) else [batch]
        for tensor, shape in zip(batch, self._shapes):
            tensor.set_shape([rows, *shape])
        return [None, *batch]

    def _feed(self) -> dict[Any, Any]:
        """Returns the next batches: placeholder -> array [batches, rows, ...]."""
        with self._lock:
            numbers = self._ahead
            if not len(numbers):
                numbers = self._numbers.take(self._at_once * self._size)
            if not len(numbers):
                raise tf.errors.OutOfRangeError(None, None, "All rows have been read.")
            # The last batch may be smaller, and then goes alone.
            size = min(self._size, len(numbers))
            numbers, self._ahead = np.split(numbers, [len(numbers) // size * size])
        return {
            placeholder: column.take(numbers, axis=0).reshape(-1, size, *shape)
            for placeholder, column, shape in zip(self._fed, self._columns, self._shapes)
        }


def get_columns(data: Any) -> Optional[dict[Any, Any]]:
    """Returns name -> array [rows, ...] of a table; None if it needs TensorFlow's own queue.

    Args:
      data: {name: array}, or a pandas.DataFrame.
    """
    columns = dict(data) if isinstance(data, Mapping) else _get_frame_columns(data)
    if not all(type(column) in (np.ndarray, np.memmap) for column in columns.values()):
        return None
    return columns if columns and len(next(iter(columns.values()))) else None


def _get_frame_columns(frame: Any) -> dict[Any, Any]:
    """Returns the columns, name -> array; none if TensorFlow might refuse the data frame."""
    dtypes = [frame.index.dtype, *frame.dtypes]
    if not frame.columns.is_unique or not all(map(_is_known, dtypes)):
        return {}
    # Text of pandas 3 has a type of its own, and was of type object before.
    return {
        name: column.to_numpy(dtype=None if isinstance(column.dtype, np.dtype) else object)
        for name, column in frame.items()
    }


def _is_known(dtype: Any) -> bool:
    return isinstance(dtype, np.dtype) or type(dtype).__name__ == "StringDtype"
