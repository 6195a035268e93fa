"""Bijectors of triangular and of symmetric matrices."""

import math

import tensorflow.compat.v1 as tf

from estimator_bridge.private_tf import distributions_bijector as _base
from estimator_bridge.private_tf import distributions_util as _util
from estimator_bridge.tf1.contrib.distributions.bijectors import combining, elementwise

__all__ = [
    "CholeskyOuterProduct",
    "FillTriangular",
    "MatrixInverseTriL",
    "ScaleTriL",
    "TransformDiagonal",
]


def _triangular_assertions(x):
    """Returns operations that assert that x [..., k, k] is lower triangular and invertible."""
    upper = x - tf.matrix_band_part(x, -1, 0)
    zero = tf.zeros([], x.dtype.base_dtype)
    return [
        tf.assert_equal(tf.shape(x)[-2], tf.shape(x)[-1], message="Input must be a square matrix."),
        tf.assert_equal(upper, zero, message="Input must be lower triangular."),
        tf.assert_none_equal(
            tf.matrix_diag_part(x), zero, message="Input must have no zeros on its diagonal."
        ),
    ]


class CholeskyOuterProduct(_base.Bijector):
    """Y = X X^T of lower triangular matrices X with a positive diagonal.

    log|det dY/dX| = k log 2 + sum_i (k - i) log X_ii, with i from 0 (Muirhead, 1982).

    Args:
      validate_args: whether to check when the graph runs that X is such a matrix.
      name: name of the bijector.
    """

    def __init__(self, validate_args=False, name="cholesky_outer_product"):
        super().__init__(forward_min_event_ndims=2, validate_args=validate_args, name=name)

    def _forward(self, x):
        if self.validate_args:
            with tf.control_dependencies(_triangular_assertions(x)):
                x = tf.identity(x)
        x = tf.matrix_band_part(x, -1, 0)
        return tf.matmul(x, x, adjoint_b=True)

    def _inverse(self, y):
        return tf.cholesky(y)

    def _forward_log_det_jacobian(self, x):
        diagonal = tf.matrix_diag_part(x)
        if self.validate_args:
            with tf.control_dependencies([tf.assert_positive(diagonal)]):
                diagonal = tf.identity(diagonal)
        size = tf.cast(tf.shape(diagonal)[-1], diagonal.dtype.base_dtype)
        exponents = size - tf.cast(tf.range(tf.shape(diagonal)[-1]), size.dtype)
        total = tf.reduce_sum(exponents * tf.log(diagonal), -1) + size * math.log(2.0)
        total.set_shape(diagonal.shape[:-1])
        return total


