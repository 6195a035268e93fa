"""Logarithms of soft one-hot vectors, and vectors with probability 1."""

import tensorflow.compat.v1 as tf

from estimator_bridge.private_tf import distributions_util as _util
from estimator_bridge.tf1.contrib.distributions.arguments import keep_arguments
from estimator_bridge.tf1.contrib.distributions.scalar import checked

__all__ = ["ExpRelaxedOneHotCategorical", "VectorDeterministic"]


@keep_arguments
class ExpRelaxedOneHotCategorical(tf.distributions.Distribution):
    """The logarithm of a RelaxedOneHotCategorical vector (Maddison et al., 2016, appendix C.3).

    Args:
      temperature: positive floating tensor [...]; lower values give harder vectors.
      logits: floating tensor [..., classes] of log-probabilities; this or `probs` is required.
      probs: floating tensor [..., classes] of probabilities; this or `logits` is required.
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
        name="ExpRelaxedOneHotCategorical",
    ):
        with tf.name_scope(name, values=[logits, probs, temperature]) as name:
            self._logits, self._probs = _util.get_logits_and_probs(
                name=name,
                logits=logits,
                probs=probs,
                validate_args=validate_args,
                multidimensional=True,
            )
            dtype = self._logits.dtype if dtype is None else tf.as_dtype(dtype)
            temperature = tf.convert_to_tensor(temperature, dtype, name="temperature")
            self._temperature = checked(temperature, tf.assert_positive, validate_args)
            self._size = tf.shape(self._logits)[-1]
        super().__init__(
            dtype=dtype,
            reparameterization_type=tf.distributions.FULLY_REPARAMETERIZED,
            validate_args=validate_args,
            allow_nan_stats=allow_nan_stats,
            graph_parents=[self._logits, self._probs, self._temperature],
            name=name,
        )

    @property
    def event_size(self):
        """The number of classes, an int32 scalar."""
        return self._size

    @property
    def temperature(self):
        """The temperature."""
        return self._temperature

    @property
    def logits(self):
        """The log-probabilities."""
        return self._logits

    @property
    def probs(self):
        """The probabilities."""
        return self._probs

    def _batch_shape_tensor(self):
        shape = tf.shape(self._logits)[:-1]
        return tf.broadcast_dynamic_shape(tf.shape(self._temperature), shape)

    def _batch_shape(self):
        return tf.broadcast_static_shape(self._temperature.shape, self._logits.shape[:-1])

    def _event_shape_tensor(self):
        return self._size[None]

    def _event_shape(self):
        return self._logits.shape[-1:]

    def _sample_n(self, n, seed=None):
        shape = tf.concat([[n], self.batch_shape_tensor(), self.event_shape_tensor()], 0)
        tiny = self.dtype.as_numpy_dtype(1.1754944e-38)
        uniform = tf.random_uniform(shape, tiny, 1.0, self.dtype, seed)
        # Noise of the Gumbel distribution.
        noisy = self._logits - tf.log(-tf.log(uniform))
        return tf.nn.log_softmax(noisy / self._temperature[..., None])

    def _log_prob(self, x):
        if self.validate_args:
            message = "x has to be normalized: its exponentials add up to 1."
            total = tf.reduce_logsumexp(x, -1)
            check = tf.assert_near(total, tf.zeros_like(total), atol=1e-3, message=message)
            with tf.control_dependencies([tf.assert_non_positive(x), check]):
                x = tf.identity(x)
        size = tf.cast(self._size, self.dtype)
        scores = tf.nn.log_softmax(self._logits - self._temperature[..., None] * x)
        constant = tf.lgamma(size) + (size - 1) * tf.log(self._temperature)
        return constant + tf.reduce_sum(scores, -1)


@keep_arguments
class VectorDeterministic(tf.distributions.Distribution):
    """A distribution with probability 1 at one vector.

    Args:
      loc: floating tensor [..., k], the vector.
      atol: absolute tolerance around its elements, a tensor; None for 0.
      rtol: tolerance relative to its elements, a tensor; None for 0.
      validate_args: whether to check when the graph runs that values have k elements.
      allow_nan_stats: whether undefined statistics are NaN; if False they raise an error.
      name: name of the distribution.

    Raises:
      ValueError: `loc` is a scalar, and `validate_args`.
    """

    def __init__(
        self,
        loc,
        atol=None,
        rtol=None,
        validate_args=False,
        allow_nan_stats=True,
        name="VectorDeterministic",
    ):
        with tf.name_scope(name, values=[loc, atol, rtol]) as name:
            self._loc = tf.convert_to_tensor(loc, name="loc")
            if validate_args and self._loc.shape.ndims == 0:
                raise ValueError("Argument loc must be at least rank 1.")
            dtype = self._loc.dtype
            self._atol = tf.convert_to_tensor(0 if atol is None else atol, dtype, name="atol")
            self._rtol = tf.convert_to_tensor(0 if rtol is None else rtol, dtype, name="rtol")
        super().__init__(
            dtype=dtype,
            reparameterization_type=tf.distributions.NOT_REPARAMETERIZED,
            validate_args=validate_args,
            allow_nan_stats=allow_nan_stats,
            graph_parents=[self._loc],
            name=name,
        )

    @property
    def loc(self):
        """The vector."""
        return self._loc

    @property
    def atol(self):
        """The absolute tolerance."""
        return self._atol

    @property
    def rtol(self):
        """The relative tolerance."""
        return self._rtol

    def _batch_shape_tensor(self):
        return tf.shape(self._loc)[:-1]

    def _batch_shape(self):
        return self._loc.shape[:-1]

    def _event_shape_tensor(self):
        return tf.shape(self._loc)[-1:]

    def _event_shape(self):
        return self._loc.shape[-1:]

    def _sample_n(self, n, seed=None):
        return tf.broadcast_to(self._loc, tf.concat([[n], tf.shape(self._loc)], 0))

    def _prob(self, x):
        if self.validate_args:
            message = "Argument x must have as many elements as loc."
            check = tf.assert_equal(tf.shape(x)[-1], tf.shape(self._loc)[-1], message=message)
            with tf.control_dependencies([check]):
                x = tf.identity(x)
        near = tf.abs(x - self._loc) <= self._atol + self._rtol * tf.abs(self._loc)
        return tf.cast(tf.reduce_all(near, -1), self.dtype)

    def _mean(self):
        return tf.identity(self._loc)

    def _mode(self):
        return tf.identity(self._loc)

    def _variance(self):
        return tf.zeros_like(self._loc)

    def _stddev(self):
        return tf.zeros_like(self._loc)

    def _entropy(self):
        return tf.zeros(self.batch_shape_tensor(), self.dtype)
