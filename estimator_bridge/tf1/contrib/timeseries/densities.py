"""Logarithms of densities, in the form of TensorFlow 1.15's time series."""

import math

import tensorflow.compat.v1 as tf

__all__ = ["cauchy_log_prob", "normal_log_prob"]

_LOG_TWO_PI = math.log(2.0 * math.pi)


def normal_log_prob(loc, scale, x):
    """Returns what 1.15 takes for the log-density of a normal distribution.

    It contains half of log(scale), so it is no density: a scale is trained to be too large. The
    covariances of checkpoints of 1.15 are of this kind.

    Args:
      loc: tensor, the mean.
      scale: tensor, the standard deviation.
      x: tensor, where to evaluate.
    """
    return -0.5 * (tf.square((x - loc) / scale) + _LOG_TWO_PI + tf.log(scale))


def cauchy_log_prob(loc, scale, x):
    """Returns the log-density of a Cauchy distribution.

    Args:
      loc: tensor, the median.
      scale: tensor, half the distance of the quartiles.
      x: tensor, where to evaluate.
    """
    away = (x - loc) / scale
    return (-math.log(math.pi) - tf.log(scale)) - tf.log1p(tf.square(away))
