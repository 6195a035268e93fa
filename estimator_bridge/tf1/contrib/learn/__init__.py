"""`tf.contrib.learn`: the Estimators of TensorFlow 1.0 to 1.3, based on tf.estimator.

tf.estimator.train_and_evaluate runs an Experiment.
"""

from estimator_bridge.tf1.contrib.learn import canned as _canned
from estimator_bridge.tf1.contrib.learn import (
    datasets,
    debug,
    graph_actions,
    learn_io,
    learn_runner,
    models,
    monitors,
    ops,
    preprocessing,
    run_config,
    utils,
)
from estimator_bridge.tf1.contrib.learn import dynamic_rnn_estimator as _dynamic_rnn
from estimator_bridge.tf1.contrib.learn import experiment as _experiment
from estimator_bridge.tf1.contrib.learn import export_strategy as _export_strategy
from estimator_bridge.tf1.contrib.learn import fitting as _fitting
from estimator_bridge.tf1.contrib.learn import headed as _headed
from estimator_bridge.tf1.contrib.learn import heads as _heads
from estimator_bridge.tf1.contrib.learn import interfaces as _interfaces
from estimator_bridge.tf1.contrib.learn import kmeans as _kmeans
from estimator_bridge.tf1.contrib.learn import logistic_regressor as _logistic
from estimator_bridge.tf1.contrib.learn import skcompat as _skcompat
from estimator_bridge.tf1.contrib.learn import state_saving_rnn_estimator as _state_saving_rnn
from estimator_bridge.tf1.contrib.learn import svm as _svm
from estimator_bridge.tf1.contrib.package import unsupported_names as _unsupported_names

__all__ = [
    "datasets",
    "debug",
    "graph_actions",
    "head",
    "learn_io",
    "learn_runner",
    "models",
    "monitors",
    "ops",
    "preprocessing",
    "run_config",
    "utils",
]

__getattr__, _advice_for = _unsupported_names(
    globals(),
    {
        "evaluate": "use tf.contrib.learn.Estimator",
        "train": "use tf.train.MonitoredTrainingSession, or tf.contrib.learn.Estimator",
    },
)

ModeKeys = _fitting.ModeKeys
ModelFnOps = _fitting.ModelFnOps
MetricSpec = _fitting.MetricSpec
BaseEstimator = Estimator = _fitting.Estimator
PredictionKey = _fitting.PredictionKey
ProblemType = _fitting.ProblemType
NotFittedError = _fitting.NotFittedError
SKCompat = _skcompat.SKCompat

DNNClassifier = _canned.DNNClassifier
DNNRegressor = _canned.DNNRegressor
DNNLinearCombinedClassifier = _canned.DNNLinearCombinedClassifier
DNNLinearCombinedRegressor = _canned.DNNLinearCombinedRegressor
LinearClassifier = _canned.LinearClassifier
LinearRegressor = _canned.LinearRegressor
DNNEstimator = _headed.DNNEstimator
DNNLinearCombinedEstimator = _headed.DNNLinearCombinedEstimator
LinearEstimator = _headed.LinearEstimator
DynamicRnnEstimator = _dynamic_rnn.DynamicRnnEstimator
DebugClassifier = debug.DebugClassifier
DebugRegressor = debug.DebugRegressor
KMeansClustering = _kmeans.KMeansClustering
LogisticRegressor = _logistic.LogisticRegressor
StateSavingRnnEstimator = _state_saving_rnn.StateSavingRnnEstimator
SVM = _svm.SVM
infer_real_valued_columns_from_input = _canned.infer_real_valued_columns_from_input
infer_real_valued_columns_from_input_fn = _canned.infer_real_valued_columns_from_input_fn

head = _heads
Head = _heads.Head
binary_svm_head = _heads.binary_svm_head
multi_class_head = _heads.multi_class_head
multi_head = _heads.multi_head
multi_label_head = _heads.multi_label_head
no_op_train_fn = _heads.no_op_train_fn
poisson_regression_head = _heads.poisson_regression_head
regression_head = _heads.regression_head

Experiment = _experiment.Experiment
ExportStrategy = _export_strategy.ExportStrategy
make_export_strategy = utils.make_export_strategy

RunConfig = run_config.RunConfig
TaskType = run_config.TaskType
Environment = run_config.Environment

Evaluable = _interfaces.Evaluable
Trainable = _interfaces.Trainable
for _interface in (Evaluable, Trainable):
    _interface.register(_fitting.FitMixin)
NanLossDuringTrainingError = monitors.NanLossDuringTrainingError
infer = graph_actions.infer
run_feeds = graph_actions.run_feeds
run_n = graph_actions.run_n

InputFnOps = utils.InputFnOps
build_parsing_serving_input_fn = utils.build_parsing_serving_input_fn
build_default_serving_input_fn = utils.build_default_serving_input_fn
input_fn_utils = utils
saved_model_export_utils = utils
model_fn = _fitting
read_batch_examples = utils.read_batch_examples
read_batch_features = utils.read_batch_features
read_batch_record_features = utils.read_batch_record_features
io = learn_io
extract_pandas_data = learn_io.extract_pandas_data
extract_pandas_labels = learn_io.extract_pandas_labels
extract_pandas_matrix = learn_io.extract_pandas_matrix
metric_spec = _fitting
numpy_input_fn = learn_io.numpy_input_fn
pandas_input_fn = learn_io.pandas_input_fn
