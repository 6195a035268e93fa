"""Distributions of real numbers."""

import math

import tensorflow.compat.v1 as tf

from estimator_bridge.tf1.contrib.distributions.arguments import keep_arguments
from estimator_bridge.tf1.contrib.distributions.scalar import Scalar, checked

__all__ = ["Cauchy", "Chi2", "Chi2WithAbsDf", "HalfNormal", "InverseGamma"]


@keep_arguments
class Cauchy(Scalar):
    """The Cauchy distribution, density 1 / (pi scale (1 + z^2)) with z = (x - loc) / scale.

    Args:
      loc: floating tensor, the mode.
      scale: positive floating tensor.
      validate_args: whether to check arguments when the graph runs.
      allow_nan_stats: whether undefined statistics are NaN; if False they raise an error.
      name: name of the distribution.

    Raises:
      TypeError: `loc` and `scale` have different dtypes.
      ValueError: the mean is asked for and `allow_nan_stats` is False.
    """

    def __init__(self, loc, scale, validate_args=False, allow_nan_stats=True, name="Cauchy"):
        with tf.name_scope(name, values=[loc, scale]) as name:
            self._loc = tf.convert_to_tensor(loc, name="loc")
            scale = tf.convert_to_tensor(scale, name="scale")
            self._scale = checked(scale, tf.assert_positive, validate_args)
            both = self._loc + self._scale
        super().__init__(*(both, self._scale.dtype, True, validate_args, allow_nan_stats, name))

    @property
    def loc(self):
        """The mode."""
        return self._loc

    @property
    def scale(self):
        """The scale."""
        return self._scale

    def _sample_n(self, n, seed=None):
        shape = tf.concat([[n], tf.shape(self._of)], 0)
        return self._quantile(tf.random_uniform(shape, 0.0, 1.0, self.dtype, seed))

    def _z(self, x):
        return (x - self._loc) / self._scale

    def _log_prob(self, x):
        return -tf.math.log1p(self._z(x) ** 2) - math.log(math.pi) - tf.log(self._scale)

    def _cdf(self, x):
        return tf.atan(self._z(x)) / math.pi + 0.5

    def _log_cdf(self, x):
        return tf.math.log1p(2 / math.pi * tf.atan(self._z(x))) - math.log(2.0)

    def _quantile(self, p):
        return self._loc + self._scale * tf.tan(math.pi * (p - 0.5))

    def _entropy(self):
        return self._with_batch(math.log(4 * math.pi) + tf.log(self._scale))

    def _mode(self):
        return self._with_batch(self._loc)

    def _mean(self):
        return self._undefined("mean")

    def _stddev(self):
        return self._undefined("stddev")

    def _undefined(self, statistic):
        if not self.allow_nan_stats:
            raise ValueError(f"`{statistic}` is undefined for Cauchy distribution.")
        return tf.fill(self.batch_shape_tensor(), self._nan())


@keep_arguments
class HalfNormal(Scalar):
    """The distribution of |x| with x of a normal distribution of mean 0.

    Args:
      scale: positive floating tensor, the standard deviation of x.
      validate_args: whether to check arguments when the graph runs.
      allow_nan_stats: whether undefined statistics are NaN; if False they raise an error.
      name: name of the distribution.
    """

    def __init__(self, scale, validate_args=False, allow_nan_stats=True, name="HalfNormal"):
        with tf.name_scope(name, values=[scale]) as name:
            scale = tf.convert_to_tensor(scale, name="scale")
            self._scale = checked(scale, tf.assert_positive, validate_args)
        dtype = self._scale.dtype
        super().__init__(*(self._scale, dtype, True, validate_args, allow_nan_stats, name))

    @property
    def scale(self):
        """The standard deviation of x."""
        return self._scale

    def _sample_n(self, n, seed=None):
        shape = tf.concat([[n], tf.shape(self._scale)], 0)
        return tf.abs(tf.random_normal(shape, dtype=self.dtype, seed=seed) * self._scale)

    def _prob(self, x):
        density = math.sqrt(2 / math.pi) / self._scale * tf.exp(-0.5 * (x / self._scale) ** 2)
        return density * tf.cast(x >= 0, self.dtype)

    def _cdf(self, x):
        return tf.erf(tf.nn.relu(x) / self._scale / math.sqrt(2.0))

    def _quantile(self, p):
        return math.sqrt(2.0) * self._scale * tf.math.erfinv(p)

    def _entropy(self):
        return 0.5 * tf.log(math.pi * self._scale**2 / 2) + 0.5

    def _mean(self):
        return self._scale * math.sqrt(2 / math.pi)

    def _mode(self):
        return tf.zeros_like(self._scale)

    def _variance(self):
        return self._scale**2 * (1 - 2 / math.pi)


