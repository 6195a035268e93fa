"""Cases with partitioned variables, and with float16 and float64."""

import functools

import tensorflow as tf
import values

CASES = {}
contrib, np = tf.contrib, values.np
rnn, seq2seq, layers, dist = contrib.rnn, contrib.seq2seq, contrib.layers, contrib.distributions


def halves(*shape, **options):
    return values.real(*shape, dtype=np.float16, **options)


def partitioned(make, axis=0):
    with tf.variable_scope("p", partitioner=tf.fixed_size_partitioner(2, axis)):
        return make()


def column_of_words():
    return layers.embedding_column(
        layers.sparse_column_with_hash_bucket("s", 6),
        3,
        initializer=tf.constant_initializer(0.5),
    )


LAYERS = {
    "fully_connected": lambda: layers.fully_connected(values.real(2, 4), 4),
    "fully_connected, normalized": lambda: layers.fully_connected(
        values.real(2, 4), 4, normalizer_fn=layers.layer_norm
    ),
    "conv2d": lambda: layers.conv2d(values.real(2, 4, 4, 2), 4, 3),
    "embed_sequence": lambda: layers.embed_sequence(values.whole(2, 3, below=6), 6, 4),
    "embedding_column": lambda: layers.input_from_feature_columns(
        {"s": tf.constant([["a"], ["b"], ["c"]])}, [column_of_words()]
    ),
    "linear model": lambda: layers.weighted_sum_from_feature_columns(
        {"s": tf.constant([["a"], ["b"], ["c"]])},
        [layers.sparse_column_with_hash_bucket("s", 6)],
        2,
    )[0],
    "model_variable": lambda: tf.convert_to_tensor(
        contrib.framework.model_variable("v", [4, 2], initializer=tf.ones_initializer())
    ),
    "LSTMCell": lambda: tf.nn.dynamic_rnn(rnn.LSTMCell(4), values.real(2, 3, 4), dtype=tf.float32),
    "LayerNormBasicLSTMCell": lambda: tf.nn.dynamic_rnn(
        rnn.LayerNormBasicLSTMCell(4), values.real(2, 3, 4), dtype=tf.float32
    ),
    "UGRNNCell": lambda: tf.nn.dynamic_rnn(
        rnn.UGRNNCell(4), values.real(2, 3, 4), dtype=tf.float32
    ),
}
for _name, _make in LAYERS.items():
    CASES[f"partitioned: {_name}"] = functools.partial(partitioned, _make)
CELLS = {
    "AttentionCellWrapper": lambda: rnn.AttentionCellWrapper(rnn.GRUCell(4), 2),
    "CoupledInputForgetGateLSTMCell": lambda: rnn.CoupledInputForgetGateLSTMCell(4),
    "NASCell": lambda: rnn.NASCell(4, use_bias=True),
    "HighwayWrapper": lambda: rnn.HighwayWrapper(rnn.GRUCell(4)),
    "OutputProjectionWrapper": lambda: rnn.OutputProjectionWrapper(rnn.GRUCell(4), 2),
    "InputProjectionWrapper": lambda: rnn.InputProjectionWrapper(rnn.GRUCell(4), 2),
    "GRUBlockCell": lambda: rnn.GRUBlockCell(4),
    "LSTMBlockCell": lambda: rnn.LSTMBlockCell(4, use_peephole=True),
}
for _name, _make in CELLS.items():
    CASES[f"partitioned: {_name}"] = functools.partial(
        partitioned,
        lambda make=_make: tf.nn.dynamic_rnn(make(), values.real(2, 3, 4), dtype=tf.float32),
    )
legacy = contrib.legacy_seq2seq
CASES["partitioned: attention_decoder"] = functools.partial(
    partitioned,
    lambda: legacy.attention_decoder(
        [values.real(2, 4), values.real(2, 4, seed=2)],
        *(values.real(2, 4, seed=3), values.real(2, 3, 4, seed=4), rnn.GRUCell(4)),
    ),
)
MECHANISMS = ("BahdanauAttention", "LuongAttention", "BahdanauMonotonicAttention")
for _name in MECHANISMS:
    CASES[f"partitioned: {_name}"] = functools.partial(
        partitioned,
        lambda name=_name: tf.nn.dynamic_rnn(
            seq2seq.AttentionWrapper(
                rnn.GRUCell(4), getattr(seq2seq, name)(4, values.real(2, 3, 4, seed=7))
            ),
            values.real(2, 3, 4),
            dtype=tf.float32,
        )[0],
    )
