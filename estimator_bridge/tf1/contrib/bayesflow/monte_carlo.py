"""`tf.contrib.bayesflow.monte_carlo`: means that are estimated from samples."""

import tensorflow.compat.v1 as tf

__all__ = [
    "expectation",
    "expectation_importance_sampler",
    "expectation_importance_sampler_logspace",
]


def expectation(
    f, samples, log_prob=None, use_reparametrization=True, axis=0, keep_dims=False, name=None
):
    """Returns the mean of f at samples of a distribution.

    Args:
      f: function of the samples.
      samples: tensor of samples.
      log_prob: function that returns the log-density; required without reparametrization.
      use_reparametrization: whether the gradient goes through the samples; else it is that of the
        score function (Williams, 1992).
      axis: int or list of ints, the axes of the samples; None for all.
      keep_dims: whether to keep these axes with size 1.
      name: name of the operations.

    Returns:
      Tensor of the shape of f(samples) without the axes.

    Raises:
      ValueError: `f` or `log_prob` is no function where it is needed.
    """
    with tf.name_scope(name, "expectation", [samples]):
        if not callable(f):
            raise ValueError("`f` must be a callable function.")
        if use_reparametrization:
            return tf.reduce_mean(f(samples), axis=axis, keepdims=keep_dims)
        if not callable(log_prob):
            raise ValueError("`log_prob` must be a callable function.")
        samples = tf.stop_gradient(samples)
        values, log_density = f(samples), log_prob(samples)
        # Adds 0, whose gradient is f times that of the log-density.
        values += tf.stop_gradient(values) * (log_density - tf.stop_gradient(log_density))
        return tf.reduce_mean(values, axis=axis, keepdims=keep_dims)


def _samples(distribution, z, n, seed):
    if (z is None) == (n is None):
        raise ValueError(
            f"Must specify exactly one of arguments `n` and `z`.  Found: n = {n}, z = {z}"
        )
    return distribution.sample(n, seed=seed) if n is not None else tf.convert_to_tensor(z, name="z")


def expectation_importance_sampler(
    f, log_p, sampling_dist_q, z=None, n=None, seed=None, name="expectation_importance_sampler"
):
    """Returns the mean over z of f(z) p(z) / q(z), which estimates the mean of f under p.

    Args:
      f: function of samples that returns [samples, ...].
      log_p: function of samples that returns log p, [samples, ...].
      sampling_dist_q: the distribution q.
      z: samples of q; this or `n` is required.
      n: int, number of samples; this or `z` is required.
      seed: seed of the samples.
      name: name of the operations.

    Returns:
      Tensor [...].

    Raises:
      ValueError: both or neither of z and n are given.
    """
    with tf.name_scope(name, values=[z, n]):
        z = _samples(sampling_dist_q, z, n, seed)
        ratio = log_p(z) - sampling_dist_q.log_prob(z)
        # The densities themselves may be too large or too small.
        largest = tf.stop_gradient(tf.reduce_max(ratio, 0))
        return tf.exp(largest) * tf.reduce_mean(f(z) * tf.exp(ratio - largest), 0)


def expectation_importance_sampler_logspace(
    log_f,
    log_p,
    sampling_dist_q,
    z=None,
    n=None,
    seed=None,
    name="expectation_importance_sampler_logspace",
):
    """Returns the logarithm of the mean over z of f(z) p(z) / q(z).

    Args:
      log_f: function of samples that returns log f, [samples, ...].
      log_p: function of samples that returns log p, [samples, ...].
      sampling_dist_q: the distribution q.
      z: samples of q; this or `n` is required.
      n: int, number of samples; this or `z` is required.
      seed: seed of the samples.
      name: name of the operations.

    Returns:
      Tensor [...].

    Raises:
      ValueError: both or neither of z and n are given.
    """
    with tf.name_scope(name, values=[z, n]):
        z = _samples(sampling_dist_q, z, n, seed)
        values = log_f(z) + log_p(z) - sampling_dist_q.log_prob(z)
        largest = tf.stop_gradient(tf.reduce_max(values, 0))
        return tf.log(tf.reduce_mean(tf.exp(values - largest), 0)) + largest
