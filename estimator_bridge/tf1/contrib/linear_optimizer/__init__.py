"""`tf.contrib.linear_optimizer`: linear models trained by stochastic dual coordinate ascent."""

from estimator_bridge.tf1.contrib.linear_optimizer import estimators as _estimators
from estimator_bridge.tf1.contrib.linear_optimizer import model as _model
from estimator_bridge.tf1.contrib.linear_optimizer import optimizer as _optimizer
from estimator_bridge.tf1.contrib.package import unsupported_names as _unsupported_names

__getattr__, _advice_for = _unsupported_names(globals())

SDCALinearRegressor = _estimators.SDCALinearRegressor
SDCALogisticClassifier = _estimators.SDCALogisticClassifier
SDCAOptimizer = _optimizer.SDCAOptimizer
SdcaModel = _model.SdcaModel
SparseFeatureColumn = _model.SparseFeatureColumn
