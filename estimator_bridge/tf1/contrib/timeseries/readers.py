"""Readers of time series: `tf.contrib.timeseries`.

They fill queues, as in 1.x: start the queue runners of a graph that uses them.
"""

import abc
import collections

import numpy as np
import tensorflow.compat.v1 as tf

from estimator_bridge.private_tf import estimator_feeding as _feeding
from estimator_bridge.private_tf import timeseries_feature_keys as _keys
from estimator_bridge.tf1.contrib.timeseries import saved_model_utils as _saved_model_utils

__all__ = [
    "CSVReader",
    "NumpyReader",
    "ReaderBaseTimeSeriesParser",
    "TFExampleReader",
    "TimeSeriesReader",
]

_TIMES, _VALUES = _keys.TrainEvalFeatures.TIMES, _keys.TrainEvalFeatures.VALUES


class TimeSeriesReader(abc.ABC):
    """Reads one time series."""

    def check_dataset_size(self, minimum_dataset_size):
        """Raises ValueError if the series is known to be shorter than a window.

        Args:
          minimum_dataset_size: int, records of a window.
        """
        del minimum_dataset_size

    @abc.abstractmethod
    def read(self):
        """Returns name -> tensor [chunk, ...] of the next records, without end."""

    @abc.abstractmethod
    def read_full(self):
        """Returns name -> tensor [records, ...] of the whole series, each time."""


class NumpyReader(TimeSeriesReader):
    """Reads a series from arrays.

    Args:
      data: name -> array; needs `times`, [records], and `values`, [records] or [records, features].
        All others begin with the shape of `times`.
      read_num_records_hint: int, records of a chunk.

    Raises:
      ValueError: a feature is missing or has another shape, or there are several series.
    """

    def __init__(self, data, read_num_records_hint=4096):
        batch = _saved_model_utils.canonicalize_numpy_data(data, require_single_batch=True)
        self._features = {name: array[0] for name, array in batch.items()}
        self._read_num_records_hint = read_num_records_hint

    def check_dataset_size(self, minimum_dataset_size):
        """Raises ValueError if the series is shorter than a window.

        Args:
          minimum_dataset_size: int, records of a window.
        """
        size = self._features[_TIMES].shape[0]
        if size < minimum_dataset_size:
            raise ValueError(
                f"A TimeSeriesInputFn is configured to create windows of size "
                f"{minimum_dataset_size}, but only {size} records were available in the dataset. "
                "Either decrease the window size or provide more records."
            )

    def read(self):
        """Returns name -> tensor [read_num_records_hint, ...]."""
        return self._dequeue(self._features, 1000, self._read_num_records_hint)

    def read_full(self):
        """Returns name -> tensor [records, ...]."""
        whole = {name: array[np.newaxis] for name, array in self._features.items()}
        return {name: tf.squeeze(one, axis=0) for name, one in self._dequeue(whole, 2, 1).items()}

    @staticmethod
    def _dequeue(arrays, capacity, count):
        """Returns name -> the next `count` rows of arrays."""
        ordered = collections.OrderedDict(sorted(arrays.items()))
        queue = _feeding._enqueue_data(
            ordered, capacity=capacity, shuffle=False, num_threads=1, enqueue_size=count
        )
        # The first column is the number of the row.
        return dict(zip(ordered, queue.dequeue_many(count)[1:]))


