"""Univariate and categorical distributions that tf.distributions does not have."""

import tensorflow.compat.v1 as tf

from estimator_bridge.tf1.contrib.distributions.arguments import keep_arguments
from estimator_bridge.tf1.contrib.distributions.scalar import Scalar

__all__ = [
    "BernoulliWithSigmoidProbs",
    "Deterministic",
    "Logistic",
    "NormalWithSoftplusScale",
    "OneHotCategorical",
    "Poisson",
    "RelaxedOneHotCategorical",
]


@keep_arguments
class NormalWithSoftplusScale(tf.distributions.Normal):
    """A normal distribution with the standard deviation softplus(scale).

    Args:
      loc: floating tensor, the mean.
      scale: floating tensor.
      validate_args: whether to check arguments when the graph runs.
      allow_nan_stats: whether undefined statistics are NaN; if False they raise an error.
      name: name of the distribution.
    """

    def __init__(
        self,
        loc,
        scale,
        validate_args=False,
        allow_nan_stats=True,
        name="NormalWithSoftplusScale",
    ):
        super().__init__(loc, tf.nn.softplus(scale), validate_args, allow_nan_stats, name)


@keep_arguments
class BernoulliWithSigmoidProbs(tf.distributions.Bernoulli):
    """A Bernoulli distribution with the probability sigmoid(p).

    Args:
      p: floating tensor.
      dtype: dtype of samples.
      validate_args: whether to check arguments when the graph runs.
      allow_nan_stats: whether undefined statistics are NaN; if False they raise an error.
      name: name of the distribution.
    """

    def __init__(
        self,
        p=None,
        dtype=tf.int32,
        validate_args=False,
        allow_nan_stats=True,
        name="BernoulliWithSigmoidProbs",
    ):
        super().__init__(None, tf.nn.sigmoid(p), dtype, validate_args, allow_nan_stats, name)


@keep_arguments
class Poisson(Scalar):
    """The Poisson distribution.

    Args:
      rate: floating tensor, the mean; this or `log_rate` is required.
      log_rate: floating tensor, the logarithm of the mean.
      validate_args: whether to check arguments when the graph runs.
      allow_nan_stats: whether undefined statistics are NaN; if False they raise an error.
      name: name of the distribution.

    Raises:
      ValueError: both or neither of rate and log_rate are given.
    """

    def __init__(
        self,
        rate=None,
        log_rate=None,
        validate_args=False,
        allow_nan_stats=True,
        name="Poisson",
    ):
        if (rate is None) == (log_rate is None):
            raise ValueError("Poisson: pass either rate or log_rate")
        rate = tf.exp(log_rate) if rate is None else tf.convert_to_tensor(rate)
        self.rate, self.log_rate = rate, tf.log(rate) if log_rate is None else log_rate
        super().__init__(rate, rate.dtype, False, validate_args, allow_nan_stats, name)

    def _sample_n(self, n, seed=None):
        return tf.random_poisson(self.rate, [n], dtype=self.dtype, seed=seed)

    def _log_prob(self, x):
        x = tf.cast(x, self.dtype)
        return x * self.log_rate - self.rate - tf.lgamma(1 + x)

    def _cdf(self, x):
        # As in 1.15, between the integers too.
        return tf.math.igammac(1 + tf.cast(x, self.dtype), self.rate)

    def _mean(self):
        return tf.identity(self.rate)

    def _variance(self):
        return tf.identity(self.rate)

    def _mode(self):
        return tf.floor(self.rate)


