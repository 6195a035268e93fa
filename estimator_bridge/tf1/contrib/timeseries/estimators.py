"""Estimators of `tf.contrib.timeseries`."""

import functools

import tensorflow.compat.v1 as tf

from estimator_bridge.private_tf import estimator_optimizers as _optimizers
from estimator_bridge.private_tf import timeseries_estimators as _estimators
from estimator_bridge.private_tf import timeseries_head as _head
from estimator_bridge.tf1.contrib.timeseries import ar_model as _ar_model
from estimator_bridge.tf1.contrib.timeseries import state_management as _state_management
from estimator_bridge.tf1.contrib.timeseries.state_space_models import (
    filtering_postprocessor as _postprocessor,
)
from estimator_bridge.tf1.contrib.timeseries.state_space_models import (
    state_space_model as _state_space,
)
from estimator_bridge.tf1.contrib.timeseries.state_space_models import (
    structural_ensemble as _structural,
)

__all__ = [
    "ARRegressor",
    "LSTMAutoRegressor",
    "StateSpaceRegressor",
    "StructuralEnsembleRegressor",
    "TimeSeriesRegressor",
]

TimeSeriesRegressor = _estimators.TimeSeriesRegressor


class ARRegressor(_estimators.TimeSeriesRegressor):
    """Trains an autoregressive model, linear or with hidden layers.

    Args:
      periodicities: int or list of ints, lengths of the cycles, in the unit of the times.
      input_window_size: int, records that a prediction depends on.
      output_window_size: int, records predicted at once.
      num_features: int, features of the series.
      exogenous_feature_columns: columns of features that are not predicted, or None.
      num_time_buckets: int, parts of a period.
      loss: ARModel.NORMAL_LIKELIHOOD_LOSS or ARModel.SQUARED_LOSS.
      hidden_layer_sizes: list of ints, sizes of layers with ReLU; linear without.
      anomaly_prior_probability: float in (0, 1), the share of anomalies, or None.
      anomaly_distribution: `gaussian` or `cauchy`, with anomaly_prior_probability, or None.
      optimizer: tf.train.Optimizer; Adagrad with a rate of 0.1 by default.
      model_dir: directory for checkpoints and summaries, or None.
      config: RunConfig, or None.

    Raises:
      ValueError: the options of anomalies contradict each other or the loss.
    """

    def __init__(
        self,
        periodicities,
        input_window_size,
        output_window_size,
        num_features,
        exogenous_feature_columns=None,
        num_time_buckets=10,
        loss=_ar_model.ARModel.NORMAL_LIKELIHOOD_LOSS,
        hidden_layer_sizes=None,
        anomaly_prior_probability=None,
        anomaly_distribution=None,
        optimizer=None,
        model_dir=None,
        config=None,
    ):
        options = {
            "periodicities": periodicities,
            "input_window_size": input_window_size,
            "output_window_size": output_window_size,
            "num_features": num_features,
            "exogenous_feature_columns": exogenous_feature_columns,
            "num_time_buckets": num_time_buckets,
            "prediction_model_factory": functools.partial(
                _ar_model.FlatPredictionModel, hidden_layer_sizes=hidden_layer_sizes
            ),
        }
        if anomaly_prior_probability is None:
            if anomaly_distribution is not None:
                raise ValueError(
                    "anomaly_prior_probability is required if anomaly_distribution is specified."
                )
            model = _ar_model.ARModel(loss=loss, **options)
        else:
            if loss != _ar_model.ARModel.NORMAL_LIKELIHOOD_LOSS:
                raise ValueError(
                    "AnomalyMixtureARModel only supports ar_model.ARModel.NORMAL_LIKELIHOOD_LOSS "
                    "for its loss argument."
                )
            model = _ar_model.AnomalyMixtureARModel(
                anomaly_prior_probability=anomaly_prior_probability,
                anomaly_distribution=anomaly_distribution,
                **options,
            )
        super().__init__(
            model=model,
            state_manager=_state_management.FilteringOnlyStateManager(),
            optimizer=optimizer or tf.train.AdagradOptimizer(0.1),
            model_dir=model_dir,
            config=config,
        )


