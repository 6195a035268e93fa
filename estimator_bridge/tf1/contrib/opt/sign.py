"""Optimizers that compare the signs of the gradient and of its average (Bello et al., 2017)."""

import math

import tensorflow.compat.v1 as tf

from estimator_bridge.private_tf import gen_training_ops as _kernels

__all__ = ["AddSignOptimizer", "PowerSignOptimizer"]


class _SignOptimizer(tf.train.Optimizer):
    """What both optimizers share: the average m of the gradients, and the decay of the sign.

    The step is learning_rate x factor(sign(g) sign(m)) x g. Slot: `m`. A sparse gradient of a
    resource variable raises NotImplementedError, as in 1.x.
    """

    def __init__(self, learning_rate, beta, sign_decay_fn, use_locking, name):
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate
        self._beta = beta
        self._sign_decay_fn = sign_decay_fn
        self._decay = None

    def apply_gradients(self, grads_and_vars, global_step=None, name=None):
        """Returns the operation of a step.

        Args:
          grads_and_vars: list of (gradient, variable).
          global_step: variable that the step increments, or None; the decay of the sign needs it.
          name: name of the operation, or None.
        """
        if self._sign_decay_fn is not None:
            self._decay = tf.convert_to_tensor(self._sign_decay_fn(global_step), name="sign_decay")
        return super().apply_gradients(grads_and_vars, global_step=global_step, name=name)

    def _create_slots(self, var_list):
        for var in var_list:
            self._zeros_slot(var, "m", self._name)

    def _prepare(self):
        self._rate = tf.convert_to_tensor(self._learning_rate, name="learning_rate")
        self._beta_tensor = tf.convert_to_tensor(self._beta, name="beta")
        if self._sign_decay_fn is None:
            self._decay = tf.convert_to_tensor(1.0, name="sign_decay")

    def _scalars(self, dtype):
        """Returns learning rate, factor of the sign, decay and beta in a dtype, for the kernels."""
        scalars = (self._rate, self._strength, self._decay, self._beta_tensor)
        return [tf.cast(one, dtype.base_dtype) for one in scalars]

    def _apply_dense(self, grad, var):
        m = self.get_slot(var, "m")
        return self._kernel(
            var, m, *self._scalars(var.dtype), grad, use_locking=self._use_locking
        ).op

    def _resource_apply_dense(self, grad, var):
        m = self.get_slot(var, "m")
        return self._resource_kernel(
            *(var.handle, m.handle, *self._scalars(var.dtype), grad), use_locking=self._use_locking
        )

    def _apply_sparse(self, grad, var):
        rate, _, _, beta = self._scalars(var.dtype)
        m = self.get_slot(var, "m")
        # The average of the rows without a gradient decays too.
        m_t = tf.assign(m, m * beta + grad * (1 - beta), use_locking=self._use_locking)
        signs = tf.gather(tf.sign(m_t), grad.indices) * tf.sign(grad.values)
        step = rate * self._factor(signs, var.dtype) * grad.values
        changed = tf.scatter_sub(var, grad.indices, step, use_locking=self._use_locking)
        return tf.group(changed, m_t)


class AddSignOptimizer(_SignOptimizer):
    """AddSign: the step is learning_rate x (alpha + decay(t) x sign(g) sign(m)) x g.

    The source is Bello et al. (2017), "Neural Optimizer Search with Reinforcement Learning".

    Args:
      learning_rate: number or scalar tensor.
      alpha: number or scalar tensor, the part of the factor that has no sign.
      beta: decay of the average m of the gradients.
      sign_decay_fn: function from the global step to a scalar tensor; None for no decay.
      use_locking: whether to lock variables during updates.
      name: prefix of the slots.
    """

    _kernel = staticmethod(_kernels.apply_add_sign)
    _resource_kernel = staticmethod(_kernels.resource_apply_add_sign)

    def __init__(
        self,
        learning_rate=0.1,
        alpha=1.0,
        beta=0.9,
        sign_decay_fn=None,
        use_locking=False,
        name="AddSignOptimizer",
    ):
        super().__init__(learning_rate, beta, sign_decay_fn, use_locking, name)
        self._alpha = alpha

    def _prepare(self):
        super()._prepare()
        self._strength = tf.convert_to_tensor(self._alpha, name="alpha")

    def _factor(self, signs, dtype):
        _, alpha, decay, _ = self._scalars(dtype)
        return alpha + decay * signs


class PowerSignOptimizer(_SignOptimizer):
    """PowerSign: the step is learning_rate x base^(decay(t) x sign(g) sign(m)) x g.

    The source is Bello et al. (2017), "Neural Optimizer Search with Reinforcement Learning".

    Args:
      learning_rate: number or scalar tensor.
      base: number.
      beta: decay of the average m of the gradients.
      sign_decay_fn: function from the global step to a scalar tensor; None for no decay.
      use_locking: whether to lock variables during updates.
      name: prefix of the slots.
    """

    _kernel = staticmethod(_kernels.apply_power_sign)
    _resource_kernel = staticmethod(_kernels.resource_apply_power_sign)

    def __init__(
        self,
        learning_rate=0.1,
        base=math.e,
        beta=0.9,
        sign_decay_fn=None,
        use_locking=False,
        name="PowerSignOptimizer",
    ):
        super().__init__(learning_rate, beta, sign_decay_fn, use_locking, name)
        self._base = base

    def _prepare(self):
        super()._prepare()
        self._strength = tf.convert_to_tensor(math.log(self._base), name="logbase")

    def _factor(self, signs, dtype):
        _, logbase, decay, _ = self._scalars(dtype)
        return tf.exp(logbase * decay * signs)
