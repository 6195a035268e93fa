"""Multivariate normal distributions, and batches of distributions as one event."""

import math

import tensorflow.compat.v1 as tf

from estimator_bridge.tf1.contrib.distributions.arguments import keep_arguments

__all__ = [
    "Independent",
    "MultivariateNormalDiag",
    "MultivariateNormalDiagWithSoftplusScale",
    "MultivariateNormalFullCovariance",
    "MultivariateNormalTriL",
]


@keep_arguments
class MultivariateNormalTriL(tf.distributions.Distribution):
    """A normal distribution of vectors, defined by the Cholesky factor of its covariance.

    Args:
      loc: tensor [..., k], the mean; None for 0.
      scale_tril: tensor [..., k, k], lower triangular; None for the identity.
      validate_args: whether to check arguments when the graph runs.
      allow_nan_stats: whether undefined statistics are NaN; if False they raise an error.
      name: name of the distribution.
    """

    def __init__(
        self,
        loc=None,
        scale_tril=None,
        validate_args=False,
        allow_nan_stats=True,
        name="MultivariateNormalTriL",
    ):
        with tf.name_scope(name, values=[loc, scale_tril]) as scope:
            if scale_tril is None:
                loc = tf.convert_to_tensor(loc)
                scale_tril = tf.eye(tf.shape(loc)[-1], dtype=loc.dtype)
            scale_tril = tf.matrix_band_part(tf.convert_to_tensor(scale_tril), -1, 0)
            self._make(loc, scale_tril, validate_args, allow_nan_stats, scope)

    def _make(self, loc, tril, validate_args, allow_nan_stats, name):
        rows = tril[..., 0]
        loc = tf.zeros_like(rows) if loc is None else tf.convert_to_tensor(loc, tril.dtype)
        self._loc, self._tril = loc + tf.zeros_like(rows), tril
        super().__init__(
            dtype=tril.dtype,
            reparameterization_type=tf.distributions.FULLY_REPARAMETERIZED,
            validate_args=validate_args,
            allow_nan_stats=allow_nan_stats,
            graph_parents=[self._loc, tril],
            name=name,
        )

    @property
    def loc(self):
        return self._loc

    def _batch_shape_tensor(self):
        return tf.shape(self._loc)[:-1]

    def _batch_shape(self):
        return self._loc.shape[:-1]

    def _event_shape_tensor(self):
        return tf.shape(self._loc)[-1:]

    def _event_shape(self):
        return self._loc.shape[-1:]

    def _sample_n(self, n, seed=None):
        shape = tf.concat([[n], tf.shape(self._loc)], 0)
        noise = tf.random_normal(shape, dtype=self.dtype, seed=seed)
        return self._loc + tf.reduce_sum(self._tril * noise[..., None, :], -1)

    def _log_prob(self, x):
        z = self._solve((x - self._loc)[..., None])[..., 0]
        size = tf.cast(tf.shape(z)[-1], self.dtype)
        square = tf.reduce_sum(z**2, -1)
        return -0.5 * (square + size * math.log(2 * math.pi)) - self._log_determinant()

    def _solve(self, right):
        """Returns the factor's inverse times a matrix, with broadcasting of the batches."""
        batch = tf.broadcast_dynamic_shape(tf.shape(self._tril)[:-2], tf.shape(right)[:-2])
        tril = tf.broadcast_to(self._tril, tf.concat([batch, tf.shape(self._tril)[-2:]], 0))
        right = tf.broadcast_to(right, tf.concat([batch, tf.shape(right)[-2:]], 0))
        return tf.matrix_triangular_solve(tril, right)

    def _log_determinant(self):
        return tf.reduce_sum(tf.log(tf.abs(tf.matrix_diag_part(self._tril))), -1)

    def _entropy(self):
        size = tf.cast(tf.shape(self._loc)[-1], self.dtype)
        entropy = 0.5 * size * (1 + math.log(2 * math.pi)) + self._log_determinant()
        return entropy + tf.zeros_like(self._loc[..., 0])

    def _mean(self):
        return tf.identity(self._loc)

    _mode = _mean

    def _covariance(self):
        return tf.matmul(self._tril, self._tril, transpose_b=True)

    def _variance(self):
        # As in 1.15, without the batch of `loc`.
        return tf.reduce_sum(self._tril**2, -1)

    def _stddev(self):
        return tf.sqrt(self._variance())


@keep_arguments
class MultivariateNormalDiag(MultivariateNormalTriL):
    """A normal distribution of vectors with independent components.

    Args:
      loc: tensor [..., k], the mean; None for 0.
      scale_diag: tensor [..., k], standard deviations; None for 1, or only the multiplier.
      scale_identity_multiplier: tensor [...] that is added to `scale_diag`, or None.
      validate_args: whether to check arguments when the graph runs.
      allow_nan_stats: whether undefined statistics are NaN; if False they raise an error.
      name: name of the distribution.
    """

    def __init__(
        self,
        loc=None,
        scale_diag=None,
        scale_identity_multiplier=None,
        validate_args=False,
        allow_nan_stats=True,
        name="MultivariateNormalDiag",
    ):
        with tf.name_scope(name, values=[loc, scale_diag, scale_identity_multiplier]) as scope:
            scale = None if scale_diag is None else tf.convert_to_tensor(scale_diag)
            if scale is None:
                loc = tf.convert_to_tensor(loc)
                unit = tf.ones(tf.shape(loc)[-1:], loc.dtype)
                more = scale_identity_multiplier
                scale = unit if more is None else tf.convert_to_tensor(more)[..., None] * unit
            elif scale_identity_multiplier is not None:
                scale += tf.convert_to_tensor(scale_identity_multiplier)[..., None]
            self._scale_diag = scale
            self._make(loc, tf.matrix_diag(scale), validate_args, allow_nan_stats, scope)

    # The same computations without matrices.
    def _sample_n(self, n, seed=None):
        shape = tf.concat([[n], tf.shape(self._loc)], 0)
        noise = tf.random_normal(shape, dtype=self.dtype, seed=seed)
        return self._loc + self._scale_diag * noise

    def _solve(self, right):
        return right / self._scale_diag[..., None]

    def _log_determinant(self):
        return tf.reduce_sum(tf.log(tf.abs(self._scale_diag)), -1)


