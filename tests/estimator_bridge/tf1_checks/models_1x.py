"""Small models of tf.contrib that run on TensorFlow 1.15.5 and on the bridge alike.

`python models_1x.py FILE` on TensorFlow 1.15.5 (Python 3.7) writes what check_names_1x.py compares:
the name and shape of each variable in the order of creation, and the outputs of the model when
each variable has values that follow from its name.
"""

import json
import sys
import zlib

import numpy as np
import tensorflow as tf

rnn = tf.contrib.rnn
seq2seq = tf.contrib.seq2seq
layers = tf.contrib.layers

MODELS = {}


def model(function):
    """Adds a function without arguments, which returns tensors, to the models."""
    MODELS[function.__name__] = function
    return function


def numbers(*shape):
    """Returns a float32 constant of a shape."""
    count = int(np.prod(shape))
    return tf.constant(np.sin(np.arange(count) * 0.7).reshape(shape), tf.float32)


def _attention(mechanism):
    wrapper = seq2seq.AttentionWrapper(rnn.GRUCell(4), mechanism, attention_layer_size=3)
    outputs, _ = tf.nn.dynamic_rnn(wrapper, numbers(2, 3, 5), dtype=tf.float32)
    return [outputs]


@model
def bahdanau():
    return _attention(seq2seq.BahdanauAttention(3, numbers(2, 4, 5)))


@model
def bahdanau_named_normalized():
    return _attention(
        seq2seq.BahdanauAttention(3, numbers(2, 4, 5), normalize=True, name="MyAttention")
    )


@model
def luong_scaled():
    return _attention(seq2seq.LuongAttention(4, numbers(2, 4, 5), scale=True, name="mine"))


@model
def bahdanau_monotonic():
    return _attention(seq2seq.BahdanauMonotonicAttention(3, numbers(2, 4, 5), normalize=True))


@model
def luong_monotonic():
    return _attention(seq2seq.LuongMonotonicAttention(4, numbers(2, 4, 5), scale=True))


@model
def two_mechanisms():
    memory = numbers(2, 4, 5)
    mechanisms = [seq2seq.BahdanauAttention(3, memory), seq2seq.BahdanauAttention(2, memory)]
    wrapper = seq2seq.AttentionWrapper(rnn.GRUCell(4), mechanisms, attention_layer_size=[3, 2])
    return [tf.nn.dynamic_rnn(wrapper, numbers(2, 3, 5), dtype=tf.float32)[0]]


@model
def decoder_with_attention():
    mechanism = seq2seq.BahdanauAttention(3, numbers(2, 4, 5))
    wrapper = seq2seq.AttentionWrapper(rnn.GRUCell(4), mechanism, attention_layer_size=3)
    helper = seq2seq.TrainingHelper(numbers(2, 3, 5), [3, 2])
    decoder = seq2seq.BasicDecoder(
        wrapper, helper, wrapper.zero_state(2, tf.float32), tf.layers.Dense(6)
    )
    outputs, _, _ = seq2seq.dynamic_decode(decoder)
    return [outputs.rnn_output]


def _cell(cell, size=5):
    return tf.contrib.framework.nest.flatten(
        tf.nn.dynamic_rnn(cell, numbers(2, 3, size), dtype=tf.float32)
    )


@model
def gru_block_cell():
    return _cell(rnn.GRUBlockCell(4))


@model
def gru_block_cell_v2():
    return _cell(rnn.GRUBlockCellV2(4))


@model
def highway():
    return _cell(rnn.HighwayWrapper(rnn.GRUCell(5)))


@model
def highway_uncoupled():
    return _cell(rnn.HighwayWrapper(rnn.GRUCell(5), couple_carry_transform_gates=False))


@model
def highway_in_stack():
    return _cell(rnn.MultiRNNCell([rnn.HighwayWrapper(rnn.GRUCell(5)) for _ in range(2)]))


@model
def input_projection():
    return _cell(rnn.InputProjectionWrapper(rnn.GRUCell(4), 3))


@model
def output_projection():
    return _cell(rnn.OutputProjectionWrapper(rnn.GRUCell(4), 3))


@model
def embedding_wrapper():
    cell = rnn.EmbeddingWrapper(rnn.GRUCell(4), 7, 3)
    ids = tf.constant([[1, 2], [6, 0]])
    return [tf.nn.dynamic_rnn(cell, tf.expand_dims(ids, -1), dtype=tf.float32)[0]]


