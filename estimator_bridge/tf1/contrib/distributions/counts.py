"""Distributions of counts."""

import tensorflow.compat.v1 as tf

from estimator_bridge.private_tf import distributions_util as _util
from estimator_bridge.tf1.contrib.distributions.arguments import keep_arguments
from estimator_bridge.tf1.contrib.distributions.scalar import Scalar, checked

__all__ = ["Binomial", "Geometric", "NegativeBinomial"]


@keep_arguments
class Binomial(Scalar):
    """The number of successes of `total_count` trials.

    Samples are not defined, as in 1.15.

    Args:
      total_count: floating tensor of whole numbers, at least 0.
      logits: floating tensor, log-odds of a success; this or `probs` is required.
      probs: floating tensor, probabilities of a success; this or `logits` is required.
      validate_args: whether to check arguments when the graph runs.
      allow_nan_stats: whether undefined statistics are NaN; if False they raise an error.
      name: name of the distribution.

    Raises:
      ValueError: both or neither of probs and logits are given.
    """

    def __init__(
        self,
        total_count,
        logits=None,
        probs=None,
        validate_args=False,
        allow_nan_stats=True,
        name="Binomial",
    ):
        with tf.name_scope(name, values=[total_count, logits, probs]) as name:
            count = tf.convert_to_tensor(total_count, name="total_count")
            count = checked(count, tf.assert_non_negative, validate_args)
            if validate_args:
                message = "total_count cannot contain fractional components."
                with tf.control_dependencies([_util.assert_integer_form(count, message=message)]):
                    count = tf.identity(count)
            self._total_count = count
            self._logits, self._probs = _util.get_logits_and_probs(
                logits=logits, probs=probs, validate_args=validate_args, name=name
            )
            both = self._total_count + self._probs
        super().__init__(*(both, self._probs.dtype, False, validate_args, allow_nan_stats, name))

    @property
    def total_count(self):
        """The number of trials."""
        return self._total_count

    @property
    def logits(self):
        """Log-odds of a success."""
        return self._logits

    @property
    def probs(self):
        """Probabilities of a success."""
        return self._probs

    def _valid(self, counts):
        if not self.validate_args:
            return counts
        counts = _util.embed_check_nonnegative_integer_form(counts)
        message = "counts are not less than or equal to total_count."
        check = tf.assert_less_equal(counts, self._total_count, message=message)
        with tf.control_dependencies([check]):
            return tf.identity(counts)

    def _log_prob(self, counts):
        counts = self._valid(counts)
        rest = self._total_count - counts
        trials = counts * tf.log(self._probs) + rest * tf.math.log1p(-self._probs)
        ways = tf.lgamma(1 + self._total_count) - tf.lgamma(1 + counts) - tf.lgamma(1 + rest)
        return trials + ways

    def _cdf(self, counts):
        # Between the integers too, as in 1.15.
        counts = self._valid(counts)
        probs = self._probs
        if probs.shape.is_fully_defined() and counts.shape.is_fully_defined():
            shape = tf.broadcast_static_shape(self._of.shape, counts.shape)
        else:
            shape = tf.broadcast_dynamic_shape(tf.shape(self._of), tf.shape(counts))
        counts, probs, total = (
            tf.broadcast_to(one, shape) for one in (counts, probs, self._total_count)
        )
        return tf.betainc(total - counts, 1 + counts, 1 - probs)

    def _mean(self):
        return self._total_count * self._probs

    def _variance(self):
        return self._mean() * (1 - self._probs)

    def _mode(self):
        return tf.floor((1 + self._total_count) * self._probs)