@keep_arguments
class MultivariateNormalDiagWithSoftplusScale(MultivariateNormalDiag):
    """MultivariateNormalDiag with the standard deviations softplus(scale_diag).

    Args:
      loc: tensor [..., k], the mean; None for 0.
      scale_diag: tensor [..., k].
      validate_args: whether to check arguments when the graph runs.
      allow_nan_stats: whether undefined statistics are NaN; if False they raise an error.
      name: name of the distribution.
    """

    def __init__(
        self,
        loc,
        scale_diag,
        validate_args=False,
        allow_nan_stats=True,
        name="MultivariateNormalDiagWithSoftplusScale",
    ):
        scale = tf.nn.softplus(scale_diag)
        super().__init__(loc, scale, None, validate_args, allow_nan_stats, name)


@keep_arguments
class MultivariateNormalFullCovariance(MultivariateNormalTriL):
    """A normal distribution of vectors, defined by its covariance.

    Args:
      loc: tensor [..., k], the mean; None for 0.
      covariance_matrix: tensor [..., k, k]; None for the identity.
      validate_args: whether to check arguments when the graph runs.
      allow_nan_stats: whether undefined statistics are NaN; if False they raise an error.
      name: name of the distribution.
    """

    def __init__(
        self,
        loc=None,
        covariance_matrix=None,
        validate_args=False,
        allow_nan_stats=True,
        name="MultivariateNormalFullCovariance",
    ):
        tril = None if covariance_matrix is None else tf.cholesky(covariance_matrix)
        super().__init__(loc, tril, validate_args, allow_nan_stats, name)


@tf.distributions.RegisterKL(MultivariateNormalTriL, MultivariateNormalTriL)
def _divergence(a, b, name=None):
    with tf.name_scope(name, "kl_mvn"):
        spread = tf.reduce_sum(b._solve(a._tril) ** 2, [-2, -1])
        away = tf.reduce_sum(b._solve((b._loc - a._loc)[..., None])[..., 0] ** 2, -1)
        size = tf.cast(tf.shape(a._loc)[-1], a.dtype)
        return 0.5 * (spread + away - size) + b._log_determinant() - a._log_determinant()


@keep_arguments
class Independent(tf.distributions.Distribution):
    """A distribution that treats the last batch axes as part of the event.

    Args:
      distribution: distribution with a batch.
      reinterpreted_batch_ndims: int, number of axes; None for all but the first.
      validate_args: whether to check arguments when the graph runs.
      name: name of the distribution.
    """

    def __init__(
        self, distribution, reinterpreted_batch_ndims=None, validate_args=False, name=None
    ):
        if reinterpreted_batch_ndims is None:
            reinterpreted_batch_ndims = max(0, distribution.batch_shape.ndims - 1)
        self._inner, self._count = distribution, int(reinterpreted_batch_ndims)
        super().__init__(
            dtype=distribution.dtype,
            reparameterization_type=distribution.reparameterization_type,
            validate_args=validate_args,
            allow_nan_stats=distribution.allow_nan_stats,
            name=name or "Independent" + distribution.name,
        )

    @property
    def distribution(self):
        return self._inner

    @property
    def _cut(self):
        return self._inner.batch_shape.ndims - self._count

    def _batch_shape_tensor(self):
        return self._inner.batch_shape_tensor()[: self._cut]

    def _batch_shape(self):
        return self._inner.batch_shape[: self._cut]

    def _event_shape_tensor(self):
        batch = self._inner.batch_shape_tensor()[self._cut :]
        return tf.concat([batch, self._inner.event_shape_tensor()], 0)

    def _event_shape(self):
        batch = self._inner.batch_shape[self._cut :]
        return batch.concatenate(self._inner.event_shape)

    def _sum(self, values):
        return tf.reduce_sum(values, list(range(-self._count, 0))) if self._count else values

    def _sample_n(self, n, seed=None):
        return self._inner.sample(n, seed=seed)

    def _log_prob(self, x):
        return self._sum(self._inner.log_prob(x))

    def _entropy(self):
        return self._sum(self._inner.entropy())

    def _mean(self):
        return self._inner.mean()

    def _mode(self):
        return self._inner.mode()

    def _variance(self):
        return self._inner.variance()

    def _stddev(self):
        return self._inner.stddev()


@tf.distributions.RegisterKL(Independent, Independent)
def _independent_divergence(a, b, name=None):
    return a._sum(tf.distributions.kl_divergence(a.distribution, b.distribution, name=name))
