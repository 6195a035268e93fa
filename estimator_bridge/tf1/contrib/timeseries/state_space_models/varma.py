"""Autoregressive moving averages as state space models: `tf.contrib.timeseries`."""

import tensorflow.compat.v1 as tf

from estimator_bridge.tf1.contrib.timeseries import math_utils as _math
from estimator_bridge.tf1.contrib.timeseries.state_space_models import base as _model

__all__ = ["VARMA"]


class VARMA(_model.StateSpaceModel):
    """A vector autoregressive moving average with learned coefficients.

    Args:
      autoregressive_order: int, steps that a value depends on.
      moving_average_order: int, steps that a deviation lasts.
      configuration: StateSpaceModelConfiguration.
    """

    def __init__(
        self,
        autoregressive_order,
        moving_average_order,
        configuration=_model.DEFAULT,
    ):
        self.ar_order = autoregressive_order
        self.ma_order = moving_average_order
        self.state_num_blocks = max(autoregressive_order, moving_average_order + 1)
        super().__init__(configuration=configuration)
        self.state_dimension = self.state_num_blocks * self.num_features

    def _define_parameters(self, observation_transition_tradeoff_log=None):
        size = self.num_features
        with tf.variable_scope(self._variable_scope):
            self.ar_coefs = tf.get_variable(
                "ar_coefs",
                [size, size, self.ar_order],
                self.dtype,
                initializer=tf.zeros_initializer(),
            )
            self.ma_coefs = tf.get_variable(
                "ma_coefs",
                initializer=tf.tile(
                    _math.identity_matrix(size, self.dtype)[tf.newaxis], [self.ma_order, 1, 1]
                ),
                dtype=self.dtype,
            )
        super()._define_parameters(observation_transition_tradeoff_log)

    def get_state_transition(self):
        """Returns how a state moves, [state, state]."""
        size, width = self.num_features, self.state_dimension
        more = self.state_num_blocks - self.ar_order
        coefficients = tf.pad(self.ar_coefs, [[0, 0], [0, 0], [0, more]])
        moved = tf.pad(_math.identity_matrix(width - size, self.dtype), [[0, 0], [0, size]])
        return tf.concat([tf.reshape(coefficients, [size, width]), moved], 0)

    def get_noise_transform(self):
        """Returns how noise enters the state, [state, features]."""
        size, before = self.num_features, self.state_num_blocks - 1
        coefficients = tf.pad(self.ma_coefs, [[before - self.ma_order, 0], [0, 0], [0, 0]])
        coefficients = tf.reshape(coefficients, [before * size, size])
        return tf.concat([coefficients, _math.identity_matrix(size, self.dtype)], 0)

    def get_observation_model(self, times):
        """Returns what is observed, [features, state].

        Args:
          times: not used.
        """
        del times
        size, more = self.num_features, self.state_dimension - self.num_features
        value = _math.identity_matrix(size, self.dtype)
        if self.state_num_blocks <= max(1, self.ar_order):
            return tf.pad(value, [[0, 0], [0, more]])
        # Where the deviations last longest, the last block holds the present one.
        return tf.concat([tf.pad(value, [[0, 0], [0, more - size]]), value], 1)

    def get_state_transition_noise_covariance(self, minimum_initial_variance=1e-5):
        """Returns the covariance of the state's noise, [features, features].

        Args:
          minimum_initial_variance: float, the smallest first variance.
        """
        scale = 0.0
        if self._input_statistics is not None:
            variance = tf.reduce_mean(self._start_variance(), axis=0)
            scale = tf.log(tf.maximum(variance, minimum_initial_variance))
        return self._transition_noise(scale)
