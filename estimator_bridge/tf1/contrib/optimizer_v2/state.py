"""The variables of an optimizer in a graph, and its hyperparameters in a step."""

import tensorflow.compat.v1 as tf

__all__ = ["State"]


class State(tf.train.Optimizer):
    """What the methods of an OptimizerV2 get as `state`; it applies gradients in their name.

    Args:
      owner: OptimizerV2, whose methods define the step.
      hyper: dictionary, name -> number, tensor or function; the owner may change it.
    """

    def __init__(self, owner, hyper):
        super().__init__(owner._use_locking, owner._name)
        self._owner, self._hyper_values = owner, hyper
        self._tensors = {}

    # What the owner reads and creates.

    def get_hyper(self, name, dtype=None):
        """Returns a hyperparameter, a scalar tensor.

        Args:
          name: str.
          dtype: dtype to cast to, or None.
        """
        value = self._tensors[name]
        return value if dtype is None else tf.cast(value, dtype)

    def create_slot(self, var, val, slot_name, optional_op_name=None):
        """Returns a slot of a variable, which it creates first if needed.

        Args:
          var: variable.
          val: tensor of the shape of `var`, the initial value.
          slot_name: str.
          optional_op_name: name of the slot's scope; None for that of the optimizer.
        """
        return self._get_or_make_slot(var, val, slot_name, optional_op_name or self._name)

    def create_slot_with_initializer(
        self, var, initializer, shape, dtype, slot_name, optional_op_name=None
    ):
        """Returns a slot of a variable, which it creates first if needed.

        Args:
          var: variable.
          initializer: initializer of the slot.
          shape: TensorShape of the slot.
          dtype: dtype of the slot.
          slot_name: str.
          optional_op_name: name of the slot's scope; None for that of the optimizer.
        """
        return self._get_or_make_slot_with_initializer(
            var, initializer, shape, dtype, slot_name, optional_op_name or self._name
        )

    def zeros_slot(self, var, slot_name, optional_op_name=None):
        """Returns a slot of a variable, which it creates with zeros first if needed.

        Args:
          var: variable.
          slot_name: str.
          optional_op_name: name of the slot's scope; None for that of the optimizer.
        """
        return self._zeros_slot(var, slot_name, optional_op_name or self._name)

    def create_non_slot(self, initial_value, name, colocate_with=None):
        """Returns a variable of the optimizer, which it creates first if needed.

        Args:
          initial_value: number or tensor.
          name: str.
          colocate_with: variable beside which it is placed; None for the first one.
        """
        place = self._first if colocate_with is None else colocate_with
        return self._create_non_slot_variable(initial_value, name, place)

    def get_non_slot(self, name):
        """Returns a variable of the optimizer, or None.

        Args:
          name: str.
        """
        return self._get_non_slot_variable(name, graph=tf.get_default_graph())

    # What tf.train.Optimizer.apply_gradients calls.

    def _read(self, only_static):
        for name in sorted(self._hyper_values):
            value = self._hyper_values[name]
            if callable(value):
                value = None if only_static and name in self._tensors else value()
            elif name in self._tensors:
                value = None
            if value is not None:
                self._tensors[name] = tf.convert_to_tensor(value, name=name)

    def _create_slots(self, var_list):
        with tf.name_scope(f"{self._name}/"):
            self._read(only_static=True)
        self._first = min(var_list, key=lambda var: var.name)
        self._owner._create_vars(var_list, self)

    def _prepare(self):
        self._read(only_static=False)
        self._owner._prepare(self)

    def _apply_dense(self, grad, var):
        return self._owner._apply_dense(grad, var, self)

    def _resource_apply_dense(self, grad, handle):
        return self._owner._resource_apply_dense(grad, handle, self)

    def _apply_sparse_duplicate_indices(self, grad, var):
        return self._owner._apply_sparse_duplicate_indices(grad, var, self)

    def _resource_apply_sparse_duplicate_indices(self, grad, handle, indices):
        return self._owner._resource_apply_sparse_duplicate_indices(grad, handle, indices, self)

    def _apply_summed_sparse(self, grad, var):
        """Applies a sparse gradient without repeated rows."""
        return super()._apply_sparse_duplicate_indices(grad, var)

    def _apply_summed_resource_sparse(self, grad, handle, indices):
        """Applies the rows of a gradient of a resource variable, none of which is repeated."""
        return super()._resource_apply_sparse_duplicate_indices(grad, handle, indices)

    def _apply_sparse(self, grad, var):
        return self._owner._apply_sparse(grad, var, self)

    def _resource_apply_sparse(self, grad, handle, indices):
        return self._owner._resource_apply_sparse(grad, handle, indices, self)

    def _finish(self, update_ops, name_scope):
        done = tf.group(*update_ops)
        with tf.control_dependencies([done]):
            finished = self._owner._finish(self)
        return tf.group(done, *([] if finished is None else [finished]), name=name_scope)
