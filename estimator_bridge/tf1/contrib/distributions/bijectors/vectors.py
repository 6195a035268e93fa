"""Bijectors that order, permute or normalize vectors."""

import numpy as np
import tensorflow.compat.v1 as tf

from estimator_bridge.private_tf import distributions_bijector as _base

__all__ = ["Ordered", "Permute", "SoftmaxCentered"]


class Ordered(_base.Bijector):
    """Maps increasing vectors to any vectors: y_0 = x_0, y_i = log(x_i - x_{i-1}).

    Args:
      validate_args: whether to check when the graph runs that x increases.
      name: name of the bijector.
    """

    def __init__(self, validate_args=False, name="ordered"):
        super().__init__(forward_min_event_ndims=1, validate_args=validate_args, name=name)

    def _forward_event_shape(self, input_shape):
        _require_vector(input_shape)
        return input_shape

    def _inverse_event_shape(self, output_shape):
        _require_vector(output_shape)
        return output_shape

    def _checked(self, x):
        if not self.validate_args:
            return x
        message = "Forward transformation input must be strictly increasing."
        steps = x[..., 1:] - x[..., :-1]
        with tf.control_dependencies([tf.assert_positive(steps, message=message)]):
            return tf.identity(x)

    def _forward(self, x):
        x = self._checked(x)
        return tf.concat([x[..., :1], tf.log(x[..., 1:] - x[..., :-1])], -1)

    def _inverse(self, y):
        return tf.cumsum(tf.concat([y[..., :1], tf.exp(y[..., 1:])], -1), axis=-1)

    def _inverse_log_det_jacobian(self, y):
        return tf.reduce_sum(y[..., 1:], -1)

    def _forward_log_det_jacobian(self, x):
        x = self._checked(x)
        return -tf.reduce_sum(tf.log(x[..., 1:] - x[..., :-1]), -1)


def _require_vector(shape):
    if shape.ndims is None or shape.ndims < 1:
        raise ValueError(f"expected an event of at least one axis, got {shape}")


class Permute(_base.Bijector):
    """y[..., i] = x[..., permutation[i]].

    Args:
      permutation: tensor [k] of int32, each number below k once.
      validate_args: whether to check the permutation when the graph runs.
      name: name of the bijector; None for permute.

    Raises:
      TypeError: `permutation` has another dtype than int32 or int64.
      ValueError: the permutation is known and is none.
    """

    def __init__(self, permutation, validate_args=False, name=None):
        with tf.name_scope(name, "permute", values=[permutation]):
            permutation = tf.convert_to_tensor(permutation, name="permutation")
            if not permutation.dtype.is_integer:
                raise TypeError(
                    f"permutation.dtype ({permutation.dtype.name}) should be `int`-like."
                )
            known = tf.get_static_value(permutation)
            if known is not None and not np.array_equal(np.sort(known), np.arange(known.size)):
                raise ValueError(
                    "Permutation over `d` must contain exactly one of each of `{0, 1, ..., d}`."
                )
            if known is None and validate_args:
                message = (
                    "Permutation over `d` must contain exactly one of each of `{0, 1, ..., d}`."
                )
                places = tf.range(tf.size(permutation, out_type=permutation.dtype))
                check = tf.assert_equal(tf.sort(permutation), places, message=message)
                with tf.control_dependencies([check]):
                    permutation = tf.identity(permutation)
        self._permutation = permutation
        super().__init__(
            forward_min_event_ndims=1,
            is_constant_jacobian=True,
            validate_args=validate_args,
            name=name or "permute",
        )

    @property
    def permutation(self):
        """The tensor `permutation`."""
        return self._permutation

    def _forward(self, x):
        return tf.gather(x, self._permutation, axis=-1)

    def _inverse(self, y):
        return tf.gather(y, tf.math.invert_permutation(self._permutation), axis=-1)

    def _inverse_log_det_jacobian(self, y):
        return tf.zeros([], y.dtype.base_dtype)

    def _forward_log_det_jacobian(self, x):
        return tf.zeros([], x.dtype.base_dtype)


class SoftmaxCentered(_base.Bijector):
    """y = softmax([x, 0]), from vectors of k - 1 numbers to probabilities of k classes.

    Args:
      validate_args: whether to check when the graph runs that y are probabilities.
      name: name of the bijector.
    """

    def __init__(self, validate_args=False, name="softmax_centered"):
        super().__init__(forward_min_event_ndims=1, validate_args=validate_args, name=name)

    def _forward_event_shape(self, input_shape):
        if input_shape.ndims is None or not input_shape.ndims:
            return input_shape
        size = tf.compat.dimension_value(input_shape[-1])
        return input_shape[:-1].concatenate([None if size is None else size + 1])

    def _forward_event_shape_tensor(self, input_shape):
        return tf.concat([input_shape[:-1], input_shape[-1:] + 1], 0)

    def _inverse_event_shape(self, output_shape):
        if output_shape.ndims is None or not output_shape.ndims:
            return output_shape
        size = tf.compat.dimension_value(output_shape[-1])
        if size is not None and size <= 1:
            raise ValueError(f"output_shape[-1] = {size} <= 1")
        return output_shape[:-1].concatenate([None if size is None else size - 1])

    def _inverse_event_shape_tensor(self, output_shape):
        return tf.concat([output_shape[:-1], output_shape[-1:] - 1], 0)

    def _forward(self, x):
        return tf.nn.softmax(tf.concat([x, tf.zeros_like(x[..., :1])], -1))

    def _inverse(self, y):
        logs = tf.log(y)
        return logs[..., :-1] - logs[..., -1:]

    def _inverse_log_det_jacobian(self, y):
        return -tf.reduce_sum(tf.log(y), -1)

    def _forward_log_det_jacobian(self, x):
        classes = tf.cast(tf.shape(x)[-1] + 1, x.dtype.base_dtype)
        total = tf.reduce_logsumexp(tf.concat([x, tf.zeros_like(x[..., :1])], -1), -1)
        return tf.reduce_sum(x, -1) - classes * total
