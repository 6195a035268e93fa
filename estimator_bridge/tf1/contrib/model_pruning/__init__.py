"""`tf.contrib.model_pruning`: training with masks that remove the smallest weights."""

from estimator_bridge.tf1.contrib.model_pruning import masked_cells as _masked_cells
from estimator_bridge.tf1.contrib.model_pruning import masked_layers as _masked_layers
from estimator_bridge.tf1.contrib.model_pruning import masks as _masks
from estimator_bridge.tf1.contrib.model_pruning import schedule as _schedule
from estimator_bridge.tf1.contrib.model_pruning import stripping as _stripping
from estimator_bridge.tf1.contrib.model_pruning import training as _training
from estimator_bridge.tf1.contrib.package import unsupported_names as _unsupported_names

__getattr__, _advice_for = _unsupported_names(
    globals(), default_advice="use apply_mask on a variable of your own"
)

MaskedBasicLSTMCell = _masked_cells.MaskedBasicLSTMCell
MaskedLSTMCell = _masked_cells.MaskedLSTMCell
masked_conv2d = _masked_layers.masked_convolution
masked_convolution = _masked_layers.masked_convolution
masked_fully_connected = _masked_layers.masked_fully_connected
apply_mask = _masks.apply_mask
get_masked_weights = _masks.get_masked_weights
get_masks = _masks.get_masks
get_thresholds = _masks.get_thresholds
get_weight_sparsity = _masks.get_weight_sparsity
get_weights = _masks.get_weights
Pruning = _schedule.Pruning
get_pruning_hparams = _schedule.get_pruning_hparams
graph_def_from_checkpoint = _stripping.graph_def_from_checkpoint
strip_pruning_vars_fn = _stripping.strip_pruning_vars_fn
train = _training.train
