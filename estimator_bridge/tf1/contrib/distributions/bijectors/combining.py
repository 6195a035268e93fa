"""Bijectors made of other bijectors or of functions."""

import tensorflow.compat.v1 as tf

from estimator_bridge.private_tf import distributions_bijector as _base

__all__ = ["Chain", "ConditionalBijector", "Inline", "Invert"]


def _unchanged(shape):
    return shape


def _new_ndims(x, ndims, event_shape, change):
    """Returns the number of axes of an event after a bijector.

    Args:
      x: tensor before it.
      ndims: number of axes of the event before it.
      event_shape: its function from event shape to event shape.
      change: by how much it changes the least number of axes.
    """
    if x.shape.ndims is None:
        return ndims + change
    # Reshape does not say how many axes it needs, as in 1.15, so the shapes count.
    return event_shape(x.shape[x.shape.ndims - ndims :]).ndims


class ConditionalBijector(_base.Bijector):
    """A bijector whose methods pass further arguments on.

    A subclass defines `_forward(x, **condition_kwargs)` and its relatives. The arguments of the
    constructor are those of Bijector.
    """

    def forward(self, x, name="forward", **condition_kwargs):
        """Returns g(x).

        Args:
          x: float tensor [..., event].
          name: name of the operations.
          **condition_kwargs: further arguments of the method of the subclass.
        """
        return self._call_forward(x, name, **condition_kwargs)

    def inverse(self, y, name="inverse", **condition_kwargs):
        """Returns x where g(x) = y.

        Args:
          y: float tensor [..., event].
          name: name of the operations.
          **condition_kwargs: further arguments of the method of the subclass.
        """
        return self._call_inverse(y, name, **condition_kwargs)

    def inverse_log_det_jacobian(
        self, y, event_ndims, name="inverse_log_det_jacobian", **condition_kwargs
    ):
        """Returns log|det dx/dy|.

        Args:
          y: float tensor [..., event].
          event_ndims: int, number of axes of an event.
          name: name of the operations.
          **condition_kwargs: further arguments of the method of the subclass.
        """
        return self._call_inverse_log_det_jacobian(y, event_ndims, name, **condition_kwargs)

    def forward_log_det_jacobian(
        self, x, event_ndims, name="forward_log_det_jacobian", **condition_kwargs
    ):
        """Returns log|det dy/dx|.

        Args:
          x: float tensor [..., event].
          event_ndims: int, number of axes of an event.
          name: name of the operations.
          **condition_kwargs: further arguments of the method of the subclass.
        """
        return self._call_forward_log_det_jacobian(x, event_ndims, name, **condition_kwargs)


