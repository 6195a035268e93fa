"""Cases of tf.contrib.rnn: cells over a sequence, and functions."""

import functools

import tensorflow as tf
import values

CASES = {}
rnn = tf.contrib.rnn
ones = tf.ones_initializer


def unlisted():
    """Returns the module of the cells that 1.15 has under its full name only."""
    from tensorflow.contrib.rnn.python.ops import rnn_cell

    return rnn_cell


def grid(num_units=4, *arguments, **options):
    """Returns a GridLSTMCell of features of size 2 at each place."""
    options = dict(dict(num_frequency_blocks=[2]), **options)
    return rnn.GridLSTMCell(num_units, *arguments, feature_size=2, frequency_skip=1, **options)


CELLS = {
    "AttentionCellWrapper": lambda: rnn.AttentionCellWrapper(rnn.BasicLSTMCell(4), 2),
    "BasicLSTMCell": lambda: rnn.BasicLSTMCell(4),
    "BasicLSTMCell, forget_bias": lambda: rnn.BasicLSTMCell(4, 0.0, activation=tf.nn.relu),
    "BasicRNNCell": lambda: rnn.BasicRNNCell(4),
    "BidirectionalGridLSTMCell": lambda: rnn.BidirectionalGridLSTMCell(
        4, feature_size=3, frequency_skip=1, num_frequency_blocks=[1]
    ),
    "BidirectionalGridLSTMCell, options": lambda: rnn.BidirectionalGridLSTMCell(
        *(4, True, False, 0.1, None, 2, 0.5, 2, 1, [2])
    ),
    "BidirectionalGridLSTMCell, offset": lambda: rnn.BidirectionalGridLSTMCell(
        4,
        share_time_frequency_weights=True,
        feature_size=1,
        frequency_skip=1,
        num_frequency_blocks=[3],
        couple_input_forget_gates=True,
        backward_slice_offset=1,
    ),
    "BidirectionalGridLSTMCell, negative offset": lambda: rnn.BidirectionalGridLSTMCell(
        4,
        feature_size=2,
        frequency_skip=1,
        num_frequency_blocks=[2],
        backward_slice_offset=-1,
    ),
    "BidirectionalGridLSTMCell, blocks": lambda: rnn.BidirectionalGridLSTMCell(
        4,
        feature_size=2,
        frequency_skip=1,
        num_frequency_blocks=[1, 2],
        start_freqindex_list=[0, 0],
        end_freqindex_list=[2, 3],
    ),
    "CFNCell": lambda: unlisted().CFNCell(4),
    "CFNCell, options": lambda: unlisted().CFNCell(
        4, "relu", "orthogonal", tf.constant_initializer(0.5), name="cell"
    ),
    "CompiledWrapper": lambda: rnn.CompiledWrapper(rnn.GRUCell(4)),
    "CompiledWrapper, compile_stateful": lambda: rnn.CompiledWrapper(rnn.BasicLSTMCell(4), True),
    "CoupledInputForgetGateLSTMCell": lambda: rnn.CoupledInputForgetGateLSTMCell(4),
    "CoupledInputForgetGateLSTMCell, peepholes": lambda: rnn.CoupledInputForgetGateLSTMCell(
        4, use_peepholes=True, num_proj=3, proj_clip=0.1
    ),
    "GLSTMCell": lambda: rnn.GLSTMCell(4, number_of_groups=2),
    "GLSTMCell, num_proj": lambda: rnn.GLSTMCell(4, num_proj=2),
    "GLSTMCell, groups": lambda: rnn.GLSTMCell(
        6, tf.ones_initializer(), 9, 3, forget_bias=0.5, activation=tf.nn.relu
    ),
    "GLSTMCell, groups without num_proj": lambda: rnn.GLSTMCell(6, number_of_groups=3),
    "GRUBlockCell": lambda: rnn.GRUBlockCell(4),
    "GRUBlockCellV2": lambda: rnn.GRUBlockCellV2(4),
    "GRUCell": lambda: rnn.GRUCell(4),
    "GRUCell, bias_initializer": lambda: rnn.GRUCell(4, bias_initializer=tf.ones_initializer()),
    "GridLSTMCell": lambda: grid(),
    "GridLSTMCell, options": lambda: grid(
        use_peepholes=True, cell_clip=0.1, num_unit_shards=2, forget_bias=0.5
    ),
    "GridLSTMCell, shared": lambda: grid(
        share_time_frequency_weights=True, use_peepholes=True, state_is_tuple=False
    ),
    "GridLSTMCell, coupled": lambda: grid(
        couple_input_forget_gates=True, use_peepholes=True, initializer=tf.ones_initializer()
    ),
    "GridLSTMCell, shared and coupled": lambda: grid(
        share_time_frequency_weights=True, couple_input_forget_gates=True
    ),
    "GridLSTMCell, blocks": lambda: grid(
        num_frequency_blocks=[1, 2], start_freqindex_list=[0, 0], end_freqindex_list=[2, 3]
    ),
    "GridLSTMCell, blocks in one tensor": lambda: grid(
        *(4, True),
        num_frequency_blocks=[2, 1],
        start_freqindex_list=[0, 1],
        end_freqindex_list=[3, 3],
        state_is_tuple=False,
    ),
    "GridLSTMCell, no blocks": lambda: grid(num_frequency_blocks=None),
    "GridLSTMCell, too many blocks": lambda: grid(num_frequency_blocks=[3]),
    "GridLSTMCell, blocks without places": lambda: grid(num_frequency_blocks=[1, 1]),
    "GridLSTMCell, other number of places": lambda: grid(
        num_frequency_blocks=[1, 1], start_freqindex_list=[0], end_freqindex_list=[2]
    ),
    "HighwayWrapper": lambda: rnn.HighwayWrapper(rnn.GRUCell(4)),
    "IndRNNCell": lambda: rnn.IndRNNCell(4),
    "IndyGRUCell": lambda: rnn.IndyGRUCell(4),
    "IndyLSTMCell": lambda: rnn.IndyLSTMCell(4),
    "IndRNNCell, activation": lambda: rnn.IndRNNCell(4, tf.nn.relu, name="cell"),
    "IndyGRUCell, options": lambda: rnn.IndyGRUCell(
        *(4, tf.nn.relu, None, tf.ones_initializer(), tf.constant_initializer(0.5)), name="cell"
    ),
    "IndyLSTMCell, options": lambda: rnn.IndyLSTMCell(
        *(4, 0.5, tf.nn.relu, None, tf.ones_initializer(), tf.constant_initializer(0.5)),
        name="cell",
    ),
    "IntersectionRNNCell": lambda: rnn.IntersectionRNNCell(4),
    "IntersectionRNNCell, num_in_proj": lambda: rnn.IntersectionRNNCell(4, num_in_proj=4),
    "IntersectionRNNCell, other num_in_proj": lambda: rnn.IntersectionRNNCell(4, num_in_proj=5),
    "IntersectionRNNCell, options": lambda: rnn.IntersectionRNNCell(
        3, forget_bias=0.5, y_activation=tf.tanh, initializer=tf.ones_initializer()
    ),
    "LSTMBlockCell": lambda: rnn.LSTMBlockCell(4),
    "LSTMBlockCell, cell_clip": lambda: rnn.LSTMBlockCell(4, cell_clip=0.1),
    "LSTMBlockCell, peephole": lambda: rnn.LSTMBlockCell(4, use_peephole=True),
    "LSTMCell": lambda: rnn.LSTMCell(4),
    "LSTMCell, projected": lambda: rnn.LSTMCell(4, use_peepholes=True, num_proj=3, cell_clip=0.2),
    "LayerNormBasicLSTMCell": lambda: rnn.LayerNormBasicLSTMCell(4),
    "LayerNormBasicLSTMCell, without": lambda: rnn.LayerNormBasicLSTMCell(4, layer_norm=False),
    "LayerRNNCell stack": lambda: rnn.MultiRNNCell([rnn.GRUCell(4), rnn.BasicLSTMCell(3)]),
    "LayerNormLSTMCell": lambda: unlisted().LayerNormLSTMCell(4),
    "LayerNormLSTMCell, layer_norm": lambda: unlisted().LayerNormLSTMCell(4, layer_norm=True),
    "LayerNormLSTMCell, options": lambda: unlisted().LayerNormLSTMCell(
        *(4, True, 0.4, ones(), 3, 0.2, 0.5, tf.nn.relu, True, 0.8, 0.1)
    ),
    "LayerNormLSTMCell, options without layer_norm": lambda: unlisted().LayerNormLSTMCell(
        *(4, True, 0.4, ones(), 3, 0.2, 0.5, tf.nn.relu)
    ),
    "MinimalRNNCell": lambda: unlisted().MinimalRNNCell(4),
    "MinimalRNNCell, options": lambda: unlisted().MinimalRNNCell(
        4, "relu", "orthogonal", tf.constant_initializer(0.5), name="cell"
    ),
    "NASCell": lambda: rnn.NASCell(4),
    "NASCell, num_proj": lambda: rnn.NASCell(4, num_proj=3, use_bias=True),
    "PhasedLSTMCell": lambda: rnn.PhasedLSTMCell(4),
    "PhasedLSTMCell, options": lambda: rnn.PhasedLSTMCell(4, True, 0.1, 0.4, False, 2.0, 8.0),
    "ResidualWrapper": lambda: rnn.ResidualWrapper(rnn.GRUCell(3)),
    "SRUCell": lambda: rnn.SRUCell(4),
    "SRUCell, activation": lambda: rnn.SRUCell(4, tf.nn.relu, name="cell"),
    "TimeFreqLSTMCell": lambda: rnn.TimeFreqLSTMCell(4, feature_size=3, frequency_skip=1),
    "TimeFreqLSTMCell, options": lambda: rnn.TimeFreqLSTMCell(
        *(4, True, 0.1, tf.ones_initializer(), 2, 0.5, 2, 2)
    ),
    "TimeFreqLSTMCell, two frequencies": lambda: rnn.TimeFreqLSTMCell(
        4, feature_size=2, frequency_skip=1
    ),
    "UGRNNCell": lambda: rnn.UGRNNCell(4),
    "InputProjectionWrapper": lambda: rnn.InputProjectionWrapper(rnn.GRUCell(4), 2),
    "OutputProjectionWrapper": lambda: rnn.OutputProjectionWrapper(rnn.GRUCell(4), 2),
    "EmbeddingWrapper": lambda: rnn.EmbeddingWrapper(rnn.GRUCell(4), 5, 3),
    "FusedRNNCellAdaptor": lambda: rnn.GRUCell(4),
}


