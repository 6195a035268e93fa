"""Optimizers of `tf.contrib.opt` that minimize outside of TensorFlow, above all with SciPy."""

import numpy as np
import tensorflow.compat.v1 as tf

__all__ = ["ExternalOptimizerInterface", "ScipyOptimizerInterface"]


class ExternalOptimizerInterface:
    """Minimizes a loss with an optimizer that calls functions of a vector of all variables.

    A subclass implements `_minimize`.

    Args:
      loss: scalar tensor.
      var_list: variables to optimize; None for all trainable ones.
      equalities: tensors that are to become 0, or None.
      inequalities: tensors that are to stay at or above 0, or None.
      var_to_bounds: {variable: (lower, upper)}, each a number or an array that broadcasts to the
        variable's shape, or None.
      **optimizer_kwargs: further arguments of the optimizer.
    """

    def __init__(
        self,
        loss,
        var_list=None,
        equalities=None,
        inequalities=None,
        var_to_bounds=None,
        **optimizer_kwargs,
    ):
        self.optimizer_kwargs = optimizer_kwargs
        self._loss = loss
        self._vars = list(tf.trainable_variables() if var_list is None else var_list)
        self._equalities = list(equalities or [])
        self._inequalities = list(inequalities or [])
        sizes = [variable.shape.num_elements() for variable in self._vars]
        self._ends = np.cumsum([0, *sizes])
        self._bounds = self._pack_bounds(var_to_bounds)
        self._gradients = self._differentiate(loss)
        self._equality_gradients = [self._differentiate(one) for one in self._equalities]
        self._inequality_gradients = [self._differentiate(one) for one in self._inequalities]
        self._new_values = [tf.placeholder(one.dtype.base_dtype, one.shape) for one in self._vars]
        pairs = zip(self._vars, self._new_values)
        self._updates = tf.group(*(variable.assign(value) for variable, value in pairs))

    def minimize(
        self,
        session=None,
        feed_dict=None,
        fetches=None,
        step_callback=None,
        loss_callback=None,
        **run_kwargs,
    ):
        """Minimizes the loss, and sets the variables to what was found.

        Args:
          session: session to run in; None for the default one.
          feed_dict: feeds of each run, or None.
          fetches: tensors whose values `loss_callback` gets, or None.
          step_callback: function of the vector of all variables, called after each step, or None.
          loss_callback: function of the values of `fetches`, called whenever the loss has been
            computed, or None.
          **run_kwargs: further arguments of `session.run`.

        Raises:
          ValueError: there is no session.
        """
        session = session or tf.get_default_session()
        if session is None:
            raise ValueError("minimize: pass a session, or call it in a `with` block of a session")
        fetches = list(fetches or [])

        def assign(vector):
            parts = zip(self._new_values, self._ends, self._ends[1:])
            values = {one: np.reshape(vector[a:b], one.shape.as_list()) for one, a, b in parts}
            session.run(self._updates, values, **run_kwargs)

        def run(vector, tensors):
            assign(vector)
            return session.run(tensors, feed_dict, **run_kwargs)

        def loss_and_gradient(vector):
            value, gradients, seen = run(vector, [self._loss, self._gradients, fetches])
            if loss_callback is not None:
                loss_callback(*seen)
            return value, _pack(gradients)

        def functions(tensors):
            return [lambda vector, one=one: run(vector, one) for one in tensors]

        def gradients(lists):
            return [lambda vector, one=one: _pack(run(vector, one)) for one in lists]

        assign(
            self._minimize(
                initial_val=_pack(session.run(self._vars)),
                loss_grad_func=loss_and_gradient,
                equality_funcs=functions(self._equalities),
                equality_grad_funcs=gradients(self._equality_gradients),
                inequality_funcs=functions(self._inequalities),
                inequality_grad_funcs=gradients(self._inequality_gradients),
                packed_bounds=self._bounds,
                step_callback=step_callback,
                optimizer_kwargs=dict(self.optimizer_kwargs),
            )
        )

    def _minimize(
        self,
        initial_val,
        loss_grad_func,
        equality_funcs,
        equality_grad_funcs,
        inequality_funcs,
        inequality_grad_funcs,
        packed_bounds,
        step_callback,
        optimizer_kwargs,
    ):
        """Returns the vector at which the loss is least; for subclasses."""
        raise NotImplementedError("_minimize: implement it in a subclass")

    def _pack_bounds(self, var_to_bounds):
        """Returns (lower, upper) of each number of the vector, or None."""
        if var_to_bounds is None:
            return None
        given = {id(variable): pair for variable, pair in var_to_bounds.items()}
        packed = []
        for variable in self._vars:
            pair = given.get(id(variable), (-np.inf, np.inf))
            ends = [np.broadcast_to(end, variable.shape.as_list()).ravel() for end in pair]
            packed += zip(*ends)
        return packed

    def _differentiate(self, value):
        """Returns the gradients of a tensor as dense tensors, one for each variable."""
        gradients = zip(self._vars, tf.gradients(value, self._vars))
        return [
            tf.zeros_like(variable) if one is None else tf.convert_to_tensor(one)
            for variable, one in gradients
        ]


class ScipyOptimizerInterface(ExternalOptimizerInterface):
    """Minimizes a loss with `scipy.optimize.minimize`.

    Args:
      loss: scalar tensor.
      var_list: variables to optimize; None for all trainable ones.
      equalities: tensors that are to become 0, or None.
      inequalities: tensors that are to stay at or above 0, or None.
      var_to_bounds: {variable: (lower, upper)}, or None.
      **optimizer_kwargs: further arguments of `scipy.optimize.minimize`, such as `method` (L-BFGS-B
        if it is missing) and `options`.
    """

    _DEFAULT_METHOD = "L-BFGS-B"

    def _minimize(
        self,
        initial_val,
        loss_grad_func,
        equality_funcs,
        equality_grad_funcs,
        inequality_funcs,
        inequality_grad_funcs,
        packed_bounds,
        step_callback,
        optimizer_kwargs,
    ):
        import scipy.optimize  # Imported on use, because it takes long.

        constraints = [
            {"type": kind, "fun": function, "jac": gradient}
            for kind, functions, gradients in (
                ("eq", equality_funcs, equality_grad_funcs),
                ("ineq", inequality_funcs, inequality_grad_funcs),
            )
            for function, gradient in zip(functions, gradients)
        ]
        arguments = {"method": self._DEFAULT_METHOD, "callback": step_callback, **optimizer_kwargs}
        if packed_bounds is not None:
            arguments["bounds"] = packed_bounds
        result = scipy.optimize.minimize(
            loss_grad_func, initial_val, jac=True, constraints=constraints, **arguments
        )
        lines = [
            "Optimization terminated with:",
            f"  Message: {result.message}",
            f"  Objective function value: {float(result.fun):f}",
        ]
        if "nit" in result:
            lines.append(f"  Number of iterations: {result.nit}")
        if "nfev" in result:
            lines.append(f"  Number of functions evaluations: {result.nfev}")
        tf.logging.info("\n".join(lines))
        return result.x


def _pack(values):
    """Returns arrays as one vector of float64, the type in which SciPy computes."""
    return np.concatenate([np.ravel(value) for value in values]).astype(np.float64)
