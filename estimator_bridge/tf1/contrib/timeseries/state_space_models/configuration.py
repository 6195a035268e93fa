"""Options of state space models of `tf.contrib.timeseries`."""

import collections

import tensorflow.compat.v1 as tf

from estimator_bridge.tf1.contrib.timeseries import math_utils as _math

__all__ = ["DEFAULT", "StateSpaceModelConfiguration"]


class StateSpaceModelConfiguration(
    collections.namedtuple(
        "StateSpaceModelConfiguration",
        [
            "num_features",
            "use_observation_noise",
            "dtype",
            "covariance_prior_fn",
            "bayesian_prior_weighting",
            "filtering_postprocessor",
            "trainable_start_state",
            "exogenous_noise_increases",
            "exogenous_noise_decreases",
            "exogenous_feature_columns",
            "exogenous_update_condition",
            "filtering_maximum_posterior_variance_ratio",
            "filtering_minimum_posterior_variance",
            "transition_covariance_initial_log_scale_bias",
            "static_unrolling_window_size_threshold",
        ],
    )
):
    """Options of state space models.

    Attributes:
      num_features: int, features of the series.
      use_observation_noise: whether observations have noise of their own.
      dtype: type of all numbers.
      covariance_prior_fn: function of a covariance that returns the logarithm of its prior.
      bayesian_prior_weighting: whether the prior counts as one record of the series, or
        else of a window.
      filtering_postprocessor: FilteringStepPostprocessor, or None.
      trainable_start_state: whether the state before the series is learned.
      exogenous_noise_increases: whether other features move the state, with noise.
      exogenous_noise_decreases: whether other features are observations of the state.
      exogenous_feature_columns: columns of these features.
      exogenous_update_condition: where they count; see SequentialTimeSeriesModel.
      filtering_maximum_posterior_variance_ratio: largest ratio of two variances of the state.
      filtering_minimum_posterior_variance: smallest variance of the state.
      transition_covariance_initial_log_scale_bias: logarithm of the ratio between the noise of
        the state and that of observations, at first.
      static_unrolling_window_size_threshold: see SequentialTimeSeriesModel.
    """

    __slots__ = ()

    def __new__(
        cls,
        num_features=1,
        use_observation_noise=True,
        dtype=tf.float32,
        covariance_prior_fn=_math.log_noninformative_covariance_prior,
        bayesian_prior_weighting=True,
        filtering_postprocessor=None,
        trainable_start_state=False,
        exogenous_noise_increases=True,
        exogenous_noise_decreases=False,
        exogenous_feature_columns=(),
        exogenous_update_condition=None,
        filtering_maximum_posterior_variance_ratio=1e6,
        filtering_minimum_posterior_variance=0.0,
        transition_covariance_initial_log_scale_bias=-5.0,
        static_unrolling_window_size_threshold=None,
    ):
        return super().__new__(
            cls,
            num_features,
            use_observation_noise,
            dtype,
            covariance_prior_fn,
            bayesian_prior_weighting,
            filtering_postprocessor,
            trainable_start_state,
            exogenous_noise_increases,
            exogenous_noise_decreases,
            list(exogenous_feature_columns or ()),
            exogenous_update_condition,
            filtering_maximum_posterior_variance_ratio,
            filtering_minimum_posterior_variance,
            transition_covariance_initial_log_scale_bias,
            static_unrolling_window_size_threshold,
        )


# What models take without options.
DEFAULT = StateSpaceModelConfiguration()
