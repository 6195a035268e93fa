"""`tf.contrib.optimizer_v2.AdadeltaOptimizer`."""

from estimator_bridge.tf1.contrib.optimizer_v2.optimizer_v2 import (
    KernelOptimizer as _KernelOptimizer,
)

__all__ = ["AdadeltaOptimizer"]


class AdadeltaOptimizer(_KernelOptimizer):
    """Adadelta (Zeiler, 2012). Slots: `accum`, `accum_update`.

    Args:
      learning_rate: number, scalar tensor, or a function that returns one; 1 in the paper.
      rho: likewise, the decay of both averages.
      epsilon: likewise, added to both averages.
      use_locking: whether to lock variables during updates.
      name: str, prefix of the slots.
    """

    def __init__(
        self, learning_rate=0.001, rho=0.95, epsilon=1e-8, use_locking=False, name="Adadelta"
    ):
        super().__init__(use_locking, name)
        self._set_hyper("learning_rate", learning_rate)
        self._set_hyper("rho", rho)
        self._set_hyper("epsilon", epsilon)

    def _create_vars(self, var_list, state):
        for var in var_list:
            state.zeros_slot(var, "accum")
            state.zeros_slot(var, "accum_update")

    def _arguments(self, var, state):
        slots = {name: state.get_slot(var, name) for name in ("accum", "accum_update")}
        scalars = {"lr": "learning_rate", "rho": "rho", "epsilon": "epsilon"}
        return "adadelta", slots, scalars, {}
