"""Distributions of transformed samples, and distributions whose methods take more arguments."""

import functools

import tensorflow.compat.v1 as tf

from estimator_bridge.private_tf import distributions_identity as _identity
from estimator_bridge.private_tf import distributions_util as _util
from estimator_bridge.tf1.contrib.distributions.arguments import keep_arguments

__all__ = [
    "ConditionalDistribution",
    "ConditionalTransformedDistribution",
    "TransformedDistribution",
]


@keep_arguments
class TransformedDistribution(tf.distributions.Distribution):
    """The distribution of y = g(x), with x of a distribution and g a bijector.

    p(y) = p(x) |det dx/dy| where x is the inverse of y.

    Args:
      distribution: distribution of x.
      bijector: the bijector; None for the identity.
      batch_shape: shape as a tensor or list, of a batch of independent x; None for that of
        `distribution`, which is else a scalar.
      event_shape: shape as a tensor or list, of an event of independent x; None for that of
        `distribution`, which is else a scalar.
      validate_args: whether to check arguments when the graph runs.
      name: name of the distribution; None for the names of the bijector and the distribution.

    Raises:
      ValueError: a shape is given and that of `distribution` is no scalar.
      NotImplementedError: a method is called that is not defined for the bijector or the shapes.
    """

    def __init__(
        self,
        distribution,
        bijector=None,
        batch_shape=None,
        event_shape=None,
        validate_args=False,
        name=None,
    ):
        name = name or ("" if bijector is None else bijector.name) + distribution.name
        with tf.name_scope(name, values=[event_shape, batch_shape]) as name:
            self._distribution = distribution
            self._bijector = _identity.Identity() if bijector is None else bijector
            scalars = distribution.is_scalar_batch(), distribution.is_scalar_event()
            self._new_batch = _override(batch_shape, scalars[0], validate_args, "batch_shape")
            self._new_event = _override(event_shape, scalars[1], validate_args, "event_shape")
            super().__init__(
                dtype=distribution.dtype,
                reparameterization_type=distribution.reparameterization_type,
                validate_args=validate_args,
                allow_nan_stats=distribution.allow_nan_stats,
                graph_parents=distribution._graph_parents + self._bijector.graph_parents,
                name=name,
            )

    @property
    def distribution(self):
        """The distribution of x."""
        return self._distribution

    @property
    def bijector(self):
        """The bijector."""
        return self._bijector

    @property
    def _rotation(self):
        """Number of axes of an event that are sampled before the batch of `distribution`."""
        if self._new_event is None or self._new_batch is not None:
            return 0
        ndims = self._distribution.batch_shape.ndims
        return 0 if ndims == 0 else _length(self._new_event)

    def _event_of_x(self):
        event = self._distribution.event_shape
        return event if self._new_event is None else _static(self._new_event)

    def _event_shape_tensor(self):
        event = self._new_event
        event = self._distribution.event_shape_tensor() if event is None else event
        return self._bijector.forward_event_shape_tensor(event)

    def _event_shape(self):
        return self._bijector.forward_event_shape(self._event_of_x())

    def _batch_shape_tensor(self):
        new = self._new_batch
        return self._distribution.batch_shape_tensor() if new is None else new

    def _batch_shape(self):
        new = self._new_batch
        return self._distribution.batch_shape if new is None else _static(new)

    def _ndims(self):
        """Returns the number of axes of an event y."""
        ndims = self.event_shape.ndims
        return tf.size(self.event_shape_tensor()) if ndims is None else ndims

    def _rotated(self, x, right=False):
        """Returns x with the axes of its event moved from the front to the back, or back."""
        if not self._rotation:
            return x
        return _util.rotate_transpose(x, self._rotation if right else -self._rotation)

    def _sample_x(self, n, seed, kwargs):
        more = [one for one in (self._new_batch, self._new_event) if one is not None]
        shape = [*more, [n]] if self._rotation else [[n], *more]
        return self._rotated(self._distribution.sample(tf.concat(shape, 0), seed=seed, **kwargs))

    def _sample_y(self, sample_shape, seed, name, bijector_kwargs, distribution_kwargs):
        # The samples pass the bijector once they have their shape, and are in its cache as such.
        with self._name_scope(name, values=[sample_shape]):
            sample_shape = tf.convert_to_tensor(sample_shape, tf.int32, name="sample_shape")
            shape, n = self._expand_sample_shape_to_vector(sample_shape, "sample_shape")
            x = self._sample_x(n, seed, distribution_kwargs)
            x = tf.reshape(x, tf.concat([shape, tf.shape(x)[1:]], 0))
            y = self._bijector.forward(x, **bijector_kwargs)
            return self._set_sample_static_shape(y, shape)

    def _call_sample_n(self, sample_shape, seed, name, **kwargs):
        return self._sample_y(sample_shape, seed, name, kwargs, {})

    def _of_density(self, y, method, bijector_kwargs, distribution_kwargs):
        """Returns, for each x of y, a pair: method(x) summed over the event, log|det dx/dy|."""
        bijector = self._bijector
        # In the cache of the bijector, x must be found before its Jacobian is asked for.
        x = bijector.inverse(y, **bijector_kwargs)
        ndims = self._ndims()
        ldj = bijector.inverse_log_det_jacobian(y, event_ndims=ndims, **bijector_kwargs)
        pairs = [(x, ldj)] if bijector._is_injective else list(zip(x, ldj))
        for x, ldj in pairs:
            value = getattr(self._distribution, method)(
                self._rotated(x, right=True), **distribution_kwargs
            )
            if self._new_event is not None:
                count = _length(self._new_event)
                axes = range(count) if self._rotation else range(-count, 0)
                total = tf.reduce_prod if method == "prob" else tf.reduce_sum
                value = total(value, list(axes))
            yield value, ldj

    def _sized(self, value, y):
        ndims = self.event_shape.ndims
        if y.shape.ndims is not None and ndims is not None:
            batch = tf.broadcast_static_shape(y.shape[: y.shape.ndims - ndims], self.batch_shape)
            value.set_shape(batch)
        return value

    def _log_prob(self, y, bijector_kwargs=None, distribution_kwargs=None):
        pairs = self._of_density(y, "log_prob", bijector_kwargs or {}, distribution_kwargs or {})
        found = [value + ldj for value, ldj in pairs]
        return self._sized(found[0] if len(found) == 1 else tf.reduce_logsumexp(found, 0), y)

    def _prob(self, y, bijector_kwargs=None, distribution_kwargs=None):
        pairs = self._of_density(y, "prob", bijector_kwargs or {}, distribution_kwargs or {})
        return self._sized(sum(value * tf.exp(ldj) for value, ldj in pairs), y)

    def _of_x(self, method, y, bijector_kwargs, distribution_kwargs):
        """Returns a method of the distribution at the inverse of y."""
        self._require_plain(method)
        x = self._bijector.inverse(y, **(bijector_kwargs or {}))
        return getattr(self._distribution, method)(x, **(distribution_kwargs or {}))

    def _require_plain(self, method):
        if self._new_event is not None:
            raise NotImplementedError(f"{method} is not implemented when overriding event_shape")
        if not self._bijector._is_injective:
            raise NotImplementedError(
                f"{method} is not implemented when bijector is not injective."
            )

    def _cdf(self, y, bijector_kwargs=None, distribution_kwargs=None):
        return self._of_x("cdf", y, bijector_kwargs, distribution_kwargs)

    def _log_cdf(self, y, bijector_kwargs=None, distribution_kwargs=None):
        return self._of_x("log_cdf", y, bijector_kwargs, distribution_kwargs)

    def _survival_function(self, y, bijector_kwargs=None, distribution_kwargs=None):
        return self._of_x("survival_function", y, bijector_kwargs, distribution_kwargs)

    def _log_survival_function(self, y, bijector_kwargs=None, distribution_kwargs=None):
        return self._of_x("log_survival_function", y, bijector_kwargs, distribution_kwargs)

    def _quantile(self, value, bijector_kwargs=None, distribution_kwargs=None):
        self._require_plain("quantile")
        x = self._distribution.quantile(value, **(distribution_kwargs or {}))
        return self._bijector.forward(x, **(bijector_kwargs or {}))

    def _entropy(self):
        if not self._bijector.is_constant_jacobian:
            raise NotImplementedError("entropy is not implemented")
        if not self._bijector._is_injective:
            raise NotImplementedError("entropy is not implemented when bijector is not injective.")
        entropy = self._distribution.entropy()
        if self._new_event is not None:
            entropy *= tf.cast(tf.reduce_prod(self._new_event), entropy.dtype.base_dtype)
        if self._new_batch is not None:
            entropy = tf.broadcast_to(entropy, self._new_batch)
        # The Jacobian is the same everywhere.
        zeros = tf.zeros(
            tf.concat([self.batch_shape_tensor(), self.event_shape_tensor()], 0), self.dtype
        )
        entropy -= self._bijector.inverse_log_det_jacobian(zeros, event_ndims=self._ndims())
        entropy.set_shape(self.batch_shape)
        return entropy


