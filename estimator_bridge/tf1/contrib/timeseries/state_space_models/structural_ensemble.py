"""Level, trend, periods and deviations of a series as one model: `tf.contrib.timeseries`."""

import tensorflow.compat.v1 as tf

from estimator_bridge.tf1.contrib.timeseries.state_space_models import base as _model
from estimator_bridge.tf1.contrib.timeseries.state_space_models import ensembles as _ensembles
from estimator_bridge.tf1.contrib.timeseries.state_space_models import level_trend as _level_trend
from estimator_bridge.tf1.contrib.timeseries.state_space_models import periodic as _periodic
from estimator_bridge.tf1.contrib.timeseries.state_space_models import varma as _varma

__all__ = ["MultiResolutionStructuralEnsemble", "StructuralEnsemble"]


def _as_list(values):
    return list(values) if isinstance(values, (list, tuple)) else [values]


def _for_each_feature(make, scope, configuration):
    """Returns the ensemble of a model for each feature, in a scope.

    Args:
      make: function of a configuration that returns a model of one feature.
      scope: name of the variables' scope.
      configuration: that of all features, without noise of observations.
    """
    members = []
    with tf.variable_scope(scope):
        for feature in range(configuration.num_features):
            with tf.variable_scope(f"feature{feature}"):
                members.append(make(configuration._replace(num_features=1)))
        return _ensembles.StateSpaceCorrelatedFeaturesEnsemble(members, configuration)


def _members(cycles, orders, use_level_noise, configuration):
    """Returns the members of a structural ensemble.

    Args:
      cycles: functions of a configuration that return the model of a period.
      orders: autoregressive and moving average order.
      use_level_noise: whether the level has noise of its own.
      configuration: that of the ensemble.
    """
    inner = configuration._replace(use_observation_noise=False)
    members = [
        _for_each_feature(
            lambda one: _level_trend.AdderStateSpaceModel(use_level_noise, one), "adder", inner
        )
    ]
    with tf.variable_scope("varma"):
        members.append(_varma.VARMA(*orders, configuration=inner))
    for number, cycle in enumerate(cycles):
        members.append(_for_each_feature(cycle, f"cycle{number}", inner))
    return members


class StructuralEnsemble(_ensembles.StateSpaceIndependentEnsemble):
    """Level, trend, moving average, and a value for each step of each period.

    Args:
      periodicities: int or list of ints, steps of the periods.
      moving_average_order: int, steps that a deviation lasts.
      autoregressive_order: int, steps that a value depends on.
      use_level_noise: whether the level has noise besides that of the trend.
      configuration: StateSpaceModelConfiguration.
    """

    def __init__(
        self,
        periodicities,
        moving_average_order,
        autoregressive_order,
        use_level_noise=True,
        configuration=_model.DEFAULT,
    ):
        cycles = [
            lambda one, period=period: _periodic.CycleStateSpaceModel(period, one)
            for period in _as_list(periodicities)
        ]
        orders = (autoregressive_order, moving_average_order)
        super().__init__(_members(cycles, orders, use_level_noise, configuration), configuration)


class MultiResolutionStructuralEnsemble(_ensembles.StateSpaceIndependentEnsemble):
    """Level, trend, moving average, and so many values for each period.

    Args:
      cycle_num_latent_values: int, values of a period, odd; or a list of them, one a period.
      moving_average_order: int, steps that a deviation lasts.
      autoregressive_order: int, steps that a value depends on.
      periodicities: number or list of numbers, steps of the periods.
      use_level_noise: whether the level has noise besides that of the trend.
      configuration: StateSpaceModelConfiguration.

    Raises:
      ValueError: the lists have different lengths, or a number of values is even.
    """

    def __init__(
        self,
        cycle_num_latent_values,
        moving_average_order,
        autoregressive_order,
        periodicities,
        use_level_noise=True,
        configuration=_model.DEFAULT,
    ):
        periods = _as_list(periodicities)
        counts = cycle_num_latent_values
        if not isinstance(counts, (list, tuple)):
            counts = [counts] * len(periods)
        if len(counts) != len(periods):
            raise ValueError(
                "`cycle_num_latent_values` must either be a list with the same size as "
                f"`periodicity` or a scalar. Received length {len(counts)} "
                "`cycle_num_latent_values`, while `periodicities` has length "
                f"{len(periods)}."
            )
        cycles = [
            lambda one, count=count, period=period: _periodic.ResolutionCycleModel(
                count, period, configuration=one
            )
            for count, period in zip(counts, periods)
        ]
        orders = (autoregressive_order, moving_average_order)
        super().__init__(_members(cycles, orders, use_level_noise, configuration), configuration)
