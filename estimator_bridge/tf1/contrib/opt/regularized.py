"""Adagrad for losses with a regularization of its own (Duchi et al., 2011)."""

import contextlib

import tensorflow.compat.v1 as tf

from estimator_bridge.private_tf import gen_training_ops as _kernels

__all__ = ["RegAdagradOptimizer"]


class RegAdagradOptimizer(tf.train.AdagradOptimizer):
    """Adagrad whose accumulators some steps do not change.

    Steps that are made within `avoid_updating_slots()` divide by the accumulators and leave them as
    they are. A regularization that is minimized there does not lower the learning rates.

    Args:
      learning_rate: number or scalar tensor.
      initial_accumulator_value: positive number, initial value of the accumulators.
      use_locking: whether to lock variables during updates.
      name: prefix of the slots.

    Raises:
      ValueError: the initial value is not positive.
    """

    def __init__(
        self,
        learning_rate,
        initial_accumulator_value=0.1,
        use_locking=False,
        name="RegAdagrad",
    ):
        super().__init__(learning_rate, initial_accumulator_value, use_locking, name)
        self._updates_slots = True

    @contextlib.contextmanager
    def avoid_updating_slots(self):
        """Returns a context in which new steps do not change the accumulators."""
        before, self._updates_slots = self._updates_slots, False
        try:
            yield
        finally:
            self._updates_slots = before

    def _options(self):
        return {"use_locking": self._use_locking, "update_slots": self._updates_slots}

    def _rate(self, dtype):
        return tf.cast(self._learning_rate_tensor, dtype.base_dtype)

    def _apply_dense(self, grad, var):
        accumulator = self.get_slot(var, "accumulator")
        return _kernels.apply_adagrad(
            var, accumulator, self._rate(var.dtype), grad, **self._options()
        )

    def _resource_apply_dense(self, grad, var):
        accumulator = self.get_slot(var, "accumulator")
        return _kernels.resource_apply_adagrad(
            *(var.handle, accumulator.handle, self._rate(grad.dtype), grad), **self._options()
        )

    def _apply_sparse(self, grad, var):
        accumulator, rate = self.get_slot(var, "accumulator"), self._rate(var.dtype)
        return _kernels.sparse_apply_adagrad(
            var, accumulator, rate, grad.values, grad.indices, **self._options()
        )

    def _resource_apply_sparse(self, grad, var, indices):
        accumulator, rate = self.get_slot(var, "accumulator"), self._rate(grad.dtype)
        return _kernels.resource_sparse_apply_adagrad(
            var.handle, accumulator.handle, rate, grad, indices, **self._options()
        )