CASES["partitioned: fully_connected, columns"] = functools.partial(
    partitioned, LAYERS["fully_connected"], 1
)
HALVES = {
    "fully_connected": lambda: layers.fully_connected(halves(2, 4), 3),
    "conv2d": lambda: layers.conv2d(halves(2, 4, 4, 2), 3, 3),
    "batch_norm": lambda: layers.batch_norm(halves(4, 3)),
    "batch_norm, fused": lambda: layers.batch_norm(halves(2, 3, 3, 2), fused=True),
    "layer_norm": lambda: layers.layer_norm(halves(2, 4)),
    "group_norm": lambda: layers.group_norm(halves(2, 4, 4, 4), 2),
    "maxout": lambda: layers.maxout(halves(2, 4), 2),
    "unit_norm": lambda: layers.unit_norm(halves(2, 4), 1),
    "l2_regularizer": lambda: layers.l2_regularizer(0.1)(halves(3)),
    "GRUBlockCellV2": lambda: tf.nn.dynamic_rnn(
        rnn.GRUBlockCellV2(4), halves(2, 3, 4), dtype=tf.float16
    ),
    "LSTMBlockCell": lambda: tf.nn.dynamic_rnn(
        rnn.LSTMBlockCell(4), halves(2, 3, 4), dtype=tf.float16
    ),
    "UGRNNCell": lambda: tf.nn.dynamic_rnn(rnn.UGRNNCell(4), halves(2, 3, 4), dtype=tf.float16),
    "NASCell": lambda: tf.nn.dynamic_rnn(rnn.NASCell(4), halves(2, 3, 4), dtype=tf.float16),
    "AttentionCellWrapper": lambda: tf.nn.dynamic_rnn(
        rnn.AttentionCellWrapper(rnn.GRUCell(4), 2), halves(2, 3, 4), dtype=tf.float16
    ),
    "mean_squared_error": lambda: contrib.losses.mean_squared_error(
        halves(3, 2), halves(3, 2, seed=2)
    ),
    "crf_log_norm": lambda: contrib.crf.crf_log_norm(
        halves(2, 3, 3), tf.constant([3, 2]), halves(3, 3, seed=2)
    ),
    "BahdanauAttention": lambda: seq2seq.BahdanauAttention(
        4, halves(2, 3, 4), normalize=True, dtype=tf.float16
    )(halves(2, 4, seed=2), halves(2, 3, seed=3)),
    "sequence_loss": lambda: seq2seq.sequence_loss(
        halves(2, 3, 4), values.whole(2, 3, below=4), halves(2, 3, low=0.5, seed=2)
    ),
    "scaled_softplus": lambda: contrib.nn.scaled_softplus(halves(4), 2.0),
    "Normal": lambda: dist.Normal(halves(3), halves(3, low=0.5, seed=2)).log_prob(halves(3)),
}
for _name, _make in HALVES.items():
    CASES[f"float16: {_name}"] = _make
for _name, _make in {
    "fully_connected": lambda: layers.fully_connected(values.real(2, 4, dtype=np.float64), 3),
    "crf_log_norm": lambda: contrib.crf.crf_log_norm(
        values.real(2, 3, 3, dtype=np.float64), tf.constant([3, 2]), values.real(3, 3, dtype="f8")
    ),
    "UGRNNCell": lambda: tf.nn.dynamic_rnn(
        rnn.UGRNNCell(4), values.real(2, 3, 4, dtype=np.float64), dtype=tf.float64
    ),
    "mean_pairwise_squared_error": lambda: contrib.losses.mean_pairwise_squared_error(
        values.real(3, 2, dtype=np.float64), values.real(3, 2, dtype=np.float64, seed=2)
    ),
}.items():
    CASES[f"float64: {_name}"] = _make
