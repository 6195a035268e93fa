"""Distributions of vectors loc + scale z, with independent elements of z."""

import tensorflow.compat.v1 as tf

from estimator_bridge.tf1.contrib.distributions import bijectors, scales
from estimator_bridge.tf1.contrib.distributions.arguments import keep_arguments
from estimator_bridge.tf1.contrib.distributions.transformed import TransformedDistribution

__all__ = ["VectorExponentialDiag", "VectorLaplaceDiag"]


class LinearDistribution(TransformedDistribution):
    """Base of the distributions of loc + scale z, where z has mean 0 or mode 0."""

    def _make(self, distribution, loc, scale, name):
        """Finishes the constructor.

        Args:
          distribution: the scalar distribution of the elements of z.
          loc: floating tensor [..., k], or None for 0.
          scale: tf.linalg.LinearOperator [..., k, k].
          name: name of the distribution.
        """
        batch, event = scales.shapes(loc, scale)
        TransformedDistribution.__init__(
            self,
            distribution,
            bijectors.AffineLinearOperator(loc, scale, validate_args=distribution.validate_args),
            batch_shape=batch,
            event_shape=event,
            validate_args=distribution.validate_args,
            name=name,
        )

    @property
    def loc(self):
        """The shift, or None."""
        return self.bijector.shift

    @property
    def scale(self):
        """The linear operator of the scale."""
        return self.bijector.scale

    def _shifted(self, value):
        """Returns loc + scale times a vector of a scalar; a value of None is 0."""
        shape = tf.concat([self.batch_shape_tensor(), self.event_shape_tensor()], 0)
        if value is None:
            moved = tf.zeros([], self.dtype)
        else:
            moved = self.scale.matvec(tf.fill(shape, value))
        found = moved if self.loc is None else moved + self.loc
        found = tf.broadcast_to(found, shape)
        found.set_shape(self.batch_shape.concatenate(self.event_shape))
        return found

    def _mean(self):
        return self._shifted(None)

    def _mode(self):
        return self._shifted(None)

    # As in 1.15, what follows has not the batch of `loc`.
    def _covariance(self):
        dense = self.scale.to_dense()
        return self.distribution.variance() * tf.matmul(dense, dense, adjoint_b=True)

    def _variance(self):
        return self.distribution.variance() * tf.reduce_sum(self.scale.to_dense() ** 2, -1)

    def _stddev(self):
        return tf.sqrt(self._variance())


@keep_arguments
class VectorLaplaceDiag(LinearDistribution):
    """loc + scale z, with a diagonal scale and z of the standard Laplace distribution.

    Args:
      loc: floating tensor [..., k]; None for 0.
      scale_diag: floating tensor [..., k]; None for 1, or only the multiplier.
      scale_identity_multiplier: floating tensor [...] that is added to the diagonal, or None.
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
        validate_args=False,
        allow_nan_stats=True,
        name="VectorLaplaceDiag",
    ):
        with tf.name_scope(name, values=[loc, scale_diag, scale_identity_multiplier]):
            loc, scale = scales.of_arguments(
                loc,
                validate_args,
                scale_diag=scale_diag,
                scale_identity_multiplier=scale_identity_multiplier,
            )
            laplace = tf.distributions.Laplace(
                tf.zeros([], scale.dtype),
                tf.ones([], scale.dtype),
                validate_args=validate_args,
                allow_nan_stats=allow_nan_stats,
            )
            self._make(laplace, loc, scale, name)


@keep_arguments
class VectorExponentialDiag(LinearDistribution):
    """loc + scale z, with a diagonal scale and z of the standard exponential distribution.

    Args:
      loc: floating tensor [..., k]; None for 0.
      scale_diag: floating tensor [..., k]; None for 1, or only the multiplier.
      scale_identity_multiplier: floating tensor [...] that is added to the diagonal, or None.
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
        validate_args=False,
        allow_nan_stats=True,
        name="VectorExponentialDiag",
    ):
        with tf.name_scope(name, values=[loc, scale_diag, scale_identity_multiplier]):
            loc, scale = scales.of_arguments(
                loc,
                validate_args,
                scale_diag=scale_diag,
                scale_identity_multiplier=scale_identity_multiplier,
            )
            exponential = tf.distributions.Exponential(
                tf.ones([], scale.dtype),
                validate_args=validate_args,
                allow_nan_stats=allow_nan_stats,
            )
            self._make(exponential, loc, scale, name)

    def _mean(self):
        return self._shifted(self.distribution.mean())