@model
def coupled():
    return _cell(rnn.CoupledInputForgetGateLSTMCell(4))


@model
def coupled_peepholes():
    return _cell(rnn.CoupledInputForgetGateLSTMCell(4, use_peepholes=True, forget_bias=0.5))


@model
def coupled_projection():
    return _cell(
        rnn.CoupledInputForgetGateLSTMCell(
            4, use_peepholes=True, num_proj=3, proj_clip=0.1, num_unit_shards=2, num_proj_shards=2
        )
    )


@model
def coupled_layer_norm():
    return _cell(
        rnn.CoupledInputForgetGateLSTMCell(4, layer_norm=True, norm_gain=0.9, norm_shift=0.1)
    )


@model
def coupled_layer_norm_peepholes_projection():
    return _cell(
        rnn.CoupledInputForgetGateLSTMCell(4, layer_norm=True, use_peepholes=True, num_proj=3)
    )


@model
def coupled_joined_state():
    return _cell(rnn.CoupledInputForgetGateLSTMCell(4, state_is_tuple=False, num_proj=3))


@model
def stack_bidirectional():
    inputs = tf.unstack(numbers(3, 2, 5))
    outputs, fw, bw = rnn.stack_bidirectional_rnn(
        [rnn.GRUCell(4), rnn.GRUCell(3)], [rnn.GRUCell(4), rnn.GRUCell(3)], inputs, dtype=tf.float32
    )
    return [tf.stack(outputs)] + list(fw) + list(bw)


@model
def stack_bidirectional_dynamic():
    return [
        rnn.stack_bidirectional_dynamic_rnn(
            [rnn.GRUCell(4), rnn.GRUCell(3)],
            [rnn.GRUCell(4), rnn.GRUCell(3)],
            numbers(2, 3, 5),
            dtype=tf.float32,
        )[0]
    ]


@model
def sequence_layer():
    fc = tf.contrib.feature_column
    ids = fc.sequence_categorical_column_with_identity("ids", 5)
    column = tf.feature_column.embedding_column(ids, 3)
    tokens = tf.SparseTensor([[0, 0], [0, 1], [1, 0]], [1, 2, 4], [2, 2])
    tokens = tf.SparseTensor(tokens.indices, tf.cast(tokens.values, tf.int64), tokens.dense_shape)
    price = fc.sequence_numeric_column("price")
    prices = tf.SparseTensor([[0, 0], [0, 1], [1, 0]], [1.0, 2.0, 4.0], [2, 2])
    return list(fc.sequence_input_layer({"ids": tokens, "price": prices}, [price, column]))


@model
def sequence_layer_twice():
    fc = tf.contrib.feature_column
    result = []
    for _ in range(2):
        ids = fc.sequence_categorical_column_with_identity("ids", 5)
        column = tf.feature_column.embedding_column(ids, 3)
        tokens = tf.SparseTensor([[0, 0], [0, 1], [1, 0]], np.array([1, 2, 4]), [2, 2])
        result += list(fc.sequence_input_layer({"ids": tokens}, [column]))
    return result


@model
def legacy_fully_connected():
    return [layers.legacy_fully_connected(numbers(2, 5), 3, activation_fn=tf.nn.relu)]


@model
def legacy_linear_and_relu():
    hidden = layers.legacy_relu(numbers(2, 3, 5), 4)
    return [layers.legacy_linear(hidden, 2)]


def _features():
    words = tf.SparseTensor([[0, 0], [0, 1], [2, 0]], ["a", "b", "c"], [3, 2])
    numbers_ = tf.SparseTensor([[0, 0], [1, 0], [2, 1]], tf.constant([3, 1, 7], tf.int64), [3, 2])
    weights = tf.SparseTensor([[0, 0], [0, 1], [2, 0]], [0.5, 2.0, 1.5], [3, 2])
    return {
        "words": words,
        "ids": numbers_,
        "weight": weights,
        "x": numbers(3, 2),
        "z": numbers(3),
    }


def _columns():
    keys = layers.sparse_column_with_keys("words", ["a", "b", "z"])
    hashed = layers.sparse_column_with_hash_bucket("words", 10)
    ids = layers.sparse_column_with_integerized_feature("ids", 8)
    x = layers.real_valued_column("x", dimension=2)
    z = layers.real_valued_column("z")
    return keys, hashed, ids, x, z


