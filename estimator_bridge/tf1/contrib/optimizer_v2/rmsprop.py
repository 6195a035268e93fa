"""`tf.contrib.optimizer_v2.RMSPropOptimizer`."""

import tensorflow.compat.v1 as tf

from estimator_bridge.tf1.contrib.optimizer_v2.optimizer_v2 import (
    KernelOptimizer as _KernelOptimizer,
)

__all__ = ["RMSPropOptimizer"]


class RMSPropOptimizer(_KernelOptimizer):
    """RMSProp (Hinton's lectures, 2012). Slots: `rms`, `momentum`, and `mg` if centered.

    Unlike that of tf.train, `epsilon` is the initial value of `rms`, and no denominator has it.

    Args:
      learning_rate: number, scalar tensor, or a function that returns one.
      decay: likewise, the decay of the averages.
      momentum: likewise.
      epsilon: likewise.
      use_locking: whether to lock variables during updates.
      centered: whether to divide by the variance instead of the second moment.
      name: str, prefix of the slots.
    """

    def __init__(
        self,
        learning_rate,
        decay=0.9,
        momentum=0.0,
        epsilon=1e-10,
        use_locking=False,
        centered=False,
        name="RMSProp",
    ):
        super().__init__(use_locking, name)
        self._set_hyper("learning_rate", learning_rate)
        self._set_hyper("decay", decay)
        self._set_hyper("momentum", momentum)
        self._set_hyper("epsilon", epsilon)
        self._centered = centered

    def _create_vars(self, var_list, state):
        for var in var_list:
            epsilon = state.get_hyper("epsilon", var.dtype.base_dtype)
            state.create_slot(var, epsilon * tf.ones_like(var), "rms")
            if self._centered:
                state.zeros_slot(var, "mg")
            state.zeros_slot(var, "momentum")

    def _arguments(self, var, state):
        slots = {"ms": state.get_slot(var, "rms"), "mom": state.get_slot(var, "momentum")}
        scalars = {"lr": "learning_rate", "rho": "decay", "momentum": "momentum", "epsilon": 0.0}
        if not self._centered:
            return "rms_prop", slots, scalars, {}
        slots["mg"] = state.get_slot(var, "mg")
        return "centered_rms_prop", slots, scalars, {}
