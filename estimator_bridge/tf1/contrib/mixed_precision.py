"""`tf.contrib.mixed_precision`: the loss is scaled up so that half-precision gradients do not
vanish.
"""

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
    """Decides the factor of the loss."""

    @abc.abstractmethod
    def get_loss_scale(self):
        """Returns the factor, a float32 scalar tensor."""

    @abc.abstractmethod
    def update_loss_scale(self, finite_grads):
        """Returns the operation that follows a step; `finite_grads`: a bool tensor, []."""


class FixedLossScaleManager(LossScaleManager):
    """The same factor always. ValueError: it is below 1."""

    def __init__(self, loss_scale):
        if loss_scale < 1:
            raise ValueError("loss scale must be at least 1.")
        self._loss_scale = tf.convert_to_tensor(loss_scale, tf.float32)

    def get_loss_scale(self):
        return self._loss_scale

    def update_loss_scale(self, finite_grads):
        return tf.no_op()


class ExponentialUpdateLossScaleManager(LossScaleManager):
    """Raises the factor after a run of finite steps, lowers it when gradients overflow.

    Variables: `loss_scale`, `good_steps`, `bad_steps`, none trainable.

    Args:
      init_loss_scale: the first factor.
      incr_every_n_steps: finite steps in a row after which it is multiplied by `incr_ratio`.
      decr_every_n_nan_or_inf: steps that were not finite, in all since the last change, after which
        it is multiplied by `decr_ratio`; it does not go below 1.
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
        # All is computed from what the variables hold before the first of them is set.
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
    """Scales the loss, and the gradients back; a step whose gradients are not finite is left out
    (the global step too).
    """

    def __init__(self, opt, loss_scale_manager):
        super().__init__(use_locking=False, name="LossScaleOptimizer")
        self._opt = opt
        self._loss_scale_manager = loss_scale_manager

    def compute_gradients(self, loss, var_list=None, *args, **kwargs):
        """As any optimizer's; the gradients are those of the loss without the factor."""
        scale = self._loss_scale_manager.get_loss_scale()
        gradients = self._opt.compute_gradients(
            loss * tf.cast(scale, loss.dtype.base_dtype), var_list, *args, **kwargs
        )
        return [(_divide(gradient, scale), variable) for gradient, variable in gradients]

    def apply_gradients(self, grads_and_vars, global_step=None, name=None):
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
