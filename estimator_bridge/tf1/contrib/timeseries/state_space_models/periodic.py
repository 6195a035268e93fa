"""Periods of a series: `tf.contrib.timeseries`."""

import math

import tensorflow.compat.v1 as tf

from estimator_bridge.tf1.contrib.timeseries import math_utils as _math
from estimator_bridge.tf1.contrib.timeseries.state_space_models import base as _model

__all__ = ["CycleStateSpaceModel", "ResolutionCycleModel"]


class CycleStateSpaceModel(_model.StateSpaceModel):
    """Values that come one after the other and again, with a sum of 0.

    The state has all but one of them. Noise changes the value that is observed.

    Args:
      periodicity: int, number of values.
      configuration: StateSpaceModelConfiguration.
    """

    def __init__(self, periodicity, configuration=_model.DEFAULT):
        self._periodicity = periodicity
        super().__init__(configuration=configuration)

    def get_observation_model(self, times):
        """Returns what is observed, [state].

        Args:
          times: not used.
        """
        del times
        return tf.one_hot(0, self._periodicity - 1, dtype=self.dtype)

    def get_noise_transform(self):
        """Returns how noise enters the state, [state, 1]."""
        return tf.one_hot(0, self._periodicity - 1, dtype=self.dtype)[:, tf.newaxis]

    def get_state_transition(self):
        """Returns how a state moves, [state, state]."""
        return self.transition_to_powers(tf.constant(1))

    def transition_to_powers(self, powers):
        """Returns powers of the transition, [..., state, state].

        Args:
          powers: integers [...].
        """
        shift = (powers % self._periodicity)[..., tf.newaxis, tf.newaxis]
        rows = tf.range(self._periodicity - 1, dtype=powers.dtype)[:, tf.newaxis]
        columns = tf.range(self._periodicity - 1, dtype=powers.dtype)[tf.newaxis]
        moved = tf.equal((rows - columns) % self._periodicity, shift)
        # The value without a place is the negative sum of the others.
        last = tf.equal(rows + 1, shift)
        return tf.cast(moved, self.dtype) - tf.cast(last, self.dtype)

    def transition_power_noise_accumulator(self, num_steps, noise_addition_coefficient=1):
        """Returns the noise of so many steps, [..., state, state].

        Args:
          num_steps: integers [...].
          noise_addition_coefficient: factor of the noise.
        """
        steps = num_steps[..., tf.newaxis]
        places = tf.range(self._periodicity, dtype=num_steps.dtype)
        # How often each value was the one that noise changes.
        times = (steps + (places - (steps - 1)) % self._periodicity) // self._periodicity
        noise = tf.cast(noise_addition_coefficient, self.dtype) * self._noise_scalar()
        added = noise * tf.cast(times, self.dtype)
        diagonal = _math.diagonal_matrix(added[..., :-1] + tf.roll(added, 1, axis=-1)[..., :-1])
        beside = _math.diagonal_matrix(added[..., :-2])
        none = [[0, 0]] * num_steps.shape.ndims
        below = tf.pad(beside, [*none, [1, 0], [0, 1]])
        above = tf.pad(beside, [*none, [0, 1], [1, 0]])
        return diagonal - below - above

    def _noise_scalar(self):
        return tf.squeeze(self.state_transition_noise_covariance)


