"""Base of scalar distributions."""

import tensorflow.compat.v1 as tf

__all__ = ["Scalar", "checked"]


def checked(tensor, assertion, validate_args, *limits, **options):
    """Returns a tensor, of which an assertion is run first if `validate_args`.

    Args:
      tensor: the tensor.
      assertion: function that returns an assertion, such as tf.assert_positive.
      validate_args: whether to run it.
      *limits: further positional arguments of the function.
      **options: further keyword arguments of the function.
    """
    if not validate_args:
        return tensor
    with tf.control_dependencies([assertion(tensor, *limits, **options)]):
        return tf.identity(tensor)


class Scalar(tf.distributions.Distribution):
    """Base of scalar distributions.

    Args:
      of: tensor that has the batch shape.
      dtype: dtype of samples.
      reparameterized: whether samples have gradients with respect to the parameters.
      validate_args: whether to check arguments when the graph runs.
      allow_nan: whether undefined statistics are NaN; if False they raise an error.
      name: name of the distribution.
    """

    def __init__(self, of, dtype, reparameterized, validate_args, allow_nan, name):
        self._of = of
        kinds = tf.distributions.NOT_REPARAMETERIZED, tf.distributions.FULLY_REPARAMETERIZED
        super().__init__(
            dtype=dtype,
            reparameterization_type=kinds[reparameterized],
            validate_args=validate_args,
            allow_nan_stats=allow_nan,
            name=name,
        )

    def _batch_shape_tensor(self):
        return tf.shape(self._of)

    def _batch_shape(self):
        return self._of.shape

    def _event_shape_tensor(self):
        return tf.constant([], tf.int32)

    def _event_shape(self):
        return tf.TensorShape([])

    def _with_batch(self, value):
        """Returns a number or tensor with the whole batch shape."""
        return value + tf.zeros_like(self._of)

    def _defined_where(self, condition, value, statistic, message):
        """Returns a statistic where it is defined; elsewhere NaN, or an error in the session."""
        if self.allow_nan_stats:
            return tf.where(condition, value, tf.fill(tf.shape(value), self._nan()))
        check = tf.Assert(tf.reduce_all(condition), [f"{statistic} undefined when {message}"])
        with tf.control_dependencies([check]):
            return tf.identity(value)

    def _nan(self):
        return tf.constant(float("nan"), self.dtype)

    def _stddev(self):
        return tf.sqrt(self._variance())
