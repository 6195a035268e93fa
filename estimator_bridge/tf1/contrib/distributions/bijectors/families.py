"""Bijectors of scalars that have parameters, of the families of their names."""

import math

import tensorflow.compat.v1 as tf

from estimator_bridge.tf1.contrib.distributions.bijectors.elementwise import Elementwise

__all__ = [
    "Exp",
    "Gumbel",
    "Kumaraswamy",
    "PowerTransform",
    "SinhArcsinh",
]


class PowerTransform(Elementwise):
    """y = (1 + x c)^(1/c), a Box-Cox transform's inverse; exp(x) if c is 0.

    Args:
      power: number c >= 0, known when the graph is built.
      validate_args: whether to check when the graph runs that logarithms are of positive numbers.
      name: name of the bijector.

    Raises:
      ValueError: `power` is negative or not known.
    """

    def __init__(self, power=0.0, validate_args=False, name="power_transform"):
        with tf.name_scope(name, values=[power]):
            self._power = tf.get_static_value(tf.convert_to_tensor(power, name="power"))
        if self._power is None or self._power < 0:
            raise ValueError("`power` must be a non-negative TF constant.")
        super().__init__(validate_args, name)

    @property
    def power(self):
        """The number c, a NumPy scalar."""
        return self._power

    def _valid_x(self, x):
        if not self.validate_args or self._power == 0:
            return x
        limit = tf.cast(-1.0 / self._power, x.dtype.base_dtype)
        message = f"Forward transformation input must be at least {-1.0 / self._power}."
        return self.checked(x, tf.assert_greater_equal, limit, message=message)

    def _valid_y(self, y):
        message = "Inverse transformation input must be greater than 0."
        return self.checked(y, tf.assert_positive, message=message)

    def _forward(self, x):
        x = self._valid_x(x)
        return tf.exp(x if self._power == 0 else tf.math.log1p(x * self._power) / self._power)

    def _inverse(self, y):
        logs = tf.log(self._valid_y(y))
        return logs if self._power == 0 else tf.math.expm1(logs * self._power) / self._power

    def _forward_log_det_jacobian(self, x):
        x = self._valid_x(x)
        return x if self._power == 0 else (1 / self._power - 1) * tf.math.log1p(x * self._power)

    def _inverse_log_det_jacobian(self, y):
        return (self._power - 1) * tf.log(self._valid_y(y))


class Exp(PowerTransform):
    """y = exp(x).

    Args:
      validate_args: whether to check when the graph runs that arguments of inverses are positive.
      name: name of the bijector.
    """

    def __init__(self, validate_args=False, name="exp"):
        super().__init__(power=0.0, validate_args=validate_args, name=name)


class Gumbel(Elementwise):
    """y = exp(-exp(-(x - loc) / scale)), the cumulative distribution function of Gumbel.

    Args:
      loc: floating tensor.
      scale: positive floating tensor.
      validate_args: whether to check when the graph runs that scales are positive, and arguments
        of inverses in [0, 1].
      name: name of the bijector.
    """

    def __init__(self, loc=0.0, scale=1.0, validate_args=False, name="gumbel"):
        with tf.name_scope(name, values=[loc, scale]):
            self._loc = tf.convert_to_tensor(loc, name="loc")
            self._scale = tf.convert_to_tensor(scale, name="scale")
        super().__init__(validate_args, name)
        message = "Argument scale was not positive"
        self._scale = self.checked(self._scale, tf.assert_positive, message=message)

    @property
    def loc(self):
        """The tensor `loc`."""
        return self._loc

    @property
    def scale(self):
        """The tensor `scale`."""
        return self._scale

    def _forward(self, x):
        return tf.exp(-tf.exp(-(x - self._loc) / self._scale))

    def _inverse(self, y):
        y = self.within(y, 0, 1, "Argument y was not in [0, 1]")
        return self._loc - self._scale * tf.log(-tf.log(y))

    def _inverse_log_det_jacobian(self, y):
        y = self.within(y, 0, 1, "Argument y was not in [0, 1]")
        return tf.log(self._scale / (-tf.log(y) * y))

    def _forward_log_det_jacobian(self, x):
        z = (x - self._loc) / self._scale
        return -z - tf.exp(-z) - tf.log(self._scale)