@model
def input_of_columns():
    keys, hashed, ids, x, z = _columns()
    columns = [
        z,
        x,
        layers.bucketized_column(z, [0.0, 0.5]),
        layers.one_hot_column(keys),
        layers.embedding_column(hashed, 3),
        layers.embedding_column(ids, 2, combiner="sum"),
    ]
    with tf.variable_scope("inputs") as scope:
        return [layers.input_from_feature_columns(_features(), columns, scope=scope)]


@model
def input_of_columns_without_scope():
    keys, hashed, ids, x, z = _columns()
    return [
        layers.input_from_feature_columns(
            _features(), [layers.embedding_column(keys, 3), layers.one_hot_column(ids), x]
        )
    ]


@model
def input_of_crossed_embedding():
    keys, hashed, ids, _, z = _columns()
    crossed = layers.crossed_column([keys, hashed], 20, hash_key=0xDECAFCAFFE)
    return [layers.input_from_feature_columns(_features(), [layers.embedding_column(crossed, 3)])]


@model
def input_of_weighted_embedding():
    keys = _columns()[0]
    weighted = layers.weighted_sparse_column(keys, "weight")
    return [layers.input_from_feature_columns(_features(), [layers.embedding_column(weighted, 3)])]


@model
def input_of_shared_embeddings():
    keys = layers.sparse_column_with_hash_bucket("words", 10)
    other = layers.sparse_column_with_hash_bucket("others", 10)
    features = dict(_features())
    features["others"] = features["words"]
    columns = layers.shared_embedding_columns([keys, other], 3)
    return [layers.input_from_feature_columns(features, columns)]


@model
def input_of_named_shared_embeddings():
    keys = layers.sparse_column_with_hash_bucket("words", 10)
    other = layers.sparse_column_with_hash_bucket("others", 10)
    features = dict(_features())
    features["others"] = features["words"]
    columns = layers.shared_embedding_columns([keys, other], 3, shared_embedding_name="both")
    with tf.variable_scope("in") as scope:
        return [layers.input_from_feature_columns(features, columns, scope=scope)]


@model
def weighted_sum():
    keys, hashed, ids, x, z = _columns()
    columns = [z, x, layers.bucketized_column(z, [0.0, 0.5]), keys, ids]
    outputs, _, bias = layers.weighted_sum_from_feature_columns(
        _features(), columns, num_outputs=2, scope="lin"
    )
    return [outputs, bias]


@model
def weighted_sum_of_sparse():
    keys, hashed, ids, x, z = _columns()
    columns = [
        layers.weighted_sparse_column(keys, "weight"),
        layers.crossed_column([keys, hashed], 20, hash_key=0xDECAFCAFFE),
        ids,
        hashed,
    ]
    outputs, _, bias = layers.weighted_sum_from_feature_columns(_features(), columns, num_outputs=1)
    return [outputs, bias]


@model
def joint_weighted_sum():
    keys, hashed, ids, x, z = _columns()
    outputs, _, bias = layers.joint_weighted_sum_from_feature_columns(
        _features(), [keys, ids], num_outputs=2, scope="lin"
    )
    return [outputs, bias]


@model
def crosses():
    keys, hashed, ids, x, z = _columns()
    bucketized = layers.bucketized_column(z, [0.0, 0.5])
    key = 0xDECAFCAFFE
    columns = [
        layers.crossed_column([keys, ids], 20, hash_key=key),
        layers.crossed_column([bucketized, hashed], 20, hash_key=key),
        layers.crossed_column([bucketized, ids], 30, hash_key=key),
    ]
    return [layers.weighted_sum_from_feature_columns(_features(), columns, num_outputs=1)[0]]


def _step(optimizer, **options):
    table = tf.get_variable("table", [4, 1])
    loss = tf.reduce_sum(tf.gather(table, [0, 2, 2]) * [[1.0], [2.0], [-1.0]])
    with tf.control_dependencies([optimizer.minimize(loss, **options)]):
        return [table.read_value()]


@model
def momentum_w_with_sparse_gradient():
    return _step(tf.contrib.opt.MomentumWOptimizer(0.01, 0.1, 0.9), decay_var_list=[])


