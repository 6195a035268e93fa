"""Problems with constraints, and what their optimizers share."""

import abc

import tensorflow.compat.v1 as tf

__all__ = [
    "ConstrainedMinimizationProblem",
    "ConstrainedOptimizer",
    "TwoPlayerOptimizer",
    "project",
    "read_problem",
]


class ConstrainedMinimizationProblem(abc.ABC):
    """A loss to minimize while constraints are at most 0. Programs define its properties."""

    @property
    @abc.abstractmethod
    def objective(self):
        """The loss, a floating scalar tensor."""

    @property
    @abc.abstractmethod
    def constraints(self):
        """The constraints, a floating tensor [m]; each is to be at most 0."""

    @property
    def num_constraints(self):
        """int, the number of constraints.

        Raises:
          ValueError: the shape of the constraints is not known.
        """
        shape = self.constraints.shape
        if not shape.is_fully_defined():
            raise ValueError(f"constraints: the shape must be known, got {shape}")
        return shape.num_elements()

    @property
    def proxy_constraints(self):
        """Differentiable tensor [m] for the steps of the model; None for the constraints."""
        return None

    @property
    def pre_train_ops(self):
        """List of operations that run before each step, or None."""
        return None


def read_problem(problem):
    """Returns objective, constraints [m] and proxy constraints [m], floating tensors.

    Args:
      problem: ConstrainedMinimizationProblem.

    Raises:
      ValueError: a shape is not known, or the dtypes differ.
    """
    objective, constraints = problem.objective, problem.constraints
    proxies = problem.proxy_constraints
    proxies = constraints if proxies is None else proxies
    if not (constraints.shape.is_fully_defined() and proxies.shape.is_fully_defined()):
        raise ValueError("constraints: the shapes of constraints and proxies must be known")
    if len({one.dtype.base_dtype for one in (objective, constraints, proxies)}) > 1:
        raise ValueError("constraints: the dtypes of objective, constraints and proxies differ")
    return objective, tf.reshape(constraints, [-1]), tf.reshape(proxies, [-1])


class ConstrainedOptimizer(abc.ABC):
    """Base of optimizers of problems with constraints.

    A subclass defines `_minimize_constrained`.

    Args:
      optimizer: tf.train.Optimizer of the model.
    """

    def __init__(self, optimizer):
        self._optimizer = optimizer

    @property
    def optimizer(self):
        """tf.train.Optimizer of the model."""
        return self._optimizer

    @abc.abstractmethod
    def _minimize_constrained(self, minimization_problem, global_step, options, name):
        """Returns an operation; `options` are those of compute_gradients."""

    def minimize_constrained(
        self,
        minimization_problem,
        global_step=None,
        var_list=None,
        gate_gradients=tf.train.Optimizer.GATE_OP,
        aggregation_method=None,
        colocate_gradients_with_ops=False,
        name=None,
        grad_loss=None,
    ):
        """Returns the operation of a step that also keeps the constraints.

        Args:
          minimization_problem: ConstrainedMinimizationProblem.
          global_step: variable to increment, or None.
          var_list: variables; None for all trainable variables.
          gate_gradients: one of the GATE_ constants of tf.train.Optimizer.
          aggregation_method: one of tf.AggregationMethod, or None.
          colocate_gradients_with_ops: whether gradients are placed beside their operations.
          name: name of the operation, or None.
          grad_loss: gradient of the loss; None for 1.
        """
        options = {
            "var_list": var_list,
            "gate_gradients": gate_gradients,
            "aggregation_method": aggregation_method,
            "colocate_gradients_with_ops": colocate_gradients_with_ops,
            "grad_loss": grad_loss,
        }
        with tf.control_dependencies(minimization_problem.pre_train_ops or []):
            return self._minimize_constrained(minimization_problem, global_step, options, name)

    def minimize_unconstrained(
        self,
        minimization_problem,
        global_step=None,
        var_list=None,
        gate_gradients=tf.train.Optimizer.GATE_OP,
        aggregation_method=None,
        colocate_gradients_with_ops=False,
        name=None,
        grad_loss=None,
    ):
        """Returns the operation of a step that ignores the constraints.

        Args:
          minimization_problem: ConstrainedMinimizationProblem.
          global_step: variable to increment, or None.
          var_list: variables; None for all trainable variables.
          gate_gradients: one of the GATE_ constants of tf.train.Optimizer.
          aggregation_method: one of tf.AggregationMethod, or None.
          colocate_gradients_with_ops: whether gradients are placed beside their operations.
          name: name of the operation, or None.
          grad_loss: gradient of the loss; None for 1.
        """
        with tf.control_dependencies(minimization_problem.pre_train_ops or []):
            return self._optimizer.minimize(
                minimization_problem.objective,
                global_step=global_step,
                var_list=var_list,
                gate_gradients=gate_gradients,
                aggregation_method=aggregation_method,
                colocate_gradients_with_ops=colocate_gradients_with_ops,
                name=name,
                grad_loss=grad_loss,
            )

    def minimize(
        self,
        minimization_problem,
        unconstrained_steps=None,
        global_step=None,
        var_list=None,
        gate_gradients=tf.train.Optimizer.GATE_OP,
        aggregation_method=None,
        colocate_gradients_with_ops=False,
        name=None,
        grad_loss=None,
    ):
        """Returns the operation of a step, which at first may ignore the constraints.

        Args:
          minimization_problem: ConstrainedMinimizationProblem.
          unconstrained_steps: int, global step at which the constraints begin to count; None for
            the first.
          global_step: variable to increment, or None.
          var_list: variables; None for all trainable variables.
          gate_gradients: one of the GATE_ constants of tf.train.Optimizer.
          aggregation_method: one of tf.AggregationMethod, or None.
          colocate_gradients_with_ops: whether gradients are placed beside their operations.
          name: name of the operation, or None.
          grad_loss: gradient of the loss; None for 1.

        Raises:
          ValueError: there are unconstrained steps, but no global step.
        """
        options = {
            "global_step": global_step,
            "var_list": var_list,
            "gate_gradients": gate_gradients,
            "aggregation_method": aggregation_method,
            "colocate_gradients_with_ops": colocate_gradients_with_ops,
            "name": name,
            "grad_loss": grad_loss,
        }
        if unconstrained_steps is None:
            return self.minimize_constrained(minimization_problem, **options)
        if global_step is None:
            raise ValueError("global_step: it is needed for unconstrained_steps")
        begins = tf.less(tf.cast(global_step, tf.int64), tf.cast(unconstrained_steps, tf.int64))
        return tf.cond(
            begins,
            lambda: self.minimize_unconstrained(minimization_problem, **options),
            lambda: self.minimize_constrained(minimization_problem, **options),
        )


