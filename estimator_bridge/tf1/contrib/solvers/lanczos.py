"""`tf.contrib.solvers.lanczos`: bidiagonal forms of matrices."""

import collections

import tensorflow.compat.v1 as tf

from estimator_bridge.tf1.contrib.solvers import util as _util

__all__ = ["bidiag_matmul", "lanczos_bidiag", "util"]

util = _util

LanczosBidiagState = collections.namedtuple("LanczosBidiagState", ["u", "v", "alpha", "beta"])


def bidiag_matmul(matrix, alpha, beta, adjoint_b=False, name="bidiag_matmul"):
    """Multiplies a matrix by the bidiagonal matrix B [k + 1, k], or by a part of its transpose.

    Args:
      matrix: tensor [m, k + 1]; [m, k] with `adjoint_b`.
      alpha: tensor [k], the diagonal of B.
      beta: tensor [k], what is below the diagonal.
      adjoint_b: whether to multiply by the transpose of B without its last row.
      name: name of the name scope.

    Returns:
      Tensor [m, k].
    """
    with tf.name_scope(name):
        alpha, beta = (tf.expand_dims(one, 0) for one in (alpha, beta))
        if adjoint_b:
            shifted = tf.pad(matrix[:, :-1] * beta[:, :-1], [[0, 0], [1, 0]])
            return matrix * alpha + shifted
        return matrix[:, :-1] * alpha + matrix[:, 1:] * beta


def _read(columns, i):
    """Returns a column [n, 1] of a TensorArray."""
    return tf.expand_dims(columns.read(i), -1)


def _orthogonalize(number, columns, vector):
    """Returns a vector without its parts along the first columns."""

    def step(j, left):
        column = _read(columns, j)
        return j + 1, left - tf.matmul(column, left, adjoint_a=True) * column

    return tf.while_loop(lambda j, _: j < number, step, (tf.constant(0), vector))[1]


def lanczos_bidiag(operator, k, orthogonalize=True, starting_vector=None, name="lanczos_bidiag"):
    """Reduces an operator to a bidiagonal matrix (Golub and Kahan, 1965).

    The results satisfy A V = U B, where B has the diagonal alpha and below it beta.

    Args:
      operator: object with `shape` [m, n], `dtype` and the functions `apply` of a column [n, 1] and
        `apply_adjoint` of a column [m, 1].
      k: int or int32 scalar, the number of steps.
      orthogonalize: whether to make each vector orthogonal to all earlier ones.
      starting_vector: tensor [m]; None for random numbers.
      name: name of the name scope.

    Returns:
      LanczosBidiagState of `u` [m, k + 1] and `v` [n, k], with orthonormal columns, `alpha` [k] and
      `beta` [k].
    """
    with tf.name_scope(name):
        dtype, (rows, columns) = operator.dtype, (operator.shape[0], operator.shape[1])
        if starting_vector is None:
            starting_vector = tf.random_uniform(operator.shape[:1], -1, 1, dtype=dtype)
        start, _ = util.l2normalize(starting_vector)

        def array(size, shape):
            return tf.TensorArray(
                dtype, size, element_shape=shape, clear_after_read=False, infer_shape=False
            )

        u = array(k + 1, _column_shape(rows)).write(0, start)
        state = LanczosBidiagState(u, array(k, _column_shape(columns)), array(k, []), array(k, []))

        def normalize(number, columns, vector):
            if orthogonalize:
                vector = _orthogonalize(number, columns, vector)
            return util.l2normalize(vector)

        def step(i, found):
            last = _read(found.u, i)
            right = operator.apply_adjoint(last)
            right = tf.cond(
                i > 0,
                lambda: right - found.beta.read(i - 1) * _read(found.v, i - 1),
                lambda: right,
            )
            right, alpha = normalize(i - 1, found.v, right)
            left = operator.apply(right) - alpha * last
            left, beta = normalize(i, found.u, left)
            return i + 1, LanczosBidiagState(
                found.u.write(i + 1, tf.squeeze(left, -1)),
                found.v.write(i, tf.squeeze(right, -1)),
                found.alpha.write(i, alpha),
                found.beta.write(i, beta),
            )

        _, found = tf.while_loop(lambda i, _: i < k, step, (tf.constant(0), state))
        u, v = (tf.matrix_transpose(one.stack()) for one in (found.u, found.v))
        return LanczosBidiagState(u, v, found.alpha.stack(), found.beta.stack())


def _column_shape(size):
    return None if tf.is_tensor(size) else [size]