@keep_arguments
class Deterministic(Scalar):
    """A distribution with probability 1 at one value.

    Args:
      loc: floating tensor, the value.
      atol: absolute tolerance around the value, or None.
      rtol: tolerance relative to the value, or None.
      validate_args: whether to check arguments when the graph runs.
      allow_nan_stats: whether undefined statistics are NaN; if False they raise an error.
      name: name of the distribution.
    """

    def __init__(
        self,
        loc,
        atol=None,
        rtol=None,
        validate_args=False,
        allow_nan_stats=True,
        name="Deterministic",
    ):
        self.loc = tf.convert_to_tensor(loc)
        self._slack = (atol or 0) + (rtol or 0) * tf.abs(self.loc)
        super().__init__(self.loc, self.loc.dtype, False, validate_args, allow_nan_stats, name)

    def _sample_n(self, n, seed=None):
        return tf.broadcast_to(self.loc, tf.concat([[n], tf.shape(self.loc)], 0))

    def _prob(self, x):
        return tf.cast(tf.abs(x - self.loc) <= self._slack, self.dtype)

    def _cdf(self, x):
        return tf.cast(x >= self.loc, self.dtype)

    def _log_prob(self, x):
        return tf.log(self._prob(x))

    def _mean(self):
        return tf.identity(self.loc)

    _mode = _mean

    def _variance(self):
        return tf.zeros_like(self.loc)

    _entropy = _variance


@keep_arguments
class Logistic(Scalar):
    """The logistic distribution, whose cumulative distribution function is a sigmoid.

    Args:
      loc: floating tensor, the mean.
      scale: floating tensor, positive.
      validate_args: whether to check arguments when the graph runs.
      allow_nan_stats: whether undefined statistics are NaN; if False they raise an error.
      name: name of the distribution.
    """

    def __init__(self, loc, scale, validate_args=False, allow_nan_stats=True, name="Logistic"):
        self.scale = tf.convert_to_tensor(scale)
        self.loc = tf.convert_to_tensor(loc, self.scale.dtype)
        both = self.loc + self.scale
        super().__init__(both, both.dtype, True, validate_args, allow_nan_stats, name)

    def _sample_n(self, n, seed=None):
        shape = tf.concat([[n], tf.shape(self._of)], 0)
        # The logarithm of 0 is not finite.
        tiny = self.dtype.as_numpy_dtype(1e-7)
        uniform = tf.random_uniform(shape, tiny, 1 - tiny, self.dtype, seed=seed)
        return self.loc + self.scale * (tf.log(uniform) - tf.math.log1p(-uniform))

    def _z(self, x):
        return (x - self.loc) / self.scale

    def _log_prob(self, x):
        z = self._z(x)
        return -z - 2 * tf.nn.softplus(-z) - tf.log(self.scale)

    def _cdf(self, x):
        return tf.sigmoid(self._z(x))

    def _log_cdf(self, x):
        return -tf.nn.softplus(-self._z(x))

    def _survival_function(self, x):
        return tf.sigmoid(-self._z(x))

    def _log_survival_function(self, x):
        return -tf.nn.softplus(self._z(x))

    def _entropy(self):
        return 2 + tf.log(self.scale) + tf.zeros_like(self._of)

    def _mean(self):
        return self.loc + tf.zeros_like(self._of)

    _mode = _mean

    def _variance(self):
        return (self.scale * 3.141592653589793) ** 2 / 3 + tf.zeros_like(self._of)


class _Classes(tf.distributions.Distribution):
    """Base of distributions of vectors [..., classes], defined by logits or probabilities."""

    def __init__(self, logits, probs, dtype, reparameterized, validate_args, allow_nan_stats, name):
        if (logits is None) == (probs is None):
            raise ValueError(f"{name}: pass either probs or logits")
        if probs is None:
            self.logits = tf.convert_to_tensor(logits)
            self.probs = tf.nn.softmax(self.logits)
        else:
            self.probs = tf.convert_to_tensor(probs)
            self.logits = tf.log(self.probs)
        kinds = tf.distributions.NOT_REPARAMETERIZED, tf.distributions.FULLY_REPARAMETERIZED
        super().__init__(
            dtype=dtype or self.logits.dtype,
            reparameterization_type=kinds[reparameterized],
            validate_args=validate_args,
            allow_nan_stats=allow_nan_stats,
            name=name,
        )

    @property
    def event_size(self):
        return tf.shape(self.logits)[-1]

    def _batch_shape_tensor(self):
        return tf.shape(self.logits)[:-1]

    def _batch_shape(self):
        return self.logits.shape[:-1]

    def _event_shape_tensor(self):
        return tf.shape(self.logits)[-1:]

    def _event_shape(self):
        return self.logits.shape[-1:]


