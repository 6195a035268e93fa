"""tf.contrib.rnn: the fused cells compared with BasicLSTMCell and GRUCell."""

import numpy as np
import pytest
import tensorflow as tf

rnn = tf.contrib.rnn
LENGTH, BATCH, SIZE, UNITS = 5, 3, 4, 6
INPUTS = np.random.RandomState(0).normal(size=[LENGTH, BATCH, SIZE]).astype(np.float32)
LENGTHS = [5, 2, 0]


def names():
    return sorted(variable.op.name for variable in tf.global_variables())


def set_equal():
    """Sets all variables of one shape to the same values."""
    rng = np.random.RandomState(3)
    values = {}
    assigned = []
    for variable in tf.global_variables():
        shape = tuple(variable.shape.as_list())
        if shape not in values:
            values[shape] = rng.normal(scale=0.3, size=shape).astype(np.float32)
        assigned.append(tf.assign(variable, values[shape]))
    return tf.group(*assigned)


def compare(fetches):
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(set_equal())
        return session.run(fetches)


@pytest.mark.parametrize("lengths", [None, LENGTHS])
@pytest.mark.parametrize("reverse", [False, True])
def test_fused_lstm_matches_basic_lstm(lengths, reverse):
    fused = rnn.LSTMBlockFusedCell(UNITS)
    plain = rnn.FusedRNNCellAdaptor(rnn.BasicLSTMCell(UNITS), use_dynamic_rnn=True)
    if reverse:
        fused, plain = rnn.TimeReversedFusedRNN(fused), rnn.TimeReversedFusedRNN(plain)
    options = {"dtype": tf.float32, "sequence_length": lengths}
    inputs = tf.constant(INPUTS)
    outputs, state = fused(inputs, **options)
    wanted, wanted_state = plain(inputs, **options)
    gradients = tf.gradients(tf.reduce_sum(outputs**2), [inputs])
    wanted_gradients = tf.gradients(tf.reduce_sum(wanted**2), [inputs])
    assert "lstm_fused_cell/kernel" in names()
    got, want = compare([(outputs, state, gradients), (wanted, wanted_state, wanted_gradients)])
    for a, b in zip(
        tf.contrib.framework.nest.flatten(got), tf.contrib.framework.nest.flatten(want)
    ):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)


def test_fused_cells_are_numbered_and_reuse_their_variables():
    for _ in range(2):
        cell = rnn.LSTMBlockFusedCell(UNITS)
        cell(tf.constant(INPUTS), dtype=tf.float32)
        cell(tf.constant(INPUTS), dtype=tf.float32)
    assert names() == [
        "lstm_fused_cell/bias",
        "lstm_fused_cell/kernel",
        "lstm_fused_cell_1/bias",
        "lstm_fused_cell_1/kernel",
    ]


@pytest.mark.parametrize(
    ("block", "plain"),
    [
        (rnn.LSTMBlockCell, rnn.BasicLSTMCell),
        (rnn.GRUBlockCellV2, rnn.GRUCell),
    ],
)
def test_block_cells_match_the_basic_cells(block, plain):
    inputs = tf.transpose(tf.constant(INPUTS), [1, 0, 2])
    got = tf.nn.dynamic_rnn(block(UNITS), inputs, dtype=tf.float32, scope="a")
    want = tf.nn.dynamic_rnn(plain(UNITS), inputs, dtype=tf.float32, scope="b")
    got, want = compare([got, want])
    np.testing.assert_allclose(got[0], want[0], rtol=1e-4, atol=1e-5)


def test_variable_names_of_block_cells():
    inputs = tf.transpose(tf.constant(INPUTS), [1, 0, 2])
    tf.nn.dynamic_rnn(rnn.LSTMBlockCell(UNITS, use_peephole=True), inputs, dtype=tf.float32)
    tf.nn.dynamic_rnn(rnn.GRUBlockCell(UNITS), inputs, dtype=tf.float32)
    assert names() == [
        "rnn/gru_cell/b_c",
        "rnn/gru_cell/b_ru",
        "rnn/gru_cell/w_c",
        "rnn/gru_cell/w_ru",
        "rnn/lstm_cell/bias",
        "rnn/lstm_cell/kernel",
        "rnn/lstm_cell/w_f_diag",
        "rnn/lstm_cell/w_i_diag",
        "rnn/lstm_cell/w_o_diag",
    ]


