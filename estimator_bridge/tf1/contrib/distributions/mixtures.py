"""Mixtures of distributions."""

import tensorflow.compat.v1 as tf

from estimator_bridge.tf1.contrib.distributions.arguments import keep_arguments

__all__ = ["Mixture", "MixtureSameFamily"]


class _Mixed(tf.distributions.Distribution):
    """Base of the mixtures: components [batch, component, event], selected by a Categorical."""

    def __init__(self, categorical, dtype, validate_args, allow_nan_stats, name):
        self._categorical = categorical
        super().__init__(
            dtype=dtype,
            reparameterization_type=tf.distributions.NOT_REPARAMETERIZED,
            validate_args=validate_args,
            allow_nan_stats=allow_nan_stats,
            name=name,
        )

    def _of_each(self, function):
        """Returns function(component) of all components, stacked last: [..., component]."""
        raise NotImplementedError

    def _weigh(self, values):
        """Returns the weighted mean of the components of [batch, event, component]."""
        probs = self._categorical.probs
        for _ in range(self.event_shape.ndims):
            probs = tf.expand_dims(probs, -2)
        return tf.reduce_sum(probs * values, -1)

    def _batch_shape_tensor(self):
        return self._categorical.batch_shape_tensor()

    def _batch_shape(self):
        return self._categorical.batch_shape

    def _sample_n(self, n, seed=None):
        chosen = self._categorical.sample(n, seed=seed)
        samples = self._of_each(lambda one: one.sample(n, seed=seed))
        mask = tf.one_hot(chosen, tf.shape(samples)[-1], True, False)
        for _ in range(self.event_shape.ndims):
            mask = tf.expand_dims(mask, -2)
        mask = tf.broadcast_to(mask, tf.shape(samples))
        # Selects one component per sample, so that infinite values of others do not matter.
        return tf.reduce_sum(tf.where(mask, samples, tf.zeros_like(samples)), -1)

    def _log_prob(self, x):
        weights = tf.nn.log_softmax(self._categorical.logits)
        return tf.reduce_logsumexp(weights + self._of_point(lambda one: one.log_prob, x), -1)

    def _cdf(self, x):
        return tf.reduce_sum(self._categorical.probs * self._of_point(lambda one: one.cdf, x), -1)

    def _log_cdf(self, x):
        weights = tf.nn.log_softmax(self._categorical.logits)
        return tf.reduce_logsumexp(weights + self._of_point(lambda one: one.log_cdf, x), -1)

    def _of_point(self, method_of, x):
        """Returns method_of(component)(x) of all components, [..., component]."""
        raise NotImplementedError

    def _mean(self):
        return self._weigh(self._of_each(lambda one: one.mean()))

    def _variance(self):
        squares = self._of_each(lambda one: one.variance() + one.mean() ** 2)
        return self._weigh(squares) - self._mean() ** 2

    def _stddev(self):
        return tf.sqrt(self._variance())


@keep_arguments
class Mixture(_Mixed):
    """A mixture of arbitrary distributions.

    Args:
      cat: Categorical with one class per component.
      components: list of distributions of one dtype, batch shape and event shape.
      validate_args: whether to check arguments when the graph runs.
      allow_nan_stats: whether undefined statistics are NaN; if False they raise an error.
      use_static_graph: ignored; it does not change the result.
      name: name of the distribution.

    Raises:
      TypeError: `cat` is not a Categorical.
      ValueError: there are no components, or their dtypes differ.
    """

    def __init__(
        self,
        cat,
        components,
        validate_args=False,
        allow_nan_stats=True,
        use_static_graph=False,
        name="Mixture",
    ):
        del use_static_graph  # It does not change the result.
        if not isinstance(cat, tf.distributions.Categorical):
            raise TypeError(f"cat: expected a Categorical distribution, got {cat}")
        if not components:
            raise ValueError("components: expected a list or tuple that is not empty")
        dtypes = {component.dtype for component in components}
        if len(dtypes) > 1:
            raise ValueError(f"components: all must have one dtype, got {dtypes}")
        self._components = list(components)
        super().__init__(cat, dtypes.pop(), validate_args, allow_nan_stats, name)

    cat = property(lambda self: self._categorical)
    components = property(lambda self: self._components)
    num_components = property(lambda self: len(self._components))

    def _of_each(self, function):
        return tf.stack([function(component) for component in self._components], -1)

    def _of_point(self, method_of, x):
        return self._of_each(lambda one: method_of(one)(x))

    def _event_shape_tensor(self):
        return self._components[0].event_shape_tensor()

    def _event_shape(self):
        return self._components[0].event_shape

    def entropy_lower_bound(self, name="entropy_lower_bound"):
        """Returns the mean entropy of the components, a lower bound of the mixture's entropy.

        Args:
          name: name of the name scope.

        Returns:
          Tensor [batch].
        """
        with tf.name_scope(name):
            entropies = self._of_each(lambda one: one.entropy())
            return tf.reduce_sum(self._categorical.probs * entropies, -1)


@keep_arguments
class MixtureSameFamily(_Mixed):
    """A mixture whose components are the last batch axis of one distribution.

    Args:
      mixture_distribution: Categorical with one class per component.
      components_distribution: distribution of batch shape [..., component].
      validate_args: whether to check arguments when the graph runs.
      allow_nan_stats: whether undefined statistics are NaN; if False they raise an error.
      name: name of the distribution.
    """

    def __init__(
        self,
        mixture_distribution,
        components_distribution,
        validate_args=False,
        allow_nan_stats=True,
        name="MixtureSameFamily",
    ):
        self._family = components_distribution
        super().__init__(
            mixture_distribution,
            components_distribution.dtype,
            validate_args,
            allow_nan_stats,
            name,
        )

    mixture_distribution = property(lambda self: self._categorical)
    components_distribution = property(lambda self: self._family)

    def _batch_shape_tensor(self):
        return self._family.batch_shape_tensor()[:-1]

    def _batch_shape(self):
        return self._family.batch_shape[:-1]

    def _of_each(self, function):
        values = function(self._family)
        order = list(range(values.shape.ndims))
        order.append(order.pop(-1 - self.event_shape.ndims))
        return tf.transpose(values, order)

    def _of_point(self, method_of, x):
        return method_of(self._family)(tf.expand_dims(x, -1 - self.event_shape.ndims))

    def _event_shape_tensor(self):
        return self._family.event_shape_tensor()

    def _event_shape(self):
        return self._family.event_shape
