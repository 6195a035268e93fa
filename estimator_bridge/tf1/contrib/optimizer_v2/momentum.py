"""`tf.contrib.optimizer_v2.MomentumOptimizer`."""

from estimator_bridge.tf1.contrib.optimizer_v2.optimizer_v2 import (
    KernelOptimizer as _KernelOptimizer,
)

__all__ = ["MomentumOptimizer"]


class MomentumOptimizer(_KernelOptimizer):
    """Gradient descent with momentum (Sutskever et al., 2013). Slot: `momentum`.

    Args:
      learning_rate: number, scalar tensor, or a function that returns one.
      momentum: likewise.
      use_locking: whether to lock variables during updates.
      name: str, prefix of the slots.
      use_nesterov: whether to use Nesterov momentum.
    """

    def __init__(
        self, learning_rate, momentum, use_locking=False, name="Momentum", use_nesterov=False
    ):
        super().__init__(use_locking, name)
        self._set_hyper("learning_rate", learning_rate)
        self._set_hyper("momentum", momentum)
        self._use_nesterov = use_nesterov

    def _create_vars(self, var_list, state):
        for var in var_list:
            state.zeros_slot(var, "momentum")

    def _arguments(self, var, state):
        slots = {"accum": state.get_slot(var, "momentum")}
        scalars = {"lr": "learning_rate", "momentum": "momentum"}
        return "momentum", slots, scalars, {"use_nesterov": self._use_nesterov}