class Chain(_base.Bijector):
    """A composition of bijectors: Chain([a, b]).forward(x) is a.forward(b.forward(x)).

    Methods take further arguments for the bijectors by their names: `exp={"argument": 1}`.

    Args:
      bijectors: list of bijectors; None or an empty list for the identity.
      validate_args: whether to check arguments when the graph runs.
      name: name of the bijector; None for chain_of_ and the names of the bijectors.

    Raises:
      NotImplementedError: a bijector is not injective.
      ValueError: the bijectors have different dtypes.
    """

    def __init__(self, bijectors=None, validate_args=False, name=None):
        self._bijectors = tuple(bijectors or ())
        for one in self._bijectors:
            if not one._is_injective:
                raise NotImplementedError(
                    f"Invert is not implemented for non-injective bijector ({one.name})"
                )
        dtypes = list({one.dtype for one in self._bijectors if one.dtype is not None})
        if len(dtypes) > 1:
            raise ValueError(f"incompatible dtypes: {dtypes}")
        names = [one.name for one in self._bijectors]
        least, change = 0, 0
        for one in reversed(self._bijectors):
            least = max(least, one.forward_min_event_ndims - change)
            change += one.inverse_min_event_ndims - one.forward_min_event_ndims
        super().__init__(
            graph_parents=[parent for one in self._bijectors for parent in one.graph_parents],
            is_constant_jacobian=all(one.is_constant_jacobian for one in self._bijectors),
            validate_args=validate_args,
            dtype=dtypes[0] if dtypes else None,
            forward_min_event_ndims=least,
            inverse_min_event_ndims=least + change,
            name=name or ("_of_".join(["chain", *names]) if names else "identity"),
        )

    @property
    def bijectors(self):
        """The list of bijectors."""
        return list(self._bijectors)

    def _forward_event_shape(self, input_shape):
        for one in reversed(self._bijectors):
            input_shape = one.forward_event_shape(input_shape)
        return input_shape

    def _forward_event_shape_tensor(self, input_shape):
        for one in reversed(self._bijectors):
            input_shape = one.forward_event_shape_tensor(input_shape)
        return input_shape

    def _inverse_event_shape(self, output_shape):
        for one in self._bijectors:
            output_shape = one.inverse_event_shape(output_shape)
        return output_shape

    def _inverse_event_shape_tensor(self, output_shape):
        for one in self._bijectors:
            output_shape = one.inverse_event_shape_tensor(output_shape)
        return output_shape

    def _forward(self, x, **kwargs):
        for one in reversed(self._bijectors):
            x = one.forward(x, **kwargs.get(one.name, {}))
        return x

    def _inverse(self, y, **kwargs):
        for one in self._bijectors:
            y = one.inverse(y, **kwargs.get(one.name, {}))
        return y

    def _forward_log_det_jacobian(self, x, **kwargs):
        x = tf.convert_to_tensor(x, name="x")
        total = tf.zeros([], x.dtype.base_dtype)
        ndims = self.forward_min_event_ndims
        for one in reversed(self._bijectors):
            options = kwargs.get(one.name, {})
            total += one.forward_log_det_jacobian(x, event_ndims=ndims, **options)
            change = one.inverse_min_event_ndims - one.forward_min_event_ndims
            ndims = _new_ndims(x, ndims, one.forward_event_shape, change)
            x = one.forward(x, **options)
        return total

    def _inverse_log_det_jacobian(self, y, **kwargs):
        y = tf.convert_to_tensor(y, name="y")
        total = tf.zeros([], y.dtype.base_dtype)
        ndims = self.inverse_min_event_ndims
        for one in self._bijectors:
            options = kwargs.get(one.name, {})
            total += one.inverse_log_det_jacobian(y, event_ndims=ndims, **options)
            change = one.forward_min_event_ndims - one.inverse_min_event_ndims
            ndims = _new_ndims(y, ndims, one.inverse_event_shape, change)
            y = one.inverse(y, **options)
        return total


class Invert(_base.Bijector):
    """The inverse of a bijector.

    Args:
      bijector: the bijector.
      validate_args: whether to check arguments when the graph runs.
      name: name of the bijector; None for invert_ and the name of `bijector`.

    Raises:
      NotImplementedError: the bijector is not injective.
    """

    def __init__(self, bijector, validate_args=False, name=None):
        if not bijector._is_injective:
            raise NotImplementedError("Invert is not implemented for non-injective bijectors.")
        self._bijector = bijector
        super().__init__(
            graph_parents=bijector.graph_parents,
            forward_min_event_ndims=bijector.inverse_min_event_ndims,
            inverse_min_event_ndims=bijector.forward_min_event_ndims,
            is_constant_jacobian=bijector.is_constant_jacobian,
            validate_args=validate_args,
            dtype=bijector.dtype,
            name=name or f"invert_{bijector.name}",
        )

    @property
    def bijector(self):
        """The bijector whose inverse this is."""
        return self._bijector

    def _forward_event_shape(self, input_shape):
        return self._bijector._inverse_event_shape(input_shape)

    def _forward_event_shape_tensor(self, input_shape):
        return self._bijector._inverse_event_shape_tensor(input_shape)

    def _inverse_event_shape(self, output_shape):
        return self._bijector._forward_event_shape(output_shape)

    def _inverse_event_shape_tensor(self, output_shape):
        return self._bijector._forward_event_shape_tensor(output_shape)

    def _forward(self, x, **kwargs):
        return self._bijector._inverse(x, **kwargs)

    def _inverse(self, y, **kwargs):
        return self._bijector._forward(y, **kwargs)

    def _inverse_log_det_jacobian(self, y, **kwargs):
        return self._bijector._call_forward_log_det_jacobian(
            y, self._bijector.forward_min_event_ndims, "forward_log_det_jacobian", **kwargs
        )

    def _forward_log_det_jacobian(self, x, **kwargs):
        return self._bijector._call_inverse_log_det_jacobian(
            x, self._bijector.inverse_min_event_ndims, "inverse_log_det_jacobian", **kwargs
        )