def unrolled(name, rows=2, steps=3):
    cell = CELLS[name]()
    if name == "EmbeddingWrapper":
        inputs = values.whole(rows, steps, below=5, dtype=values.np.int32)
        inputs = tf.expand_dims(inputs, -1)
    else:
        inputs = values.real(rows, steps, 3, seed=1)
    if name.startswith("PhasedLSTMCell"):
        times = tf.reshape(tf.to_float(tf.range(rows * steps)), [rows, steps, 1])
        inputs = (times, inputs)
    lengths = None if not rows else tf.minimum(tf.range(rows) + 2, steps)
    return tf.nn.dynamic_rnn(cell, inputs, lengths, dtype=tf.float32)


for _name in sorted(CELLS):
    CASES[_name] = functools.partial(unrolled, _name)
for _name in ("GRUCell", "LSTMBlockCell", "GRUBlockCellV2"):
    CASES[_name + ", one row"] = functools.partial(unrolled, _name, 1)
    CASES[_name + ", no rows"] = functools.partial(unrolled, _name, 0)


def fused(build, **options):
    return build()(values.real(3, 2, 4, seed=1), dtype=tf.float32, **options)


CASES["LSTMBlockFusedCell"] = lambda: fused(lambda: rnn.LSTMBlockFusedCell(4))
CASES["LSTMBlockFusedCell, lengths"] = lambda: fused(
    lambda: rnn.LSTMBlockFusedCell(4, use_peephole=True), sequence_length=tf.constant([3, 1])
)
CASES["FusedRNNCellAdaptor"] = lambda: fused(lambda: rnn.FusedRNNCellAdaptor(rnn.GRUCell(4)))
CASES["FusedRNNCellAdaptor, dynamic"] = lambda: fused(
    lambda: rnn.FusedRNNCellAdaptor(rnn.GRUCell(4), use_dynamic_rnn=True)
)
CASES["TimeReversedFusedRNN"] = lambda: fused(
    lambda: rnn.TimeReversedFusedRNN(rnn.LSTMBlockFusedCell(4)),
    sequence_length=tf.constant([3, 1]),
)


