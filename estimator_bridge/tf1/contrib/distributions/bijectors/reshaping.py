"""The bijector that changes the shape of events."""

import numpy as np
import tensorflow.compat.v1 as tf

from estimator_bridge.private_tf import distributions_bijector as _base

__all__ = ["Reshape"]


class Reshape(_base.Bijector):
    """Changes the shape of an event.

    Args:
      event_shape_out: shape of an event y, a tensor or list of ints; -1 for one unknown size.
      event_shape_in: shape of an event x; one size may be -1.
      validate_args: whether to check the shapes when the graph runs.
      name: name of the bijector; None for reshape.

    Raises:
      TypeError: a shape is not of integers.
      ValueError: a shape is not a vector; or does not fit, when a method is called.
    """

    def __init__(self, event_shape_out, event_shape_in=(-1,), validate_args=False, name=None):
        with tf.name_scope(name, "reshape", values=[event_shape_out, event_shape_in]):
            self._out = _checked_shape(event_shape_out, "event_shape_out", validate_args)
            self._in = _checked_shape(event_shape_in, "event_shape_in", validate_args)
        super().__init__(
            forward_min_event_ndims=0,
            is_constant_jacobian=True,
            validate_args=validate_args,
            name=name or "reshape",
        )

    def _change(self, x, before, after):
        """Returns x with the event shape `before` as one of the event shape `after`."""
        count = _length(before)
        shape = tf.shape(x)
        batch = shape[: tf.size(shape) - count]
        checks = []
        if self.validate_args:
            given = shape[tf.size(shape) - count :]
            wanted = tf.where(before >= 0, before, given)
            message = "Input event shape does not match `event_shape_in`."
            checks.append(tf.assert_equal(given, wanted, message=message))
        with tf.control_dependencies(checks):
            y = tf.reshape(x, tf.concat([batch, after], 0))
        if x.shape.ndims is not None:
            event = x.shape[x.shape.ndims - count :]
            y.set_shape(x.shape[: x.shape.ndims - count].concatenate(_new(event, before, after)))
        return y

    def _forward(self, x):
        return self._change(x, self._in, self._out)

    def _inverse(self, y):
        return self._change(y, self._out, self._in)

    def _inverse_log_det_jacobian(self, y):
        return tf.zeros([], y.dtype.base_dtype)

    def _forward_log_det_jacobian(self, x):
        return tf.zeros([], x.dtype.base_dtype)

    def _forward_event_shape(self, input_shape):
        return _new(input_shape, self._in, self._out)

    def _inverse_event_shape(self, output_shape):
        return _new(output_shape, self._out, self._in)

    def _forward_event_shape_tensor(self, input_shape):
        return _new_tensor(input_shape, self._in, self._out)

    def _inverse_event_shape_tensor(self, output_shape):
        return _new_tensor(output_shape, self._out, self._in)


def _length(shape):
    """Returns the length of a vector, an int."""
    return tf.compat.dimension_value(shape.shape[0])


def _checked_shape(shape, name, validate_args):
    """Returns a shape as a tensor [axes] of int32, after checks."""
    shape = tf.convert_to_tensor(shape, name=name, preferred_dtype=tf.int32)
    if not shape.dtype.is_integer:
        raise TypeError(f"{name} dtype ({shape.dtype.name}) should be `int`-like.")
    if shape.shape.ndims not in (None, 1):
        raise ValueError(f"`{name}` rank should be <= 1.")
    if validate_args and tf.get_static_value(shape) is None:
        unknown = tf.reduce_sum(tf.cast(tf.equal(shape, -1), tf.int32))
        checks = [
            tf.assert_less_equal(unknown, 1, message=f"`{name}` must have at most one `-1`."),
            tf.assert_greater_equal(shape, tf.constant(-1, shape.dtype)),
        ]
        with tf.control_dependencies(checks):
            shape = tf.identity(shape)
    return shape


def _new(event, before, after):
    """Returns the static shape `after` of an event that has the shape `event` of `before`."""
    known, old = tf.get_static_value(after), tf.get_static_value(before)
    if event.ndims is not None and old is not None:
        if event.ndims < len(old):
            raise ValueError("Input shape must be compatible with `event_shape_in`.")
        wanted = tf.TensorShape([None if size == -1 else int(size) for size in old])
        tail = event[event.ndims - len(old) :]
        if not tail.is_compatible_with(wanted):
            raise ValueError(f"Input event shape {tail} is not compatible with {wanted}.")
        event, rest = tail.merge_with(wanted), event[: event.ndims - len(old)]
    else:
        rest = tf.TensorShape([])
    if known is None:
        return tf.TensorShape([None] * _length(after))
    sizes = [None if size == -1 else int(size) for size in known]
    if None in sizes and event.num_elements() is not None:
        others = int(np.prod([size for size in sizes if size is not None], dtype=int))
        sizes[sizes.index(None)] = event.num_elements() // others if others else None
    return rest.concatenate(sizes)


def _new_tensor(event, before, after):
    """Does the same with tensors."""
    count = _length(before)
    rest, tail = event[: tf.size(event) - count], event[tf.size(event) - count :]
    after = tf.cast(after, event.dtype)
    total = tf.reduce_prod(tail)
    others = tf.reduce_prod(tf.where(after >= 0, after, tf.ones_like(after)))
    return tf.concat(
        [rest, tf.where(after >= 0, after, tf.fill(tf.shape(after), total // others))], 0
    )