class FillTriangular(_base.Bijector):
    """Makes triangular matrices of vectors, as `fill_triangular` does.

    Args:
      upper: whether the matrices are upper triangular.
      validate_args: whether to check arguments when the graph runs.
      name: name of the bijector.
    """

    def __init__(self, upper=False, validate_args=False, name="fill_triangular"):
        self._upper = upper
        super().__init__(
            forward_min_event_ndims=1,
            inverse_min_event_ndims=2,
            validate_args=validate_args,
            name=name,
        )

    def _forward(self, x):
        return _util.fill_triangular(x, upper=self._upper)

    def _inverse(self, y):
        return _util.fill_triangular_inverse(y, upper=self._upper)

    def _forward_log_det_jacobian(self, x):
        return tf.zeros(tf.shape(x)[:-1], x.dtype)

    def _inverse_log_det_jacobian(self, y):
        return tf.zeros(tf.shape(y)[:-2], y.dtype)

    def _forward_event_shape(self, input_shape):
        length = tf.compat.dimension_value(input_shape[-1])
        size = None if length is None else (math.isqrt(8 * length + 1) - 1) // 2
        if size is not None and size * (size + 1) // 2 != length:
            raise ValueError("Vector length is not a triangular number.")
        return input_shape[:-1].concatenate([size, size])

    def _inverse_event_shape(self, output_shape):
        size, other = (tf.compat.dimension_value(one) for one in output_shape[-2:])
        if size is not None and other is not None and size != other:
            raise ValueError("Matrix must be square")
        size = other if size is None else size
        length = None if size is None else size * (size + 1) // 2
        return output_shape[:-2].concatenate([length])

    def _forward_event_shape_tensor(self, input_shape_tensor):
        length = tf.cast(input_shape_tensor[-1], tf.float64)
        size = tf.cast(tf.round((tf.sqrt(8 * length + 1) - 1) / 2), input_shape_tensor.dtype)
        return tf.concat([input_shape_tensor[:-1], [size, size]], 0)

    def _inverse_event_shape_tensor(self, output_shape_tensor):
        size = output_shape_tensor[-1]
        return tf.concat([output_shape_tensor[:-2], [size * (size + 1) // 2]], 0)


class MatrixInverseTriL(_base.Bijector):
    """Y = X^-1 of lower triangular matrices.

    log|det dY/dX| is -2 k sum_i log|X_ii|, as in 1.15: that of full matrices [k, k].

    Args:
      validate_args: whether to check when the graph runs that X is triangular and invertible.
      name: name of the bijector.
    """

    def __init__(self, validate_args=False, name="matrix_inverse_tril"):
        super().__init__(forward_min_event_ndims=2, validate_args=validate_args, name=name)

    def _checked(self, x):
        with tf.control_dependencies(_triangular_assertions(x) if self.validate_args else []):
            return tf.identity(x)

    def _forward(self, x):
        x = self._checked(x)
        size = tf.shape(x)[-1]
        unit = tf.eye(size, batch_shape=tf.shape(x)[:-2], dtype=x.dtype)
        return tf.matrix_triangular_solve(x, unit)

    _inverse = _forward

    def _forward_log_det_jacobian(self, x):
        x = self._checked(x)
        factor = tf.cast(2 * tf.shape(x)[-1], x.dtype.base_dtype)
        return -factor * tf.reduce_sum(tf.log(tf.abs(tf.matrix_diag_part(x))), -1)


class TransformDiagonal(_base.Bijector):
    """Applies a bijector to the diagonal of matrices.

    Args:
      diag_bijector: bijector of vectors or of scalars.
      validate_args: whether to check arguments when the graph runs.
      name: name of the bijector.
    """

    def __init__(self, diag_bijector, validate_args=False, name="transform_diagonal"):
        self._diag_bijector = diag_bijector
        super().__init__(forward_min_event_ndims=2, validate_args=validate_args, name=name)

    def _forward(self, x):
        return tf.matrix_set_diag(x, self._diag_bijector.forward(tf.matrix_diag_part(x)))

    def _inverse(self, y):
        return tf.matrix_set_diag(y, self._diag_bijector.inverse(tf.matrix_diag_part(y)))

    def _forward_log_det_jacobian(self, x):
        diagonal = tf.matrix_diag_part(x)
        return self._diag_bijector.forward_log_det_jacobian(diagonal, event_ndims=1)

    def _inverse_log_det_jacobian(self, y):
        diagonal = tf.matrix_diag_part(y)
        return self._diag_bijector.inverse_log_det_jacobian(diagonal, event_ndims=1)


class ScaleTriL(combining.Chain):
    """Makes lower triangular matrices with a positive diagonal of vectors.

    Args:
      diag_bijector: bijector of the diagonal; None for Softplus.
      diag_shift: floating tensor that is added to the diagonal afterwards, or None.
      validate_args: whether to check arguments when the graph runs.
      name: name of the bijector.
    """

    def __init__(self, diag_bijector=None, diag_shift=1e-5, validate_args=False, name="scale_tril"):
        if diag_bijector is None:
            diag_bijector = elementwise.Softplus(validate_args=validate_args)
        if diag_shift is not None:
            shift = elementwise.AffineScalar(shift=diag_shift)
            diag_bijector = combining.Chain([shift, diag_bijector])
        parts = [TransformDiagonal(diag_bijector=diag_bijector), FillTriangular()]
        super().__init__(parts, validate_args=validate_args, name=name)
