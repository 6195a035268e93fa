"""`tf.contrib.solvers.linear_equations`: systems with a positive definite matrix."""

import collections

import tensorflow.compat.v1 as tf

from estimator_bridge.tf1.contrib.solvers import util

__all__ = ["conjugate_gradient"]

CGState = collections.namedtuple("CGState", ["i", "x", "r", "p", "gamma"])


def conjugate_gradient(
    operator, rhs, preconditioner=None, x=None, tol=1e-4, max_iter=20, name="conjugate_gradient"
):
    """Solves A x = rhs by conjugate gradients (Hestenes and Stiefel, 1952).

    It ends when the norm of the residual is at most `tol` times that of `rhs`.

    Args:
      operator: object with `shape` [n, n], `dtype` and a function `apply` of a column [n, 1], for
        a self-adjoint, positive definite A.
      rhs: tensor [n].
      preconditioner: an operator near the inverse of A, or None.
      x: tensor [n] to begin with; None for zeros.
      tol: number, the tolerance.
      max_iter: int, the largest number of iterations.
      name: name of the name scope.

    Returns:
      CGState of `i`, the number of iterations, `x` [n], `r` [n], the residual, `p` [n], the next
      direction, and `gamma`, the squared norm of the residual in the preconditioner.
    """
    with tf.name_scope(name):
        column = tf.expand_dims(rhs, -1)
        if x is None:
            x = tf.expand_dims(tf.zeros(tf.shape(rhs)[:1], rhs.dtype.base_dtype), -1)
            residual = column
        else:
            x = tf.expand_dims(x, -1)
            residual = column - operator.apply(x)
        improved = residual if preconditioner is None else preconditioner.apply(residual)
        state = CGState(tf.constant(0), x, residual, improved, util.dot(residual, improved))
        limit = tol * tf.norm(rhs)

        def goes_on(i, x, r, p, gamma):
            return tf.logical_and(i < max_iter, tf.norm(r) > limit)

        def improve(i, x, r, p, gamma):
            z = operator.apply(p)
            alpha = gamma / util.dot(p, z)
            x, r = x + alpha * p, r - alpha * z
            improved = r if preconditioner is None else preconditioner.apply(r)
            new = util.dot(r, improved)
            return CGState(i + 1, x, r, improved + new / gamma * p, new)

        found = CGState(*tf.while_loop(goes_on, improve, state))
        return CGState(found.i, *(tf.squeeze(one) for one in found[1:4]), found.gamma)