def test_layer_norm_lstm_without_norm_matches_basic_lstm():
    inputs = tf.transpose(tf.constant(INPUTS), [1, 0, 2])
    got = tf.nn.dynamic_rnn(
        rnn.LayerNormBasicLSTMCell(UNITS, layer_norm=False), inputs, dtype=tf.float32, scope="a"
    )
    want = tf.nn.dynamic_rnn(rnn.BasicLSTMCell(UNITS), inputs, dtype=tf.float32, scope="b")
    got, want = compare([got, want])
    np.testing.assert_allclose(got[0], want[0], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    "make",
    [
        lambda: rnn.LayerNormBasicLSTMCell(UNITS, dropout_keep_prob=0.9),
        lambda: rnn.CoupledInputForgetGateLSTMCell(UNITS, use_peepholes=True),
        lambda: rnn.InputProjectionWrapper(rnn.GRUCell(UNITS), 7),
        lambda: rnn.OutputProjectionWrapper(rnn.GRUCell(UNITS), UNITS),
        lambda: rnn.HighwayWrapper(rnn.GRUCell(SIZE)),
        lambda: rnn.NASCell(UNITS, num_proj=5, use_bias=True),
        lambda: rnn.UGRNNCell(UNITS),
        lambda: rnn.AttentionCellWrapper(rnn.LSTMCell(UNITS), 4, attn_vec_size=7),
        lambda: rnn.AttentionCellWrapper(rnn.GRUCell(UNITS), 2, state_is_tuple=False),
        lambda: rnn.MultiRNNCell([rnn.DropoutWrapper(rnn.LSTMCell(UNITS), 0.9), rnn.GRUCell(5)]),
    ],
)
def test_cells_run_and_have_gradients(run, make):
    inputs = tf.transpose(tf.constant(INPUTS), [1, 0, 2])
    outputs, _ = tf.nn.dynamic_rnn(make(), inputs, dtype=tf.float32)
    gradients = tf.gradients(tf.reduce_sum(outputs**2), tf.trainable_variables())
    assert tf.trainable_variables()
    assert all(np.isfinite(value).all() for value in run(gradients))


def test_stacked_bidirectional_layers(run):
    cells = [rnn.LSTMCell(3), rnn.LSTMCell(2)], [rnn.LSTMCell(3), rnn.LSTMCell(2)]
    inputs = tf.transpose(tf.constant(INPUTS), [1, 0, 2])
    outputs, states, _ = rnn.stack_bidirectional_dynamic_rnn(
        *cells, inputs, dtype=tf.float32, sequence_length=LENGTHS
    )
    assert len(states) == 2
    assert run(outputs).shape == (BATCH, LENGTH, 4)
    assert "stack_bidirectional_rnn/cell_1/bidirectional_rnn/bw/lstm_cell/kernel" in names()


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def values_by_name():
    """Returns {last part of the name: value} after set_equal."""
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(set_equal())
        return {v.op.name.split("/", 1)[1]: session.run(v) for v in tf.global_variables()}


def test_attention_cell_wrapper_attends_to_its_last_outputs():
    cell = rnn.AttentionCellWrapper(rnn.BasicRNNCell(UNITS), 3, attn_size=5, attn_vec_size=2)
    rng = np.random.RandomState(1)
    h, attention = rng.normal(size=[BATCH, UNITS]), rng.normal(size=[BATCH, 5])
    window = rng.normal(size=[BATCH, 3, 5])
    state = [h, attention, window.reshape(BATCH, 15)]
    output, (new_h, new_attention, new_window) = cell(
        tf.constant(INPUTS[0]), [tf.constant(part, tf.float32) for part in state]
    )
    got = compare([output, new_h, new_attention, new_window])
    w = values_by_name()
    assert {name: value.shape for name, value in w.items()} == {
        "kernel": (SIZE + 5, SIZE),
        "bias": (SIZE,),
        "basic_rnn_cell/kernel": (SIZE + UNITS, UNITS),
        "basic_rnn_cell/bias": (UNITS,),
        "attention/attn_w": (1, 1, 5, 2),
        "attention/attn_v": (2,),
        "attention/kernel": (UNITS, 2),
        "attention/bias": (2,),
        "attn_output_projection/kernel": (UNITS + 5, 5),
        "attn_output_projection/bias": (5,),
    }
    assert "attention_cell_wrapper/attention/attn_v" in names()
    read = np.hstack([INPUTS[0], attention]) @ w["kernel"] + w["bias"]
    h = np.tanh(np.hstack([read, h]) @ w["basic_rnn_cell/kernel"] + w["basic_rnn_cell/bias"])
    query = h @ w["attention/kernel"] + w["attention/bias"]
    hidden = np.tanh(window @ w["attention/attn_w"][0, 0] + query[:, None])
    weights = np.exp(hidden @ w["attention/attn_v"])
    weights /= weights.sum(1, keepdims=True)
    attention = (weights[..., None] * window).sum(1)
    output = np.hstack([h, attention]) @ w["attn_output_projection/kernel"]
    output += w["attn_output_projection/bias"]
    window = np.concatenate([window[:, 1:], output[:, None]], 1).reshape(BATCH, 15)
    for one, want in zip(got, [output, h, attention, window]):
        np.testing.assert_allclose(one, want, rtol=1e-4, atol=1e-5)


