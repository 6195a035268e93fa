"""Wrappers of `tf.contrib.opt` around other optimizers, for one process or a cluster."""

import contextlib
import functools

import tensorflow.compat.v1 as tf

__all__ = [
    "DropStaleGradientOptimizer",
    "MultitaskOptimizerWrapper",
    "VariableClippingOptimizer",
    "clip_gradients_by_global_norm",
]


class VariableClippingOptimizer(tf.train.Optimizer):
    """Clips the L2 norm of variables after each step, not that of the gradients.

    With a sparse gradient only its rows are clipped, unless the norm is taken over dimension 0.

    Args:
      opt: tf.train.Optimizer that makes the steps.
      vars_to_clip_dims: dictionary, variable -> list of dimensions over which the norm is taken.
      max_norm: number, the largest norm.
      use_locking: whether to lock variables while they are clipped.
      colocate_clip_ops_with_vars: whether the clipping is placed on the device of the variable.
      name: name of the operations.
    """

    def __init__(
        self,
        opt,
        vars_to_clip_dims,
        max_norm,
        use_locking=False,
        colocate_clip_ops_with_vars=False,
        name="VariableClipping",
    ):
        super().__init__(use_locking, name)
        self._opt = opt
        self._dims = vars_to_clip_dims
        self._max_norm = max_norm
        self._colocates = colocate_clip_ops_with_vars

    def compute_gradients(self, *args, **kwargs):
        return self._opt.compute_gradients(*args, **kwargs)

    def get_slot(self, *args, **kwargs):
        return self._opt.get_slot(*args, **kwargs)

    def get_slot_names(self, *args, **kwargs):
        return self._opt.get_slot_names(*args, **kwargs)

    def apply_gradients(self, grads_and_vars, global_step=None, name=None):
        """Returns the operation of a step, which also clips the variables.

        Args:
          grads_and_vars: list of (gradient, variable).
          global_step: variable that the step increments, or None.
          name: name of the operation, or None.
        """
        grads_and_vars = list(grads_and_vars)
        with tf.name_scope(name, self._name) as name:
            step = self._opt.apply_gradients(grads_and_vars, global_step=global_step)
            clipped = []
            with tf.control_dependencies([step]):
                for grad, var in grads_and_vars:
                    if grad is None or var not in self._dims:
                        continue
                    with tf.name_scope("clip_" + var.op.name):
                        clipped.append(self._clip(grad, var))
            return tf.group(step, *clipped, name=name)

    def _clip(self, grad, var):
        dims = self._dims[var]
        if isinstance(grad, tf.IndexedSlices) and 0 not in dims:
            return self._clip_rows(grad.indices, var, dims)
        with self._place(var):
            value = var.read_value()
            excess = value - tf.clip_by_norm(value, self._max_norm, dims)
            return var.assign_sub(excess, use_locking=self._use_locking)

    def _clip_rows(self, indices, var, dims):
        with self._place(var):
            rows = tf.gather(var, indices)
            excess = rows - tf.clip_by_norm(rows, self._max_norm, dims)
            return tf.scatter_sub(var, indices, excess, use_locking=self._use_locking)

    def _place(self, var):
        return tf.colocate_with(var) if self._colocates else contextlib.nullcontext()


