"""Bijectors of scalars: each changes every element of a tensor by itself."""

import math

import tensorflow.compat.v1 as tf

from estimator_bridge.private_tf import distributions_bijector as _base
from estimator_bridge.private_tf import distributions_util as _util
from estimator_bridge.tf1.contrib.distributions.scalar import checked

__all__ = [
    "Elementwise",
    "AbsoluteValue",
    "AffineScalar",
    "Sigmoid",
    "Softplus",
    "Softsign",
    "Square",
]


class Elementwise(_base.Bijector):
    """Base of the bijectors of scalars."""

    def __init__(self, validate_args, name, is_constant_jacobian=False):
        super().__init__(
            is_constant_jacobian=is_constant_jacobian,
            forward_min_event_ndims=0,
            validate_args=validate_args,
            name=name,
        )

    def checked(self, x, assertion, *limits, **options):
        """Returns x, of which an assertion is run first if `validate_args`.

        Args:
          x: float tensor [..., event].
          assertion: function that returns an assertion, such as tf.assert_positive.
          *limits: further arguments of the assertion.
          **options: further arguments of the assertion.
        """
        return checked(x, assertion, self.validate_args, *limits, **options)

    def within(self, y, low, high, message):
        """Returns y, of which low <= y <= high is checked if `validate_args`.

        Args:
          y: float tensor [..., event].
          low: float, the lower limit.
          high: float, the upper limit.
          message: of the error.
        """
        low, high = (tf.cast(limit, y.dtype.base_dtype) for limit in (low, high))
        y = self.checked(y, tf.assert_greater_equal, low, message=message)
        return self.checked(y, tf.assert_less_equal, high, message=message)


class AbsoluteValue(Elementwise):
    """y = |x|, which is not injective: the inverse is the pair (-y, y).

    Args:
      validate_args: whether to check when the graph runs that arguments of inverses are >= 0.
      name: name of the bijector.
    """

    def __init__(self, validate_args=False, name="absolute_value"):
        super().__init__(validate_args, name, is_constant_jacobian=True)

    @property
    def _is_injective(self):
        return False

    def _forward(self, x):
        return tf.abs(x)

    def _inverse(self, y):
        y = self.checked(y, tf.assert_non_negative, message="Argument y was negative")
        return -y, y

    def _inverse_log_det_jacobian(self, y):
        y = self.checked(y, tf.assert_non_negative, message="Argument y was negative")
        zeros = tf.zeros([], y.dtype.base_dtype)
        return zeros, zeros


class AffineScalar(Elementwise):
    """y = x * scale + shift.

    Args:
      shift: floating tensor that broadcasts against x, or None for 0.
      scale: floating tensor that broadcasts against x, or None for 1.
      validate_args: whether to check when the graph runs that no scale is 0.
      name: name of the bijector.
    """

    def __init__(self, shift=None, scale=None, validate_args=False, name="affine_scalar"):
        with tf.name_scope(name):
            self._shift = None if shift is None else tf.convert_to_tensor(shift, name="shift")
            self._scale = None if scale is None else tf.convert_to_tensor(scale, name="scale")
            if validate_args and scale is not None:
                zero = tf.zeros([], self._scale.dtype.base_dtype)
                with tf.control_dependencies([tf.assert_none_equal(self._scale, zero)]):
                    self._scale = tf.identity(self._scale)
        super().__init__(validate_args, name, is_constant_jacobian=True)

    @property
    def shift(self):
        """The tensor that is added, or None."""
        return self._shift

    @property
    def scale(self):
        """The tensor that is a factor, or None."""
        return self._scale

    def _forward(self, x):
        y = x if self._scale is None else x * self._scale
        return tf.identity(y) if self._shift is None else y + self._shift

    def _inverse(self, y):
        x = y if self._shift is None else y - self._shift
        return tf.identity(x) if self._scale is None else x / self._scale

    def _forward_log_det_jacobian(self, x):
        if self._scale is None:
            return tf.zeros([], x.dtype.base_dtype)
        return tf.log(tf.abs(self._scale))


