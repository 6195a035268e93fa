"""The level and the trend of a series: `tf.contrib.timeseries`."""

import tensorflow.compat.v1 as tf

from estimator_bridge.tf1.contrib.timeseries.state_space_models import base as _model

__all__ = ["AdderStateSpaceModel"]


class AdderStateSpaceModel(_model.StateSpaceModel):
    """A level, to which a slope is added in each step; the level is observed.

    Args:
      use_level_noise: whether the level has noise besides that of the slope.
      configuration: StateSpaceModelConfiguration.
    """

    def __init__(self, use_level_noise=True, configuration=_model.DEFAULT):
        self.use_level_noise = use_level_noise
        super().__init__(configuration=configuration)

    def get_prior_mean(self):
        """Returns the mean before the series, [2]; the level is that of its first records."""
        mean = self._prior_mean_variable(tf.zeros_initializer())
        if self._input_statistics is None:
            return mean
        level = self._scale_data(self._input_statistics.series_start_moments.mean)
        level = tf.reduce_mean(level, axis=0)
        return tf.stack([level, tf.zeros_like(level)]) + mean

    def get_state_transition(self):
        """Returns how a state moves, [2, 2]."""
        return [[1.0, 1.0], [0.0, 1.0]]

    def get_noise_transform(self):
        """Returns how noise enters the state, [2, 2], or [2, 1] without noise of the level."""
        return [[1.0, 0.0], [0.0, 1.0]] if self.use_level_noise else [[0.0], [1.0]]

    def get_observation_model(self, times):
        """Returns what is observed, [2].

        Args:
          times: not used.
        """
        del times
        return tf.constant([1.0, 0.0], dtype=self.dtype)

    def transition_to_powers(self, powers):
        """Returns powers of the transition, [count, 2, 2].

        Args:
          powers: integers [count].
        """
        powers = tf.cast(powers, self.dtype)
        one, zero = tf.ones_like(powers), tf.zeros_like(powers)
        return tf.stack([tf.stack([one, powers], -1), tf.stack([zero, one], -1)], -2)

    def transition_power_noise_accumulator(self, num_steps):
        """Returns the noise of so many steps, [count, 2, 2].

        Args:
          num_steps: integers [count].
        """
        level, one, other, slope = tf.unstack(tf.reshape(self._transformed_noise(), [4]))
        count = tf.cast(num_steps, self.dtype)
        before = count - 1.0
        # The sums of i and of its square, below the count.
        linear = before * (before + 1.0) / 2.0
        square = linear * (2.0 * before + 1.0) / 3.0
        parts = [
            count * level + linear * (one + other) + square * slope,
            count * one + linear * slope,
            count * other + linear * slope,
            count * slope,
        ]
        shape = tf.concat([tf.shape(count), [2, 2]], 0)
        found = tf.reshape(tf.stack(parts, axis=-1), shape)
        found.set_shape([*count.shape.as_list(), 2, 2])
        return found
