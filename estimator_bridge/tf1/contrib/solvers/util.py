"""`tf.contrib.solvers.util`: operators of matrices, and norms of vectors."""

import collections

import tensorflow.compat.v1 as tf

__all__ = [
    *("LinearOperator", "create_operator", "dot", "identity_operator"),
    *("l2norm", "l2norm_squared", "l2normalize"),
]

LinearOperator = collections.namedtuple(
    "LinearOperator", ["shape", "dtype", "apply", "apply_adjoint"]
)


def _sizes(matrix):
    """Returns a list of the sizes, or a tensor if they are unknown."""
    known = matrix.shape.is_fully_defined()
    return matrix.shape.as_list() if known else tf.shape(matrix)


def create_operator(matrix):
    """Returns the operator of a matrix.

    Args:
      matrix: floating tensor [rows, columns].

    Returns:
      LinearOperator with `shape`, `dtype`, and the functions `apply` and `apply_adjoint` of columns
      [columns, n] and [rows, n].
    """
    return LinearOperator(
        shape=_sizes(matrix),
        dtype=matrix.dtype,
        apply=lambda v: tf.matmul(matrix, v),
        apply_adjoint=lambda v: tf.matmul(matrix, v, adjoint_a=True),
    )


def identity_operator(matrix):
    """Returns the operator that changes nothing, with the shape and the dtype of a matrix.

    Args:
      matrix: floating tensor [rows, columns].

    Returns:
      LinearOperator.
    """
    return LinearOperator(
        shape=_sizes(matrix), dtype=matrix.dtype, apply=lambda v: v, apply_adjoint=lambda v: v
    )


def dot(x, y):
    """Returns the inner product of two vectors, with the conjugate of the first.

    Args:
      x: tensor of any shape.
      y: tensor of this shape.
    """
    return tf.reduce_sum(tf.conj(x) * y)


def l2norm_squared(v):
    """Returns the sum of the squares of a tensor, a scalar.

    Args:
      v: floating tensor of any shape.
    """
    return tf.constant(2.0, v.dtype.base_dtype) * tf.nn.l2_loss(v)


def l2norm(v):
    """Returns the Euclidean norm of a tensor, a scalar.

    Args:
      v: floating tensor of any shape.
    """
    return tf.sqrt(l2norm_squared(v))


def l2normalize(v):
    """Returns a tensor divided by its Euclidean norm, and the norm.

    Args:
      v: floating tensor of any shape; zeros give NaN.
    """
    norm = l2norm(v)
    return v / norm, norm
