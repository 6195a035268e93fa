"""Scalar and vector distributions that are transformations of simpler ones."""

import numpy as np
import tensorflow.compat.v1 as tf

from estimator_bridge.tf1.contrib.distributions import bijectors, scales, univariate
from estimator_bridge.tf1.contrib.distributions.arguments import keep_arguments
from estimator_bridge.tf1.contrib.distributions.scalar import checked
from estimator_bridge.tf1.contrib.distributions.transformed import TransformedDistribution

__all__ = ["Kumaraswamy", "RelaxedBernoulli", "SinhArcsinh", "VectorSinhArcsinhDiag"]


@keep_arguments
class RelaxedBernoulli(TransformedDistribution):
    """A distribution of numbers in (0, 1) near the ends (Maddison et al., 2016).

    The sigmoid of a logistic distribution with loc = logits / temperature, scale = 1 / temperature.

    Args:
      temperature: positive floating tensor; lower values give harder numbers.
      logits: floating tensor, log-odds of a 1; this or `probs` is required.
      probs: floating tensor, probabilities of a 1; this or `logits` is required.
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
        validate_args=False,
        allow_nan_stats=True,
        name="RelaxedBernoulli",
    ):
        with tf.name_scope(name, values=[temperature, logits, probs]) as name:
            temperature = tf.convert_to_tensor(temperature, name="temperature")
            self._temperature = checked(temperature, tf.assert_positive, validate_args)
            bernoulli = tf.distributions.Bernoulli(logits, probs, validate_args=validate_args)
            self._logits, self._probs = bernoulli.logits, bernoulli.probs
            logistic = univariate.Logistic(
                self._logits / self._temperature,
                1 / self._temperature,
                validate_args=validate_args,
                allow_nan_stats=allow_nan_stats,
                name=name + "/Logistic",
            )
            sigmoid = bijectors.Sigmoid(validate_args=validate_args)
            super().__init__(logistic, sigmoid, validate_args=validate_args, name=name)

    @property
    def temperature(self):
        """The temperature."""
        return self._temperature

    @property
    def logits(self):
        """Log-odds of a 1."""
        return self._logits

    @property
    def probs(self):
        """Probabilities of a 1."""
        return self._probs


@keep_arguments
class Kumaraswamy(TransformedDistribution):
    """The distribution in [0, 1] of density a b x^(a-1) (1 - x^a)^(b-1) (Jones, 2009).

    Args:
      concentration1: positive floating tensor a.
      concentration0: positive floating tensor b.
      validate_args: whether to check arguments when the graph runs.
      allow_nan_stats: whether undefined statistics are NaN; if False they raise an error.
      name: name of the distribution.

    Raises:
      ValueError: a concentration is None.
    """

    def __init__(
        self,
        concentration1=None,
        concentration0=None,
        validate_args=False,
        allow_nan_stats=True,
        name="Kumaraswamy",
    ):
        with tf.name_scope(name, values=[concentration1, concentration0]) as name:
            a = tf.convert_to_tensor(concentration1, name="concentration1")
            b = tf.convert_to_tensor(concentration0, name="concentration0")
        bijector = bijectors.Kumaraswamy(a, b, validate_args=validate_args)
        zeros = tf.zeros_like(a + b)
        uniform = tf.distributions.Uniform(
            zeros, tf.ones_like(zeros), allow_nan_stats=allow_nan_stats
        )
        super().__init__(uniform, bijector, validate_args=validate_args, name=name)

    @property
    def concentration1(self):
        """The parameter a."""
        return self.bijector.concentration1

    @property
    def concentration0(self):
        """The parameter b."""
        return self.bijector.concentration0

    def _entropy(self):
        # As in 1.15; the entropy itself has a and b exchanged, and -log(a b).
        a, b = self.concentration1, self.concentration0
        harmonic = tf.digamma(1 + b) + np.euler_gamma
        return (1 - 1 / a) + (1 - 1 / b) * harmonic + tf.log(a) + tf.log(b)

    def _moment(self, n):
        """Returns the mean of x^n."""
        a, b = self.concentration1, self.concentration0
        more = 1 + n / a
        return tf.exp(tf.log(b) + tf.lgamma(more) + tf.lgamma(b) - tf.lgamma(b + more))

    def _mean(self):
        return self._moment(1)

    def _variance(self):
        return self._moment(2) - self._moment(1) ** 2

    def _mode(self):
        a, b = self.concentration1, self.concentration0
        mode = ((a - 1) / (a * b - 1)) ** (1 / a)
        defined = tf.logical_and(a > 1, b > 1)
        if self.allow_nan_stats:
            nan = tf.constant(float("nan"), self.dtype)
            return tf.where(defined, mode, tf.fill(tf.shape(mode), nan))
        text = "Mode undefined for concentration1 <= 1 or concentration0 <= 1."
        with tf.control_dependencies([tf.Assert(tf.reduce_all(defined), [text])]):
            return tf.identity(mode)


def _shaped(skewness, tailweight, distribution, dtype, options):
    """Returns what the two distributions below have in common.

    Args:
      skewness: floating tensor, or None for 0.
      tailweight: floating tensor, or None for 1.
      distribution: distribution of z, or None for the standard normal one.
      dtype: dtype of the tensors.
      options: validate_args and allow_nan_stats.

    Returns:
      skewness and tailweight as tensors, the distribution, the bijector F, 2 / F_0(2).
    """
    skewness = tf.convert_to_tensor(0.0 if skewness is None else skewness, dtype, name="skewness")
    tailweight = 1.0 if tailweight is None else tailweight
    tailweight = tf.convert_to_tensor(tailweight, dtype, name="tailweight")
    if distribution is None:
        zero, one = tf.zeros([], dtype), tf.ones([], dtype)
        distribution = tf.distributions.Normal(
            zero, one, allow_nan_stats=options["allow_nan_stats"]
        )
    validate_args = options["validate_args"]
    shape = bijectors.SinhArcsinh(skewness, tailweight, validate_args=validate_args)
    # The value at 2 without skewness.
    symmetric = bijectors.SinhArcsinh(tf.zeros([], dtype), tailweight, validate_args=validate_args)
    return skewness, tailweight, distribution, shape, 2 / symmetric.forward(tf.constant(2.0, dtype))


@keep_arguments
class SinhArcsinh(TransformedDistribution):
    """y = loc + scale F(z) 2 / F_0(2), F(z) = sinh((arcsinh(z) + skewness) tailweight).

    From Jones and Pewsey (2009); F_0 is F without skewness.

    Args:
      loc: floating tensor.
      scale: floating tensor.
      skewness: floating tensor; None for 0.
      tailweight: positive floating tensor; None for 1.
      distribution: distribution of z with scalar batch; None for the standard normal one.
      validate_args: whether to check arguments when the graph runs.
      allow_nan_stats: whether undefined statistics are NaN; if False they raise an error.
      name: name of the distribution.
    """

    def __init__(
        self,
        loc,
        scale,
        skewness=None,
        tailweight=None,
        distribution=None,
        validate_args=False,
        allow_nan_stats=True,
        name="SinhArcsinh",
    ):
        with tf.name_scope(name, values=[loc, scale, skewness, tailweight]) as name:
            self._loc = tf.convert_to_tensor(loc, name="loc")
            dtype = self._loc.dtype
            self._scale = tf.convert_to_tensor(scale, dtype, name="scale")
            options = {"validate_args": validate_args, "allow_nan_stats": allow_nan_stats}
            self._skewness, self._tailweight, distribution, shape, factor = _shaped(
                skewness, tailweight, distribution, dtype, options
            )
            affine = bijectors.AffineScalar(
                shift=self._loc, scale=self._scale * factor, validate_args=validate_args
            )
            whole = self._loc + self._scale + self._skewness + self._tailweight
            batch = tf.shape(whole) if not whole.shape.is_fully_defined() else whole.shape.as_list()
            super().__init__(
                distribution,
                bijectors.Chain([affine, shape]),
                batch_shape=tf.convert_to_tensor(batch, tf.int32),
                validate_args=validate_args,
                name=name,
            )

    @property
    def loc(self):
        """The shift."""
        return self._loc

    @property
    def scale(self):
        """The scale."""
        return self._scale

    @property
    def skewness(self):
        """The skewness."""
        return self._skewness

    @property
    def tailweight(self):
        """The weight of the tails."""
        return self._tailweight


@keep_arguments
class VectorSinhArcsinhDiag(TransformedDistribution):
    """y = loc + scale F(z) 2 / F_0(2) of vectors, with a diagonal scale; see SinhArcsinh.

    Args:
      loc: floating tensor [..., k]; None for 0.
      scale_diag: floating tensor [..., k], the diagonal; None for 1, or only the multiplier.
      scale_identity_multiplier: floating tensor [...] that is added to the diagonal, or None.
      skewness: floating tensor [..., k]; None for 0.
      tailweight: positive floating tensor [..., k]; None for 1.
      distribution: distribution of z with scalar batch; None for the standard normal one.
      validate_args: whether to check arguments when the graph runs.
      allow_nan_stats: whether undefined statistics are NaN; if False they raise an error.
      name: name of the distribution.

    Raises:
      ValueError: the arguments do not give k.
    """

    def __init__(
        self,
        loc=None,
        scale_diag=None,
        scale_identity_multiplier=None,
        skewness=None,
        tailweight=None,
        distribution=None,
        validate_args=False,
        allow_nan_stats=True,
        name="MultivariateNormalLinearOperator",
    ):
        tensors = [loc, scale_diag, scale_identity_multiplier, skewness, tailweight]
        with tf.name_scope(name, values=tensors) as name:
            given = next(one for one in tensors if one is not None)
            dtype = tf.convert_to_tensor(given).dtype.base_dtype
            loc = None if loc is None else tf.convert_to_tensor(loc, dtype, name="loc")
            diagonal, multiplier = (
                None if one is None else tf.convert_to_tensor(one, dtype)
                for one in (scale_diag, scale_identity_multiplier)
            )
            scale = scales.operator(multiplier, diagonal, None, None, None, loc, validate_args)
            batch, event = scales.shapes(loc, scale)
            options = {"validate_args": validate_args, "allow_nan_stats": allow_nan_stats}
            self._skewness, self._tailweight, distribution, shape, factor = _shaped(
                skewness, tailweight, distribution, dtype, options
            )
            affine = bijectors.AffineLinearOperator(loc, scale, validate_args=validate_args)
            wider = bijectors.AffineScalar(scale=factor, validate_args=validate_args)
            super().__init__(
                distribution,
                bijectors.Chain([affine, wider, shape]),
                batch_shape=batch,
                event_shape=event,
                validate_args=validate_args,
                name=name,
            )
        self._loc, self._scale = loc, scale

    @property
    def loc(self):
        """The shift, or None."""
        return self._loc

    @property
    def scale(self):
        """The linear operator of the scale."""
        return self._scale

    @property
    def skewness(self):
        """The skewness."""
        return self._skewness

    @property
    def tailweight(self):
        """The weight of the tails."""
        return self._tailweight