def listed(count=3):
    return [values.real(2, 3, seed=place) for place in range(count)]


CASES["static_rnn"] = lambda: rnn.static_rnn(rnn.GRUCell(4), listed(), dtype=tf.float32)
CASES["static_bidirectional_rnn"] = lambda: rnn.static_bidirectional_rnn(
    rnn.GRUCell(4), rnn.GRUCell(3), listed(), dtype=tf.float32
)
CASES["stack_bidirectional_rnn"] = lambda: rnn.stack_bidirectional_rnn(
    [rnn.GRUCell(4), rnn.GRUCell(3)], [rnn.GRUCell(2), rnn.GRUCell(3)], listed(), dtype=tf.float32
)
CASES["stack_bidirectional_dynamic_rnn"] = lambda: rnn.stack_bidirectional_dynamic_rnn(
    [rnn.GRUCell(4), rnn.GRUCell(3)],
    [rnn.GRUCell(2), rnn.GRUCell(3)],
    values.real(2, 3, 2),
    dtype=tf.float32,
    sequence_length=tf.constant([3, 1]),
)
CASES["transpose_batch_time"] = lambda: rnn.transpose_batch_time(values.real(2, 3, 2))


def stated(tuples):
    cell = rnn.BasicLSTMCell(4, state_is_tuple=tuples)
    return cell(values.real(2, 3), cell.zero_state(2, tf.float32))


CASES["BasicLSTMCell, state_is_tuple False"] = lambda: stated(False)
for _dims in (1, 2, 3):
    CASES[f"Conv{_dims}DLSTMCell"] = lambda dims=_dims: convolved(dims)


def convolved(dims):
    shape = [4] * dims + [2]
    cell = getattr(rnn, f"Conv{dims}DLSTMCell")(
        input_shape=shape, output_channels=3, kernel_shape=[3] * dims
    )
    return tf.nn.dynamic_rnn(cell, values.real(2, 2, *shape), dtype=tf.float32)[0]