def test_convolution_of_size_one_is_an_lstm_per_position():
    inputs = np.random.RandomState(2).normal(size=[BATCH, LENGTH, 7, SIZE]).astype(np.float32)
    conv = rnn.Conv1DLSTMCell(
        input_shape=[7, SIZE], output_channels=UNITS, kernel_shape=[1], skip_connection=True
    )
    got, state = tf.nn.dynamic_rnn(conv, tf.constant(inputs), dtype=tf.float32)
    assert got.shape.as_list() == [BATCH, LENGTH, 7, UNITS + SIZE]
    assert state.h.shape.as_list() == [BATCH, 7, UNITS]
    assert names() == ["rnn/conv_1d_lstm_cell/biases", "rnn/conv_1d_lstm_cell/kernel"]
    flat = inputs.transpose(0, 2, 1, 3).reshape(BATCH * 7, LENGTH, SIZE)
    lstm, _ = tf.nn.dynamic_rnn(
        rnn.BasicLSTMCell(UNITS), tf.constant(flat), dtype=tf.float32, scope="plain"
    )
    kernel, bias = tf.trainable_variables("rnn")
    other, other_bias = tf.trainable_variables("plain")
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run([tf.assign(other, kernel[0]), tf.assign(other_bias, bias)])
        got, want = session.run([got, lstm])
    np.testing.assert_array_equal(got[..., UNITS:], inputs)
    want = want.reshape(BATCH, 7, LENGTH, UNITS).transpose(0, 2, 1, 3)
    np.testing.assert_allclose(got[..., :UNITS], want, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("make", "size"), [(rnn.Conv2DLSTMCell, [5, 6]), (rnn.Conv3DLSTMCell, [3, 4, 5])]
)
def test_convolutional_cells_keep_the_size(run, make, size):
    cell = make(
        input_shape=[*size, 2], output_channels=4, kernel_shape=[3] * len(size), use_bias=False
    )
    outputs, _ = tf.nn.dynamic_rnn(cell, tf.ones([2, 3, *size, 2]), dtype=tf.float32)
    (kernel,) = tf.trainable_variables()
    assert kernel.shape.as_list() == [3] * len(size) + [6, 16]
    assert run(outputs).shape == (2, 3, *size, 4)
    with pytest.raises(ValueError, match="kernel_shape"):
        make(input_shape=[*size, 2], output_channels=4, kernel_shape=[3])


def test_nas_cell_matches_the_tree_of_the_paper():
    cell = rnn.NASCell(UNITS)
    rng = np.random.RandomState(4)
    c, m = rng.normal(size=[BATCH, UNITS]), rng.normal(size=[BATCH, UNITS])
    state = rnn.LSTMStateTuple(tf.constant(c, tf.float32), tf.constant(m, tf.float32))
    output, new = cell(tf.constant(INPUTS[0]), state)
    got = compare([output, new.c, new.h])
    w = values_by_name()
    x = np.split(INPUTS[0] @ w["kernel"], 8, axis=1)
    y = np.split(m @ w["recurrent_kernel"], 8, axis=1)

    def relu(value):
        return np.maximum(value, 0)

    first = np.tanh(sigmoid(x[0] + y[0]) * relu(x[1] + y[1]))
    second = np.tanh(sigmoid(x[2] + y[2]) + relu(x[3] * y[3]))
    third = np.tanh(np.tanh(x[4] + y[4]) * sigmoid(x[5] + y[5]))
    fourth = sigmoid(np.tanh(x[6] + y[6]) + sigmoid(x[7] + y[7]))
    c = np.tanh(first + c) * second
    m = np.tanh(c * np.tanh(third + fourth))
    for one, want in zip(got, [m, c, m]):
        np.testing.assert_allclose(one, want, rtol=1e-4, atol=1e-5)


def test_ugrnn_gate_keeps_the_state():
    cell = rnn.UGRNNCell(UNITS)
    h = np.random.RandomState(5).normal(size=[BATCH, UNITS])
    output, state = cell(tf.constant(INPUTS[0]), tf.constant(h, tf.float32))
    got = compare([output, state])
    w = values_by_name()
    gate, new = np.split(np.hstack([INPUTS[0], h]) @ w["kernel"] + w["bias"], 2, axis=1)
    gate = sigmoid(gate + 1)
    want = gate * h + (1 - gate) * np.tanh(new)
    for one in got:
        np.testing.assert_allclose(one, want, rtol=1e-4, atol=1e-5)
