"""`tf.contrib.rnn`."""

import tensorflow.compat.v1 as tf

from estimator_bridge.private_tf import rnn as _rnn_ops
from estimator_bridge.tf1.contrib.package import unsupported_names as _unsupported_names
from estimator_bridge.tf1.contrib.rnn import attention as _attention
from estimator_bridge.tf1.contrib.rnn import bidirectional as _bidirectional
from estimator_bridge.tf1.contrib.rnn import block_cells as _block
from estimator_bridge.tf1.contrib.rnn import cells as _cells
from estimator_bridge.tf1.contrib.rnn import conv_cells as _conv_cells
from estimator_bridge.tf1.contrib.rnn import gated_cells as _gated_cells
from estimator_bridge.tf1.contrib.rnn import grid_cells as _grid_cells
from estimator_bridge.tf1.contrib.rnn import gru_block_cells as _gru_block
from estimator_bridge.tf1.contrib.rnn import independent_cells as _independent_cells
from estimator_bridge.tf1.contrib.rnn import linear as _linear_module
from estimator_bridge.tf1.contrib.rnn import lstm_cells as _lstm_cells
from estimator_bridge.tf1.contrib.rnn import lstm_variants as _lstm_variants
from estimator_bridge.tf1.contrib.rnn import searched_cells as _searched_cells
from estimator_bridge.tf1.contrib.rnn import time_frequency as _time_frequency
from estimator_bridge.tf1.contrib.rnn import weight_norm as _weight_norm

_WRITE = "it has no successor; write the cell as a tf.nn.rnn_cell.RNNCell"

__getattr__, _advice_for = _unsupported_names(globals(), {"NTMCell": _WRITE})

BasicLSTMCell = tf.nn.rnn_cell.BasicLSTMCell
BasicRNNCell = tf.nn.rnn_cell.BasicRNNCell
DeviceWrapper = tf.nn.rnn_cell.DeviceWrapper
DropoutWrapper = tf.nn.rnn_cell.DropoutWrapper
GRUCell = tf.nn.rnn_cell.GRUCell
LSTMCell = tf.nn.rnn_cell.LSTMCell
LSTMStateTuple = tf.nn.rnn_cell.LSTMStateTuple
MultiRNNCell = tf.nn.rnn_cell.MultiRNNCell
RNNCell = tf.nn.rnn_cell.RNNCell
ResidualWrapper = tf.nn.rnn_cell.ResidualWrapper
# The base class of the cells, which has no public name today.
LayerRNNCell = BasicLSTMCell.__bases__[0]

static_bidirectional_rnn = tf.nn.static_bidirectional_rnn
static_rnn = tf.nn.static_rnn
static_state_saving_rnn = tf.nn.static_state_saving_rnn
dynamic_rnn = tf.nn.dynamic_rnn
best_effort_input_batch_size = _rnn_ops._best_effort_input_batch_size
bidirectional_dynamic_rnn = tf.nn.bidirectional_dynamic_rnn

_Linear = _linear_module.Linear
_linear = _linear_module.linear

FusedRNNCell = _block.FusedRNNCell
FusedRNNCellAdaptor = _block.FusedRNNCellAdaptor
GRUBlockCell = _gru_block.GRUBlockCell
GRUBlockCellV2 = _gru_block.GRUBlockCellV2
LSTMBlockCell = _block.LSTMBlockCell
LSTMBlockFusedCell = _block.LSTMBlockFusedCell
LSTMBlockWrapper = _block.LSTMBlockWrapper
TimeReversedFusedRNN = _block.TimeReversedFusedRNN

AttentionCellWrapper = _attention.AttentionCellWrapper

Conv1DLSTMCell = _conv_cells.Conv1DLSTMCell
Conv2DLSTMCell = _conv_cells.Conv2DLSTMCell
Conv3DLSTMCell = _conv_cells.Conv3DLSTMCell
ConvLSTMCell = _conv_cells.ConvLSTMCell

CFNCell = _gated_cells.CFNCell
MinimalRNNCell = _gated_cells.MinimalRNNCell

BidirectionalGridLSTMCell = _grid_cells.BidirectionalGridLSTMCell
GridLSTMCell = _grid_cells.GridLSTMCell
TimeFreqLSTMCell = _time_frequency.TimeFreqLSTMCell

IndRNNCell = _independent_cells.IndRNNCell
IndyGRUCell = _independent_cells.IndyGRUCell
IndyLSTMCell = _independent_cells.IndyLSTMCell
SRUCell = _independent_cells.SRUCell

GLSTMCell = _lstm_variants.GLSTMCell
PhasedLSTMCell = _lstm_variants.PhasedLSTMCell

IntersectionRNNCell = _searched_cells.IntersectionRNNCell
NASCell = _searched_cells.NASCell
UGRNNCell = _searched_cells.UGRNNCell
WeightNormLSTMCell = _weight_norm.WeightNormLSTMCell

CoupledInputForgetGateLSTMCell = _lstm_cells.CoupledInputForgetGateLSTMCell
CompiledWrapper = _cells.CompiledWrapper
EmbeddingWrapper = _cells.EmbeddingWrapper
HighwayWrapper = _cells.HighwayWrapper
InputProjectionWrapper = _cells.InputProjectionWrapper
LayerNormBasicLSTMCell = _lstm_cells.LayerNormBasicLSTMCell
LayerNormLSTMCell = _lstm_cells.LayerNormLSTMCell
OutputProjectionWrapper = _cells.OutputProjectionWrapper

stack_bidirectional_dynamic_rnn = _bidirectional.stack_bidirectional_dynamic_rnn
stack_bidirectional_rnn = _bidirectional.stack_bidirectional_rnn
transpose_batch_time = _bidirectional.transpose_batch_time