class Inline(_base.Bijector):
    """A bijector of given functions.

    Args:
      forward_fn: function of x that returns g(x), or None.
      inverse_fn: function of y that returns x, or None.
      inverse_log_det_jacobian_fn: function of y that returns log|det dx/dy|, or None.
      forward_log_det_jacobian_fn: function of x that returns log|det dy/dx|, or None.
      forward_event_shape_fn: function from static event shape to event shape; None for no change.
      forward_event_shape_tensor_fn: the same of tensors.
      inverse_event_shape_fn: function from static event shape to event shape; None for no change.
      inverse_event_shape_tensor_fn: the same of tensors.
      is_constant_jacobian: whether the Jacobian does not depend on x.
      validate_args: whether to check arguments when the graph runs.
      forward_min_event_ndims: int, least number of axes of an event x.
      inverse_min_event_ndims: int, least number of axes of an event y.
      name: name of the bijector.

    Raises:
      NotImplementedError: a method is called whose function is None.
    """

    def __init__(
        self,
        forward_fn=None,
        inverse_fn=None,
        inverse_log_det_jacobian_fn=None,
        forward_log_det_jacobian_fn=None,
        forward_event_shape_fn=None,
        forward_event_shape_tensor_fn=None,
        inverse_event_shape_fn=None,
        inverse_event_shape_tensor_fn=None,
        is_constant_jacobian=False,
        validate_args=False,
        forward_min_event_ndims=None,
        inverse_min_event_ndims=None,
        name="inline",
    ):
        super().__init__(
            forward_min_event_ndims=forward_min_event_ndims,
            inverse_min_event_ndims=inverse_min_event_ndims,
            is_constant_jacobian=is_constant_jacobian,
            validate_args=validate_args,
            name=name,
        )
        self._functions = {
            "forward_fn": forward_fn,
            "inverse_fn": inverse_fn,
            "inverse_log_det_jacobian_fn": inverse_log_det_jacobian_fn,
            "forward_log_det_jacobian_fn": forward_log_det_jacobian_fn,
        }
        self._forward_event_shape = forward_event_shape_fn or _unchanged
        self._forward_event_shape_tensor = forward_event_shape_tensor_fn or _unchanged
        self._inverse_event_shape = inverse_event_shape_fn or _unchanged
        self._inverse_event_shape_tensor = inverse_event_shape_tensor_fn or _unchanged

    def _call(self, function, *args, **kwargs):
        if not callable(self._functions[function]):
            raise NotImplementedError(f"{function} is not a callable function.")
        return self._functions[function](*args, **kwargs)

    def _forward(self, x, **kwargs):
        return self._call("forward_fn", x, **kwargs)

    def _inverse(self, y, **kwargs):
        return self._call("inverse_fn", y, **kwargs)

    def _inverse_log_det_jacobian(self, y, **kwargs):
        return self._call("inverse_log_det_jacobian_fn", y, **kwargs)

    def _forward_log_det_jacobian(self, x, **kwargs):
        return self._call("forward_log_det_jacobian_fn", x, **kwargs)
