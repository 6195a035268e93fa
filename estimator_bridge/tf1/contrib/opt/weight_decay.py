"""Optimizers with decoupled weight decay (Loshchilov and Hutter, 2017)."""

import tensorflow.compat.v1 as tf

__all__ = [
    "AdamWOptimizer",
    "DecoupledWeightDecayExtension",
    "MomentumWOptimizer",
    "extend_with_decoupled_weight_decay",
]


class DecoupledWeightDecayExtension:
    """Makes a tf.train.Optimizer, mixed in before it, take weight_decay x variable off each
    variable at each step.

    Args of the constructor: weight_decay (number or scalar tensor; like the learning rate it may
      need a schedule), then
    those of the optimizer.
    """

    def __init__(self, weight_decay, **kwargs):
        self._decay_var_list = None
        self._weight_decay = weight_decay
        super().__init__(**kwargs)

    def minimize(self, loss, *args, decay_var_list=None, **kwargs):
        """As Optimizer.minimize; only the variables of decay_var_list decay (None: all that are
        trained).
        """
        self._choose(decay_var_list)
        return super().minimize(loss, *args, **kwargs)

    def apply_gradients(self, grads_and_vars, global_step=None, name=None, decay_var_list=None):
        """As Optimizer.apply_gradients; only the variables of decay_var_list decay (None: all that
        are trained).
        """
        if decay_var_list is not None:
            self._choose(decay_var_list)
        return super().apply_gradients(grads_and_vars, global_step=global_step, name=name)

    def _choose(self, variables):
        self._decay_var_list = None if variables is None else {var.name for var in variables}

    def _prepare(self):
        self._decay_tensor = tf.convert_to_tensor(
            self._weight_decay() if callable(self._weight_decay) else self._weight_decay,
            name="weight_decay",
        )
        super()._prepare()

    def _decayed(self, var):
        if self._decay_var_list is not None and var.name not in self._decay_var_list:
            return tf.no_op()
        return var.assign_sub(
            tf.cast(self._decay_tensor, var.dtype.base_dtype) * var, self._use_locking
        )

    # The decay comes before the step, in whichever form the gradient has.
    def _apply_dense(self, grad, var):
        with tf.control_dependencies([self._decayed(var)]):
            return super()._apply_dense(grad, var)

    def _resource_apply_dense(self, grad, var):
        with tf.control_dependencies([self._decayed(var)]):
            return super()._resource_apply_dense(grad, var)

    def _apply_sparse(self, grad, var):
        with tf.control_dependencies([self._decayed(var)]):
            return super()._apply_sparse(grad, var)

    def _resource_apply_sparse(self, grad, var, indices):
        with tf.control_dependencies([self._decayed(var)]):
            return super()._resource_apply_sparse(grad, var, indices)


def extend_with_decoupled_weight_decay(base_optimizer):
    """Returns a class: the optimizer class `base_optimizer` with decoupled weight decay."""

    class OptimizerWithDecoupledWeightDecay(DecoupledWeightDecayExtension, base_optimizer):
        def __init__(self, weight_decay, *args, **kwargs):
            self._decay_var_list = None
            self._weight_decay = weight_decay
            base_optimizer.__init__(self, *args, **kwargs)

    return OptimizerWithDecoupledWeightDecay


class AdamWOptimizer(DecoupledWeightDecayExtension, tf.train.AdamOptimizer):
    """Adam with decoupled weight decay."""

    def __init__(
        self,
        weight_decay,
        learning_rate=0.001,
        beta1=0.9,
        beta2=0.999,
        epsilon=1e-8,
        use_locking=False,
        name="AdamW",
    ):
        super().__init__(
            weight_decay,
            learning_rate=learning_rate,
            beta1=beta1,
            beta2=beta2,
            epsilon=epsilon,
            use_locking=use_locking,
            name=name,
        )


class MomentumWOptimizer(DecoupledWeightDecayExtension, tf.train.MomentumOptimizer):
    """Momentum with decoupled weight decay."""

    def __init__(
        self,
        weight_decay,
        learning_rate,
        momentum,
        use_locking=False,
        name="MomentumW",
        use_nesterov=False,
    ):
        super().__init__(
            weight_decay,
            learning_rate=learning_rate,
            momentum=momentum,
            use_locking=use_locking,
            name=name,
            use_nesterov=use_nesterov,
        )
