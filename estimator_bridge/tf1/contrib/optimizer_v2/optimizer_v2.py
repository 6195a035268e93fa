"""`tf.contrib.optimizer_v2.OptimizerV2`, and the optimizers that a kernel computes."""

import weakref

import tensorflow.compat.v1 as tf

from estimator_bridge.private_tf import gen_training_ops as _kernels
from estimator_bridge.tf1.contrib.optimizer_v2.state import State as _State

__all__ = ["KernelOptimizer", "OptimizerV2"]


class OptimizerV2(tf.train.Optimizer):
    """Base of optimizers whose hyperparameters are numbers, tensors or functions.

    A subclass sets its hyperparameters with `_set_hyper(name, value)`. It defines `_create_vars`,
    `_apply_dense` and the other methods of a step; their last argument `state` has the
    hyperparameters of the step, and the slots.

    Args:
      use_locking: whether to lock variables during updates.
      name: str, prefix of the slots.

    Raises:
      ValueError: the name is empty.
    """

    def __init__(self, use_locking, name):
        super().__init__(use_locking, name)
        self._hyper = {}
        self._states = weakref.WeakKeyDictionary()

    def _set_hyper(self, name, value):
        self._hyper[name] = value

    def _state(self):
        graph = tf.get_default_graph()
        if graph not in self._states:
            self._states[graph] = _State(self, self._hyper)
        return self._states[graph]

    def minimize(
        self,
        loss,
        global_step=None,
        var_list=None,
        gate_gradients=tf.train.Optimizer.GATE_OP,
        aggregation_method=None,
        name=None,
        grad_loss=None,
        stop_gradients=None,
        scale_loss_by_num_replicas=False,
    ):
        """Returns an operation that changes variables such that a loss decreases.

        Args:
          loss: floating scalar tensor.
          global_step: variable to increment, or None.
          var_list: variables; None for all trainable variables.
          gate_gradients: one of the GATE_ constants of tf.train.Optimizer.
          aggregation_method: one of tf.AggregationMethod, or None.
          name: name of the operation, or None.
          grad_loss: gradient of the loss; None for 1.
          stop_gradients: tensors through which gradients do not pass, or None.
          scale_loss_by_num_replicas: whether the loss is divided by the number of replicas.

        Raises:
          ValueError: no variable has a gradient.
        """
        found = self.compute_gradients(
            loss,
            var_list=var_list,
            gate_gradients=gate_gradients,
            aggregation_method=aggregation_method,
            grad_loss=grad_loss,
            stop_gradients=stop_gradients,
            scale_loss_by_num_replicas=scale_loss_by_num_replicas,
        )
        if all(grad is None for grad, _ in found):
            names = [var.name for _, var in found]
            raise ValueError(f"loss: none of the variables has a gradient: {names}")
        return self.apply_gradients(found, global_step=global_step, name=name)

    def compute_gradients(
        self,
        loss,
        var_list=None,
        gate_gradients=tf.train.Optimizer.GATE_OP,
        aggregation_method=None,
        grad_loss=None,
        stop_gradients=None,
        scale_loss_by_num_replicas=False,
    ):
        """Returns the gradients of a loss: a list of (gradient or None, variable).

        Args:
          loss: floating scalar tensor.
          var_list: variables; None for all trainable variables.
          gate_gradients: one of the GATE_ constants of tf.train.Optimizer.
          aggregation_method: one of tf.AggregationMethod, or None.
          grad_loss: gradient of the loss; None for 1.
          stop_gradients: tensors through which gradients do not pass, or None.
          scale_loss_by_num_replicas: whether the loss is divided by the number of replicas.

        Raises:
          ValueError: there are no variables, or an argument is invalid.
        """
        if scale_loss_by_num_replicas:
            loss = loss / float(tf.distribute.get_strategy().num_replicas_in_sync)
        options = {"aggregation_method": aggregation_method}
        found = super().compute_gradients(
            loss, var_list, gate_gradients=gate_gradients, grad_loss=grad_loss, **options
        )
        if stop_gradients is None:
            return found
        variables = [var for _, var in found]
        gradients = tf.gradients(
            *(loss, variables, grad_loss),
            gate_gradients=gate_gradients == self.GATE_OP,
            stop_gradients=stop_gradients,
            **options,
        )
        if gate_gradients == self.GATE_GRAPH:
            gradients = tf.tuple(gradients)
        return list(zip(gradients, variables))

    def apply_gradients(self, grads_and_vars, global_step=None, name=None):
        """Returns the operation of a step.

        Args:
          grads_and_vars: list of (gradient, variable).
          global_step: variable that the step increments, or None.
          name: name of the operation, or None.

        Raises:
          TypeError: a gradient is no tensor.
          ValueError: no variable has a gradient.
        """
        return self._state().apply_gradients(grads_and_vars, global_step=global_step, name=name)

    def get_slot(self, var, name):
        """Returns a slot of a variable, or None.

        Args:
          var: variable.
          name: str.
        """
        return self._state().get_slot(var, name)

    def get_slot_names(self):
        """Returns the names of the slots, a sorted list."""
        return self._state().get_slot_names()

    def variables(self):
        """Returns the variables of the optimizer in the default graph, sorted by name."""
        return self._state().variables()

    # The methods that subclasses define.

    def _create_vars(self, var_list, state):
        pass

    def _prepare(self, state):
        pass

    def _apply_dense(self, grad, var, state):
        raise NotImplementedError

    def _resource_apply_dense(self, grad, handle, state):
        raise NotImplementedError

    def _apply_sparse_duplicate_indices(self, grad, var, state):
        return state._apply_summed_sparse(grad, var)

    def _resource_apply_sparse_duplicate_indices(self, grad, handle, indices, state):
        return state._apply_summed_resource_sparse(grad, handle, indices)

    def _apply_sparse(self, grad, var, state):
        raise NotImplementedError

    def _resource_apply_sparse(self, grad, handle, indices, state):
        raise NotImplementedError

    def _finish(self, state):
        return None


class KernelOptimizer(OptimizerV2):
    """An optimizer whose step is computed by a kernel of TensorFlow."""

    def _arguments(self, var, state):
        """Returns the name of the kernel, its slots, its scalars and its further arguments.

        Args:
          var: variable.
          state: State of the optimizer.

        Returns:
          str; dictionary argument -> slot; dictionary argument -> number or hyperparameter's name;
          dictionary.
        """
        raise NotImplementedError

    def _run(self, kind, read, grad, var, state, **options):
        name, slots, scalars, more = self._arguments(var, state)
        dtype = var.dtype.base_dtype
        tensors = {
            key: state.get_hyper(value, dtype) if isinstance(value, str) else value
            for key, value in scalars.items()
        }
        kernel = getattr(_kernels, f"{kind}apply_{name}")
        done = kernel(
            var=read(var),
            **{key: read(slot) for key, slot in slots.items()},
            **tensors,
            grad=grad,
            use_locking=self._use_locking,
            **more,
            **options,
        )
        return getattr(done, "op", done)

    def _apply_dense(self, grad, var, state):
        return self._run("", _itself, grad, var, state)

    def _resource_apply_dense(self, grad, var, state):
        return self._run("resource_", _handle, grad, var, state)

    def _apply_sparse(self, grad, var, state):
        return self._run("sparse_", _itself, grad.values, var, state, indices=grad.indices)

    def _resource_apply_sparse(self, grad, var, indices, state):
        return self._run("resource_sparse_", _handle, grad, var, state, indices=indices)


def _itself(var):
    return var


def _handle(var):
    return var.handle
