"""Wishart distributions of positive definite matrices."""

import math

import numpy as np
import tensorflow.compat.v1 as tf

from estimator_bridge.tf1.contrib.distributions.arguments import keep_arguments

__all__ = ["WishartCholesky", "WishartFull"]


class _Wishart(tf.distributions.Distribution):
    """Base of the Wishart distributions, with the scale L L^T.

    Formulas of Bishop, Pattern Recognition and Machine Learning (2006), appendix B. Samples are
    made by Bartlett's decomposition.
    """

    def _make(self, df, tril, factors, validate_args, allow_nan_stats, name):
        """Finishes the constructor.

        Args:
          df: floating tensor [...], the degrees of freedom.
          tril: floating tensor [..., k, k], the lower triangular L.
          factors: whether values are Cholesky factors of matrices.
          validate_args: whether to check arguments when the graph runs.
          allow_nan_stats: whether undefined statistics are NaN; if False they raise an error.
          name: name scope of the distribution.
        """
        with tf.name_scope("init", values=[df, tril]):
            self._operator = tf.linalg.LinearOperatorLowerTriangular(
                tril, is_non_singular=True, is_positive_definite=True, is_square=True
            )
            self._df = tf.convert_to_tensor(df, tril.dtype, name="df")
            self._factors = factors
            self._dimension = tf.cast(
                self._operator.domain_dimension_tensor(), tril.dtype, name="dimension"
            )
        known, size = tf.get_static_value(self._df), tf.compat.dimension_value(tril.shape[-1])
        if known is not None and size is not None:
            if not np.all(known >= size):
                raise ValueError(
                    f"Degrees of freedom (df = {known}) cannot be less than dimension of scale "
                    f"matrix (scale.dimension = {size})"
                )
        elif validate_args:
            message = "Degrees of freedom cannot be less than dimension of scale matrix"
            check = tf.assert_less_equal(self._dimension, self._df, message=message)
            with tf.control_dependencies([check]):
                self._df = tf.identity(self._df)
        super().__init__(
            dtype=tril.dtype,
            reparameterization_type=tf.distributions.FULLY_REPARAMETERIZED,
            validate_args=validate_args,
            allow_nan_stats=allow_nan_stats,
            graph_parents=[self._df, self._dimension, tril],
            name=name,
        )

    @property
    def df(self):
        """The degrees of freedom."""
        return self._df

    @property
    def dimension(self):
        """The size k of the matrices, a floating scalar."""
        return self._dimension

    @property
    def scale_operator(self):
        """The linear operator of L."""
        return self._operator

    @property
    def cholesky_input_output_matrices(self):
        """Whether values are Cholesky factors of matrices."""
        return self._factors

    def scale(self):
        """Returns the scale [..., k, k], or its factor if values are Cholesky factors."""
        return self._matrix(tf.ones([], self.dtype))

    def _matrix(self, factor):
        """Returns the scale [..., k, k] times a factor [...], or the Cholesky factor of that."""
        factor = factor[..., None, None]
        tril = self._operator.to_dense()
        if self._factors:
            return tf.sqrt(factor) * tril
        return factor * tf.matmul(tril, tril, adjoint_b=True)

    def _batch_shape_tensor(self):
        return self._operator.batch_shape_tensor()

    def _batch_shape(self):
        return self._operator.batch_shape

    def _event_shape_tensor(self):
        size = self._operator.domain_dimension_tensor()
        return tf.stack([size, size])

    def _event_shape(self):
        size = self._operator.domain_dimension
        return tf.TensorShape([size, size])

    def _sample_n(self, n, seed=None):
        size = self._operator.domain_dimension_tensor()
        shape = tf.concat([[n], self.batch_shape_tensor(), [size, size]], 0)
        noise = tf.matrix_band_part(tf.random_normal(shape, dtype=self.dtype, seed=seed), -1, 0)
        freedom = 0.5 * (self._df[..., None] - tf.range(self._dimension, dtype=self.dtype))
        freedom += tf.zeros(shape[1:-1], self.dtype)
        more = None if seed is None else seed + 1
        squares = tf.random_gamma([n], freedom, 0.5, self.dtype, more)
        x = self._operator.matmul(tf.matrix_set_diag(noise, tf.sqrt(squares)))
        return x if self._factors else tf.matmul(x, x, adjoint_b=True)

    def _log_prob(self, x):
        factor = x if self._factors else tf.cholesky(x)
        trace = tf.reduce_sum(self._operator.solve(factor) ** 2, [-2, -1])
        log_det = 2 * tf.reduce_sum(tf.log(tf.matrix_diag_part(factor)), -1)
        density = 0.5 * ((self._df - self._dimension - 1) * log_det - trace)
        return density - self.log_normalization()

    def _prob(self, x):
        return tf.exp(self._log_prob(x))

    def log_normalization(self, name="log_normalization"):
        """Returns the logarithm [...] of the normalizing constant.

        Args:
          name: name of the name scope.
        """
        with self._name_scope(name):
            return (
                self._df * self._operator.log_abs_determinant()
                + 0.5 * self._df * self._dimension * math.log(2.0)
                + self._multi_lgamma(0.5 * self._df)
            )

    def mean_log_det(self, name="mean_log_det"):
        """Returns the mean [...] of the logarithm of the determinant.

        Args:
          name: name of the name scope.
        """
        with self._name_scope(name):
            return (
                self._multi_digamma(0.5 * self._df)
                + self._dimension * math.log(2.0)
                + 2 * self._operator.log_abs_determinant()
            )

    def _sequence(self, a):
        """Returns a, a - 1/2, ... on a last axis of size k."""
        return a[..., None] - 0.5 * tf.range(self._dimension, dtype=self.dtype)

    def _multi_lgamma(self, a):
        constant = 0.25 * self._dimension * (self._dimension - 1) * math.log(math.pi)
        return constant + tf.reduce_sum(tf.lgamma(self._sequence(a)), -1)

    def _multi_digamma(self, a):
        return tf.reduce_sum(tf.digamma(self._sequence(a)), -1)

    def _entropy(self):
        size, half = self._dimension, 0.5 * self._df
        return (
            (size + 1) * self._operator.log_abs_determinant()
            + 0.5 * size * (size + 1) * math.log(2.0)
            + self._multi_lgamma(half)
            + 0.5 * self._df * size
            - 0.5 * (self._df - size - 1) * self._multi_digamma(half)
        )

    def _mean(self):
        return self._matrix(self._df)

    def _mode(self):
        factor = self._df - self._dimension - 1
        nan = tf.fill(tf.shape(factor), tf.constant(float("nan"), self.dtype))
        return self._matrix(tf.where(factor < 0, nan, factor))

    def _variance(self):
        tril = self._operator.to_dense()
        scale = tf.matmul(tril, tril, adjoint_b=True)
        diagonal = tf.matrix_diag_part(scale)
        products = diagonal[..., :, None] * diagonal[..., None, :]
        variance = self._df[..., None, None] * (scale**2 + products)
        return tf.cholesky(variance) if self._factors else variance

    def _stddev(self):
        if self._factors:
            raise ValueError(
                "Computing std. dev. when is cholesky_input_output_matrices=True does not make "
                "sense."
            )
        # The Cholesky factor, as in 1.15.
        return tf.cholesky(self.variance())


