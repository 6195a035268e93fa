"""Distributions whose positive parameters are the softplus of any numbers."""

import tensorflow.compat.v1 as tf

from estimator_bridge.tf1.contrib.distributions import continuous
from estimator_bridge.tf1.contrib.distributions.arguments import keep_arguments

__all__ = [
    "BetaWithSoftplusConcentration",
    "ExponentialWithSoftplusRate",
    "GammaWithSoftplusConcentrationRate",
    "InverseGammaWithSoftplusConcentrationRate",
    "LaplaceWithSoftplusScale",
    "StudentTWithAbsDfSoftplusScale",
]


@keep_arguments
class BetaWithSoftplusConcentration(tf.distributions.Beta):
    """Beta with the concentrations softplus(concentration1) and softplus(concentration0).

    Args:
      concentration1: floating tensor.
      concentration0: floating tensor.
      validate_args: whether to check arguments when the graph runs.
      allow_nan_stats: whether undefined statistics are NaN; if False they raise an error.
      name: name of the distribution.
    """

    def __init__(
        self,
        concentration1,
        concentration0,
        validate_args=False,
        allow_nan_stats=True,
        name="BetaWithSoftplusConcentration",
    ):
        with tf.name_scope(name, values=[concentration1, concentration0]) as name:
            a, b = tf.nn.softplus(concentration1), tf.nn.softplus(concentration0)
            super().__init__(a, b, validate_args, allow_nan_stats, name)


@keep_arguments
class ExponentialWithSoftplusRate(tf.distributions.Exponential):
    """Exponential with the rate softplus(rate).

    Args:
      rate: floating tensor.
      validate_args: whether to check arguments when the graph runs.
      allow_nan_stats: whether undefined statistics are NaN; if False they raise an error.
      name: name of the distribution.
    """

    def __init__(
        self, rate, validate_args=False, allow_nan_stats=True, name="ExponentialWithSoftplusRate"
    ):
        with tf.name_scope(name, values=[rate]) as name:
            super().__init__(tf.nn.softplus(rate), validate_args, allow_nan_stats, name)


@keep_arguments
class GammaWithSoftplusConcentrationRate(tf.distributions.Gamma):
    """Gamma with softplus(concentration) and softplus(rate).

    Args:
      concentration: floating tensor.
      rate: floating tensor.
      validate_args: whether to check arguments when the graph runs.
      allow_nan_stats: whether undefined statistics are NaN; if False they raise an error.
      name: name of the distribution.
    """

    def __init__(
        self,
        concentration,
        rate,
        validate_args=False,
        allow_nan_stats=True,
        name="GammaWithSoftplusConcentrationRate",
    ):
        with tf.name_scope(name, values=[concentration, rate]) as name:
            a, b = tf.nn.softplus(concentration), tf.nn.softplus(rate)
            super().__init__(a, b, validate_args, allow_nan_stats, name)


@keep_arguments
class InverseGammaWithSoftplusConcentrationRate(continuous.InverseGamma):
    """InverseGamma with softplus(concentration) and softplus(rate).

    Args:
      concentration: floating tensor.
      rate: floating tensor.
      validate_args: whether to check arguments when the graph runs.
      allow_nan_stats: whether undefined statistics are NaN; if False they raise an error.
      name: name of the distribution.
    """

    def __init__(
        self,
        concentration,
        rate,
        validate_args=False,
        allow_nan_stats=True,
        name="InverseGammaWithSoftplusConcentrationRate",
    ):
        with tf.name_scope(name, values=[concentration, rate]) as name:
            a, b = tf.nn.softplus(concentration), tf.nn.softplus(rate)
            super().__init__(a, b, validate_args, allow_nan_stats, name)


@keep_arguments
class LaplaceWithSoftplusScale(tf.distributions.Laplace):
    """Laplace with the scale softplus(scale).

    Args:
      loc: floating tensor, the mean.
      scale: floating tensor.
      validate_args: whether to check arguments when the graph runs.
      allow_nan_stats: whether undefined statistics are NaN; if False they raise an error.
      name: name of the distribution.
    """

    def __init__(
        self,
        loc,
        scale,
        validate_args=False,
        allow_nan_stats=True,
        name="LaplaceWithSoftplusScale",
    ):
        with tf.name_scope(name, values=[loc, scale]) as name:
            super().__init__(loc, tf.nn.softplus(scale), validate_args, allow_nan_stats, name)


@keep_arguments
class StudentTWithAbsDfSoftplusScale(tf.distributions.StudentT):
    """StudentT with the degrees of freedom floor(|df|) and the scale softplus(scale).

    Args:
      df: floating tensor.
      loc: floating tensor, the mode.
      scale: floating tensor.
      validate_args: whether to check arguments when the graph runs.
      allow_nan_stats: whether undefined statistics are NaN; if False they raise an error.
      name: name of the distribution.
    """

    def __init__(
        self,
        df,
        loc,
        scale,
        validate_args=False,
        allow_nan_stats=True,
        name="StudentTWithAbsDfSoftplusScale",
    ):
        with tf.name_scope(name, values=[df, scale]) as name:
            df, scale = tf.floor(tf.abs(df)), tf.nn.softplus(scale)
            super().__init__(df, loc, scale, validate_args, allow_nan_stats, name)
