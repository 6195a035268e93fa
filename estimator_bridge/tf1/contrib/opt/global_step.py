"""Adam whose bias correction counts the global step (Kingma and Ba, 2014)."""

import tensorflow.compat.v1 as tf

from estimator_bridge.tf1.contrib.opt.adam_variants import LazyAdamOptimizer

__all__ = ["AdamGSOptimizer", "LazyAdamGSOptimizer"]


class AdamGSOptimizer(tf.train.AdamOptimizer):
    """Adam without variables for the powers of beta: they are beta^(global_step + 1).

    Args:
      global_step: integer variable or scalar tensor; 0 corrects each step like the first one.
      learning_rate: number or scalar tensor.
      beta1: decay of the first moment.
      beta2: decay of the second moment.
      epsilon: number added to the denominator.
      use_locking: whether to lock variables during updates.
      name: prefix of the slots.
    """

    def __init__(
        self,
        global_step=0,
        learning_rate=0.001,
        beta1=0.9,
        beta2=0.999,
        epsilon=1e-8,
        use_locking=False,
        name="Adam",
    ):
        super().__init__(learning_rate, beta1, beta2, epsilon, use_locking, name)
        self._global_step = global_step

    def _get_beta_accumulators(self):
        return tf.pow(self._beta1_t, self._step_t), tf.pow(self._beta2_t, self._step_t)

    def _create_slots(self, var_list):
        for var in var_list:
            self._zeros_slot(var, "m", self._name)
            self._zeros_slot(var, "v", self._name)

    def _prepare(self):
        super()._prepare()
        self._step_t = tf.cast(tf.identity(self._global_step) + 1, tf.float32)

    def _finish(self, update_ops, name_scope):
        return tf.group(*update_ops, name=name_scope)


class LazyAdamGSOptimizer(AdamGSOptimizer, LazyAdamOptimizer):
    """AdamGSOptimizer that updates only the rows of a sparse gradient, moments included."""