@keep_arguments
class WishartCholesky(_Wishart):
    """The Wishart distribution, with the Cholesky factor of its scale.

    Args:
      df: floating tensor [...], the degrees of freedom, at least k.
      scale: floating tensor [..., k, k], the factor, of which the lower triangle counts.
      cholesky_input_output_matrices: whether values and statistics are Cholesky factors.
      validate_args: whether to check when the graph runs that the diagonal is positive.
      allow_nan_stats: whether undefined statistics are NaN; if False they raise an error.
      name: name of the distribution.

    Raises:
      ValueError: `df` is less than k.
    """

    def __init__(
        self,
        df,
        scale,
        cholesky_input_output_matrices=False,
        validate_args=False,
        allow_nan_stats=True,
        name="WishartCholesky",
    ):
        with tf.name_scope(name, values=[scale]) as name:
            scale = tf.convert_to_tensor(scale, name="scale")
            if validate_args:
                check = tf.assert_positive(
                    tf.matrix_diag_part(scale), message="scale must be positive definite"
                )
                with tf.control_dependencies([check]):
                    scale = tf.identity(scale)
            factors = cholesky_input_output_matrices
            self._make(df, scale, factors, validate_args, allow_nan_stats, name)


@keep_arguments
class WishartFull(_Wishart):
    """The Wishart distribution, with its scale.

    Args:
      df: floating tensor [...], the degrees of freedom, at least k.
      scale: floating tensor [..., k, k], symmetric and positive definite.
      cholesky_input_output_matrices: whether values and statistics are Cholesky factors.
      validate_args: whether to check when the graph runs that the scale is symmetric.
      allow_nan_stats: whether undefined statistics are NaN; if False they raise an error.
      name: name of the distribution.

    Raises:
      ValueError: `df` is less than k.
    """

    def __init__(
        self,
        df,
        scale,
        cholesky_input_output_matrices=False,
        validate_args=False,
        allow_nan_stats=True,
        name="WishartFull",
    ):
        with tf.name_scope(name, values=[scale]) as name:
            scale = tf.convert_to_tensor(scale, name="scale")
            if validate_args:
                message = "Matrix was not symmetric."
                check = tf.assert_equal(scale, tf.matrix_transpose(scale), message=message)
                with tf.control_dependencies([check]):
                    scale = tf.identity(scale)
            factors = cholesky_input_output_matrices
            self._make(df, tf.cholesky(scale), factors, validate_args, allow_nan_stats, name)
