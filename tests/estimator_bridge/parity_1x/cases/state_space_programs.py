"""Trainers of state space models, which go on from checkpoint files of 1.15."""

import tensorflow as tf
from tensorflow.contrib.timeseries.python.timeseries import model as sequential
from tensorflow.contrib.timeseries.python.timeseries import state_management

from cases import timeseries_programs as programs

series = tf.contrib.timeseries
CASES = {}


def case(function):
    """Adds a function from a folder to a job to the cases."""
    CASES[function.__name__] = function
    return function


@case
def structural(folder):
    model = series.StructuralEnsembleRegressor(
        [7], 1, cycle_num_latent_values=5, moving_average_order=1, config=programs.config(folder)
    )
    return programs.SeriesJob(model, 1, 8, exported=True)


@case
def structural_with_anomalies_and_extra(folder):
    model = series.StructuralEnsembleRegressor(
        periodicities=[4.5],
        num_features=2,
        cycle_num_latent_values=3,
        moving_average_order=0,
        autoregressive_order=1,
        exogenous_feature_columns=programs.extra_columns(),
        exogenous_update_condition=lambda times, features: tf.equal(times % 4, 0),
        dtype=tf.float32,
        anomaly_prior_probability=0.05,
        optimizer=tf.train.GradientDescentOptimizer(0.01),
        config=programs.config(folder),
    )
    return programs.SeriesJob(model, 2, 8, with_extra=True)


class Recurrent(sequential.SequentialTimeSeriesModel):
    """Predicts the next values from the state of an LSTM that has read those before."""

    def __init__(self, units, features):
        super().__init__(
            train_output_names=["mean"], predict_output_names=["mean"], num_features=features
        )
        self.units, self.cell = units, None

    def initialize_graph(self, input_statistics=None):
        super().initialize_graph(input_statistics=input_statistics)
        with tf.variable_scope("", use_resource=True):
            self.cell = tf.nn.rnn_cell.LSTMCell(self.units)
            self.run = tf.make_template("read", lambda *given: self.cell(*given))
            self.guess = tf.make_template(
                "guess", lambda read: tf.layers.dense(read, self.num_features)
            )

    def get_start_state(self):
        state = self.cell.zero_state(batch_size=1, dtype=self.dtype)
        state = tf.contrib.framework.nest.map_structure(lambda one: tf.squeeze(one, axis=0), state)
        return tf.zeros([], tf.int64), tf.zeros([self.num_features]), state

    def _filtering_step(self, current_times, current_values, state, predictions):
        _, guess, cells = state
        loss = tf.reduce_mean((guess - self._scale_data(current_values)) ** 2, axis=-1)
        return (current_times, self._scale_data(current_values), cells), dict(
            predictions, loss=loss
        )

    def _prediction_step(self, current_times, state):
        _, seen, cells = state
        read, cells = self.run(seen, cells)
        guess = self.guess(read)
        return (current_times, guess, cells), {"mean": self._scale_back_data(guess)}

    def _imputation_step(self, current_times, state):
        return state

    def _exogenous_input_step(self, current_times, current_exogenous_regressors, state):
        raise NotImplementedError("it has no other features")


@case
def recurrent_of_its_own(folder):
    model = series.TimeSeriesRegressor(
        Recurrent(3, 2),
        state_management.ChainingStateManager(),
        tf.train.AdamOptimizer(0.01),
        config=programs.config(folder),
    )
    return programs.SeriesJob(model, 2, 8)