class Sigmoid(Elementwise):
    """y = 1 / (1 + exp(-x)).

    Args:
      validate_args: ignored.
      name: name of the bijector.
    """

    def __init__(self, validate_args=False, name="sigmoid"):
        super().__init__(validate_args, name)

    def _forward(self, x):
        return tf.sigmoid(x)

    def _inverse(self, y):
        return tf.log(y) - tf.math.log1p(-y)

    def _inverse_log_det_jacobian(self, y):
        return -tf.log(y) - tf.math.log1p(-y)

    def _forward_log_det_jacobian(self, x):
        return -tf.nn.softplus(-x) - tf.nn.softplus(x)


class Softplus(Elementwise):
    """y = c log(1 + exp(x / c)).

    Args:
      hinge_softness: floating tensor c, not 0; None for 1.
      validate_args: whether to check when the graph runs that c is not 0.
      name: name of the bijector.
    """

    def __init__(self, hinge_softness=None, validate_args=False, name="softplus"):
        with tf.name_scope(name, values=[hinge_softness]):
            if hinge_softness is not None:
                hinge_softness = tf.convert_to_tensor(hinge_softness, name="hinge_softness")
        super().__init__(validate_args, name)
        if hinge_softness is not None:
            zero = tf.zeros([], hinge_softness.dtype.base_dtype)
            message = "hinge_softness must be non-zero"
            hinge_softness = self.checked(
                hinge_softness, tf.assert_none_equal, zero, message=message
            )
        self._hinge_softness = hinge_softness

    @property
    def hinge_softness(self):
        """The tensor c, or None."""
        return self._hinge_softness

    def _scaled(self, x):
        if self._hinge_softness is None:
            return x
        return x / tf.cast(self._hinge_softness, x.dtype.base_dtype)

    def _rescaled(self, x):
        if self._hinge_softness is None:
            return x
        return x * tf.cast(self._hinge_softness, x.dtype.base_dtype)

    def _forward(self, x):
        return self._rescaled(tf.nn.softplus(self._scaled(x)))

    def _inverse(self, y):
        return self._rescaled(_util.softplus_inverse(self._scaled(y)))

    def _inverse_log_det_jacobian(self, y):
        return -tf.log(-tf.math.expm1(-self._scaled(y)))

    def _forward_log_det_jacobian(self, x):
        return -tf.nn.softplus(-self._scaled(x))


class Softsign(Elementwise):
    """y = x / (1 + |x|).

    Args:
      validate_args: whether to check when the graph runs that arguments of inverses are in (-1, 1).
      name: name of the bijector.
    """

    def __init__(self, validate_args=False, name="softsign"):
        super().__init__(validate_args, name)

    def _valid_y(self, y):
        message = "Inverse transformation input must be in (-1, 1)."
        y = self.checked(y, tf.assert_greater, tf.cast(-1, y.dtype.base_dtype), message=message)
        return self.checked(y, tf.assert_less, tf.cast(1, y.dtype.base_dtype), message=message)

    def _forward(self, x):
        return x / (1 + tf.abs(x))

    def _inverse(self, y):
        y = self._valid_y(y)
        return y / (1 - tf.abs(y))

    def _inverse_log_det_jacobian(self, y):
        return -2 * tf.math.log1p(-tf.abs(self._valid_y(y)))

    def _forward_log_det_jacobian(self, x):
        return -2 * tf.math.log1p(tf.abs(x))


class Square(Elementwise):
    """y = x^2 of numbers that are not negative.

    Args:
      validate_args: whether to check when the graph runs that arguments are not negative.
      name: name of the bijector.
    """

    def __init__(self, validate_args=False, name="square"):
        super().__init__(validate_args, name)

    def _valid(self, x):
        message = "All elements must be non-negative."
        return self.checked(x, tf.assert_non_negative, message=message)

    def _forward(self, x):
        return tf.square(self._valid(x))

    def _inverse(self, y):
        return tf.sqrt(self._valid(y))

    def _forward_log_det_jacobian(self, x):
        return math.log(2.0) + tf.log(self._valid(x))