class DropStaleGradientOptimizer(tf.train.Optimizer):
    """Drops gradients if the global step has grown too much since their computation began.

    The variable `stale_counter` counts the dropped ones; a summary shows their share of the steps.

    Args:
      opt: tf.train.Optimizer that makes the steps.
      staleness: int, the largest growth of the global step.
      use_locking: whether to lock the counter.
      name: name of the optimizer.
    """

    def __init__(self, opt, staleness, use_locking=False, name="DropStaleGradient"):
        super().__init__(use_locking, name)
        self._opt = opt
        self._staleness = staleness
        self._local_step = None

    def compute_gradients(self, loss, *args, **kwargs):
        """Returns the gradients of a loss, which is computed after the global step is read.

        Args:
          loss: scalar tensor.
          *args: further arguments of the wrapped optimizer's compute_gradients.
          **kwargs: likewise.

        Returns:
          List of (gradient, variable).

        Raises:
          TypeError: the graph has no global step.
        """
        # The sum is a copy, unlike a read of the variable.
        self._local_step = tf.train.get_global_step() + 0
        with tf.control_dependencies([self._local_step]):
            loss = tf.identity(loss)
        return self._opt.compute_gradients(loss, *args, **kwargs)

    def get_slot(self, *args, **kwargs):
        return self._opt.get_slot(*args, **kwargs)

    def get_slot_names(self, *args, **kwargs):
        return self._opt.get_slot_names(*args, **kwargs)

    def apply_gradients(self, grads_and_vars, global_step=None, name=None):
        """Returns the operation of a step, which is left out if the gradients are stale.

        Args:
          grads_and_vars: list of (gradient, variable).
          global_step: the global step of the graph, which the step increments.
          name: name of the wrapped optimizer's operation, or None.

        Returns:
          Tensor, the number of steps left out so far.

        Raises:
          ValueError: there is no global step.
        """
        grads_and_vars = list(grads_and_vars)
        gradients = [grad for grad, _ in grads_and_vars if grad is not None]
        if global_step is None:
            raise ValueError("global_step: the age of the gradients is counted with it")
        with tf.colocate_with(global_step):
            counter = tf.get_variable(
                "stale_counter", [], initializer=tf.zeros_initializer(), trainable=False
            )

        def apply():
            done = self._opt.apply_gradients(grads_and_vars, global_step=global_step, name=name)
            with tf.control_dependencies([done]):
                return tf.identity(0.0)

        with tf.control_dependencies(gradients):
            growth = tf.reshape(global_step - self._local_step, [])
        dropped = tf.cond(growth <= self._staleness, apply, lambda: tf.identity(1.0))
        done = tf.assign_add(counter, dropped, use_locking=self._use_locking)
        share = counter / tf.cast(global_step + 1, tf.float32)
        tf.summary.scalar("Gradient_staleness_percentage", share)
        return done


def _is_zero(gradient):
    """Returns whether all numbers of a gradient are 0: a scalar boolean tensor."""
    return tf.equal(tf.count_nonzero(gradient), 0)


class MultitaskOptimizerWrapper:
    """Leaves a variable and its slots as they are when its gradient is zero everywhere.

    The gradient of a task that is absent from a batch is zero; momenta and averages would decay.
    Gradients are clipped by `clip_gradients_by_global_norm` of this package.

    Args:
      opt: tf.train.Optimizer; its attributes are those of the wrapper.

    Raises:
      TypeError: `opt` is something else.
    """

    def __init__(self, opt):
        if not isinstance(opt, tf.train.Optimizer):
            raise TypeError(f"opt: {opt!r} is no tf.train.Optimizer")
        self._opt = opt
        for kind in ("dense", "sparse"):
            for name in (f"_apply_{kind}", f"_resource_apply_{kind}"):
                setattr(opt, name, functools.partial(self._apply, getattr(opt, name)))

    @staticmethod
    def _apply(function, grad, *args, **kwargs):
        return tf.cond(_is_zero(grad), tf.no_op, lambda: function(grad, *args, **kwargs))

    def __getattr__(self, name):
        return getattr(self._opt, name)


def clip_gradients_by_global_norm(gradients_variables, clip_norm=20.0):
    """Clips gradients by their global norm.

    Args:
      gradients_variables: list of (gradient, variable); gradients are floating tensors or None.
      clip_norm: number or scalar tensor, the largest global norm.

    Returns:
      List of (clipped gradient, variable), and the global norm, a scalar tensor.
    """
    gradients, variables = zip(*gradients_variables)
    # The scalar zero stands for a gradient of zeros.
    counted = [
        None if one is None else tf.cond(_is_zero(one), lambda: 0.0, functools.partial(_same, one))
        for one in gradients
    ]
    norm = tf.global_norm(counted)
    clipped, _ = tf.clip_by_global_norm(gradients, clip_norm, use_norm=norm)
    return list(zip(clipped, variables)), norm


def _same(value):
    return value