@keep_arguments
class InverseGamma(Scalar):
    """The distribution of 1 / x with x of a gamma distribution.

    Args:
      concentration: positive floating tensor.
      rate: positive floating tensor.
      validate_args: whether to check arguments when the graph runs.
      allow_nan_stats: whether undefined statistics are NaN; if False they raise an error.
      name: name of the distribution.

    Raises:
      TypeError: `concentration` and `rate` have different dtypes.
    """

    def __init__(
        self, concentration, rate, validate_args=False, allow_nan_stats=True, name="InverseGamma"
    ):
        with tf.name_scope(name, values=[concentration, rate]) as name:
            a = tf.convert_to_tensor(concentration, name="concentration")
            b = tf.convert_to_tensor(rate, name="rate")
            self._concentration = checked(a, tf.assert_positive, validate_args)
            self._rate = checked(b, tf.assert_positive, validate_args)
            both = self._concentration + self._rate
        super().__init__(*(both, both.dtype, False, validate_args, allow_nan_stats, name))

    @property
    def concentration(self):
        """The concentration."""
        return self._concentration

    @property
    def rate(self):
        """The rate."""
        return self._rate

    def _sample_n(self, n, seed=None):
        a, b = self._with_batch(self._concentration), self._rate
        return 1 / tf.random_gamma([n], a, b, self.dtype, seed)

    def _valid(self, x):
        return checked(x, tf.assert_positive, self.validate_args)

    def _log_prob(self, x):
        a, b = self._concentration, self._rate
        x = self._valid(x)
        return -(1 + a) * tf.log(x) - b / x - (tf.lgamma(a) - a * tf.log(b))

    def _cdf(self, x):
        return tf.math.igammac(self._with_batch(self._concentration), self._rate / self._valid(x))

    def _entropy(self):
        a = self._concentration
        return a + tf.log(self._rate) + tf.lgamma(a) - (1 + a) * tf.digamma(a)

    def _mean(self):
        a = self._with_batch(self._concentration)
        return self._defined_where(a > 1, self._rate / (a - 1), "mean", "any concentration <= 1")

    def _variance(self):
        a = self._with_batch(self._concentration)
        variance = self._rate**2 / ((a - 1) ** 2 * (a - 2))
        return self._defined_where(a > 2, variance, "variance", "any concentration <= 2")

    def _mode(self):
        return self._rate / (1 + self._concentration)


@keep_arguments
class Chi2(tf.distributions.Gamma):
    """The distribution of the sum of `df` squares of standard normal numbers.

    Args:
      df: positive floating tensor, the degrees of freedom.
      validate_args: whether to check arguments when the graph runs.
      allow_nan_stats: whether undefined statistics are NaN; if False they raise an error.
      name: name of the distribution.
    """

    def __init__(self, df, validate_args=False, allow_nan_stats=True, name="Chi2"):
        with tf.name_scope(name, values=[df]) as name:
            self._df = checked(
                tf.convert_to_tensor(df, name="df"), tf.assert_positive, validate_args
            )
            half = tf.constant(0.5, self._df.dtype, name="rate")
            super().__init__(0.5 * self._df, half, validate_args, allow_nan_stats, name)

    @property
    def df(self):
        """The degrees of freedom."""
        return self._df


@keep_arguments
class Chi2WithAbsDf(Chi2):
    """Chi2 with the degrees of freedom floor(|df|).

    Args:
      df: floating tensor.
      validate_args: whether to check arguments when the graph runs.
      allow_nan_stats: whether undefined statistics are NaN; if False they raise an error.
      name: name of the distribution.
    """

    def __init__(self, df, validate_args=False, allow_nan_stats=True, name="Chi2WithAbsDf"):
        with tf.name_scope(name, values=[df]) as name:
            whole = tf.floor(tf.abs(tf.convert_to_tensor(df)), name="abs_df")
            super().__init__(whole, validate_args, allow_nan_stats, name)
