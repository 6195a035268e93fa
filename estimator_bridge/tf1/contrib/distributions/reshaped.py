"""Distributions with another batch shape, and autoregressive ones."""

import tensorflow.compat.v1 as tf

from estimator_bridge.tf1.contrib.distributions.arguments import keep_arguments

__all__ = ["Autoregressive", "BatchReshape"]


@keep_arguments
class BatchReshape(tf.distributions.Distribution):
    """A distribution with its batch in another shape.

    Args:
      distribution: the distribution.
      batch_shape: shape as a tensor or list of ints of the same size; -1 for one unknown size.
      validate_args: whether to check the shape when the graph runs.
      name: name of the distribution; None for BatchReshape and the name of `distribution`.

    Raises:
      ValueError: `batch_shape` is not a vector; or has another size, and `validate_args`.
      NotImplementedError: values would have to be broadcast.
    """

    def __init__(
        self, distribution, batch_shape, validate_args=False, allow_nan_stats=True, name=None
    ):
        name = name or "BatchReshape" + distribution.name
        with tf.name_scope(name, values=[batch_shape]) as name:
            shape = tf.convert_to_tensor(batch_shape, tf.int32, name="batch_shape")
            if shape.shape.ndims not in (None, 1):
                raise ValueError("`batch_shape` must be a vector.")
            known = tf.get_static_value(shape)
            if known is None:
                static = tf.TensorShape([None] * (tf.compat.dimension_value(shape.shape[0]) or 0))
                static = static if shape.shape.is_fully_defined() else tf.TensorShape(None)
            else:
                static = tf.TensorShape([None if size < 0 else int(size) for size in known])
            if validate_args:
                shape = _checked(shape, static, distribution)
        self._inner, self._shape, self._static = distribution, shape, static
        super().__init__(
            dtype=distribution.dtype,
            reparameterization_type=distribution.reparameterization_type,
            validate_args=validate_args,
            allow_nan_stats=allow_nan_stats,
            name=name,
        )

    @property
    def distribution(self):
        """The distribution whose batch has another shape."""
        return self._inner

    def _batch_shape_tensor(self):
        if self._static.is_fully_defined():
            return self._shape
        total = tf.reduce_prod(self._inner.batch_shape_tensor())
        others = tf.reduce_prod(tf.where(self._shape < 0, tf.ones_like(self._shape), self._shape))
        unknown = tf.fill(tf.shape(self._shape), total // others)
        return tf.where(self._shape < 0, unknown, self._shape)

    def _batch_shape(self):
        return self._static

    def _event_shape_tensor(self):
        return self._inner.event_shape_tensor()

    def _event_shape(self):
        return self._inner.event_shape

    def _sample_n(self, n, seed=None):
        x = self._inner.sample(sample_shape=n, seed=seed)
        return tf.reshape(x, tf.concat([[n], self.batch_shape_tensor(), self._event()], 0))

    def _event(self):
        return self._inner.event_shape_tensor()

    def _of_value(self, method, x):
        """Returns a method's result at x, in the new shape."""
        self._require_whole(x)
        count = self._static.ndims + self._inner.event_shape.ndims
        shape = tf.shape(x)
        sample = shape[: tf.size(shape) - count]
        old = tf.concat([sample, self._inner.batch_shape_tensor(), self._event()], 0)
        result = method(tf.reshape(x, old))
        result = tf.reshape(result, tf.concat([sample, self.batch_shape_tensor()], 0))
        if x.shape.ndims is not None:
            result.set_shape(x.shape[: x.shape.ndims - count].concatenate(self._static))
        return result

    def _require_whole(self, x):
        wanted = self._static.concatenate(self._inner.event_shape)
        if x.shape.ndims is None or wanted.ndims is None:
            return
        if x.shape.ndims < wanted.ndims:
            raise NotImplementedError(
                "Broadcasting is not supported; too few batch and event dims "
                f"(expected at least {wanted.ndims}, saw {x.shape.ndims})."
            )
        given = x.shape[x.shape.ndims - wanted.ndims :]
        if not given.is_compatible_with(wanted):
            raise NotImplementedError(
                "Broadcasting is not supported; unexpected batch and event shape "
                f"(expected {wanted.as_list()}, saw {given.as_list()})."
            )

    def _statistic(self, method, event=None):
        """Returns a method's result in the new shape; events have the shape `event`."""
        event = [] if event is None else event
        return tf.reshape(method(), tf.concat([self.batch_shape_tensor(), event], 0))

    def _log_prob(self, x):
        return self._of_value(self._inner.log_prob, x)

    def _prob(self, x):
        return self._of_value(self._inner.prob, x)

    def _log_cdf(self, x):
        return self._of_value(self._inner.log_cdf, x)

    def _cdf(self, x):
        return self._of_value(self._inner.cdf, x)

    def _log_survival_function(self, x):
        return self._of_value(self._inner.log_survival_function, x)

    def _survival_function(self, x):
        return self._of_value(self._inner.survival_function, x)

    def _entropy(self):
        return self._statistic(self._inner.entropy)

    def _mean(self):
        return self._statistic(self._inner.mean, self._event())

    def _mode(self):
        return self._statistic(self._inner.mode, self._event())

    def _stddev(self):
        return self._statistic(self._inner.stddev, self._event())

    def _variance(self):
        return self._statistic(self._inner.variance, self._event())

    def _covariance(self):
        event = self._event()
        return self._statistic(self._inner.covariance, tf.concat([event, event], 0))


def _checked(shape, static, distribution):
    """Returns a batch shape after checks of its size."""
    old = distribution.batch_shape
    if static.is_fully_defined() and old.is_fully_defined():
        if static.num_elements() != old.num_elements():
            raise ValueError(
                f"`batch_shape` size ({static.num_elements()}) must match "
                f"`distribution.batch_shape` size ({old.num_elements()})."
            )
        return shape
    sizes = tf.where(shape < 0, tf.ones_like(shape), shape)
    total = tf.reduce_prod(distribution.batch_shape_tensor())
    message = "`batch_shape` size must match `distribution.batch_shape` size."
    fits = tf.assert_equal(tf.math.floormod(total, tf.reduce_prod(sizes)), 0, message=message)
    with tf.control_dependencies([fits]):
        return tf.identity(shape)


@keep_arguments
class Autoregressive(tf.distributions.Distribution):
    """p(x) = distribution_fn(x).prob(x), where an element depends on earlier ones only.

    A sample is made by sampling `num_steps` times, each time from the distribution that belongs to
    the sample before.

    Args:
      distribution_fn: function from a sample to a distribution. Without `sample0` it is also called
        without an argument.
      sample0: tensor, the sample that starts; None for a distribution that needs none.
      num_steps: int or tensor, how often is sampled; None for the number of elements of an event.
      validate_args: whether to check arguments when the graph runs.
      allow_nan_stats: whether undefined statistics are NaN; if False they raise an error.
      name: name of the distribution.

    Raises:
      ValueError: `num_steps` is below 1.
    """

    def __init__(
        self,
        distribution_fn,
        sample0=None,
        num_steps=None,
        validate_args=False,
        allow_nan_stats=True,
        name="Autoregressive",
    ):
        with tf.name_scope(name) as name:
            self._function, self._sample0 = distribution_fn, sample0
            first = distribution_fn() if sample0 is None else distribution_fn(sample0)
            if num_steps is None:
                size = first.event_shape.num_elements()
                num_steps = tf.reduce_prod(first.event_shape_tensor()) if size is None else size
            known = tf.get_static_value(tf.convert_to_tensor(num_steps))
            if known is not None and known < 1:
                raise ValueError(f"num_steps ({known}) must be at least 1.")
            self._first, self._num_steps = first, num_steps if known is None else int(known)
        super().__init__(
            dtype=first.dtype,
            reparameterization_type=first.reparameterization_type,
            validate_args=validate_args,
            allow_nan_stats=allow_nan_stats,
            name=name,
        )

    @property
    def distribution_fn(self):
        """The function from a sample to a distribution."""
        return self._function

    @property
    def sample0(self):
        """The sample that starts, or None."""
        return self._sample0

    @property
    def num_steps(self):
        """How often is sampled."""
        return self._num_steps

    @property
    def distribution0(self):
        """The distribution of the first step."""
        return self._first

    def _batch_shape(self):
        return self._first.batch_shape

    def _batch_shape_tensor(self):
        return self._first.batch_shape_tensor()

    def _event_shape(self):
        return self._first.event_shape

    def _event_shape_tensor(self):
        return self._first.event_shape_tensor()

    def _sample_n(self, n, seed=None):
        # The same seed would give the same noise in each step of a loop in Python.
        x = self._first.sample(n, seed=seed)
        if not isinstance(self._num_steps, int):
            step = lambda place, x: (place + 1, self._function(x).sample(seed=seed))  # noqa: E731
            return tf.while_loop(lambda place, _: place < self._num_steps, step, (1, x))[1]
        for place in range(1, self._num_steps):
            x = self._function(x).sample(seed=None if seed is None else seed + place)
        return x

    def _log_prob(self, value):
        return self._function(value).log_prob(value)

    def _prob(self, value):
        return self._function(value).prob(value)