class ReaderBaseTimeSeriesParser(TimeSeriesReader):
    """Reads a series from records of files.

    Args:
      filenames: a name, or a list of names, in the order of time.
      read_num_records_hint: int, records of a chunk.
    """

    def __init__(self, filenames, read_num_records_hint=4096):
        self._filenames = filenames
        self._read_num_records_hint = read_num_records_hint

    @abc.abstractmethod
    def _get_reader(self):
        """Returns a tf.ReaderBase."""

    @abc.abstractmethod
    def _process_records(self, lines):
        """Returns name -> tensor [records, ...] of serialized records, [records]."""

    def _get_filename_queue(self, epoch_limit):
        """Returns a queue of the files, which ends after `epoch_limit` passes without a record."""
        epochs = tf.Variable(
            initial_value=tf.constant(0, dtype=tf.int64),
            name="epoch_limiter",
            trainable=False,
            collections=[tf.GraphKeys.LOCAL_VARIABLES],
        )
        names = tf.reshape(tf.convert_to_tensor(self._filenames, dtype=tf.string), [-1])
        # Queue runners may start before the variable has its value.
        counted = tf.cond(
            tf.is_variable_initialized(epochs),
            lambda: tf.count_up_to(epochs, epoch_limit),
            lambda: tf.constant(0, dtype=tf.int64),
        )
        with tf.control_dependencies([counted]):
            names = tf.identity(names)
        queue = tf.train.string_input_producer(names, shuffle=False, capacity=1)
        return queue, epochs

    def _read_records(self, reader, epoch_limit, count):
        """Returns the file queue, and keys and values of the next records, [records]."""
        queue, epochs = self._get_filename_queue(epoch_limit)
        with tf.control_dependencies([tf.assign(epochs, 0)]):
            keys, records = reader.read_up_to(queue, count)
        return queue, keys, records

    def read(self):
        """Returns name -> tensor [chunk, ...]."""
        # A file without records is read again for ever; after so many passes it is an error.
        _, _, records = self._read_records(self._get_reader(), 1000, self._read_num_records_hint)
        return self._process_records(records)

    def read_full(self):
        """Returns name -> tensor [records, ...]; it ends where the first record comes again."""
        reader = self._get_reader()
        queue, first_key, first = self._read_records(reader, 2, 1)
        _, _, _, found = tf.while_loop(
            lambda key, record, count, found: tf.not_equal(tf.squeeze(key), tf.squeeze(first_key)),
            lambda key, record, count, found: (
                *reader.read_up_to(queue, 1),
                count + 1,
                found.write(count, record),
            ),
            [
                tf.constant([""]),
                first,
                tf.constant(0),
                tf.TensorArray(tf.string, size=0, dynamic_size=True, infer_shape=False),
            ],
            parallel_iterations=1,
            shape_invariants=[
                tf.TensorShape([None]),
                tf.TensorShape([None]),
                tf.TensorShape([]),
                tf.TensorShape(None),
            ],
        )
        records = found.concat()
        # For the next run. During the loop, it would begin the series again.
        with tf.control_dependencies([records]):
            reset = reader.reset()
        with tf.control_dependencies([reset]):
            records = tf.ensure_shape(records, [None])
        return self._process_records(records)


class CSVReader(ReaderBaseTimeSeriesParser):
    """Reads a series from CSV files.

    Args:
      filenames: a name, or a list of names, in the order of time.
      column_names: names of the columns; one `times`, and one or more `values`. Columns of the same
        name become one feature.
      column_dtypes: their types; int64 for times and float32 for all others by default.
      skip_header_lines: int, lines before the records of each file, or None.
      read_num_records_hint: int, records of a chunk.

    Raises:
      ValueError: there is not one column of times, no values, or another number of types.
    """

    def __init__(
        self,
        filenames,
        column_names=(_TIMES, _VALUES),
        column_dtypes=None,
        skip_header_lines=None,
        read_num_records_hint=4096,
    ):
        if column_dtypes is not None and len(column_dtypes) != len(column_names):
            raise ValueError(
                "If specified, the length of column_dtypes must match the length of column_names "
                f"(got column_dtypes={column_dtypes} and column_names={column_names})."
            )
        if sum(name == _TIMES for name in column_names) > 1:
            raise ValueError(
                f"Got more than one times column ('{_TIMES}'), but exactly one is required."
            )
        for name in (_TIMES, _VALUES):
            if name not in column_names:
                raise ValueError(f"'{name}' is a required column.")
        super().__init__(filenames, read_num_records_hint)
        self._column_names = column_names
        self._column_dtypes = column_dtypes or [
            tf.int64 if name == _TIMES else tf.float32 for name in column_names
        ]
        self._skip_header_lines = skip_header_lines

    def _get_reader(self):
        return tf.TextLineReader(skip_header_lines=self._skip_header_lines)

    def _process_records(self, lines):
        defaults = [tf.zeros([], dtype)[tf.newaxis] for dtype in self._column_dtypes]
        columns = {}
        for name, one in zip(self._column_names, tf.decode_csv(lines, defaults)):
            columns.setdefault(name, []).append(one)
        return {
            name: parts[0] if name == _TIMES else tf.stack(parts, axis=1)
            for name, parts in columns.items()
        }


class TFExampleReader(ReaderBaseTimeSeriesParser):
    """Reads a series from TFRecord files of tf.Example.

    Args:
      filenames: a name, or a list of names, in the order of time.
      features: name -> tf.FixedLenFeature; needs `times` and `values`.

    Raises:
      ValueError: a feature is missing.
    """

    def __init__(self, filenames, features):
        for name in (_TIMES, _VALUES):
            if name not in features:
                raise ValueError(f"'{name}' is a required column.")
        super().__init__(filenames)
        self._features = features

    def _get_reader(self):
        return tf.TFRecordReader()

    def _process_records(self, examples):
        return tf.parse_example(examples, self._features)
