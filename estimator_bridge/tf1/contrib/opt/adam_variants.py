"""Variants of Adam (Kingma and Ba, 2014)."""

import tensorflow.compat.v1 as tf

from estimator_bridge.private_tf import gen_training_ops as _kernels

__all__ = ["AdaMaxOptimizer", "LazyAdamOptimizer", "NadamOptimizer"]


class LazyAdamOptimizer(tf.train.AdamOptimizer):
    """Adam that updates only the rows of a sparse gradient, moments included."""

    def _rows(self, grad, var, indices):
        beta1_power, beta2_power = (
            tf.cast(p, var.dtype.base_dtype) for p in self._get_beta_accumulators()
        )
        rate = tf.cast(self._lr_t, var.dtype.base_dtype)
        beta1 = tf.cast(self._beta1_t, var.dtype.base_dtype)
        beta2 = tf.cast(self._beta2_t, var.dtype.base_dtype)
        epsilon = tf.cast(self._epsilon_t, var.dtype.base_dtype)
        rate = rate * tf.sqrt(1 - beta2_power) / (1 - beta1_power)
        m, v = self.get_slot(var, "m"), self.get_slot(var, "v")
        m_rows = beta1 * tf.gather(m, indices) + (1 - beta1) * grad
        v_rows = beta2 * tf.gather(v, indices) + (1 - beta2) * tf.square(grad)
        step = rate * m_rows / (tf.sqrt(v_rows) + epsilon)
        return m, m_rows, v, v_rows, step

    def _apply_sparse(self, grad, var):
        indices = grad.indices
        m, m_rows, v, v_rows, step = self._rows(grad.values, var, indices)
        return tf.group(
            tf.scatter_update(m, indices, m_rows, use_locking=self._use_locking),
            tf.scatter_update(v, indices, v_rows, use_locking=self._use_locking),
            tf.scatter_sub(var, indices, step, use_locking=self._use_locking),
        )

    def _resource_apply_sparse(self, grad, var, indices):
        m, m_rows, v, v_rows, step = self._rows(grad, var, indices)
        return tf.group(
            tf.raw_ops.ResourceScatterUpdate(resource=m.handle, indices=indices, updates=m_rows),
            tf.raw_ops.ResourceScatterUpdate(resource=v.handle, indices=indices, updates=v_rows),
            tf.raw_ops.ResourceScatterSub(resource=var.handle, indices=indices, updates=step),
        )


class NadamOptimizer(tf.train.AdamOptimizer):
    """Adam with Nesterov momentum (Dozat, 2015)."""

    def _scalars(self, var):
        powers = self._get_beta_accumulators()
        scalars = (*powers, self._lr_t, self._beta1_t, self._beta2_t, self._epsilon_t)
        return [tf.cast(scalar, var.dtype.base_dtype) for scalar in scalars]

    def _apply_dense(self, grad, var):
        m, v = self.get_slot(var, "m"), self.get_slot(var, "v")
        return _kernels.apply_adam(
            var, m, v, *self._scalars(var), grad, use_locking=self._use_locking, use_nesterov=True
        ).op

    def _resource_apply_dense(self, grad, var):
        m, v = self.get_slot(var, "m"), self.get_slot(var, "v")
        return _kernels.resource_apply_adam(
            var.handle,
            m.handle,
            v.handle,
            *self._scalars(var),
            grad,
            use_locking=self._use_locking,
            use_nesterov=True,
        )

    def _apply_sparse_shared(self, grad, var, indices, scatter_add):
        beta1_power, beta2_power, rate, beta1, beta2, epsilon = self._scalars(var)
        rate = rate * tf.sqrt(1 - beta2_power) / (1 - beta1_power)
        m, v = self.get_slot(var, "m"), self.get_slot(var, "v")
        scaled = grad * (1 - beta1)
        m_t = tf.assign(m, m * beta1, use_locking=self._use_locking)
        with tf.control_dependencies([m_t]):
            m_t = scatter_add(m, indices, scaled)
            m_bar = scaled + beta1 * tf.gather(m_t, indices)
        v_t = tf.assign(v, v * beta2, use_locking=self._use_locking)
        with tf.control_dependencies([v_t]):
            v_t = scatter_add(v, indices, tf.square(grad) * (1 - beta2))
        step = rate * m_bar / (tf.sqrt(tf.gather(v_t, indices)) + epsilon)
        return tf.group(scatter_add(var, indices, -step), m_t, v_t)


class AdaMaxOptimizer(tf.train.AdamOptimizer):
    """Adam with the infinity norm (Kingma and Ba, 2014, section 7.1).

    Args:
      learning_rate: number or scalar tensor.
      beta1: decay of the first moment.
      beta2: decay of the infinity norm.
      epsilon: number added to the denominator.
      use_locking: whether to lock variables during updates.
      name: prefix of the slots.
    """

    def __init__(
        self,
        learning_rate=0.001,
        beta1=0.9,
        beta2=0.999,
        epsilon=1e-8,
        use_locking=False,
        name="AdaMax",
    ):
        super().__init__(learning_rate, beta1, beta2, epsilon, use_locking, name)

    def _beta1_power(self):
        return self._get_non_slot_variable("beta1_power", graph=tf.get_default_graph())

    def _create_slots(self, var_list):
        first = min(var_list, key=lambda var: var.name)
        # There is no power of beta2, unlike in Adam.
        self._create_non_slot_variable(self._beta1, name="beta1_power", colocate_with=first)
        for var in var_list:
            self._zeros_slot(var, "m", self._name)
            self._zeros_slot(var, "v", self._name)

    def _finish(self, update_ops, name_scope):
        power = self._beta1_power()
        with tf.control_dependencies(update_ops), tf.colocate_with(power):
            update = power.assign(power * self._beta1_t, use_locking=self._use_locking)
        return tf.group(*update_ops, update, name=name_scope)

    def _step(self, grad, var):
        dtype = var.dtype.base_dtype
        beta1_power = self._beta1_power()
        rate = tf.cast(self._lr_t, dtype) / (1 - tf.cast(beta1_power, dtype))
        beta1, beta2 = tf.cast(self._beta1_t, dtype), tf.cast(self._beta2_t, dtype)
        m, v = self.get_slot(var, "m"), self.get_slot(var, "v")
        m_t = m.assign(beta1 * m + (1 - beta1) * grad, use_locking=self._use_locking)
        v_t = v.assign(tf.maximum(beta2 * v, tf.abs(grad)), use_locking=self._use_locking)
        step = rate * m_t / (v_t + tf.cast(self._epsilon_t, dtype))
        return tf.group(var.assign_sub(step, use_locking=self._use_locking))

    _apply_dense = _step
    _resource_apply_dense = _step

    def _apply_sparse(self, grad, var):
        dense = tf.convert_to_tensor(grad)
        return self._step(dense, var)

    def _resource_apply_sparse(self, grad, var, indices):
        return self._step(tf.convert_to_tensor(tf.IndexedSlices(grad, indices, tf.shape(var))), var)
