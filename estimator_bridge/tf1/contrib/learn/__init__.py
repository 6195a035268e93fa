"""`tf.contrib.learn`: the Estimators of 1.0 to 1.3, on those of tf.estimator.

An Experiment is run by tf.estimator.train_and_evaluate.
"""

import tensorflow.compat.v1 as _tf

from estimator_bridge.tf1.contrib.learn import (
    canned,
    datasets,
    experiment,
    export_strategy,
    fitting,
    learn_runner,
    monitors,
    preprocessing,
    run_config,
    svm,
    utils,
)
from estimator_bridge.tf1.contrib.package import lookup as _lookup

__all__ = ["datasets", "learn_runner", "monitors", "preprocessing", "run_config", "utils"]

__getattr__, _advice_for = _lookup(
    globals(),
    {
        "DynamicRnnEstimator": "write a model_fn with tf.nn.dynamic_rnn",
        "KMeansClustering": "use tf.contrib.factorization.KMeansClustering",
        "ops": "use the functions of tf",
    },
)

ModeKeys = fitting.ModeKeys
ModelFnOps = fitting.ModelFnOps
MetricSpec = fitting.MetricSpec
BaseEstimator = Estimator = fitting.Estimator
PredictionKey = fitting.PredictionKey
ProblemType = fitting.ProblemType
SKCompat = fitting.SKCompat

DNNClassifier = canned.DNNClassifier
DNNRegressor = canned.DNNRegressor
DNNLinearCombinedClassifier = canned.DNNLinearCombinedClassifier
DNNLinearCombinedRegressor = canned.DNNLinearCombinedRegressor
LinearClassifier = canned.LinearClassifier
LinearRegressor = canned.LinearRegressor
SVM = svm.SVM
infer_real_valued_columns_from_input = canned.infer_real_valued_columns_from_input
infer_real_valued_columns_from_input_fn = canned.infer_real_valued_columns_from_input_fn

Experiment = experiment.Experiment
ExportStrategy = export_strategy.ExportStrategy
make_export_strategy = utils.make_export_strategy

RunConfig = run_config.RunConfig
TaskType = run_config.TaskType
Environment = run_config.Environment

InputFnOps = utils.InputFnOps
build_parsing_serving_input_fn = utils.build_parsing_serving_input_fn
build_default_serving_input_fn = utils.build_default_serving_input_fn
input_fn_utils = utils
saved_model_export_utils = utils
model_fn = fitting
read_batch_examples = utils.read_batch_examples
read_batch_features = utils.read_batch_features
read_batch_record_features = utils.read_batch_features
io = utils
learn_io = utils
metric_spec = fitting
numpy_input_fn = _tf.estimator.inputs.numpy_input_fn
pandas_input_fn = _tf.estimator.inputs.pandas_input_fn
