"""Quadrature: mixtures over a grid in place of a compound distribution's integral.

From Dillon and Langmore, Quadrature Compound: An approximating family of distributions (2018).
"""

import math

import numpy as np
import tensorflow.compat.v1 as tf

from estimator_bridge.private_tf import distributions_util as _util
from estimator_bridge.tf1.contrib.distributions import bijectors, univariate
from estimator_bridge.tf1.contrib.distributions.arguments import keep_arguments

__all__ = [
    "PoissonLogNormalQuadratureCompound",
    "quadrature_scheme_lognormal_gauss_hermite",
    "quadrature_scheme_lognormal_quantiles",
    "quadrature_scheme_softmaxnormal_gauss_hermite",
    "quadrature_scheme_softmaxnormal_quantiles",
]


def _gauss_hermite(loc, scale, size):
    """Returns the nodes [..., size] and weights [size] of a normal distribution."""
    nodes, weights = np.polynomial.hermite.hermgauss(deg=size)
    dtype = loc.dtype.as_numpy_dtype
    nodes = loc[..., None] + math.sqrt(2.0) * scale[..., None] * nodes.astype(dtype)
    return nodes, tf.constant((weights / weights.sum()).astype(dtype), name="probs")


def _normal_edges(loc, scale, size):
    """Returns size + 1 quantiles of a normal distribution, at equal distances [size + 1, ...]."""
    levels = np.linspace(0.0, 1.0, size + 3)[1:-1].astype(loc.dtype.as_numpy_dtype)
    ndims = tf.broadcast_static_shape(loc.shape, scale.shape).ndims
    levels = levels.reshape([-1] + [1] * ndims)
    return tf.distributions.Normal(loc, scale).quantile(levels)


def _equal(size, dtype):
    return tf.fill([size], tf.constant(1.0 / size, dtype), name="probs")


def _pair(loc, scale, names):
    loc = tf.convert_to_tensor(loc, name=names[0])
    return loc, tf.convert_to_tensor(scale, loc.dtype.base_dtype, name=names[1])


def quadrature_scheme_lognormal_gauss_hermite(
    loc, scale, quadrature_size, validate_args=False, name=None
):
    """Returns the nodes and weights of Gauss-Hermite quadrature of a normal distribution.

    Args:
      loc: floating tensor [...], the mean of the logarithm.
      scale: positive floating tensor [...], its standard deviation.
      quadrature_size: int, number of nodes.
      validate_args: ignored.
      name: name of the operations.

    Returns:
      Logarithms of rates [..., quadrature_size], weights [quadrature_size].
    """
    with tf.name_scope(name, "vector_diffeomixture_quadrature_gauss_hermite", [loc, scale]):
        loc, scale = _pair(loc, scale, ("loc", "scale"))
        return _gauss_hermite(loc, scale, quadrature_size)


def quadrature_scheme_lognormal_quantiles(
    loc, scale, quadrature_size, validate_args=False, name=None
):
    """Returns the middles between quantiles of a log-normal distribution.

    Args:
      loc: floating tensor [...], the mean of the logarithm.
      scale: positive floating tensor [...], its standard deviation.
      quadrature_size: int, number of nodes.
      validate_args: ignored.
      name: name of the operations.

    Returns:
      Nodes [..., quadrature_size], weights [quadrature_size], which are equal.
    """
    with tf.name_scope(name, "quadrature_scheme_lognormal_quantiles", [loc, scale]):
        loc, scale = _pair(loc, scale, ("loc", "scale"))
        edges = tf.exp(_normal_edges(loc, scale, quadrature_size))
        grid = _util.rotate_transpose((edges[:-1] + edges[1:]) / 2, -1)
        return grid, _equal(quadrature_size, grid.dtype)


def _require_vectors(loc, scale):
    for name, one in (("normal_loc", loc), ("normal_scale", scale)):
        if one.shape.ndims is not None and one.shape.ndims < 1:
            raise ValueError(
                f"Mixing params must be a (batch of) vector; {name}.rank={one.shape.ndims} is not "
                "at least one."
            )


def quadrature_scheme_softmaxnormal_gauss_hermite(
    normal_loc, normal_scale, quadrature_size, validate_args=False, name=None
):
    """Returns nodes and weights for softmax([x, 0]) of normal x, by Gauss-Hermite quadrature.

    Args:
      normal_loc: floating tensor [..., k - 1], the mean of x.
      normal_scale: positive floating tensor [..., k - 1], its standard deviation.
      quadrature_size: int, number of nodes.
      validate_args: ignored.
      name: name of the operations.

    Returns:
      Nodes [..., k, quadrature_size], weights [quadrature_size].

    Raises:
      ValueError: an argument is a scalar.
    """
    name_values = [normal_loc, normal_scale]
    with tf.name_scope(name, "quadrature_scheme_softmaxnormal_gauss_hermite", name_values):
        loc, scale = _pair(normal_loc, normal_scale, ("normal_loc", "normal_scale"))
        _require_vectors(loc, scale)
        nodes, weights = _gauss_hermite(loc, scale, quadrature_size)
        grid = bijectors.SoftmaxCentered().forward(tf.matrix_transpose(nodes))
        return tf.matrix_transpose(grid), weights


