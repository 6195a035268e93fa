"""`tf.contrib.optimizer_v2`: optimizers whose hyperparameters may be tensors or functions."""

from estimator_bridge.tf1.contrib.optimizer_v2 import adadelta as _adadelta
from estimator_bridge.tf1.contrib.optimizer_v2 import adagrad as _adagrad
from estimator_bridge.tf1.contrib.optimizer_v2 import adam as _adam
from estimator_bridge.tf1.contrib.optimizer_v2 import gradient_descent as _gradient_descent
from estimator_bridge.tf1.contrib.optimizer_v2 import momentum as _momentum
from estimator_bridge.tf1.contrib.optimizer_v2 import optimizer_v2 as _optimizer_v2
from estimator_bridge.tf1.contrib.optimizer_v2 import rmsprop as _rmsprop
from estimator_bridge.tf1.contrib.package import unsupported_names as _unsupported_names

__getattr__, _advice_for = _unsupported_names(globals(), default_advice="use tf.train")

AdadeltaOptimizer = _adadelta.AdadeltaOptimizer
AdagradOptimizer = _adagrad.AdagradOptimizer
AdamOptimizer = _adam.AdamOptimizer
GradientDescentOptimizer = _gradient_descent.GradientDescentOptimizer
MomentumOptimizer = _momentum.MomentumOptimizer
OptimizerV2 = _optimizer_v2.OptimizerV2
RMSPropOptimizer = _rmsprop.RMSPropOptimizer
