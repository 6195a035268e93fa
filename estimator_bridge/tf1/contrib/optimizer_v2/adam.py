"""`tf.contrib.optimizer_v2.AdamOptimizer`."""

import tensorflow.compat.v1 as tf

from estimator_bridge.tf1.contrib.optimizer_v2.optimizer_v2 import (
    KernelOptimizer as _KernelOptimizer,
)

__all__ = ["AdamOptimizer"]


class AdamOptimizer(_KernelOptimizer):
    """Adam (Kingma and Ba, 2014). Slots: `m`, `v`; further variables: `beta1_power`, `beta2_power`.

    The moments of all rows decay, also those that a sparse gradient does not have.

    Args:
      learning_rate: number, scalar tensor, or a function that returns one.
      beta1: likewise, the decay of the first moment.
      beta2: likewise, the decay of the second moment.
      epsilon: likewise, added to the denominator.
      use_locking: whether to lock variables during updates.
      name: str, prefix of the slots.
    """

    def __init__(
        self,
        learning_rate=0.001,
        beta1=0.9,
        beta2=0.999,
        epsilon=1e-8,
        use_locking=False,
        name="Adam",
    ):
        super().__init__(use_locking, name)
        self._set_hyper("learning_rate", learning_rate)
        self._set_hyper("beta1", beta1)
        self._set_hyper("beta2", beta2)
        self._set_hyper("epsilon", epsilon)

    def _get_beta_accumulators(self, state=None):
        state = state or self._state()
        return state.get_non_slot("beta1_power"), state.get_non_slot("beta2_power")

    def _create_vars(self, var_list, state):
        for name in ("beta1", "beta2"):
            state.create_non_slot(state.get_hyper(name), f"{name}_power")
        for var in var_list:
            state.zeros_slot(var, "m")
            state.zeros_slot(var, "v")

    def _arguments(self, var, state):
        dtype = var.dtype.base_dtype
        slots = {"m": state.get_slot(var, "m"), "v": state.get_slot(var, "v")}
        scalars = {"lr": "learning_rate", "beta1": "beta1", "beta2": "beta2", "epsilon": "epsilon"}
        for name, power in zip(("beta1_power", "beta2_power"), self._get_beta_accumulators(state)):
            scalars[name] = tf.cast(power, dtype)
        return "adam", slots, scalars, {}

    def _apply_rows(self, var, state, values, add):
        """Applies a sparse gradient, which `add(slot, values)` adds to a slot."""
        dtype = var.dtype.base_dtype
        power1, power2 = (tf.cast(one, dtype) for one in self._get_beta_accumulators(state))
        beta1, beta2 = state.get_hyper("beta1", dtype), state.get_hyper("beta2", dtype)
        rate = state.get_hyper("learning_rate", dtype) * tf.sqrt(1 - power2) / (1 - power1)
        moments = []
        for name, beta, added in (("m", beta1, values), ("v", beta2, values * values)):
            slot = state.get_slot(var, name)
            decayed = tf.assign(slot, slot * beta, use_locking=self._use_locking)
            with tf.control_dependencies([decayed]):
                moments.append(add(slot, added * (1 - beta)))
        m, v = moments
        step = rate * m / (tf.sqrt(v) + state.get_hyper("epsilon", dtype))
        changed = tf.assign_sub(var, step, use_locking=self._use_locking)
        return tf.group(changed, m, v)

    def _apply_sparse(self, grad, var, state):
        def add(slot, values):
            return tf.scatter_add(slot, grad.indices, values, use_locking=self._use_locking)

        return self._apply_rows(var, state, grad.values, add)

    def _resource_apply_sparse(self, grad, var, indices, state):
        def add(slot, values):
            done = tf.raw_ops.ResourceScatterAdd(
                resource=slot.handle, indices=indices, updates=values
            )
            with tf.control_dependencies([done]):
                return slot.read_value()

        return self._apply_rows(var, state, grad, add)

    def _finish(self, state):
        updates = []
        for name, power in zip(("beta1", "beta2"), self._get_beta_accumulators(state)):
            grown = power * state.get_hyper(name)
            updates.append(power.assign(grown, use_locking=self._use_locking))
        return tf.group(*updates)
