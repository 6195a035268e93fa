"""`tf.contrib.optimizer_v2.GradientDescentOptimizer`."""

import tensorflow.compat.v1 as tf

from estimator_bridge.private_tf import gen_training_ops as _kernels
from estimator_bridge.tf1.contrib.optimizer_v2.optimizer_v2 import OptimizerV2 as _OptimizerV2

__all__ = ["GradientDescentOptimizer"]


class GradientDescentOptimizer(_OptimizerV2):
    """Gradient descent: w - learning_rate x g.

    Args:
      learning_rate: number, scalar tensor, or a function that returns one.
      use_locking: whether to lock variables during updates.
      name: str, name of the operations.
    """

    def __init__(self, learning_rate, use_locking=False, name="GradientDescent"):
        super().__init__(use_locking, name)
        self._set_hyper("learning_rate", learning_rate)

    def _apply_dense(self, grad, var, state):
        rate = state.get_hyper("learning_rate", var.dtype.base_dtype)
        locks = self._use_locking
        return _kernels.apply_gradient_descent(var, rate, grad, use_locking=locks).op

    def _resource_apply_dense(self, grad, handle, state):
        rate = state.get_hyper("learning_rate", grad.dtype.base_dtype)
        return _kernels.resource_apply_gradient_descent(
            handle.handle, rate, grad, use_locking=self._use_locking
        )

    # The rows of a sparse gradient are subtracted one after the other.
    def _apply_sparse_duplicate_indices(self, grad, var, state):
        rate = state.get_hyper("learning_rate", var.dtype.base_dtype)
        rows = tf.IndexedSlices(grad.values * rate, grad.indices, grad.dense_shape)
        return var.scatter_sub(rows, use_locking=self._use_locking)

    def _resource_apply_sparse_duplicate_indices(self, grad, handle, indices, state):
        rate = state.get_hyper("learning_rate", grad.dtype.base_dtype)
        return tf.raw_ops.ResourceScatterAdd(
            resource=handle.handle, indices=indices, updates=-grad * rate
        )
