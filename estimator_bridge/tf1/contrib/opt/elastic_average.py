"""Optimizer of `tf.contrib.opt` for elastic averaging (Zhang et al., 2015)."""

import tensorflow.compat.v1 as tf

from estimator_bridge.tf1.contrib.opt import centers as _centers

__all__ = ["ElasticAverageCustomGetter", "ElasticAverageOptimizer"]

GLOBAL_VARIABLE_NAME = _centers.GLOBAL_VARIABLE_NAME
LOCAL_VARIABLE_NAME = "local_center_variable"
GLOBAL_STEP = "global_step"
# The share of its difference that all workers together move the center by, for each step of theirs.
_BETA = 0.9


class ElasticAverageCustomGetter(_centers.CenterGetter):
    """Makes trained variables local to the worker, with a center and the worker's copy of it.

    Use it in a variable scope under `tf.train.replica_device_setter`, with `tf.get_variable`.

    Args:
      worker_device: device of the worker's variables.
    """

    def __init__(self, worker_device):
        super().__init__(worker_device)
        # Variable of the worker -> the center when it was last read.
        self.copies = {}

    def _make_center(self, make, name, variable, use_resource):
        self.make_beside(make, GLOBAL_VARIABLE_NAME, name, self.centers, variable)
        self.make_beside(make, LOCAL_VARIABLE_NAME, name, self.copies, variable)


class ElasticAverageOptimizer(_centers.CenterOptimizer):
    """Trains each worker alone, and periodically moves it and the center towards each other.

    The loss has a penalty for the squared distance of the variables from the center. No worker
    waits for another.

    Args:
      opt: tf.train.Optimizer that makes the steps of the worker.
      num_worker: int, number of workers.
      ea_custom_getter: ElasticAverageCustomGetter that made the variables.
      communication_period: int, number of the worker's steps from one exchange to the next.
      moving_rate: share of the difference that an exchange moves both by; None for 0.9 divided by
        the period and the number of workers.
      rho: factor of the penalty; None for the moving rate divided by the learning rate of `opt`.
      use_locking: whether to lock variables while they are assigned.
      synchronous: whether all workers wait for each other before they begin.
      name: name of the optimizer.
    """

    def __init__(
        self,
        opt,
        num_worker,
        ea_custom_getter,
        communication_period=10,
        moving_rate=None,
        rho=None,
        use_locking=True,
        synchronous=False,
        name="ElasticAverageOptimizer",
    ):
        super().__init__(opt, communication_period, ea_custom_getter, use_locking, name)
        self._num_worker = num_worker
        self._copies = ea_custom_getter.copies
        self._synchronous = synchronous
        if moving_rate is None:
            moving_rate = _BETA / communication_period / num_worker
        self._moving_rate = moving_rate
        self._rho = moving_rate / opt._learning_rate if rho is None else rho

    def compute_gradients(
        self,
        loss,
        var_list=None,
        gate_gradients=tf.train.Optimizer.GATE_OP,
        aggregation_method=None,
        colocate_gradients_with_ops=False,
        grad_loss=None,
    ):
        """Returns the gradients of a loss and of the penalty.

        Args:
          loss: scalar tensor.
          var_list: variables that the custom getter made; None for all that are trained.
          gate_gradients: as of tf.train.Optimizer.
          aggregation_method: likewise.
          colocate_gradients_with_ops: likewise.
          grad_loss: gradient of the loss with the penalty, or None.

        Returns:
          List of (gradient, variable).

        Raises:
          KeyError: the custom getter did not make a variable.
        """
        if not var_list:
            var_list = tf.trainable_variables()
        for var in var_list:
            self._center_of(var)
        distances = [tf.nn.l2_loss(var - self._copies[var]) for var in var_list]
        return self._opt.compute_gradients(
            loss + self._rho * tf.add_n(distances),
            var_list,
            gate_gradients,
            aggregation_method,
            colocate_gradients_with_ops,
            grad_loss,
        )

    def _step(self, grads_and_vars):
        done = super()._step(grads_and_vars)
        _centers.make_local(self._opt.variables())
        return done

    def _exchange(self, variables, global_step):
        copied = [
            tf.assign(self._copies[var], _centers.read_at(self._centers[var])) for var in variables
        ]
        moved = []
        with tf.control_dependencies(copied):
            for var in variables:
                change = self._moving_rate * (
                    _centers.read_at(var) - _centers.read_at(self._copies[var])
                )
                for add, place in ((tf.assign_sub, var), (tf.assign_add, self._centers[var])):
                    moved.append(add(place, change, use_locking=self._use_locking))
            if global_step is not None:
                moved.append(tf.assign_add(global_step, 1, use_locking=self._use_locking))
        return tf.group(*moved)

    def get_init_op(self, task_index):
        """Returns the operation that starts the variables of the worker from the center.

        Args:
          task_index: int, number of this worker; of meaning if the optimizer is synchronous.
        """
        started = self._make_init_op()
        with tf.control_dependencies([started]):
            copied = [
                tf.assign(copy, _centers.read_at(self._centers[var]))
                for var, copy in self._copies.items()
            ]
            done = tf.group(*copied)
        return self._wait_for_all(done, task_index) if self._synchronous else done

    def _wait_for_all(self, done, task_index):
        """Returns an operation that ends when all workers have done something."""
        # All workers have the queues in common on the device of a center.
        with tf.colocate_with(next(iter(self._centers.values())), ignore_existing=True):
            queues = [
                tf.FIFOQueue(
                    self._num_worker,
                    [tf.bool],
                    shapes=[[]],
                    shared_name=f"variable_init_sync_queue{index}",
                )
                for index in range(self._num_worker)
            ]
            others = [queue for index, queue in enumerate(queues) if index != task_index]
            with tf.control_dependencies([done]):
                told = [queue.enqueue(False) for queue in others]
            return tf.group(*told, queues[task_index].dequeue_many(len(others)))

    def make_session_run_hook(self, is_chief, task_index):
        """Returns the hook of the worker's session, which runs `get_init_op`.

        Args:
          is_chief: whether the worker is the chief.
          task_index: int, number of this worker.
        """
        return _centers.CenterHook(lambda: self.get_init_op(task_index))

    def swapping_saver(self, var_list=None, name="swapping_saver", **kwargs):
        """Returns a Saver that saves and restores the center under the names of the variables.

        Args:
          var_list: variables, or {name: variable}; None for those that are trained.
          name: name of the operations.
          **kwargs: further arguments of tf.train.Saver.

        Returns:
          tf.train.Saver.
        """
        if var_list is None:
            var_list = tf.trainable_variables()
        if not isinstance(var_list, dict):
            var_list = {var.op.name: var for var in var_list}
        swapped = {key: self._centers.get(var, var) for key, var in var_list.items()}
        return tf.train.Saver(swapped, name=name, **kwargs)
