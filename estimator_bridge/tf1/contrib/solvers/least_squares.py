"""`tf.contrib.solvers.least_squares`: the nearest solution of a linear system."""

import collections

import tensorflow.compat.v1 as tf

from estimator_bridge.tf1.contrib.solvers import util

__all__ = ["cgls"]

CGLSState = collections.namedtuple("CGLSState", ["i", "x", "r", "p", "gamma"])


def cgls(operator, rhs, tol=1e-6, max_iter=20, name="cgls"):
    """Minimizes |A x - rhs| by conjugate gradients of the normal equations (Björck, 1996).

    It ends when the norm of A* (rhs - A x) is at most `tol` times that of A* rhs.

    Args:
      operator: object with `shape` [m, n], `dtype` and the functions `apply` of a column [n, 1] and
        `apply_adjoint` of a column [m, 1].
      rhs: tensor [m].
      tol: number, the tolerance.
      max_iter: int, the largest number of iterations.
      name: name of the name scope.

    Returns:
      CGLSState of `i`, the number of iterations, `x` [n], `r` [m], the residual, `p` [n], the next
      direction, and `gamma`, the squared norm of A* r.
    """
    with tf.name_scope(name):
        residual = tf.expand_dims(rhs, -1)
        slope = operator.apply_adjoint(residual)
        gamma = util.l2norm_squared(slope)
        limit = tf.square(tf.cast(tol, gamma.dtype)) * gamma
        state = CGLSState(tf.constant(0), tf.zeros_like(slope), residual, slope, gamma)

        def goes_on(i, x, r, p, gamma):
            return tf.logical_and(i < max_iter, gamma > limit)

        def improve(i, x, r, p, gamma):
            q = operator.apply(p)
            alpha = gamma / util.l2norm_squared(q)
            x, r = x + alpha * p, r - alpha * q
            slope = operator.apply_adjoint(r)
            new = util.l2norm_squared(slope)
            return CGLSState(i + 1, x, r, slope + new / gamma * p, new)

        found = CGLSState(*tf.while_loop(goes_on, improve, state))
        return CGLSState(found.i, *(tf.squeeze(one) for one in found[1:4]), found.gamma)
