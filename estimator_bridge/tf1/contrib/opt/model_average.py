"""Optimizer of `tf.contrib.opt` that averages the variables of all workers periodically."""

import tensorflow.compat.v1 as tf

from estimator_bridge.tf1.contrib.opt import centers as _centers

__all__ = ["ModelAverageCustomGetter", "ModelAverageOptimizer"]

GLOBAL_VARIABLE_NAME = _centers.GLOBAL_VARIABLE_NAME


class ModelAverageCustomGetter(_centers.CenterGetter):
    """Makes trained variables local to the worker, and one of the center for each.

    Use it in a variable scope under `tf.train.replica_device_setter`, with `tf.get_variable`.

    Args:
      worker_device: device of the worker's variables.
    """

    def _make_center(self, make, name, variable, use_resource):
        for part in _centers.parts_of(variable):
            self.centers[part] = tf.Variable(
                part.initialized_value(),
                name=f"{GLOBAL_VARIABLE_NAME}/{part.op.name}",
                trainable=False,
                collections=[tf.GraphKeys.GLOBAL_VARIABLES],
                use_resource=use_resource,
            )


class ModelAverageOptimizer(_centers.CenterOptimizer):
    """Trains each worker alone, and periodically replaces their variables by the average of all.

    All workers wait for each average. It becomes the center, which checkpoints contain.

    Args:
      opt: tf.train.Optimizer that makes the steps of the worker.
      num_worker: int, number of workers.
      is_chief: whether this worker computes the averages.
      ma_custom_getter: ModelAverageCustomGetter that made the variables.
      interval_steps: int, number of the worker's steps from one average to the next.
      use_locking: whether to lock variables while they are assigned.
      name: name of the optimizer.
    """

    def __init__(
        self,
        opt,
        num_worker,
        is_chief,
        ma_custom_getter,
        interval_steps=100,
        use_locking=True,
        name="ModelAverageOptimizer",
    ):
        super().__init__(opt, interval_steps, ma_custom_getter, use_locking, name)
        self._num_worker = num_worker
        self._is_chief = is_chief

    def compute_gradients(self, *args, **kwargs):
        return self._opt.compute_gradients(*args, **kwargs)

    def apply_gradients(self, grads_and_vars, global_step=None, name=None):
        """Returns the operation of a step of the worker, with an average when it is due.

        Args:
          grads_and_vars: list of (gradient, variable).
          global_step: variable that each average increments.
          name: ignored, as in 1.15.

        Returns:
          Boolean tensor; whether an average was due.

        Raises:
          ValueError: there is no global step, or no gradient.
          KeyError: the custom getter did not make a variable.
        """
        if global_step is None:
            raise ValueError("global_step: it counts the averages")
        return super().apply_gradients(grads_and_vars, global_step, name)

    def _step(self, grads_and_vars):
        done = super()._step(grads_and_vars)
        if not self._is_chief:
            # The chief does not initialize the slots of another worker, which would wait for them.
            _centers.make_local(self._opt.variables())
        return done

    def _exchange(self, variables, global_step):
        pushed, averages = [], []
        for var in variables:
            center = self._center_of(var)
            with tf.colocate_with(center, ignore_existing=True):
                sums = tf.ConditionalAccumulator(
                    var.dtype.base_dtype, var.shape, shared_name=f"{center.name}/var_accum"
                )
                # No value is too old: a worker pushes one for each average.
                pushed.append(sums.apply_grad(_centers.read_at(var), tf.int64.max))
                if self._is_chief:
                    averages.append((center, sums.take_grad(self._num_worker)))
        with tf.colocate_with(global_step, ignore_existing=True):
            tokens = tf.FIFOQueue(-1, [tf.bool], shapes=[[]], shared_name="sync_queue")
        with tf.control_dependencies(pushed):
            released = self._release(averages, global_step, tokens)
        with tf.control_dependencies([released]):
            replaced = [tf.assign(var, _centers.read_at(self._centers[var])) for var in variables]
        return tf.group(*replaced)

    def _release(self, averages, global_step, tokens):
        """Returns the operation that waits for the average, which the chief makes for all."""
        if not self._is_chief:
            return tokens.dequeue()
        assigned = [
            tf.assign(center, average, use_locking=self._use_locking)
            for center, average in averages
        ]
        with tf.colocate_with(global_step, ignore_existing=True):
            assigned.append(tf.assign_add(global_step, 1, use_locking=self._use_locking))
            with tf.control_dependencies(assigned):
                return tokens.enqueue_many(tf.fill([self._num_worker - 1], True))

    def get_init_op(self):
        """Returns the operation that starts the variables of the worker from the center."""
        return self._make_init_op()

    def make_session_run_hook(self):
        """Returns the hook of the worker's session, which runs `get_init_op`."""
        return _centers.CenterHook(self.get_init_op)
