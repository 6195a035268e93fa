"""Optimizer of `tf.contrib.opt` for accumulated gradient normalization (Hermans et al., 2017)."""

import tensorflow.compat.v1 as tf

from estimator_bridge.tf1.contrib.opt import centers as _centers

__all__ = ["AGNCustomGetter", "AGNOptimizer"]

GLOBAL_VARIABLE_NAME = _centers.GLOBAL_VARIABLE_NAME
GRAD_VARIABLE_NAME = "grad_variable"


class AGNCustomGetter(_centers.CenterGetter):
    """Makes trained variables local to the worker, with a center and the sum of the gradients.

    Use it in a variable scope under `tf.train.replica_device_setter`, with `tf.get_variable`.

    Args:
      worker_device: device of the worker's variables.
    """

    def __init__(self, worker_device):
        super().__init__(worker_device)
        # Variable of the worker -> the sum of its gradients.
        self.sums = {}

    def _make_untrained(self, make, name, collections):
        return make(name, False, collections)

    def _make_center(self, make, name, variable, use_resource):
        self.make_beside(make, GLOBAL_VARIABLE_NAME, name, self.centers, variable)
        self.make_beside(make, GRAD_VARIABLE_NAME, name, self.sums, variable)


class AGNOptimizer(_centers.CenterOptimizer):
    """Trains each worker alone, and periodically updates the center by the mean of its gradients.

    The worker then goes on from the center. No worker waits for another.

    Args:
      optimizer: tf.train.Optimizer that makes the steps of the worker and of the center.
      num_worker: int, number of workers.
      custom_getter: AGNCustomGetter that made the variables.
      communication_period: int, number of the worker's steps from one update to the next.
      use_locking: whether to lock variables while they are assigned.
      name: name of the optimizer.
    """

    def __init__(
        self,
        optimizer,
        num_worker,
        custom_getter,
        communication_period=10,
        use_locking=True,
        name="AGNOptimizer",
    ):
        super().__init__(optimizer, communication_period, custom_getter, use_locking, name)
        self._sums = custom_getter.sums

    def _step(self, grads_and_vars):
        done = [super()._step(grads_and_vars)]
        _centers.make_local(self._opt.variables())
        for grad, var in grads_and_vars:
            if grad is not None:
                self._center_of(var)
                total = self._sums[var]
                done.append(tf.assign_add(total, tf.convert_to_tensor(grad)))
        return tf.group(*done)

    def _exchange(self, variables, global_step):
        means = [
            (_centers.read_at(self._sums[var]) / self._period, self._centers[var])
            for var in variables
        ]
        with tf.control_dependencies([self._opt.apply_gradients(means)]):
            done = [tf.assign(var, _centers.read_at(self._centers[var])) for var in variables]
            done += [
                tf.assign(self._sums[var], tf.zeros_like(self._sums[var])) for var in variables
            ]
            if global_step is not None:
                done.append(tf.assign_add(global_step, 1, use_locking=self._use_locking))
        return tf.group(*done)

    def get_init_op(self, task_index):
        """Returns the operation that starts the variables of the worker from the center.

        Args:
          task_index: int, number of this worker.
        """
        cleared = [tf.assign(one, tf.zeros_like(one)) for one in self._sums.values()]
        return tf.group(self._make_init_op(), *cleared)

    def make_session_run_hook(self, is_chief, task_index):
        """Returns the hook of the worker's session, which runs `get_init_op`.

        Args:
          is_chief: whether the worker is the chief.
          task_index: int, number of this worker.
        """
        return _centers.CenterHook(lambda: self.get_init_op(task_index))
