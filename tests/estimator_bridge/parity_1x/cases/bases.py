"""Cases of base classes, named tuples and names that no other area uses."""

import functools
import importlib
import os
import tempfile

import tensorflow as tf
import values
from tensorflow.python.eager import context

CASES = {}
contrib, np = tf.contrib, values.np
rnn, seq2seq, layers = contrib.rnn, contrib.seq2seq, contrib.layers


def case(name, *arguments, **options):
    def adder(function):
        CASES[name] = functools.partial(function, *arguments, **options)
        return function

    return adder


def cells():
    x = values.real(2, 5, 5, 2)
    cell = rnn.ConvLSTMCell(2, [5, 5, 2], 3, [3, 3], use_bias=False, skip_connection=True)
    return cell(x, cell.zero_state(2, tf.float32))


CASES["rnn.ConvLSTMCell"] = cells
CASES["rnn, bases"] = lambda: {
    "is": [
        issubclass(rnn.LSTMBlockFusedCell, rnn.LSTMBlockWrapper),
        issubclass(rnn.LSTMBlockWrapper, rnn.FusedRNNCell),
        issubclass(rnn.TimeReversedFusedRNN, rnn.FusedRNNCell),
        issubclass(rnn.GRUBlockCell, rnn.RNNCell),
        issubclass(rnn.UGRNNCell, rnn.RNNCell),
    ]
}
CASES["seq2seq, bases"] = lambda: {
    "is": [
        issubclass(seq2seq.LuongAttention, seq2seq.AttentionMechanism),
        issubclass(seq2seq.BasicDecoder, seq2seq.Decoder),
        issubclass(seq2seq.BeamSearchDecoder, seq2seq.Decoder),
        issubclass(seq2seq.TrainingHelper, seq2seq.Helper),
    ],
    "fields": [
        " ".join(getattr(seq2seq, name)._fields)
        for name in (
            *("AttentionWrapperState", "BasicDecoderOutput", "BeamSearchDecoderOutput"),
            *("BeamSearchDecoderState", "FinalBeamSearchDecoderOutput"),
        )
    ],
}


@case("seq2seq.AttentionWrapperState, clone")
def cloned():
    memory = values.real(2, 3, 4)
    cell = seq2seq.AttentionWrapper(rnn.GRUCell(4), seq2seq.LuongAttention(4, memory))
    state = cell.zero_state(2, tf.float32)
    return {"cell": state.clone(cell_state=values.real(2, 4)).cell_state, "other": state.attention}


@case("seq2seq.Helper, of its own")
def own_helper():
    """Decodes with a decoder and a helper that a program has written."""

    class Mine(seq2seq.Helper):
        batch_size, sample_ids_shape, sample_ids_dtype = 2, tf.TensorShape([]), tf.int32

        def initialize(self, name=None):
            return tf.zeros([2], tf.bool), values.real(2, 3)

        def sample(self, time, outputs, state, name=None):
            return tf.argmax(outputs, 1, output_type=tf.int32)

        def next_inputs(self, time, outputs, state, sample_ids, name=None):
            return tf.fill([2], time >= 2), outputs[:, :3], state

    cell = rnn.GRUCell(4)
    decoder = seq2seq.BasicDecoder(cell, Mine(), cell.zero_state(2, tf.float32))
    found, _, lengths = seq2seq.dynamic_decode(decoder)
    return {"outputs": found.rnn_output, "ids": found.sample_id, "lengths": lengths}


dist = contrib.distributions
CASES["distributions, bases"] = lambda: {
    "is": [
        isinstance(dist.Normal(0.0, 1.0), dist.Distribution),
        dist.Bernoulli(0.5).reparameterization_type == dist.NOT_REPARAMETERIZED,
        isinstance(dist.FULLY_REPARAMETERIZED, dist.ReparameterizationType),
        dist.Normal(0.0, 1.0).reparameterization_type == dist.FULLY_REPARAMETERIZED,
    ]
}


@case("distributions.RegisterKL")
def registered():
    class Mine(dist.Normal):
        pass

    dist.RegisterKL(Mine, Mine)(lambda one, other, name=None: one.loc - 2.0 * other.loc)
    return dist.kl_divergence(Mine(values.real(2), 1.0), Mine(values.real(2, seed=2), 1.0))


CASES["layers.relu"] = lambda: layers.relu(values.real(3, 4), 2)
CASES["layers.summarize_tensor"] = lambda: {
    "found": [str(layers.summarize_tensor(one)) for one in (values.real(3), tf.constant(2.0))]
}
CASES["layers.OPTIMIZER_CLS_NAMES"] = lambda: {
    "found": sorted(f"{k} {v.__name__}" for k, v in layers.OPTIMIZER_CLS_NAMES.items())
}
CASES["slim, names"] = lambda: {
    "same": [
        contrib.slim.relu is layers.relu,
        contrib.slim.summarize_tensor is layers.summarize_tensor,
        contrib.slim.add_model_variable is contrib.framework.add_model_variable,
    ]
}
CASES["factorization, distances"] = lambda: {
    "found": [
        contrib.factorization.KMeansClustering.COSINE_DISTANCE,
        contrib.factorization.KMeansClustering.SQUARED_EUCLIDEAN_DISTANCE,
        contrib.factorization.COSINE_DISTANCE,
        contrib.factorization.SQUARED_EUCLIDEAN_DISTANCE,
    ]
}


@case("layers.sparse_column_with_vocabulary_file")
@case("layers.sparse_column_with_vocabulary_file, buckets", num_oov_buckets=2)
@case("layers.sparse_column_with_vocabulary_file, default", vocab_size=2, default_value=1)
@case("layers.sparse_column_with_vocabulary_file, no size", vocab_size=None)
def by_file(**options):
    path = os.path.join(tempfile.mkdtemp(), "words")
    with open(path, "w") as file:
        file.write("a\nb\nc\n")
    column = layers.sparse_column_with_vocabulary_file(
        "s", path, **dict({"vocab_size": 3}, **options)
    )
    words = tf.constant([["a"], ["c"], ["q"]])
    return layers.input_from_feature_columns({"s": words}, [layers.one_hot_column(column)])


@case("feature_column.sequence_categorical_column_with_vocabulary_file")
def sequence_by_file():
    path = os.path.join(tempfile.mkdtemp(), "words")
    with open(path, "w") as file:
        file.write("a\nb\nc\n")
    column = contrib.feature_column.sequence_categorical_column_with_vocabulary_file(
        "s", path, default_value=2
    )
    words = tf.SparseTensor([[0, 0], [0, 1], [1, 0]], ["b", "q", "a"], [2, 2])
    column = tf.feature_column.indicator_column(column)
    return contrib.feature_column.sequence_input_layer({"s": words}, [column])


@case("hooks.ProfilerHook")
def profiled():
    hooks = importlib.import_module("tensorflow.contrib.hooks")
    folder = tempfile.mkdtemp()
    with tf.Graph().as_default():
        operation = tf.assign_add(tf.train.get_or_create_global_step(), 1)
        hook = hooks.ProfilerHook(save_steps=2, output_dir=folder)
        with tf.train.MonitoredSession(hooks=[hook]) as session:
            for _ in range(4):
                session.run(operation)
    # The name of an events file has the time in it.
    return {"files": sorted(one for one in os.listdir(folder) if "tfevents" not in one)}


def eagerly(function):
    with context.eager_mode():
        return {"found": function().numpy()}


CASES["eager.defun, of contrib.layers"] = lambda: eagerly(
    lambda: contrib.eager.defun(lambda x: contrib.nn.scaled_softplus(x, 2.0))(
        tf.constant(values.array(3))
    )
)
