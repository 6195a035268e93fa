"""Distributions of numbers that are rounded up."""

import tensorflow.compat.v1 as tf

from estimator_bridge.private_tf import distributions_util as _util
from estimator_bridge.tf1.contrib.distributions.arguments import keep_arguments

__all__ = ["QuantizedDistribution"]


@keep_arguments
class QuantizedDistribution(tf.distributions.Distribution):
    """The distribution of min(high, max(low, ceil(x))): P(y) = P(y - 1 < x <= y).

    Values y between the integers count as floor(y), in survival functions as ceil(y).

    Args:
      distribution: distribution of x, scalar events with a `cdf`.
      low: floating tensor of whole numbers, the least y; None for no limit.
      high: floating tensor of whole numbers, the largest y; None for no limit.
      validate_args: whether to check when the graph runs that limits and values are whole numbers.
      name: name of the distribution.
    """

    def __init__(
        self, distribution, low=None, high=None, validate_args=False, name="QuantizedDistribution"
    ):
        with tf.name_scope(name, values=[low, high]) as name:
            self._x = distribution
            dtype = distribution.dtype
            self._low = None if low is None else tf.convert_to_tensor(low, dtype, name="low")
            self._high = None if high is None else tf.convert_to_tensor(high, dtype, name="high")
            if validate_args:
                self._low, self._high = (
                    None if one is None else _whole(one) for one in (self._low, self._high)
                )
                if None not in (low, high):
                    message = "low must be strictly less than high."
                    check = tf.assert_less(self._low, self._high, message=message)
                    with tf.control_dependencies([check]):
                        self._low = tf.identity(self._low)
        super().__init__(
            dtype=dtype,
            reparameterization_type=tf.distributions.NOT_REPARAMETERIZED,
            validate_args=validate_args,
            allow_nan_stats=distribution.allow_nan_stats,
            name=name,
        )

    @property
    def distribution(self):
        """The distribution of x."""
        return self._x

    @property
    def low(self):
        """The least y, or None."""
        return self._low

    @property
    def high(self):
        """The largest y, or None."""
        return self._high

    def _batch_shape_tensor(self):
        return self._x.batch_shape_tensor()

    def _batch_shape(self):
        return self._x.batch_shape

    def _event_shape_tensor(self):
        return self._x.event_shape_tensor()

    def _event_shape(self):
        return self._x.event_shape

    def _sample_n(self, n, seed=None):
        y = tf.ceil(self._x.sample(n, seed=seed))
        y = y if self._low is None else tf.maximum(y, self._low)
        return y if self._high is None else tf.minimum(y, self._high)

    def _valid(self, y):
        return _whole(y) if self.validate_args else y

    def _limited(self, y, values, below, above):
        """Returns values, but `below` where y < low and `above` where y >= high."""
        if self._low is not None:
            values = tf.where(y < self._low, tf.fill(tf.shape(values), self._number(below)), values)
        if self._high is not None:
            past = y >= self._high
            values = tf.where(past, tf.fill(tf.shape(values), self._number(above)), values)
        return values

    def _number(self, number):
        return tf.constant(number, self.dtype)

    def _with_batch(self, y):
        return y + tf.zeros(self.batch_shape_tensor(), self.dtype)

    def _cdf(self, y):
        y = self._with_batch(tf.floor(self._valid(y)))
        return self._limited(y, self._x.cdf(y), 0.0, 1.0)

    def _log_cdf(self, y):
        y = self._with_batch(tf.floor(self._valid(y)))
        return self._limited(y, self._x.log_cdf(y), float("-inf"), 0.0)

    def _survival_function(self, y):
        y = self._with_batch(tf.ceil(self._valid(y)))
        return self._limited(y, self._x.survival_function(y), 1.0, 0.0)

    def _log_survival_function(self, y):
        y = self._with_batch(tf.ceil(self._valid(y)))
        return self._limited(y, self._x.log_survival_function(y), 0.0, float("-inf"))

    def _log_prob(self, y):
        y = self._with_batch(self._valid(y))
        try:
            survival = self.log_survival_function(y)
        except NotImplementedError:
            return _log_difference(self.log_cdf(y), self.log_cdf(y - 1))
        cdf = self.log_cdf(y)
        # In the right tail, differences of survival functions are more precise.
        right = survival < cdf
        large = tf.where(right, self.log_survival_function(y - 1), cdf)
        return _log_difference(large, tf.where(right, survival, self.log_cdf(y - 1)))

    def _prob(self, y):
        y = self._with_batch(self._valid(y))
        cdf = self.cdf(y)
        try:
            survival = self.survival_function(y)
        except NotImplementedError:
            return cdf - self.cdf(y - 1)
        right = survival < cdf
        return tf.where(right, self.survival_function(y - 1) - survival, cdf - self.cdf(y - 1))


def _log_difference(large, small):
    """Returns log(exp(large) - exp(small))."""
    return large + tf.math.log1p(-tf.exp(small - large))


def _whole(value):
    check = _util.assert_integer_form(value, message="value has non-integer components.")
    with tf.control_dependencies([check]):
        return tf.identity(value)
