"""`tf.contrib.optimizer_v2.AdagradOptimizer`."""

import tensorflow.compat.v1 as tf

from estimator_bridge.tf1.contrib.optimizer_v2.optimizer_v2 import (
    KernelOptimizer as _KernelOptimizer,
)

__all__ = ["AdagradOptimizer"]


class AdagradOptimizer(_KernelOptimizer):
    """Adagrad (Duchi et al., 2011). Slot: `accumulator`.

    Args:
      learning_rate: number, scalar tensor, or a function that returns one.
      initial_accumulator_value: positive number, initial value of the accumulators.
      use_locking: whether to lock variables during updates.
      name: str, prefix of the slots.

    Raises:
      ValueError: the initial value is not positive.
    """

    def __init__(
        self, learning_rate, initial_accumulator_value=0.1, use_locking=False, name="Adagrad"
    ):
        if initial_accumulator_value <= 0.0:
            raise ValueError(
                f"initial_accumulator_value: {initial_accumulator_value} is not positive"
            )
        super().__init__(use_locking, name)
        self._set_hyper("learning_rate", learning_rate)
        self._initial_accumulator_value = initial_accumulator_value

    def _create_vars(self, var_list, state):
        for var in var_list:
            dtype = var.dtype.base_dtype
            initializer = tf.constant_initializer(self._initial_accumulator_value, dtype=dtype)
            state.create_slot_with_initializer(var, initializer, var.shape, dtype, "accumulator")

    def _arguments(self, var, state):
        slots = {"accum": state.get_slot(var, "accumulator")}
        return "adagrad", slots, {"lr": "learning_rate"}, {}
