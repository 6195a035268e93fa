"""An optimizer that keeps moving averages of the trained variables."""

import tensorflow.compat.v1 as tf

__all__ = ["MovingAverageOptimizer"]


class MovingAverageOptimizer(tf.train.Optimizer):
    """Wraps an optimizer and updates moving averages of the variables after each step.

    `swapping_saver()` saves the averages under the variables' names, and the variables under the
    averages' names. An evaluation then restores the averages without any change.

    Args:
      opt: tf.train.Optimizer.
      average_decay: decay of the moving averages.
      num_updates: scalar, number of updates, which lowers the decay at first, or None.
      sequential_update: whether the averages wait for the step of the variables.
    """

    def __init__(self, opt, average_decay=0.9999, num_updates=None, sequential_update=True):
        super().__init__(use_locking=False, name="MovingAverage")
        self._optimizer = opt
        self._average = tf.train.ExponentialMovingAverage(average_decay, num_updates=num_updates)
        self._sequential_update = sequential_update
        self._variables = None

    def compute_gradients(self, *args, **kwargs):
        return self._optimizer.compute_gradients(*args, **kwargs)

    def apply_gradients(self, grads_and_vars, global_step=None, name=None):
        """Returns the operation of a step, which also updates the moving averages.

        Args:
          grads_and_vars: list of (gradient, variable).
          global_step: variable that the step increments, or None.
          name: name of the operation, or None.
        """
        grads_and_vars = list(grads_and_vars)
        step = self._optimizer.apply_gradients(grads_and_vars, global_step=global_step, name=name)
        self._variables = [var for gradient, var in grads_and_vars if gradient is not None]
        with tf.control_dependencies([step] if self._sequential_update else []):
            average = self._average.apply(self._variables)
        return tf.group(step, average, name="update_moving_average")

    def swapping_saver(self, var_list=None, name="swapping_saver", **kwargs):
        """Returns a Saver that swaps the averages and the variables.

        Args:
          var_list: variables to save, or {name: variable}; None for all.
          name: name of the operations.
          **kwargs: further arguments of tf.train.Saver.

        Returns:
          tf.train.Saver.

        Raises:
          RuntimeError: apply_gradients has not been called.
        """
        if self._variables is None:
            raise RuntimeError("swapping_saver: call apply_gradients or minimize first")
        names = {}
        for var in tf.global_variables() if var_list is None else var_list:
            names[var.op.name] = var
        for var in self._variables:
            average = self._average.average(var)
            if var.op.name not in names or average.op.name not in names:
                continue
            names[var.op.name], names[average.op.name] = average, var
        return tf.train.Saver(names, name=name, **kwargs)

    def get_slot(self, *args, **kwargs):
        return self._optimizer.get_slot(*args, **kwargs)

    def get_slot_names(self, *args, **kwargs):
        return self._optimizer.get_slot_names(*args, **kwargs)

    def variables(self):
        return self._optimizer.variables()