@model
def rmsprop_w_with_sparse_gradient():
    cls = tf.contrib.opt.extend_with_decoupled_weight_decay(tf.train.RMSPropOptimizer)
    return _step(cls(0.01, learning_rate=0.1, decay=0.0))


@model
def pairwise_errors():
    error = tf.contrib.losses.mean_pairwise_squared_error
    a, b = numbers(3, 4), numbers(3, 4) ** 2
    return [error(a, b), error(a, b, 0.5), error(a, b, tf.constant([1.0, 0.0, 2.0]))]


@model
def maxout():
    x = numbers(2, 3, 4)
    return [layers.maxout(x, 2), layers.maxout(x, 1, axis=1), layers.maxout(x, 1, axis=0)]


@model
def squeezed():
    predictions, labels = tf.constant([[1.0], [2.0]]), tf.constant([3.0, 4.0])
    return tf.contrib.framework.remove_squeezable_dimensions(predictions=predictions, labels=labels)


@model
def adaptive_clipping():
    from tensorflow.contrib.layers.python.layers import optimizers

    clip = optimizers.adaptive_clipping_fn(0.1, decay=0.5, report_summary=True)
    variable = tf.get_variable("v", [2])
    (clipped, _), (other, _) = clip([(100 * numbers(2), variable), (numbers(2), variable)])
    assert tf.get_collection("summaries")[0].op.name == "global_norm/adaptive_max_gradient_norm"
    return [clipped, other]


def _clipped(**options):
    inputs = numbers(2, 5)
    cell = rnn.LSTMBlockCell(3, cell_clip=0.1, **options)
    outputs, _ = tf.nn.static_rnn(cell, [inputs, inputs * 0.5], dtype=tf.float32)
    loss = tf.reduce_sum(tf.add_n(outputs))
    return list(outputs) + tf.gradients(loss, [inputs] + tf.trainable_variables())


@model
def clipped_lstm_block_cell():
    return _clipped()


@model
def clipped_lstm_block_cell_with_peepholes():
    return _clipped(use_peephole=True)


@model
def unfused_batch_norm():
    outputs = layers.batch_norm(
        numbers(4, 2, 2, 3), scale=True, fused=False, decay=0.5, updates_collections=None
    )
    with tf.control_dependencies([outputs]):
        moving = [v for v in tf.global_variables() if "moving" in v.op.name]
        return [outputs] + [v.read_value() for v in moving]


@model
def summaries_of_activations():
    for function in (tf.nn.relu, tf.nn.relu6):
        layers.summarize_activation(function(tf.constant([-1.0, 0.0, 1.0, 7.0])))
    operations = tf.get_default_graph().get_operations()
    return [one.inputs[1] for one in operations if one.type == "ScalarSummary"]


def run(build):
    """Builds a model and returns its variables and outputs.

    Args:
      build: one of the MODELS.

    Returns:
      {"variables": list of [name, shape, trainable], "outputs": list of nested lists}.
    """
    with tf.Graph().as_default():
        tensors = build()
        known = tf.global_variables()
        trainable = set(v.op.name for v in tf.trainable_variables())
        assigned = []
        for variable in known:
            seed = zlib.crc32(variable.op.name.encode()) % 1000
            shape = variable.shape.as_list()
            values = np.sin(np.arange(int(np.prod(shape))) * 1.3 + seed).reshape(shape) * 0.5
            assigned.append(tf.assign(variable, values.astype(variable.dtype.as_numpy_dtype)))
        with tf.Session() as session:
            session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
            session.run(tf.tables_initializer())
            session.run(assigned)
            values = session.run(list(tensors))
        return {
            "variables": [[v.op.name, v.shape.as_list(), v.op.name in trainable] for v in known],
            "collections": {
                key: sorted(getattr(v, "op", v).name for v in tf.get_collection(key))
                for key in ("model_variables", "biases", "weights")
                if tf.get_collection(key)
            },
            "outputs": [np.round(np.asarray(value, np.float64), 6).tolist() for value in values],
        }


if __name__ == "__main__":
    found = {}
    for name, build in MODELS.items():
        try:
            found[name] = run(build)
        except Exception as error:
            found[name] = {"error": type(error).__name__, "text": str(error)[:300]}
    with open(sys.argv[1], "w") as file:
        json.dump(found, file, sort_keys=True)