def _length(shape):
    return tf.compat.dimension_value(shape.shape[0])


def _static(shape):
    return tf.TensorShape(tf.get_static_value(shape, partial=True))


def _override(shape, is_scalar, validate_args, name):
    """Returns a shape that replaces a scalar one, as a tensor [axes] of int32, or None."""
    if shape is None:
        return None
    shape = tf.convert_to_tensor(shape, tf.int32, name=name)
    if shape.shape.ndims != 1:
        raise ValueError("shape override must be a vector")
    is_scalar = tf.get_static_value(is_scalar) if tf.is_tensor(is_scalar) else is_scalar
    if is_scalar is None:
        checks = []
    elif is_scalar:
        return shape
    elif _length(shape) != 0:
        raise ValueError("base distribution not scalar")
    else:
        return None
    if validate_args:
        message = "base distribution not scalar"
        checks.append(tf.assert_equal(is_scalar, True, message=message))
    with tf.control_dependencies(checks):
        return tf.identity(shape)


class ConditionalDistribution(tf.distributions.Distribution):
    """A distribution whose methods pass further arguments on.

    A subclass defines `_log_prob(value, **condition_kwargs)` and its relatives. The arguments of
    the constructor are those of tf.distributions.Distribution.
    """

    def sample(self, sample_shape=(), seed=None, name="sample", **condition_kwargs):
        """Returns samples.

        Args:
          sample_shape: tensor of the shape of the samples, before batch and event.
          seed: int, or None for a random one.
          name: name of the operations.
          **condition_kwargs: further arguments of the method of the subclass.
        """
        return self._call_sample_n(sample_shape, seed, name, **condition_kwargs)

    def log_prob(self, value, name="log_prob", **condition_kwargs):
        """Returns the logarithm of the density.

        Args:
          value: float or int [..., batch, event].
          name: name of the operations.
          **condition_kwargs: further arguments of the method of the subclass.
        """
        return self._call_log_prob(value, name, **condition_kwargs)

    def prob(self, value, name="prob", **condition_kwargs):
        """Returns the density.

        Args:
          value: float or int [..., batch, event].
          name: name of the operations.
          **condition_kwargs: further arguments of the method of the subclass.
        """
        return self._call_prob(value, name, **condition_kwargs)

    def log_cdf(self, value, name="log_cdf", **condition_kwargs):
        """Returns log P(X <= value).

        Args:
          value: float or int [..., batch, event].
          name: name of the operations.
          **condition_kwargs: further arguments of the method of the subclass.
        """
        return self._call_log_cdf(value, name, **condition_kwargs)

    def cdf(self, value, name="cdf", **condition_kwargs):
        """Returns P(X <= value).

        Args:
          value: float or int [..., batch, event].
          name: name of the operations.
          **condition_kwargs: further arguments of the method of the subclass.
        """
        return self._call_cdf(value, name, **condition_kwargs)

    def log_survival_function(self, value, name="log_survival_function", **condition_kwargs):
        """Returns log P(X > value).

        Args:
          value: float or int [..., batch, event].
          name: name of the operations.
          **condition_kwargs: further arguments of the method of the subclass.
        """
        return self._call_log_survival_function(value, name, **condition_kwargs)

    def survival_function(self, value, name="survival_function", **condition_kwargs):
        """Returns P(X > value).

        Args:
          value: float or int [..., batch, event].
          name: name of the operations.
          **condition_kwargs: further arguments of the method of the subclass.
        """
        return self._call_survival_function(value, name, **condition_kwargs)