class LSTMAutoRegressor(_estimators.TimeSeriesRegressor):
    """Trains an LSTM that reads a window, and another that predicts the next one.

    Args:
      periodicities: int or list of ints, lengths of the cycles, in the unit of the times.
      input_window_size: int, records that a prediction depends on.
      output_window_size: int, records predicted at once.
      model_dir: directory for checkpoints and summaries, or None.
      num_features: int, features of the series.
      extra_feature_columns: columns of features that are not predicted, or None.
      num_timesteps: int, parts of a period.
      loss: ARModel.NORMAL_LIKELIHOOD_LOSS or ARModel.SQUARED_LOSS.
      num_units: int, size of the states.
      optimizer: tf.train.Optimizer, its name, or a function that returns one; a name stands for a
        rate of 0.01.
      config: RunConfig, or None.
    """

    def __init__(
        self,
        periodicities,
        input_window_size,
        output_window_size,
        model_dir=None,
        num_features=1,
        extra_feature_columns=None,
        num_timesteps=10,
        loss=_ar_model.ARModel.NORMAL_LIKELIHOOD_LOSS,
        num_units=128,
        optimizer="Adam",
        config=None,
    ):
        super().__init__(
            model=_ar_model.ARModel(
                periodicities=periodicities,
                input_window_size=input_window_size,
                output_window_size=output_window_size,
                num_features=num_features,
                exogenous_feature_columns=extra_feature_columns,
                num_time_buckets=num_timesteps,
                loss=loss,
                prediction_model_factory=functools.partial(
                    _ar_model.LSTMPredictionModel, num_units=num_units
                ),
            ),
            state_manager=_state_management.FilteringOnlyStateManager(),
            optimizer=_optimizers.get_optimizer_instance(optimizer, learning_rate=0.01),
            model_dir=model_dir,
            config=config,
            head_type=_head.OneShotPredictionHead,
        )


class StateSpaceRegressor(_estimators.TimeSeriesRegressor):
    """Trains a state space model on chunks of a series.

    Args:
      model: a StateSpaceModel.
      state_manager: where the state before a chunk comes from; ChainingStateManager by default.
      optimizer: tf.train.Optimizer; Adam with a rate of 0.02 by default.
      model_dir: directory for checkpoints and summaries, or None.
      config: RunConfig, or None.
      head_type: class of the head.
    """

    def __init__(
        self,
        model,
        state_manager=None,
        optimizer=None,
        model_dir=None,
        config=None,
        head_type=_head.TimeSeriesRegressionHead,
    ):
        super().__init__(
            model=model,
            state_manager=state_manager or _state_management.ChainingStateManager(),
            optimizer=optimizer,
            model_dir=model_dir,
            config=config,
            head_type=head_type,
        )


class StructuralEnsembleRegressor(StateSpaceRegressor):
    """Trains level, trend, periods and a moving average of a series.

    Args:
      periodicities: number or list of numbers, steps of the periods.
      num_features: int, features of the series.
      cycle_num_latent_values: int, values of a period, odd; or a list of them, one a period.
      moving_average_order: int, steps that a deviation lasts.
      autoregressive_order: int, steps that a value depends on.
      exogenous_feature_columns: columns of features that are not predicted, or None.
      exogenous_update_condition: function of times and those features that tells where they count.
      dtype: type of all numbers.
      anomaly_prior_probability: float in (0, 1), the share of anomalies, or None.
      optimizer: tf.train.Optimizer; Adam with a rate of 0.02 by default.
      model_dir: directory for checkpoints and summaries, or None.
      config: RunConfig, or None.
      head_type: class of the head.
    """

    def __init__(
        self,
        periodicities,
        num_features,
        cycle_num_latent_values=11,
        moving_average_order=4,
        autoregressive_order=0,
        exogenous_feature_columns=None,
        exogenous_update_condition=None,
        dtype=tf.float64,
        anomaly_prior_probability=None,
        optimizer=None,
        model_dir=None,
        config=None,
        head_type=_head.TimeSeriesRegressionHead,
    ):
        detector = None
        if anomaly_prior_probability is not None:
            detector = _postprocessor.StateInterpolatingAnomalyDetector(
                anomaly_prior_probability=anomaly_prior_probability
            )
        model = _structural.MultiResolutionStructuralEnsemble(
            cycle_num_latent_values=cycle_num_latent_values,
            moving_average_order=moving_average_order,
            autoregressive_order=autoregressive_order,
            periodicities=periodicities,
            configuration=_state_space.StateSpaceModelConfiguration(
                num_features=num_features,
                dtype=dtype,
                filtering_postprocessor=detector,
                exogenous_feature_columns=exogenous_feature_columns,
                exogenous_update_condition=exogenous_update_condition,
            ),
        )
        super().__init__(
            model=model,
            optimizer=optimizer,
            model_dir=model_dir,
            config=config,
            head_type=head_type,
        )
