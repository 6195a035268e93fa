"""`tf.contrib.mixed_precision`: loss scaling against vanishing half-precision gradients."""

import abc

import tensorflow.compat.v1 as tf

from estimator_bridge.tf1.contrib.package import unsupported_names as _unsupported_names

__all__ = [
    "ExponentialUpdateLossScaleManager",
    "FixedLossScaleManager",
    "LossScaleManager",
    "LossScaleOptimizer",
]

__getattr__, _advice_for = _unsupported_names(globals())


class LossScaleManager(abc.ABC):
    """Interface of the strategies for the loss scale."""

    @abc.abstractmethod
    def get_loss_scale(self):
        """Returns the loss scale, a float32 scalar tensor."""

    @abc.abstractmethod
    def update_loss_scale(self, finite_grads):
        """Returns the operation that updates the loss scale after a step.

        Args:
          finite_grads: scalar bool tensor, whether all gradients are finite.

        Returns:
          Operation.
        """


class FixedLossScaleManager(LossScaleManager):
    """A constant loss scale.

    Args:
      loss_scale: number, at least 1.

    Raises:
      ValueError: the loss scale is below 1.
    """

    def __init__(self, loss_scale):
        if loss_scale < 1:
            raise ValueError(f"loss_scale: {loss_scale} must be at least 1")
        self._loss_scale = tf.convert_to_tensor(loss_scale, tf.float32)

    def get_loss_scale(self):
        return self._loss_scale

    def update_loss_scale(self, finite_grads):
        """Returns an operation that does nothing.

        Args:
          finite_grads: not used.
        """
        return tf.no_op()


class ExponentialUpdateLossScaleManager(LossScaleManager):
    """A loss scale that rises after finite steps and falls when gradients overflow.

    Variables: `loss_scale`, `good_steps` and `bad_steps`, not trainable.

    Args:
      init_loss_scale: initial loss scale.
      incr_every_n_steps: int, consecutive finite steps before an increase.
      decr_every_n_nan_or_inf: int, number of steps since the last change with gradients that are
        not finite, before a decrease.
      incr_ratio: factor of an increase.
      decr_ratio: factor of a decrease; the loss scale stays at 1 or above.
    """

    def __init__(
        self,
        init_loss_scale,
        incr_every_n_steps,
        decr_every_n_nan_or_inf=2,
        incr_ratio=2,
        decr_ratio=0.8,
    ):
        self._incr_every_n_steps = incr_every_n_steps
        self._decr_every_n_nan_or_inf = decr_every_n_nan_or_inf
        self._incr_ratio, self._decr_ratio = incr_ratio, decr_ratio

        def variable(name, value, dtype):
            return tf.Variable(value, trainable=False, name=name, dtype=dtype)

        self._loss_scale = variable("loss_scale", init_loss_scale, tf.float32)
        self._num_good_steps = variable("good_steps", 0, tf.int32)
        self._num_bad_steps = variable("bad_steps", 0, tf.int32)

    def get_loss_scale(self):
        return tf.identity(self._loss_scale)

    def update_loss_scale(self, finite_grads):
        """Returns the operation that updates the loss scale and the counts of steps.

        Args:
          finite_grads: scalar bool tensor, whether all gradients are finite.
        """
        # Read all variables before the first update.
        scale, good, bad = map(
            tf.identity, (self._loss_scale, self._num_good_steps, self._num_bad_steps)
        )
        good = tf.where(finite_grads, good + 1, 0)
        bad = tf.where(finite_grads, bad, bad + 1)
        raise_it = tf.greater_equal(good, self._incr_every_n_steps)
        lower_it = tf.greater_equal(bad, self._decr_every_n_nan_or_inf)
        raised = scale * self._incr_ratio
        raised = tf.where(tf.is_finite(raised), raised, scale)
        lowered = tf.maximum(scale * self._decr_ratio, 1.0)
        scale = tf.where(raise_it, raised, tf.where(lower_it, lowered, scale))
        changed = tf.logical_or(raise_it, lower_it)
        good, bad = tf.where(changed, 0, good), tf.where(changed, 0, bad)
        with tf.control_dependencies([scale, good, bad]):
            return tf.group(
                self._loss_scale.assign(scale),
                self._num_good_steps.assign(good),
                self._num_bad_steps.assign(bad),
            )


class LossScaleOptimizer(tf.train.Optimizer):
    """Scales the loss up and the gradients down; skips steps with gradients that are not finite.

    Args:
      opt: tf.train.Optimizer.
      loss_scale_manager: LossScaleManager.
    """

    def __init__(self, opt, loss_scale_manager):
        super().__init__(use_locking=False, name="LossScaleOptimizer")
        self._opt = opt
        self._loss_scale_manager = loss_scale_manager

    def compute_gradients(
        self,
        loss,
        var_list=None,
        gate_gradients=tf.train.Optimizer.GATE_OP,
        aggregation_method=None,
        colocate_gradients_with_ops=False,
        grad_loss=None,
    ):
        """Returns the gradients of the unscaled loss.

        Args:
          loss: scalar tensor.
          var_list: variables; None for all trainable variables.
          gate_gradients: one of the GATE_ constants of tf.train.Optimizer.
          aggregation_method: one of tf.AggregationMethod, or None.
          colocate_gradients_with_ops: whether gradients are placed beside their operations.
          grad_loss: gradient of the scaled loss; None for 1.

        Returns:
          List of (gradient, variable).
        """
        scale = self._loss_scale_manager.get_loss_scale()
        gradients = self._opt.compute_gradients(
            loss * tf.cast(scale, loss.dtype.base_dtype),
            var_list=var_list,
            gate_gradients=gate_gradients,
            aggregation_method=aggregation_method,
            colocate_gradients_with_ops=colocate_gradients_with_ops,
            grad_loss=grad_loss,
        )
        return [(_divide(gradient, scale), variable) for gradient, variable in gradients]

    def apply_gradients(self, grads_and_vars, global_step=None, name=None):
        """Returns the operation of a step, which is skipped if a gradient is not finite.

        Args:
          grads_and_vars: list of (gradient, variable).
          global_step: variable that the step increments, or None.
          name: name of the operation, or None.
        """
        grads_and_vars = list(grads_and_vars)
        finite = tf.reduce_all(
            [
                tf.reduce_all(tf.is_finite(_values(gradient)))
                for gradient, _ in grads_and_vars
                if gradient is not None
            ]
        )
        step = tf.cond(
            finite,
            lambda: self._opt.apply_gradients(grads_and_vars, global_step, name),
            tf.no_op,
        )
        with tf.control_dependencies([step]):
            return tf.group(self._loss_scale_manager.update_loss_scale(finite))

    def get_slot(self, *args, **kwargs):
        return self._opt.get_slot(*args, **kwargs)

    def get_slot_names(self, *args, **kwargs):
        return self._opt.get_slot_names(*args, **kwargs)

    def variables(self):
        return self._opt.variables()


def _values(gradient):
    return gradient.values if isinstance(gradient, tf.IndexedSlices) else gradient


def _divide(gradient, scale):
    if gradient is None:
        return None
    values = _values(gradient) / tf.cast(scale, gradient.dtype.base_dtype)
    if isinstance(gradient, tf.IndexedSlices):
        return tf.IndexedSlices(values, gradient.indices, gradient.dense_shape)
    return values
