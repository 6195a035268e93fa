"""Optimizers with decoupled weight decay (Loshchilov and Hutter, 2017)."""

import tensorflow.compat.v1 as tf

__all__ = [
    "AdamWOptimizer",
    "DecoupledWeightDecayExtension",
    "MomentumWOptimizer",
    "extend_with_decoupled_weight_decay",
]


class DecoupledWeightDecayExtension:
    """Mixin that subtracts weight_decay x variable from each variable at each step.

    Of a variable with a sparse gradient it decays the rows that the gradient has.

    Place it before a tf.train.Optimizer in the list of base classes.

    Args:
      weight_decay: number or scalar tensor; like the learning rate it may need a schedule.
      **kwargs: arguments of the optimizer.
    """

    def __init__(self, weight_decay, **kwargs):
        self._weight_decay = weight_decay
        super().__init__(**kwargs)

    def minimize(
        self,
        loss,
        global_step=None,
        var_list=None,
        gate_gradients=tf.train.Optimizer.GATE_OP,
        aggregation_method=None,
        colocate_gradients_with_ops=False,
        name=None,
        grad_loss=None,
        decay_var_list=None,
    ):
        """Minimizes a loss, like Optimizer.minimize.

        Args:
          loss: scalar tensor.
          global_step: variable to increment, or None.
          var_list: variables; None for all trainable variables.
          gate_gradients: one of the GATE_ constants of tf.train.Optimizer.
          aggregation_method: one of tf.AggregationMethod, or None.
          colocate_gradients_with_ops: whether gradients are placed beside their operations.
          name: name of the operation.
          grad_loss: gradient of the loss; None for 1.
          decay_var_list: ignored, as in 1.x: all trained variables decay.

        Returns:
          Operation of a step.
        """
        del decay_var_list
        return super().minimize(
            loss,
            global_step=global_step,
            var_list=var_list,
            gate_gradients=gate_gradients,
            aggregation_method=aggregation_method,
            colocate_gradients_with_ops=colocate_gradients_with_ops,
            name=name,
            grad_loss=grad_loss,
        )

    def apply_gradients(self, grads_and_vars, global_step=None, name=None, decay_var_list=None):
        """Applies gradients, like Optimizer.apply_gradients.

        Args:
          grads_and_vars: list of (gradient, variable).
          global_step: variable to increment, or None.
          name: name of the operation.
          decay_var_list: ignored, as in 1.x: all trained variables decay.

        Returns:
          Operation of a step.
        """
        del decay_var_list
        return super().apply_gradients(grads_and_vars, global_step=global_step, name=name)

    def _prepare(self):
        self._weight_decay_tensor = tf.convert_to_tensor(
            self._weight_decay() if callable(self._weight_decay) else self._weight_decay,
            name="weight_decay",
        )
        super()._prepare()

    def _weight_decay_as(self, dtype):
        return tf.cast(self._weight_decay_tensor, dtype.base_dtype)

    def _decayed(self, var):
        return var.assign_sub(self._weight_decay_as(var.dtype) * var, self._use_locking)

    def _decayed_rows(self, var, indices):
        rows = self._weight_decay_as(var.dtype) * tf.gather(var, indices)
        return tf.scatter_sub(var, indices, rows, self._use_locking)

    # The decay precedes the step, for dense and sparse gradients.
    def _apply_dense(self, grad, var):
        with tf.control_dependencies([self._decayed(var)]):
            return super()._apply_dense(grad, var)

    def _resource_apply_dense(self, grad, var):
        with tf.control_dependencies([self._decayed(var)]):
            return super()._resource_apply_dense(grad, var)

    def _apply_sparse(self, grad, var):
        with tf.control_dependencies([self._decayed_rows(var, grad.indices)]):
            return super()._apply_sparse(grad, var)

    def _resource_apply_sparse(self, grad, var, indices):
        with tf.control_dependencies([self._decayed_rows(var, indices)]):
            return super()._resource_apply_sparse(grad, var, indices)


def extend_with_decoupled_weight_decay(base_optimizer):
    """Returns a subclass of an optimizer with decoupled weight decay.

    Args:
      base_optimizer: class of a tf.train.Optimizer.

    Returns:
      Class whose first argument is `weight_decay`.
    """

    class OptimizerWithDecoupledWeightDecay(DecoupledWeightDecayExtension, base_optimizer):
        def __init__(self, weight_decay, *args, **kwargs):
            self._weight_decay = weight_decay
            base_optimizer.__init__(self, *args, **kwargs)

    return OptimizerWithDecoupledWeightDecay


class AdamWOptimizer(DecoupledWeightDecayExtension, tf.train.AdamOptimizer):
    """Adam with decoupled weight decay (Loshchilov and Hutter, 2017).

    Args:
      weight_decay: number or scalar tensor; like the learning rate it may need a schedule.
      learning_rate: number or scalar tensor.
      beta1: decay of the first moment.
      beta2: decay of the second moment.
      epsilon: number added to the denominator.
      use_locking: whether to lock variables during updates.
      name: prefix of the slots.
    """

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
    """Momentum with decoupled weight decay (Loshchilov and Hutter, 2017).

    Args:
      weight_decay: number or scalar tensor; like the learning rate it may need a schedule.
      learning_rate: number or scalar tensor.
      momentum: number or scalar tensor.
      use_locking: whether to lock variables during updates.
      name: prefix of the slots.
      use_nesterov: whether to use Nesterov momentum.
    """

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