def _accepting(method):
    """Returns a method of ConditionalDistribution without its signature, as in 1.15."""

    @functools.wraps(method)
    def accepting(*args, **kwargs):
        return method(*args, **kwargs)

    del accepting.__wrapped__
    return accepting


class ConditionalTransformedDistribution(ConditionalDistribution, TransformedDistribution):
    """A TransformedDistribution of a conditional distribution or a conditional bijector.

    Methods take two further arguments: `bijector_kwargs`, the further arguments of the bijector,
    and `distribution_kwargs`, those of the distribution, dictionaries or None.

    The arguments of the constructor are those of TransformedDistribution.
    """

    def _call_sample_n(
        self, sample_shape, seed, name, bijector_kwargs=None, distribution_kwargs=None
    ):
        return self._sample_y(
            sample_shape, seed, name, bijector_kwargs or {}, distribution_kwargs or {}
        )

    log_prob = _accepting(ConditionalDistribution.log_prob)
    prob = _accepting(ConditionalDistribution.prob)
    log_cdf = _accepting(ConditionalDistribution.log_cdf)
    cdf = _accepting(ConditionalDistribution.cdf)
    log_survival_function = _accepting(ConditionalDistribution.log_survival_function)
    survival_function = _accepting(ConditionalDistribution.survival_function)
