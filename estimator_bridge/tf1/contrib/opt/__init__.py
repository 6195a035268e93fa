"""`tf.contrib.opt`."""

from estimator_bridge.tf1.contrib.opt import adam_variants, averaging, layerwise, weight_decay
from estimator_bridge.tf1.contrib.package import lookup as _lookup

_WRITE = "write it as a tf.train.Optimizer (apply_gradients, and slots from _get_or_make_slot)"
_WITHOUT_SUCCESSOR = (
    "AGNOptimizer",
    "AdamGSOptimizer",
    "AddSignOptimizer",
    "DropStaleGradientOptimizer",
    "ElasticAverageOptimizer",
    "GGTOptimizer",
    "LazyAdamGSOptimizer",
    "ModelAverageOptimizer",
    "MultitaskOptimizerWrapper",
    "PowerSignOptimizer",
    "RegAdagradOptimizer",
    "ShampooOptimizer",
    "VariableClippingOptimizer",
)

__getattr__, _advice_for = _lookup(
    globals(),
    {
        **dict.fromkeys(_WITHOUT_SUCCESSOR, _WRITE),
        "ScipyOptimizerInterface": "use scipy.optimize with a session's run as the function",
    },
)

AdaMaxOptimizer = adam_variants.AdaMaxOptimizer
LazyAdamOptimizer = adam_variants.LazyAdamOptimizer
NadamOptimizer = adam_variants.NadamOptimizer
LARSOptimizer = layerwise.LARSOptimizer
MovingAverageOptimizer = averaging.MovingAverageOptimizer
AdamWOptimizer = weight_decay.AdamWOptimizer
DecoupledWeightDecayExtension = weight_decay.DecoupledWeightDecayExtension
MomentumWOptimizer = weight_decay.MomentumWOptimizer
extend_with_decoupled_weight_decay = weight_decay.extend_with_decoupled_weight_decay