def quadrature_scheme_softmaxnormal_quantiles(
    normal_loc, normal_scale, quadrature_size, validate_args=False, name=None
):
    """Returns the middles between quantiles of softmax([x, 0]) of normal x.

    Args:
      normal_loc: floating tensor [..., k - 1], the mean of x.
      normal_scale: positive floating tensor [..., k - 1], its standard deviation.
      quadrature_size: int, number of nodes.
      validate_args: ignored.
      name: name of the operations.

    Returns:
      Nodes [..., k, quadrature_size], weights [quadrature_size], which are equal.

    Raises:
      ValueError: an argument is a scalar.
    """
    with tf.name_scope(name, "softmax_normal_grid_and_probs", [normal_loc, normal_scale]):
        loc, scale = _pair(normal_loc, normal_scale, ("normal_loc", "normal_scale"))
        _require_vectors(loc, scale)
        edges = bijectors.SoftmaxCentered().forward(_normal_edges(loc, scale, quadrature_size))
        grid = _util.rotate_transpose((edges[:-1] + edges[1:]) / 2, -1)
        return grid, _equal(quadrature_size, grid.dtype)


@keep_arguments
class PoissonLogNormalQuadratureCompound(tf.distributions.Distribution):
    """A mixture of Poisson distributions whose log-rates are a grid of a log-normal distribution.

    Args:
      loc: floating tensor [...], the mean of the logarithm.
      scale: positive floating tensor [...], its standard deviation.
      quadrature_size: int, number of nodes.
      quadrature_fn: function of loc, scale, quadrature_size and validate_args that returns the
        log-rates [..., quadrature_size] and their weights [quadrature_size].
      validate_args: whether to check arguments when the graph runs.
      allow_nan_stats: whether undefined statistics are NaN; if False they raise an error.
      name: name of the distribution.
    """

    def __init__(
        self,
        loc,
        scale,
        quadrature_size=8,
        quadrature_fn=quadrature_scheme_lognormal_quantiles,
        validate_args=False,
        allow_nan_stats=True,
        name="PoissonLogNormalQuadratureCompound",
    ):
        with tf.name_scope(name, values=[loc, scale]) as name:
            self._loc, self._scale = _pair(loc, scale, ("loc", "scale"))
            grid, probs = quadrature_fn(self._loc, self._scale, quadrature_size, validate_args)
            self._size = quadrature_size
            options = {"validate_args": validate_args, "allow_nan_stats": allow_nan_stats}
            self._mixture = tf.distributions.Categorical(logits=tf.log(probs), **options)
            self._poisson = univariate.Poisson(log_rate=grid, **options)
        super().__init__(
            dtype=self._loc.dtype,
            reparameterization_type=tf.distributions.NOT_REPARAMETERIZED,
            validate_args=validate_args,
            allow_nan_stats=allow_nan_stats,
            graph_parents=[self._loc, self._scale],
            name=name,
        )

    @property
    def mixture_distribution(self):
        """The Categorical of the nodes."""
        return self._mixture

    @property
    def distribution(self):
        """The Poisson distributions [..., quadrature_size]."""
        return self._poisson

    @property
    def loc(self):
        """The mean of the logarithm."""
        return self._loc

    @property
    def scale(self):
        """The standard deviation of the logarithm."""
        return self._scale

    @property
    def quadrature_size(self):
        """The number of nodes."""
        return self._size

    def _batch_shape_tensor(self):
        return self._poisson.batch_shape_tensor()[:-1]

    def _batch_shape(self):
        return self._poisson.batch_shape[:-1]

    def _event_shape_tensor(self):
        return tf.constant([], tf.int32)

    def _event_shape(self):
        return tf.TensorShape([])

    def _sample_n(self, n, seed=None):
        shape = tf.concat([[n], self.batch_shape_tensor()], 0)
        chosen = self._mixture.sample(shape, seed=_util.gen_new_seed(seed, "chosen"))
        rates = self._poisson.rate + tf.zeros(tf.shape(chosen), self.dtype)[..., None]
        rate = tf.reduce_sum(rates * tf.one_hot(chosen, self._size, dtype=self.dtype), -1)
        return tf.random_poisson(rate, [], dtype=self.dtype, seed=seed)

    def _log_prob(self, x):
        log_probs = self._poisson.log_prob(x[..., None])
        return tf.reduce_logsumexp(tf.nn.log_softmax(self._mixture.logits) + log_probs, -1)

    def _mean(self):
        return tf.reduce_sum(self._mixture.probs * self._poisson.rate, -1)

    def _variance(self):
        # The mean of the variances, which are the rates, and the variance of the means.
        rates, mean = self._poisson.rate, self._mean()
        squares = (rates - mean[..., None]) ** 2
        return tf.reduce_sum(self._mixture.probs * (rates + squares), -1)

    def _stddev(self):
        return tf.sqrt(self._variance())
