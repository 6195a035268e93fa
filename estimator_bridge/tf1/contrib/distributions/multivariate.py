"""Multivariate normal distributions, and batches of distributions as one event."""

import tensorflow.compat.v1 as tf

from estimator_bridge.tf1.contrib.distributions import scales
from estimator_bridge.tf1.contrib.distributions.arguments import keep_arguments
from estimator_bridge.tf1.contrib.distributions.linear import LinearDistribution

__all__ = [
    "Independent",
    "MultivariateNormalDiag",
    "MultivariateNormalDiagPlusLowRank",
    "MultivariateNormalDiagWithSoftplusScale",
    "MultivariateNormalFullCovariance",
    "MultivariateNormalTriL",
]


class _Normal(LinearDistribution):
    """Base of the normal distributions of vectors."""

    def _make_normal(self, loc, scale, validate_args, allow_nan_stats, name):
        dtype = scale.dtype
        normal = tf.distributions.Normal(
            *(tf.zeros([], dtype), tf.ones([], dtype), validate_args, allow_nan_stats)
        )
        self._make(normal, loc, scale, name)


@keep_arguments
class MultivariateNormalTriL(_Normal):
    """A normal distribution of vectors, defined by the Cholesky factor of its covariance.

    Args:
      loc: tensor [..., k], the mean; None for 0.
      scale_tril: tensor [..., k, k], lower triangular; None for the identity.
      validate_args: whether to check arguments when the graph runs.
      allow_nan_stats: whether undefined statistics are NaN; if False they raise an error.
      name: name of the distribution.

    Raises:
      ValueError: neither `loc` nor `scale_tril` is given.
    """

    def __init__(
        self,
        loc=None,
        scale_tril=None,
        validate_args=False,
        allow_nan_stats=True,
        name="MultivariateNormalTriL",
    ):
        if loc is None and scale_tril is None:
            raise ValueError("Must specify one or both of `loc`, `scale_tril`.")
        with tf.name_scope(name, values=[loc, scale_tril]) as name, tf.name_scope("init"):
            loc, scale = scales.of_arguments(loc, validate_args, scale_tril=scale_tril)
        self._make_normal(loc, scale, validate_args, allow_nan_stats, name)


@keep_arguments
class MultivariateNormalDiag(_Normal):
    """A normal distribution of vectors with independent components.

    Args:
      loc: tensor [..., k], the mean; None for 0.
      scale_diag: tensor [..., k], standard deviations; None for 1, or only the multiplier.
      scale_identity_multiplier: tensor [...] that is added to `scale_diag`, or None.
      validate_args: whether to check arguments when the graph runs.
      allow_nan_stats: whether undefined statistics are NaN; if False they raise an error.
      name: name of the distribution.

    Raises:
      ValueError: neither `loc` nor `scale_diag` is given.
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
        with tf.name_scope(name, values=[loc, scale_diag, scale_identity_multiplier]) as name:
            loc, scale = scales.of_arguments(
                loc,
                validate_args,
                scale_diag=scale_diag,
                scale_identity_multiplier=scale_identity_multiplier,
            )
        self._make_normal(loc, scale, validate_args, allow_nan_stats, name)


@keep_arguments
class MultivariateNormalDiagPlusLowRank(_Normal):
    """A normal distribution of vectors with the scale c I + diag(d) + V diag(e) V^T.

    The covariance is the product of the scale and its transpose.

    Args:
      loc: tensor [..., k], the mean; None for 0.
      scale_diag: tensor d [..., k], or None.
      scale_identity_multiplier: tensor c [...]; None for 1 if `scale_diag` is None, else 0.
      scale_perturb_factor: tensor V [..., k, r], or None.
      scale_perturb_diag: tensor e [..., r]; None for 1.
      validate_args: whether to check arguments when the graph runs.
      allow_nan_stats: whether undefined statistics are NaN; if False they raise an error.
      name: name of the distribution.

    Raises:
      ValueError: no argument gives k.
    """

    def __init__(
        self,
        loc=None,
        scale_diag=None,
        scale_identity_multiplier=None,
        scale_perturb_factor=None,
        scale_perturb_diag=None,
        validate_args=False,
        allow_nan_stats=True,
        name="MultivariateNormalDiagPlusLowRank",
    ):
        tensors = [loc, scale_diag, scale_identity_multiplier, scale_perturb_factor]
        with tf.name_scope(name, values=[*tensors, scale_perturb_diag]) as name:
            loc, scale = scales.of_arguments(
                loc,
                validate_args,
                scale_diag=scale_diag,
                scale_identity_multiplier=scale_identity_multiplier,
                scale_perturb_factor=scale_perturb_factor,
                scale_perturb_diag=scale_perturb_diag,
            )
        self._make_normal(loc, scale, validate_args, allow_nan_stats, name)


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
        with tf.name_scope(name, values=[scale_diag]) as name:
            scale = tf.nn.softplus(scale_diag)
            super().__init__(loc, scale, None, validate_args, allow_nan_stats, name)


@keep_arguments
class MultivariateNormalFullCovariance(MultivariateNormalTriL):
    """A normal distribution of vectors, defined by its covariance.

    Args:
      loc: tensor [..., k], the mean; None for 0.
      covariance_matrix: tensor [..., k, k]; None for the identity.
      validate_args: whether to check when the graph runs that the covariance is symmetric.
      allow_nan_stats: whether undefined statistics are NaN; if False they raise an error.
      name: name of the distribution.

    Raises:
      ValueError: neither `loc` nor `covariance_matrix` is given.
    """

    def __init__(
        self,
        loc=None,
        covariance_matrix=None,
        validate_args=False,
        allow_nan_stats=True,
        name="MultivariateNormalFullCovariance",
    ):
        with tf.name_scope(name, values=[loc, covariance_matrix]) as name:
            tril = None
            if covariance_matrix is not None:
                covariance = tf.convert_to_tensor(covariance_matrix, name="covariance_matrix")
                if validate_args:
                    message = "Matrix was not symmetric."
                    other = tf.matrix_transpose(covariance)
                    check = tf.assert_near(covariance, other, message=message)
                    with tf.control_dependencies([check]):
                        covariance = tf.identity(covariance)
                tril = tf.cholesky(covariance)
            with tf.name_scope("init"):
                super().__init__(loc, tril, validate_args, allow_nan_stats, name)


@tf.distributions.RegisterKL(_Normal, _Normal)
def _divergence(a, b, name=None):
    with tf.name_scope(name, "kl_mvn"):
        spread = tf.reduce_sum(b.scale.solve(a.scale.to_dense()) ** 2, [-2, -1])
        away = tf.reduce_sum(b.scale.solvevec(b.mean() - a.mean()) ** 2, -1)
        size = tf.cast(a.scale.domain_dimension_tensor(), a.dtype)
        dets = b.scale.log_abs_determinant() - a.scale.log_abs_determinant()
        return 0.5 * (spread + away - size) + dets


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