@keep_arguments
class OneHotCategorical(_Classes):
    """A distribution of one-hot vectors [..., classes].

    Args:
      logits: tensor [..., classes] of log-probabilities; this or `probs` is required.
      probs: tensor [..., classes] of probabilities; this or `logits` is required.
      dtype: dtype of samples.
      validate_args: whether to check arguments when the graph runs.
      allow_nan_stats: whether undefined statistics are NaN; if False they raise an error.
      name: name of the distribution.

    Raises:
      ValueError: both or neither of probs and logits are given.
    """

    def __init__(
        self,
        logits=None,
        probs=None,
        dtype=tf.int32,
        validate_args=False,
        allow_nan_stats=True,
        name="OneHotCategorical",
    ):
        super().__init__(logits, probs, dtype, False, validate_args, allow_nan_stats, name)

    def _one_hot(self, classes):
        return tf.one_hot(classes, self.event_size, dtype=self.dtype)

    def _sample_n(self, n, seed=None):
        return self._one_hot(tf.distributions.Categorical(self.logits).sample(n, seed=seed))

    def _log_prob(self, x):
        log_probs = tf.nn.log_softmax(self.logits)
        # A class with probability 0 has the logarithm -inf. Where x is 0, the product must be 0.
        return tf.reduce_sum(tf.math.multiply_no_nan(log_probs, tf.cast(x, log_probs.dtype)), -1)

    def _entropy(self):
        return tf.distributions.Categorical(self.logits).entropy()

    def _mode(self):
        return self._one_hot(tf.argmax(self.logits, -1))

    def _mean(self):
        return tf.identity(self.probs)

    def _variance(self):
        return self.probs * (1 - self.probs)


@tf.distributions.RegisterKL(OneHotCategorical, OneHotCategorical)
def _divergence(a, b, name=None):
    one, other = (tf.distributions.Categorical(side.logits) for side in (a, b))
    return tf.distributions.kl_divergence(one, other, name=name)


@keep_arguments
class RelaxedOneHotCategorical(_Classes):
    """A distribution of soft one-hot vectors (Jang et al., 2016; Maddison et al., 2016).

    Args:
      temperature: positive tensor [...]; lower values give harder vectors.
      logits: tensor [..., classes] of log-probabilities; this or `probs` is required.
      probs: tensor [..., classes] of probabilities; this or `logits` is required.
      dtype: dtype of samples; None for that of the logits.
      validate_args: whether to check arguments when the graph runs.
      allow_nan_stats: whether undefined statistics are NaN; if False they raise an error.
      name: name of the distribution.

    Raises:
      ValueError: both or neither of probs and logits are given.
    """

    def __init__(
        self,
        temperature,
        logits=None,
        probs=None,
        dtype=None,
        validate_args=False,
        allow_nan_stats=True,
        name="RelaxedOneHotCategorical",
    ):
        super().__init__(logits, probs, dtype, True, validate_args, allow_nan_stats, name)
        self.temperature = tf.convert_to_tensor(temperature, self.logits.dtype)

    def _sample_n(self, n, seed=None):
        shape = tf.concat([[n], tf.shape(self.logits)], 0)
        tiny = self.dtype.as_numpy_dtype(1e-7)
        uniform = tf.random_uniform(shape, tiny, 1 - tiny, self.dtype, seed=seed)
        gumbel = -tf.log(-tf.log(uniform))
        return tf.nn.softmax((self.logits + gumbel) / self._slope)

    @property
    def _slope(self):
        """The temperature with an axis for the classes."""
        return self.temperature[..., None]

    def _log_prob(self, x):
        size = tf.cast(self.event_size, self.dtype)
        log_x = tf.log(x)
        scores = tf.nn.log_softmax(self.logits) - self._slope * log_x
        normalizer = tf.lgamma(size) + (size - 1) * tf.log(self.temperature)
        total = tf.reduce_sum(scores - log_x, -1) - size * tf.reduce_logsumexp(scores, -1)
        return normalizer + total
