"""Input_fns of time series: `tf.contrib.timeseries`; the readers are in `readers`."""

import abc

import tensorflow.compat.v1 as tf

from estimator_bridge.private_tf import timeseries_feature_keys as _keys
from estimator_bridge.private_tf import timeseries_model_utils as _model_utils
from estimator_bridge.tf1.contrib.timeseries.readers import (
    CSVReader,
    NumpyReader,
    ReaderBaseTimeSeriesParser,
    TFExampleReader,
    TimeSeriesReader,
)

__all__ = [
    "CSVReader",
    "NumpyReader",
    "RandomWindowInputFn",
    "ReaderBaseTimeSeriesParser",
    "TFExampleReader",
    "TimeSeriesInputFn",
    "TimeSeriesReader",
    "WholeDatasetInputFn",
    "predict_continuation_input_fn",
]

_TIMES = _keys.TrainEvalFeatures.TIMES


class TimeSeriesInputFn(abc.ABC):
    """An input_fn of a time series."""

    def __call__(self):
        """Returns (features, None)."""
        return self.create_batch(), None

    @abc.abstractmethod
    def create_batch(self):
        """Returns name -> tensor [batch, window, ...]."""


class WholeDatasetInputFn(TimeSeriesInputFn):
    """Gives the whole series, as a batch of one, again and again.

    Args:
      time_series_reader: a TimeSeriesReader.
    """

    def __init__(self, time_series_reader):
        self._reader = time_series_reader

    def create_batch(self):
        """Returns name -> tensor [1, records, ...]."""
        return {name: one[tf.newaxis, ...] for name, one in self._reader.read_full().items()}


class RandomWindowInputFn(TimeSeriesInputFn):
    """Gives windows of a series in random order, without end.

    Args:
      time_series_reader: a TimeSeriesReader.
      window_size: int, records of a window.
      batch_size: int, windows of a batch.
      queue_capacity_multiplier: int, batches that the queues hold.
      shuffle_min_after_dequeue_multiplier: int, batches from which the next windows are drawn.
      discard_out_of_order: whether windows are left out that go over the series' end, back to its
        start; else their records are sorted.
      discard_consecutive_batches_limit: int, batches without a window after which the input ends.
      jitter: whether windows begin at other records each time.
      num_threads: int, threads that read and shuffle; one for a repeatable order.
      shuffle_seed: int, seed of the order, or None.
    """

    def __init__(
        self,
        time_series_reader,
        window_size,
        batch_size,
        queue_capacity_multiplier=1000,
        shuffle_min_after_dequeue_multiplier=2,
        discard_out_of_order=True,
        discard_consecutive_batches_limit=1000,
        jitter=True,
        num_threads=2,
        shuffle_seed=None,
    ):
        self._reader = time_series_reader
        self._window_size = window_size
        self._batch_size = batch_size
        self._queue_capacity_multiplier = queue_capacity_multiplier
        self._shuffle_min_after_dequeue_multiplier = shuffle_min_after_dequeue_multiplier
        self._discard_out_of_order = discard_out_of_order
        self._discard_limit = discard_consecutive_batches_limit
        self._jitter = jitter
        self._num_threads = num_threads
        self._shuffle_seed = shuffle_seed
        self._reader.check_dataset_size(minimum_dataset_size=window_size)

    def create_batch(self):
        """Returns name -> tensor [batch_size, window_size, ...]."""
        windows = self._windows(self._reader.read())
        keep_input = True
        if self._discard_out_of_order:
            keep_input = self._in_order(windows[_TIMES])
        else:
            windows = self._sorted(windows)
        return tf.train.maybe_shuffle_batch(
            windows,
            keep_input=keep_input,
            batch_size=self._batch_size,
            capacity=self._queue_capacity_multiplier * self._batch_size,
            min_after_dequeue=self._shuffle_min_after_dequeue_multiplier * self._batch_size,
            num_threads=self._num_threads,
            seed=self._shuffle_seed,
            enqueue_many=True,
        )

    def _windows(self, records):
        """Returns name -> tensor [batch_size, window_size, ...], in the order of time."""
        size = self._window_size * self._batch_size
        # One record more or less moves all windows that follow.
        jitter = tf.random_uniform([], maxval=2, dtype=tf.int32) if self._jitter else 0
        records = tf.train.batch(
            records,
            batch_size=size + jitter,
            capacity=self._queue_capacity_multiplier * size,
            num_threads=self._num_threads,
            enqueue_many=True,
        )
        if self._jitter:
            records = {name: one[jitter:] for name, one in records.items()}
        shape = [self._batch_size, self._window_size]
        return {
            name: tf.reshape(one, tf.concat([shape, tf.shape(one)[1:]], axis=0))
            for name, one in records.items()
        }

    def _in_order(self, times):
        """Returns whether the times of each window never fall, bool [batch_size]."""
        in_order = tf.reduce_all(times[:, 1:] >= times[:, :-1], axis=1)
        discarded = tf.Variable(
            initial_value=tf.constant(0, dtype=tf.int64),
            name="discarded_windows_limiter",
            trainable=False,
            collections=[tf.GraphKeys.LOCAL_VARIABLES],
        )

        def count():
            return tf.cond(
                tf.reduce_any(in_order),
                lambda: tf.assign(discarded, 0),
                lambda: tf.count_up_to(discarded, self._discard_limit),
            )

        counted = tf.cond(
            tf.is_variable_initialized(discarded), count, lambda: tf.constant(0, dtype=tf.int64)
        )
        with tf.control_dependencies([counted]):
            return tf.identity(in_order)

    @staticmethod
    def _sorted(windows):
        """Returns windows gathered as 1.15 does: [batch_size, window_size, window_size, ...]."""
        times = windows[_TIMES]
        _, places = tf.nn.top_k(times, tf.shape(times)[-1])
        places = tf.reverse(places, axis=[0])
        return {name: tf.gather(one, places) for name, one in windows.items()}


def predict_continuation_input_fn(evaluation, steps=None, times=None, exogenous_features=None):
    """Returns an input_fn for predictions that go on after an evaluation.

    Args:
      evaluation: what `evaluate` has returned.
      steps: int, steps to predict after the evaluated times; or give times.
      times: integers [batch, steps] or [steps], times to predict for.
      exogenous_features: name -> array [batch, steps, ...], or None.

    Returns:
      A function without arguments, which returns (features, None) once.

    Raises:
      ValueError: both or neither of steps and times are given, or times do not fit.
    """

    def input_fn():
        predicted = _model_utils.canonicalize_times_or_steps_from_output(
            times=times, steps=steps, previous_model_output=evaluation
        )
        features = {
            _keys.PredictionFeatures.STATE_TUPLE: evaluation[_keys.FilteringResults.STATE_TUPLE],
            _keys.PredictionFeatures.TIMES: predicted,
            **(exogenous_features or {}),
        }
        once = tf.nest.map_structure(lambda one: tf.train.limit_epochs(one, num_epochs=1), features)
        return once, None

    return input_fn