@keep_arguments
class NegativeBinomial(Scalar):
    """The number of successes before `total_count` failures.

    Args:
      total_count: positive floating tensor, the number of failures.
      logits: floating tensor, log-odds of a success; this or `probs` is required.
      probs: floating tensor, probabilities of a success; this or `logits` is required.
      validate_args: whether to check arguments when the graph runs.
      allow_nan_stats: whether undefined statistics are NaN; if False they raise an error.
      name: name of the distribution.

    Raises:
      ValueError: both or neither of probs and logits are given.
    """

    def __init__(
        self,
        total_count,
        logits=None,
        probs=None,
        validate_args=False,
        allow_nan_stats=True,
        name="NegativeBinomial",
    ):
        with tf.name_scope(name, values=[total_count, logits, probs]) as name:
            self._logits, self._probs = _util.get_logits_and_probs(
                logits, probs, validate_args=validate_args, name=name
            )
            count = tf.convert_to_tensor(total_count, self._probs.dtype, name="total_count")
            self._total_count = checked(count, tf.assert_positive, validate_args)
            both = self._total_count + self._probs
        super().__init__(*(both, self._probs.dtype, False, validate_args, allow_nan_stats, name))

    @property
    def total_count(self):
        """The number of failures."""
        return self._total_count

    @property
    def logits(self):
        """Log-odds of a success."""
        return self._logits

    @property
    def probs(self):
        """Probabilities of a success."""
        return self._probs

    def _sample_n(self, n, seed=None):
        # Poisson numbers whose rates have a gamma distribution.
        rate = tf.random_gamma(
            [n], self._with_batch(self._total_count), tf.exp(-self._logits), self.dtype, seed
        )
        more = _util.gen_new_seed(seed, "NegativeBinomial")
        return tf.random_poisson(rate, [], dtype=self.dtype, seed=more)

    def _valid(self, x):
        return _util.embed_check_nonnegative_integer_form(x) if self.validate_args else x

    def _log_prob(self, x):
        x = self._valid(x)
        ways = tf.lgamma(self._total_count + x) - tf.lgamma(1 + x) - tf.lgamma(self._total_count)
        failures = self._total_count * tf.log_sigmoid(-self._logits)
        return failures + x * tf.log_sigmoid(self._logits) + ways

    def _cdf(self, x):
        # Between the integers too, as in 1.15.
        return tf.betainc(self._total_count, 1 + self._valid(x), tf.sigmoid(-self._logits))

    def _mean(self):
        return self._total_count * tf.exp(self._logits)

    def _mode(self):
        mode = tf.floor((self._total_count - 1) * tf.exp(self._logits))
        return tf.where(self._total_count > 1, mode, tf.zeros_like(mode))

    def _variance(self):
        return self._mean() / tf.sigmoid(-self._logits)


@keep_arguments
class Geometric(Scalar):
    """The number of failures before the first success.

    Args:
      logits: floating tensor, log-odds of a success; this or `probs` is required.
      probs: floating tensor, probabilities of a success; this or `logits` is required.
      validate_args: whether to check arguments when the graph runs.
      allow_nan_stats: whether undefined statistics are NaN; if False they raise an error.
      name: name of the distribution.

    Raises:
      ValueError: both or neither of probs and logits are given.
    """

    def __init__(
        self, logits=None, probs=None, validate_args=False, allow_nan_stats=True, name="Geometric"
    ):
        with tf.name_scope(name, values=[logits, probs]) as name:
            self._logits, self._probs = _util.get_logits_and_probs(
                logits, probs, validate_args=validate_args, name=name
            )
            self._probs = checked(self._probs, tf.assert_positive, validate_args)
        dtype = self._probs.dtype
        super().__init__(*(self._probs, dtype, False, validate_args, allow_nan_stats, name))

    @property
    def logits(self):
        """Log-odds of a success."""
        return self._logits

    @property
    def probs(self):
        """Probabilities of a success."""
        return self._probs

    def _sample_n(self, n, seed=None):
        tiny = self.dtype.as_numpy_dtype(1.1754944e-38)
        shape = tf.concat([[n], tf.shape(self._probs)], 0)
        uniform = tf.random_uniform(shape, tiny, 1.0, self.dtype, seed)
        return tf.floor(tf.log(uniform) / tf.math.log1p(-self._probs))

    def _valid(self, x):
        # Without checks, numbers between the integers count as the lower one.
        if self.validate_args:
            return _util.embed_check_nonnegative_integer_form(x)
        return tf.floor(x)

    def _cdf(self, x):
        x = self._valid(x) + tf.zeros_like(self._probs)
        cdf = -tf.math.expm1((1 + x) * tf.math.log1p(-self._probs))
        return tf.where(x < 0, tf.zeros_like(cdf), cdf)

    def _log_prob(self, x):
        x = self._valid(x) + tf.zeros_like(self._probs)
        # The first trial may succeed with probability 1.
        safe = tf.where(tf.equal(x, 0), tf.zeros_like(x), self._probs + tf.zeros_like(x))
        return x * tf.math.log1p(-safe) + tf.log(self._probs)

    def _entropy(self):
        probs = self._probs
        if not self.validate_args:
            return (tf.nn.softplus(self._logits) - self._logits * probs) / probs
        probs = checked(
            probs,
            tf.assert_less,
            True,
            y=tf.constant(1.0, probs.dtype),
            message="Entropy is undefined when logits = inf or probs = 1.",
        )
        return (tf.nn.softplus(self._logits) - self._logits * probs) / probs

    def _mean(self):
        return tf.exp(-self._logits)

    def _variance(self):
        return self._mean() / self._probs

    def _mode(self):
        return tf.zeros_like(self._probs)
