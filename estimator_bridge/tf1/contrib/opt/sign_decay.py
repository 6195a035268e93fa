"""Decays of the sign term of AddSign and PowerSign (Bello et al., 2017, section 4).

Programs import them as `tensorflow.contrib.opt.python.training.sign_decay`.
"""

import math

import tensorflow.compat.v1 as tf

__all__ = ["get_cosine_decay_fn", "get_linear_decay_fn", "get_restart_decay_fn"]


def _passed(global_step, decay_steps):
    """Returns the step, at most `decay_steps`, as float32."""
    return tf.cast(tf.minimum(global_step, decay_steps), tf.float32)


def get_linear_decay_fn(decay_steps):
    """Returns a function that decays from 1 to 0 on a line.

    Args:
      decay_steps: int, number of steps after which the decay is 0.

    Returns:
      Function from the global step, an integer scalar tensor, to a float32 scalar tensor.
    """

    def linear_decay_fn(global_step):
        remaining = float(decay_steps) - _passed(global_step, decay_steps)
        return tf.maximum(0.0, remaining / float(decay_steps))

    return linear_decay_fn


def get_cosine_decay_fn(decay_steps, num_periods=0.5, zero_after=None):
    """Returns a function that decays as (1 + cos(2 pi num_periods step / decay_steps)) / 2.

    Args:
      decay_steps: int, number of steps after which the decay stays as it is.
      num_periods: number of periods of the cosine within these steps.
      zero_after: number of periods after which the decay is 0, or None.

    Returns:
      Function from the global step, an integer scalar tensor, to a float32 scalar tensor.
    """

    def cosine_decay_fn(global_step):
        fraction = _passed(global_step, decay_steps) / float(decay_steps)
        fraction = 2.0 * num_periods * fraction
        decayed = 0.5 * (1.0 + tf.cos(tf.constant(math.pi) * fraction))
        if zero_after is not None:
            decayed = tf.where(fraction >= 2.0 * zero_after, 0.0, decayed)
        return decayed

    return cosine_decay_fn


def get_restart_decay_fn(decay_steps, num_periods=1, zero_after=None):
    """Returns a function that decays from 1 to 0 like half a cosine, and then begins again.

    Args:
      decay_steps: int, number of steps after which the decay stays as it is.
      num_periods: number of periods within these steps.
      zero_after: number of periods after which the decay is 0, or None.

    Returns:
      Function from the global step, an integer scalar tensor, to a float32 scalar tensor.
    """

    def restart_decay_fn(global_step):
        scaled = num_periods * _passed(global_step, decay_steps)
        fraction = tf.mod(scaled, float(decay_steps)) / float(decay_steps)
        decayed = 0.5 * (1.0 + tf.cos(tf.constant(math.pi) * fraction))
        if zero_after is not None:
            periods = scaled / float(decay_steps)
            decayed = tf.where(periods >= zero_after, 0.0, decayed)
        return decayed

    return restart_decay_fn