class ResolutionCycleModel(CycleStateSpaceModel):
    """A cycle through fewer or more values than a period has steps, interpolated smoothly.

    Args:
      num_latent_values: int, number of values; odd.
      periodicity: number of steps of a period; any real number or scalar tensor.
      near_integer_threshold: float, distance at which a number counts as a whole one.
      configuration: StateSpaceModelConfiguration.

    Raises:
      ValueError: num_latent_values is even.
    """

    def __init__(
        self,
        num_latent_values,
        periodicity,
        near_integer_threshold=1e-8,
        configuration=_model.DEFAULT,
    ):
        if num_latent_values % 2 != 1:
            raise ValueError("Only odd numbers of latent values are supported.")
        self._num_latent_values = num_latent_values
        self._true_periodicity = periodicity
        self._near_integer_threshold = near_integer_threshold
        super().__init__(periodicity=num_latent_values, configuration=configuration)

    def _close_to_integer(self, value):
        return tf.abs(value - tf.round(value)) < tf.cast(self._near_integer_threshold, value.dtype)

    def _latent_steps(self, steps):
        """Returns how far values have gone after so many steps."""
        values = tf.cast(self._num_latent_values, self.dtype)
        return tf.cast(steps, self.dtype) * (values / tf.cast(self._true_periodicity, self.dtype))

    def transition_to_powers(self, powers):
        """Returns powers of the transition, [..., state, state].

        Args:
          powers: numbers [...].
        """
        latent = self._latent_steps(powers)
        count = tf.cast(self._num_latent_values, self.dtype)
        places = tf.range(self._num_latent_values - 1)
        signs = tf.cast(1 - 2 * (places % 2), self.dtype)
        real = tf.cast(places, self.dtype)
        angle = math.pi / count
        rows = 1.0 / tf.sin(angle * (latent[..., tf.newaxis] - real - 1.0))
        apart = latent[..., tf.newaxis, tf.newaxis] + (real[tf.newaxis] - real[:, tf.newaxis])
        both = rows[..., tf.newaxis] + signs[tf.newaxis] / tf.sin(angle * apart)
        factor = (tf.sin(latent * math.pi) / count)[..., tf.newaxis, tf.newaxis]
        between = factor * signs[:, tf.newaxis] * both
        # Where a sine is 0, the values of a whole number of steps.
        whole = super().transition_to_powers(tf.cast(tf.round(latent), tf.int64))
        near = self._close_to_integer(latent)[..., tf.newaxis, tf.newaxis]
        return tf.where_v2(near, whole, between)

    def _whole_period_folding(self):
        """Returns whether whole periods may be computed by themselves, a bool tensor."""
        period = tf.cast(self._true_periodicity, self.dtype)
        return tf.logical_and(
            self._close_to_integer(period),
            tf.cast(self._true_periodicity, self.dtype)
            >= tf.cast(self._num_latent_values, self.dtype),
        )

    def transition_power_noise_accumulator(self, num_steps):
        """Returns the noise of so many steps, [..., state, state].

        Args:
          num_steps: integers [...].
        """
        size = self._num_latent_values - 1

        def folded():
            period = tf.cast(self._true_periodicity, num_steps.dtype)
            share = tf.cast(self._true_periodicity, self.dtype) / tf.cast(
                self._num_latent_values, self.dtype
            )
            one = super(ResolutionCycleModel, self).transition_power_noise_accumulator(
                num_steps=tf.constant(self._num_latent_values, num_steps.dtype),
                noise_addition_coefficient=share,
            )
            periods = tf.cast(num_steps // period, self.dtype)
            return num_steps % period, periods[..., tf.newaxis, tf.newaxis] * one

        def unfolded():
            shape = tf.concat([tf.shape(num_steps), [size, size]], 0)
            return tf.identity(num_steps), tf.zeros(shape, self.dtype)

        left, whole = tf.cond(self._whole_period_folding(), folded, unfolded)
        sums = self._power_sum_array(tf.reduce_max(left))
        found = whole + self._noise_scalar() * tf.gather(sums, left)
        found.set_shape([*num_steps.shape.as_list(), size, size])
        return found

    def _power_sum_array(self, max_remaining_steps):
        """Returns the sums of A^i B (A^i)^T for up to so many steps, for a noise of 1.

        Args:
          max_remaining_steps: scalar integer.

        Returns:
          [max_remaining_steps + 1, state, state]; the first is 0.
        """
        latent = self._latent_steps(tf.range(max_remaining_steps))[:, tf.newaxis]
        count = tf.cast(self._num_latent_values, self.dtype)
        places = tf.range(self._num_latent_values - 1)
        apart = latent - tf.cast(places, self.dtype)[tf.newaxis]
        angle = math.pi / count
        cosecants = 1.0 / tf.sin(angle * apart) + 1.0 / tf.sin(angle * (apart - 1.0))
        products = cosecants[:, tf.newaxis] * cosecants[..., tf.newaxis]
        # A product with a sine of 0 is 0, but where both cosecants have no value.
        nearest = self._close_to_integer(latent)[..., tf.newaxis]
        products = tf.where_v2(nearest, tf.zeros_like(products), products)
        products *= tf.square(tf.sin(math.pi * latent) / count)[..., tf.newaxis]
        first, second = apart / count, (apart - 1.0) / count
        first_near = self._close_to_integer(first)
        near = tf.logical_or(first_near, self._close_to_integer(second))
        limits = tf.where_v2(first_near, tf.cos(first * math.pi), tf.cos(second * math.pi))
        limits = limits[..., tf.newaxis] * limits[:, tf.newaxis]
        both = tf.logical_and(near[..., tf.newaxis], near[:, tf.newaxis])
        signs = tf.cast(1 - 2 * ((places[tf.newaxis] + places[:, tf.newaxis]) % 2), self.dtype)
        sums = tf.cumsum(signs * tf.where_v2(both, limits, products))
        return tf.pad(sums, [[1, 0], [0, 0], [0, 0]])
