"""State managers of `tf.contrib.timeseries`: where the state before a chunk comes from."""

import tensorflow.compat.v1 as tf

from estimator_bridge.private_tf import lookup_ops as _lookup_ops
from estimator_bridge.private_tf import timeseries_feature_keys as _keys
from estimator_bridge.private_tf import timeseries_state_management as _state_management
from estimator_bridge.tf1.contrib.timeseries import math_utils as _math
from estimator_bridge.tf1.contrib.timeseries import model as _model

__all__ = ["ChainingStateManager", "FilteringOnlyStateManager", "PassthroughStateManager"]

FilteringOnlyStateManager = _state_management.FilteringOnlyStateManager
PassthroughStateManager = _state_management.PassthroughStateManager

_TIMES = _keys.TrainEvalFeatures.TIMES


class ChainingStateManager(_state_management._OverridableStateManager):
    """Gives a chunk the state that an earlier step had at its start.

    The state after each record is kept for the next chunk of so many steps, in tables.

    Args:
      state_saving_interval: int, steps of a chunk.
      checkpoint_state: whether the tables are in checkpoints.
    """

    def __init__(self, state_saving_interval=20, checkpoint_state=False):
        super().__init__()
        self._checkpoint_state = checkpoint_state
        self._state_saving_interval = state_saving_interval
        self._start_state = None
        self._tables = None

    def initialize_graph(self, model, input_statistics=None):
        """Makes the tables.

        Args:
          model: a TimeSeriesModel whose graph is initialized.
          input_statistics: InputStatistics, or None.
        """
        super().initialize_graph(model=model, input_statistics=input_statistics)
        self._start_state = model.get_start_state()
        self._tables = [
            _lookup_ops.DenseHashTable(
                key_dtype=tf.int64,
                value_dtype=state.dtype.base_dtype,
                default_value=tf.reshape(state, [-1]),
                empty_key=-1,
                deleted_key=-2,
                name=f"cached_states_{number}",
                checkpoint=self._checkpoint_state,
            )
            for number, state in enumerate(self._flat_start())
        ]

    def _flat_start(self):
        return [tf.convert_to_tensor(one) for one in tf.nest.flatten(self._start_state)]

    def _define_loss_with_saved_state(self, model, features, mode):
        """Returns ModelOutputs of chunks, with the state after the last one.

        Args:
          model: a SequentialTimeSeriesModel.
          features: `times` [chunks, window], `values`, and others.
          mode: TRAIN or EVAL.

        Raises:
          ValueError: initialize_graph was not called.
        """
        if not self._graph_initialized:
            raise ValueError(
                "ChainingStateManager requires initialize_graph() to be called before use."
            )
        loss, states, outputs = self._update_cached_states(model, features, mode)
        return _model.ModelOutputs(
            loss=loss,
            # Of the last chunk, as a batch of one.
            end_state=tf.nest.map_structure(lambda one: one[-1:, -1], states),
            predictions={**outputs, "observed": features[_keys.TrainEvalFeatures.VALUES]},
            prediction_times=features[_TIMES],
        )

    def _get_chunk_number(self, time):
        return time // self._state_saving_interval

    def _get_cached_states(self, times):
        """Returns the states at the start of chunks, [chunks, ...].

        Args:
          times: integers [chunks], their first times.
        """
        chunks = tf.cast(self._get_chunk_number(times), tf.int64)
        start_time = tf.constant(0, tf.int64)
        if self._input_statistics is not None:
            start_time = tf.cast(self._input_statistics.start_time, tf.int64)
        at_start = tf.equal(chunks, self._get_chunk_number(start_time))
        found = []
        for table, start in zip(self._tables, self._flat_start()):
            shape = tf.concat([tf.shape(chunks), tf.shape(start)], 0)
            cached = tf.reshape(table.lookup(chunks), shape)
            cached.set_shape([*chunks.shape.as_list(), *start.shape.as_list()])
            first = tf.tile(
                start[tf.newaxis], tf.concat([tf.shape(chunks), tf.ones_like(tf.shape(start))], 0)
            )
            found.append(tf.where(at_start, first, cached))
        return tf.nest.pack_sequence_as(self._start_state, found)

    def _update_cached_states(self, model, features, mode):
        """Returns loss, states and outputs of chunks, and keeps the states."""
        times = features[_TIMES]
        cached = self._get_cached_states(_math.batch_start_time(times))
        loss, states, outputs = model.per_step_batch_loss(
            features=features, mode=mode, state=cached
        )
        # The chunk of the next record, but never the one that the record itself is in.
        following = tf.concat([times[:, 1:], times[:, -1:] + 1], 1)
        chunks = tf.maximum(self._get_chunk_number(following), self._get_chunk_number(times) + 1)
        keys = tf.reshape(tf.cast(chunks, tf.int64), [-1])
        # Parts of a state that no earlier one enters must not replace what this step looks up.
        with tf.control_dependencies(tf.nest.flatten(cached)):
            kept = [
                table.insert(keys, tf.reshape(one, tf.stack([tf.size(keys), -1])))
                for table, one in zip(self._tables, tf.nest.flatten(states))
            ]
        with tf.control_dependencies(kept):
            return tf.identity(loss), states, outputs
