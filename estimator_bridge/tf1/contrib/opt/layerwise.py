"""`tf.contrib.opt.LARSOptimizer`."""

import tensorflow.compat.v1 as tf

__all__ = ["LARSOptimizer"]


class LARSOptimizer(tf.train.Optimizer):
    """Momentum with a learning rate per variable, for dense gradients only.

    The source is You et al. (2017), "Large Batch Training of Convolutional Networks". The rate is
    learning_rate x eeta x |w| / (|g| + weight_decay x |w| + epsilon). The gradient becomes g +
    weight_decay x w. Slots: `momentum`.

    Args:
      learning_rate: number or scalar tensor.
      momentum: number, not negative.
      weight_decay: share of the weights that is added to the gradient.
      eeta: the trust coefficient.
      epsilon: number added to the denominator.
      name: prefix of the slots.
      skip_list: parts of names, such as `bias`; variables with one of them use plain momentum.
      use_nesterov: whether to use Nesterov momentum.

    Raises:
      ValueError: the momentum is negative.
    """

    def __init__(
        self,
        learning_rate,
        momentum=0.9,
        weight_decay=0.0001,
        eeta=0.001,
        epsilon=0.0,
        name="LARSOptimizer",
        skip_list=None,
        use_nesterov=False,
    ):
        if momentum < 0.0:
            raise ValueError(f"momentum: {momentum} is negative")
        super().__init__(use_locking=False, name=name)
        self._learning_rate = learning_rate
        self._momentum = momentum
        self._weight_decay = weight_decay
        self._eeta = eeta
        self._epsilon = epsilon
        self._skip_list = skip_list or ()
        self._use_nesterov = use_nesterov

    def _create_slots(self, var_list):
        for var in var_list:
            self._zeros_slot(var, "momentum", self._name)

    def _prepare(self):
        rate = self._learning_rate() if callable(self._learning_rate) else self._learning_rate
        self._rate = tf.convert_to_tensor(rate, name="learning_rate")

    def compute_lr(self, grad, var):
        """Returns the learning rate of a variable, and its gradient with the weight decay.

        Args:
          grad: tensor of the shape of `var`.
          var: variable.

        Returns:
          Scalar tensor, and a tensor of the shape of `var`.
        """
        dtype = var.dtype.base_dtype
        rate = tf.cast(self._rate, dtype)
        if any(part in var.name for part in self._skip_list):
            return rate, grad
        value = tf.convert_to_tensor(var)
        weight, gradient = tf.norm(value), tf.norm(grad)
        divisor = gradient + self._weight_decay * weight + self._epsilon
        known = tf.logical_and(weight > 0, gradient > 0)
        trust = tf.where(known, self._eeta * weight / divisor, tf.ones([], dtype))
        return rate * trust, grad + self._weight_decay * value

    def _step(self, grad, var):
        rate, grad = self.compute_lr(grad, var)
        slot = self.get_slot(var, "momentum")
        momentum = tf.cast(self._momentum, var.dtype.base_dtype)
        # The sum contains the rate, so that a lower rate does not rescale past gradients.
        step = momentum * slot + rate * grad
        taken = momentum * step + rate * grad if self._use_nesterov else step
        with tf.control_dependencies([step, taken]):
            return tf.group(slot.assign(step), var.assign_sub(taken))

    def _apply_dense(self, grad, var):
        return self._step(grad, var)

    def _resource_apply_dense(self, grad, var):
        return self._step(grad, var)

    # Sparse gradients have plain momentum with the learning rate itself, as in 1.x.
    def _apply_sparse(self, grad, var):
        dtype = var.dtype.base_dtype
        return tf.raw_ops.SparseApplyMomentum(
            var=var._ref(),
            accum=self.get_slot(var, "momentum")._ref(),
            lr=tf.cast(self._rate, dtype),
            grad=grad.values,
            indices=grad.indices,
            momentum=tf.cast(self._momentum, dtype),
            use_nesterov=self._use_nesterov,
        ).op

    def _resource_apply_sparse(self, grad, var, indices):
        return tf.raw_ops.ResourceSparseApplyMomentum(
            var=var.handle,
            accum=self.get_slot(var, "momentum").handle,
            lr=tf.cast(self._rate, grad.dtype),
            grad=grad,
            indices=indices,
            momentum=tf.cast(self._momentum, grad.dtype),
            use_nesterov=self._use_nesterov,
        )