class Kumaraswamy(Elementwise):
    """y = (1 - (1 - x)^(1/b))^(1/a), which makes Kumaraswamy(a, b) of a uniform number.

    Args:
      concentration1: positive floating tensor a; required.
      concentration0: positive floating tensor b; required.
      validate_args: whether to check when the graph runs that a and b are positive, and arguments
        in [0, 1].
      name: name of the bijector.

    Raises:
      ValueError: a concentration is None.
    """

    def __init__(
        self, concentration1=None, concentration0=None, validate_args=False, name="kumaraswamy"
    ):
        with tf.name_scope(name, values=[concentration1, concentration0]):
            self._a = tf.convert_to_tensor(concentration1, name="concentration1")
            self._b = tf.convert_to_tensor(concentration0, name="concentration0")
        super().__init__(validate_args, name)
        message = "Concentration parameter must be positive."
        self._a = self.checked(self._a, tf.assert_positive, message=message)
        self._b = self.checked(self._b, tf.assert_positive, message=message)

    @property
    def concentration1(self):
        """The tensor a."""
        return self._a

    @property
    def concentration0(self):
        """The tensor b."""
        return self._b

    def _valid(self, x):
        return self.within(x, 0, 1, "sample must be within [0, 1]")

    def _forward(self, x):
        rest = tf.exp(tf.math.log1p(-self._valid(x)) / self._b)
        return tf.exp(tf.math.log1p(-rest) / self._a)

    def _inverse(self, y):
        return -tf.math.expm1(self._b * tf.math.log1p(-(self._valid(y) ** self._a)))

    def _inverse_log_det_jacobian(self, y):
        y = self._valid(y)
        outer = tf.math.xlogy(self._a - 1, y)
        inner = (self._b - 1) * tf.math.log1p(-(y**self._a))
        return tf.log(self._a) + tf.log(self._b) + outer + inner


class SinhArcsinh(Elementwise):
    """y = sinh((arcsinh(x) + skewness) * tailweight), of Jones and Pewsey (2009).

    Args:
      skewness: floating tensor; None for 0.
      tailweight: positive floating tensor; None for 1.
      validate_args: whether to check when the graph runs that `tailweight` is positive.
      name: name of the bijector.
    """

    def __init__(self, skewness=None, tailweight=None, validate_args=False, name="SinhArcsinh"):
        with tf.name_scope(name, values=[skewness, tailweight]):
            tailweight = 1.0 if tailweight is None else tailweight
            skewness = 0.0 if skewness is None else skewness
            self._skewness = tf.convert_to_tensor(skewness, name="skewness")
            self._tailweight = tf.convert_to_tensor(
                tailweight, self._skewness.dtype.base_dtype, name="tailweight"
            )
        super().__init__(validate_args, name)
        message = "Argument tailweight was not positive"
        self._tailweight = self.checked(self._tailweight, tf.assert_positive, message=message)

    @property
    def skewness(self):
        """The tensor `skewness`."""
        return self._skewness

    @property
    def tailweight(self):
        """The tensor `tailweight`."""
        return self._tailweight

    def _forward(self, x):
        return tf.sinh((tf.asinh(x) + self._skewness) * self._tailweight)

    def _inverse(self, y):
        return tf.sinh(tf.asinh(y) / self._tailweight - self._skewness)

    def _inverse_log_det_jacobian(self, y):
        z = tf.asinh(y) / self._tailweight - self._skewness
        return _log_cosh(z) - _log_cosh(tf.asinh(y)) - tf.log(self._tailweight)

    def _forward_log_det_jacobian(self, x):
        z = (tf.asinh(x) + self._skewness) * self._tailweight
        return _log_cosh(z) - _log_cosh(tf.asinh(x)) + tf.log(self._tailweight)


def _log_cosh(x):
    # cosh(x) itself overflows at 90.
    size = tf.abs(x)
    return size + tf.math.log1p(tf.exp(-2 * size)) - math.log(2.0)
