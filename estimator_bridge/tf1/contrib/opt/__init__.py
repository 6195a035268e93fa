"""`tf.contrib.opt`."""

from estimator_bridge.tf1.contrib.opt import adam_variants as _adam_variants
from estimator_bridge.tf1.contrib.opt import agn as _agn
from estimator_bridge.tf1.contrib.opt import averaging as _averaging
from estimator_bridge.tf1.contrib.opt import elastic_average as _elastic_average
from estimator_bridge.tf1.contrib.opt import external as _external
from estimator_bridge.tf1.contrib.opt import global_step as _global_step
from estimator_bridge.tf1.contrib.opt import layerwise as _layerwise
from estimator_bridge.tf1.contrib.opt import model_average as _model_average
from estimator_bridge.tf1.contrib.opt import regularized as _regularized
from estimator_bridge.tf1.contrib.opt import sign as _sign
from estimator_bridge.tf1.contrib.opt import weight_decay as _weight_decay
from estimator_bridge.tf1.contrib.opt import wrappers as _wrappers
from estimator_bridge.tf1.contrib.package import unsupported_names as _unsupported_names

_WRITE = "write it as a tf.train.Optimizer (apply_gradients, and slots from _get_or_make_slot)"
_WITHOUT_SUCCESSOR = (
    "GGTOptimizer",
    "ShampooOptimizer",
)

__getattr__, _advice_for = _unsupported_names(globals(), dict.fromkeys(_WITHOUT_SUCCESSOR, _WRITE))

AdaMaxOptimizer = _adam_variants.AdaMaxOptimizer
LazyAdamOptimizer = _adam_variants.LazyAdamOptimizer
NadamOptimizer = _adam_variants.NadamOptimizer
AGNCustomGetter = _agn.AGNCustomGetter
AGNOptimizer = _agn.AGNOptimizer
ElasticAverageCustomGetter = _elastic_average.ElasticAverageCustomGetter
ElasticAverageOptimizer = _elastic_average.ElasticAverageOptimizer
ExternalOptimizerInterface = _external.ExternalOptimizerInterface
ScipyOptimizerInterface = _external.ScipyOptimizerInterface
LARSOptimizer = _layerwise.LARSOptimizer
ModelAverageCustomGetter = _model_average.ModelAverageCustomGetter
ModelAverageOptimizer = _model_average.ModelAverageOptimizer
MovingAverageOptimizer = _averaging.MovingAverageOptimizer
AdamWOptimizer = _weight_decay.AdamWOptimizer
DecoupledWeightDecayExtension = _weight_decay.DecoupledWeightDecayExtension
MomentumWOptimizer = _weight_decay.MomentumWOptimizer
extend_with_decoupled_weight_decay = _weight_decay.extend_with_decoupled_weight_decay
AdamGSOptimizer = _global_step.AdamGSOptimizer
LazyAdamGSOptimizer = _global_step.LazyAdamGSOptimizer
RegAdagradOptimizer = _regularized.RegAdagradOptimizer
AddSignOptimizer = _sign.AddSignOptimizer
PowerSignOptimizer = _sign.PowerSignOptimizer
DropStaleGradientOptimizer = _wrappers.DropStaleGradientOptimizer
MultitaskOptimizerWrapper = _wrappers.MultitaskOptimizerWrapper
VariableClippingOptimizer = _wrappers.VariableClippingOptimizer
clip_gradients_by_global_norm = _wrappers.clip_gradients_by_global_norm
