"""`tf.contrib.timeseries`."""

from estimator_bridge.private_tf import timeseries_feature_keys as _feature_keys
from estimator_bridge.private_tf import timeseries_head as _head
from estimator_bridge.tf1.contrib.package import unsupported_names as _unsupported_names
from estimator_bridge.tf1.contrib.timeseries import saved_model_utils
from estimator_bridge.tf1.contrib.timeseries.ar_model import ARModel
from estimator_bridge.tf1.contrib.timeseries.estimators import (
    ARRegressor,
    LSTMAutoRegressor,
    StateSpaceRegressor,
    StructuralEnsembleRegressor,
    TimeSeriesRegressor,
)
from estimator_bridge.tf1.contrib.timeseries.input_pipeline import (
    CSVReader,
    NumpyReader,
    RandomWindowInputFn,
    WholeDatasetInputFn,
    predict_continuation_input_fn,
)

__all__ = [
    "ARModel",
    "ARRegressor",
    "CSVReader",
    "FilteringResults",
    "LSTMAutoRegressor",
    "NumpyReader",
    "OneShotPredictionHead",
    "RandomWindowInputFn",
    "StateSpaceRegressor",
    "StructuralEnsembleRegressor",
    "TimeSeriesRegressor",
    "TrainEvalFeatures",
    "WholeDatasetInputFn",
    "predict_continuation_input_fn",
    "saved_model_utils",
]

__getattr__, _advice_for = _unsupported_names(globals())

FilteringResults = _feature_keys.FilteringResults
OneShotPredictionHead = _head.OneShotPredictionHead
TrainEvalFeatures = _feature_keys.TrainEvalFeatures
