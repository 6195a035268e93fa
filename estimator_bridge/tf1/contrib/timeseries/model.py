"""Models of time series that go from record to record: `tf.contrib.timeseries`."""

import abc

import tensorflow.compat.v1 as tf

from estimator_bridge.private_tf import timeseries_feature_keys as _keys
from estimator_bridge.private_tf import timeseries_model as _model

__all__ = ["ModelOutputs", "SequentialTimeSeriesModel", "TimeSeriesModel"]

ModelOutputs = _model.ModelOutputs
TimeSeriesModel = _model.TimeSeriesModel

_TIMES, _VALUES = _keys.TrainEvalFeatures.TIMES, _keys.TrainEvalFeatures.VALUES
_STATE = _keys.PredictionFeatures.STATE_TUPLE


class SequentialTimeSeriesModel(_model.TimeSeriesModel):
    """A model whose state follows the records of a series, one after the other.

    Args:
      train_output_names: names of what `_filtering_step` computes but for the loss.
      predict_output_names: names of what `_prediction_step` computes.
      num_features: int, features of the series.
      normalize_features: whether the steps get normalised values.
      dtype: type of the values.
      exogenous_feature_columns: columns of features that are not predicted, or None.
      exogenous_update_condition: function of times [batch] and of those features that tells where
        they change the state, bool [batch]; everywhere without.
      static_unrolling_window_size_threshold: int, length of a window up to which its steps are
        repeated in the graph; None for a loop always.
    """

    def __init__(
        self,
        train_output_names,
        predict_output_names,
        num_features,
        normalize_features=False,
        dtype=tf.float32,
        exogenous_feature_columns=None,
        exogenous_update_condition=None,
        static_unrolling_window_size_threshold=None,
    ):
        super().__init__(
            num_features=num_features,
            exogenous_feature_columns=exogenous_feature_columns,
            dtype=dtype,
        )
        self._exogenous_update_condition = exogenous_update_condition
        self._train_output_names = train_output_names
        self._predict_output_names = predict_output_names
        self._normalize_features = normalize_features
        self._static_unrolling_window_size_threshold = static_unrolling_window_size_threshold

    @abc.abstractmethod
    def _filtering_step(self, current_times, current_values, state, predictions):
        """Returns the state after values, and the outputs with `loss`, [batch].

        Args:
          current_times: integers [batch].
          current_values: [batch, features].
          state: nested tensors [batch, ...].
          predictions: what `_prediction_step` has returned.
        """

    @abc.abstractmethod
    def _prediction_step(self, current_times, state):
        """Returns the state at the times, and name -> prediction [batch, ...].

        Args:
          current_times: integers [batch].
          state: nested tensors [batch, ...].
        """

    @abc.abstractmethod
    def _imputation_step(self, current_times, state):
        """Returns the state taken over missing records up to the times.

        Args:
          current_times: integers [batch].
          state: nested tensors [batch, ...].
        """

    @abc.abstractmethod
    def _exogenous_input_step(self, current_times, current_exogenous_regressors, state):
        """Returns the state after features that are not predicted.

        Args:
          current_times: integers [batch].
          current_exogenous_regressors: [batch, size].
          state: nested tensors [batch, ...].
        """

    def _loss_additions(self, times, values, mode):
        """Returns what is added to the mean loss, a scalar."""
        del times, values, mode
        return 0.0

    def _window_initializer(self, times, state):
        """Prepares the steps of a window, [batch, window]."""

    def get_batch_loss(self, features, mode, state):
        """Returns ModelOutputs with the state after the last record.

        Args:
          features: `times` [batch, window], `values` [batch, window, features], and others.
          mode: TRAIN or EVAL.
          state: nested tensors [batch, ...].
        """
        loss, states, predictions = self.per_step_batch_loss(features, mode, state)
        return ModelOutputs(
            loss=loss,
            end_state=tf.nest.map_structure(lambda one: one[:, -1], states),
            predictions={**predictions, "observed": features[_VALUES]},
            prediction_times=features[_TIMES],
        )

    def per_step_batch_loss(self, features, mode, state):
        """Returns the mean loss, the states and the outputs of each step, [batch, window, ...].

        Args:
          features: as for get_batch_loss.
          mode: TRAIN or EVAL.
          state: nested tensors [batch, ...].
        """
        self._check_graph_initialized()
        times = tf.cast(features[_TIMES], tf.int64)
        values = tf.cast(features[_VALUES], self.dtype)
        if self._normalize_features:
            values = self._scale_data(values)
        raw = {name: one for name, one in features.items() if name not in (_TIMES, _VALUES, _STATE)}
        embedded = self._process_exogenous_features(times, raw)

        def step(number, current_times, state):
            current_values = values[:, number]
            state = self._apply_exogenous_update(current_times, number, state, raw, embedded)
            state, predictions = self._prediction_step(current_times=current_times, state=state)
            return self._filtering_step(
                current_times=current_times,
                current_values=current_values,
                state=state,
                predictions=predictions,
            )

        self._window_initializer(times, state)
        states, outputs = self._state_update_loop(
            times, state, step, ["loss", *self._train_output_names]
        )
        losses = outputs.pop("loss")
        loss = tf.reduce_sum(losses) / tf.cast(tf.reduce_prod(tf.shape(times)), losses.dtype)
        loss = loss + self._loss_additions(times, values, mode)
        return loss, states, self._scaled_back(outputs)

    def predict(self, features):
        """Returns name -> predictions [batch, window, ...].

        Args:
          features: `times` [batch, window], the state `start_tuple`, and others.
        """
        self._check_graph_initialized()
        times = tf.cast(features[_keys.PredictionFeatures.TIMES], tf.int64)
        state = tf.nest.map_structure(tf.convert_to_tensor, features[_STATE])
        raw = {name: one for name, one in features.items() if name not in (_TIMES, _VALUES, _STATE)}
        embedded = self._process_exogenous_features(times, raw)

        def step(number, current_times, state):
            state = self._apply_exogenous_update(current_times, number, state, raw, embedded)
            return self._prediction_step(current_times=current_times, state=state)

        self._window_initializer(times, state)
        _, outputs = self._state_update_loop(times, state, step, self._predict_output_names)
        return self._scaled_back(outputs)

    def _scaled_back(self, outputs):
        return self._scale_back_predictions(outputs) if self._normalize_features else outputs

    def _scale_back_predictions(self, predictions):
        """Returns predictions in the scale of the values."""
        predictions["mean"] = self._scale_back_data(predictions["mean"])
        return predictions

    def _apply_exogenous_update(
        self, current_times, step_number, state, raw_features, embedded_exogenous_regressors
    ):
        """Returns the state after the features that are not predicted, where they count."""
        if embedded_exogenous_regressors is None:
            return state
        updated = self._exogenous_input_step(
            current_times=current_times,
            current_exogenous_regressors=embedded_exogenous_regressors[:, step_number],
            state=state,
        )
        if self._exogenous_update_condition is None:
            return updated
        current = {name: one[:, step_number] for name, one in raw_features.items()}
        counts = self._exogenous_update_condition(times=current_times, features=current)
        return tf.nest.map_structure(lambda new, old: tf.where(counts, new, old), updated, state)

    def _state_update_loop(self, times, state, state_update_fn, outputs):
        """Returns the states and outputs of all steps, [batch, window, ...].

        Args:
          times: integers [batch, window].
          state: nested tensors [batch, ...].
          state_update_fn: function of step number, times and state that returns state and outputs.
          outputs: names of the outputs.
        """

        def step(number, state):
            current_times = times[:, number]
            state = self._imputation_step(current_times=current_times, state=state)
            new, found = state_update_fn(number, current_times, state)
            return new, [found[name] for name in outputs]

        length = times.shape.as_list()[1]
        threshold = self._static_unrolling_window_size_threshold
        if threshold is not None and length is not None and length <= threshold:
            states, found = _unroll(step, state, length)
        else:
            states, found = self._loop(step, times, state, outputs)
        return tf.nest.pack_sequence_as(state, states), dict(zip(outputs, found))

    def _loop(self, step, times, state, outputs):
        """Returns states and outputs of a loop over the steps, lists of [batch, window, ...]."""
        flat, length = tf.nest.flatten(state), tf.shape(times)[1]
        types = [one.dtype for one in flat] + [self.dtype] * len(outputs)
        arrays = [tf.TensorArray(dtype, size=length) for dtype in types]

        def body(number, flat, arrays):
            with tf.variable_scope("state_update_step"):
                new, found = step(number, tf.nest.pack_sequence_as(state, flat))
                new = tf.nest.flatten(new)
                written = [array.write(number, one) for array, one in zip(arrays, [*new, *found])]
            for one, before in zip(new, flat):
                one.set_shape(before.shape)
            return number + 1, new, written

        _, _, arrays = tf.while_loop(
            lambda number, *_: number < length, body, [tf.constant(0), flat, arrays]
        )
        stacked = [array.stack() for array in arrays]
        stacked = [
            tf.transpose(one, tf.concat([[1, 0], tf.range(2, tf.rank(one))], 0)) for one in stacked
        ]
        for one, before in zip(stacked, flat):
            one.set_shape([before.shape.as_list()[0], None, *before.shape.as_list()[1:]])
        return stacked[: len(flat)], stacked[len(flat) :]


def _unroll(step, state, length):
    """Returns states and outputs of steps that are repeated, lists of [batch, window, ...]."""
    found = []
    for number in range(length):
        with tf.variable_scope("state_update_step", reuse=number > 0):
            state, outputs = step(number, state)
        found.append([*tf.nest.flatten(state), *outputs])
    count = len(tf.nest.flatten(state))
    stacked = [tf.stack(parts, axis=1) for parts in zip(*found)]
    return stacked[:count], stacked[count:]