class TwoPlayerOptimizer(ConstrainedOptimizer):
    """The model minimizes, a state maximizes (Cotter, Jiang and Sridharan, 2018).

    Args:
      optimizer: tf.train.Optimizer of the model.
      constraint_optimizer: tf.train.Optimizer of the state; None for that of the model.
    """

    # Name of the variable of the state.
    _name = ""

    def __init__(self, optimizer, constraint_optimizer=None):
        super().__init__(optimizer)
        self._constraint_optimizer = constraint_optimizer

    @property
    def constraint_optimizer(self):
        """tf.train.Optimizer of the state, or None."""
        return self._constraint_optimizer

    def _minimize_constrained(self, minimization_problem, global_step, options, name):
        objective, constraints, proxies = read_problem(minimization_problem)
        count, dtype = constraints.shape.num_elements(), objective.dtype.base_dtype
        state = tf.Variable(
            lambda: tf.cast(self._initial_state(count), dtype),
            trainable=False,
            name=self._name,
            use_resource=True,
        )
        loss, gradient = self._play(state, objective, constraints, proxies)
        # The state goes up, the optimizer goes down.
        raised = [(-gradient, state)]
        found = self._optimizer.compute_gradients(loss, **options)
        if self._constraint_optimizer is None:
            update = self._optimizer.apply_gradients(found + raised, name="update")
        else:
            # Neither player sees the step of the other.
            gradients = [grad for grad, _ in found + raised if grad is not None]
            with tf.control_dependencies(gradients):
                update = tf.group(
                    self._optimizer.apply_gradients(found, name="update"),
                    self._constraint_optimizer.apply_gradients(
                        raised, name="optimizer_state_update"
                    ),
                )
        with tf.control_dependencies([update]):
            done = [update, state.assign(self._projected(state), name="project").op]
            if global_step is not None:
                done.append(tf.assign_add(global_step, 1, name="global_step_increment").op)
        return tf.group(*done, name=name)

    def _initial_state(self, num_constraints):
        raise NotImplementedError

    def _play(self, state, objective, constraints, proxies):
        """Returns the loss of the model, and the gradient of the state."""
        raise NotImplementedError

    def _projected(self, state):
        """Returns the admissible value beside that of the state."""
        raise NotImplementedError


def project(values, radius, axis, at_most):
    """Returns the nearest non-negative numbers with a sum.

    Args:
      values: floating tensor.
      radius: number, the sum along the axis.
      axis: int, or None for all.
      at_most: whether smaller sums stay.

    Returns:
      Floating tensor of the shape of `values`.
    """

    def shift(values, mask):
        total = tf.reduce_sum(values, axis=axis, keepdims=True)
        count = tf.reduce_sum(mask, axis=axis, keepdims=True)
        change = (radius - total) / tf.maximum(tf.ones([], values.dtype), count)
        values = values + (tf.minimum(0.0, change) if at_most else change) * mask
        kept = tf.cast(values > 0, values.dtype)
        return values * kept, kept

    ones = tf.ones_like(values)
    size = values.shape.num_elements() if axis is None else values.shape.as_list()[axis]
    found, kept = shift(tf.convert_to_tensor(values), ones)
    return tf.while_loop(
        lambda step, _, mask, before: tf.logical_and(
            step < size, tf.reduce_any(tf.not_equal(mask, before))
        ),
        lambda step, values, mask, before: (step + 1, *shift(values, mask), mask),
        (tf.constant(1), found, kept, ones),
        name="euclidean_projection",
    )[1]
