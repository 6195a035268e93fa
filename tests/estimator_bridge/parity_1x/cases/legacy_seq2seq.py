"""Cases of tf.contrib.legacy_seq2seq."""

import functools

import tensorflow as tf
import values

CASES = {}
legacy = tf.contrib.legacy_seq2seq
np = values.np


def gru():
    return tf.nn.rnn_cell.GRUCell(2)


def lstm():
    return tf.nn.rnn_cell.LSTMCell(2)


def stacked():
    return tf.nn.rnn_cell.MultiRNNCell([lstm(), lstm()])


def numbers(steps, size=3, seed=1):
    return tf.unstack(values.real(steps, 2, size, seed=seed))


def symbols(steps, below=5, seed=1):
    return tf.unstack(values.whole(steps, 2, below=below, seed=seed, dtype=np.int32))


def weights(steps=3):
    return tf.unstack(tf.constant([[1.0, 0.5], [0.0, 1.0], [1.0, 0.0]][:steps]))


def projection(size=5):
    return tf.get_variable("w", [2, size]), tf.get_variable("b", [size])


def vectors(size=3):
    return values.real(2, 5, size, seed=3)


def state(cell):
    return cell.zero_state(2, tf.float32)


def doubled(output, step):
    return 2 * output + step


def add(name, **options):
    """Adds a function of options to the cases."""

    def adder(function):
        CASES[name] = functools.partial(function, **options)
        return function

    return adder


@add("rnn_decoder")
@add("rnn_decoder, LSTM in a scope", make=lstm, scope="mine")
@add("rnn_decoder, loop", size=2, loop_function=doubled)
def rnn_decoder(make=gru, size=3, **options):
    cell = make()
    return legacy.rnn_decoder(numbers(3, size), state(cell), cell, **options)


@add("basic_rnn_seq2seq")
@add("basic_rnn_seq2seq, LSTM in a scope", make=lstm, scope="mine")
def basic_rnn_seq2seq(make=gru, **options):
    return legacy.basic_rnn_seq2seq(numbers(3), numbers(2, seed=2), make(), **options)


@add("tied_rnn_seq2seq")
@add("tied_rnn_seq2seq, loop", size=2, loop_function=doubled)
def tied_rnn_seq2seq(size=3, **options):
    return legacy.tied_rnn_seq2seq(numbers(3, size), numbers(2, size, 2), gru(), **options)


@add("embedding_rnn_decoder")
@add("embedding_rnn_decoder, fed", make=lstm, count=2, feed_previous=True)
@add(
    "embedding_rnn_decoder, fed without gradient",
    count=2,
    feed_previous=True,
    update_embedding_for_previous=False,
)
@add("embedding_rnn_decoder, projected", projected=5, feed_previous=True)
@add("embedding_rnn_decoder, wrong projection", projected=3)
def embedding_rnn_decoder(make=gru, count=5, projected=None, **options):
    cell = make()
    if projected:
        options["output_projection"] = projection(projected)
    inputs = symbols(3, count)
    return legacy.embedding_rnn_decoder(inputs, state(cell), cell, count, 3, **options)


@add("attention_decoder")
@add("attention_decoder, LSTM", make=lstm, output_size=3, loop_function=doubled)
@add("attention_decoder, heads", num_heads=2, output_size=4, initial_state_attention=True)
@add("attention_decoder, no head", num_heads=0)
@add("attention_decoder, no input", steps=0)
def attention_decoder(make=gru, steps=3, **options):
    cell = make()
    inputs = numbers(steps) if steps else []
    return legacy.attention_decoder(inputs, state(cell), vectors(), cell, **options)


@add("embedding_attention_decoder")
@add("embedding_attention_decoder, fed", output_size=5, feed_previous=True)
@add(
    "embedding_attention_decoder, fed without gradient",
    output_size=5,
    feed_previous=True,
    update_embedding_for_previous=False,
)
@add("embedding_attention_decoder, projected", projected=5, feed_previous=True)
def embedding_attention_decoder(projected=None, **options):
    cell = gru()
    if projected:
        options["output_projection"] = projection(projected)
    return legacy.embedding_attention_decoder(
        symbols(3), state(cell), vectors(), cell, 5, 3, **options
    )


FEEDS = {"given": False, "fed": True, "fed by tensor": "yes", "given by tensor": "no"}


def feed(name):
    return tf.constant(FEEDS[name] == "yes") if isinstance(FEEDS[name], str) else FEEDS[name]


def seq2seq(function, feeding, *sizes, **options):
    make, projected = options.pop("make", gru), options.pop("projected", False)
    if projected:
        options["output_projection"] = projection()
    inputs = symbols(3), symbols(2, 5, seed=2)
    return function(*inputs, make(), *sizes, feed_previous=feed(feeding), **options)


for _feeding in sorted(FEEDS):
    for _name, _options in {
        "": {},
        ", LSTM": {"make": lstm},
        ", projected": {"projected": True},
    }.items():
        for _function, _sizes in {
            "embedding_rnn_seq2seq": (5, 5, 2),
            "embedding_tied_rnn_seq2seq": (5, 2),
            "embedding_attention_seq2seq": (5, 5, 2),
        }.items():
            CASES[f"{_function}, {_feeding}{_name}"] = functools.partial(
                seq2seq, getattr(legacy, _function), _feeding, *_sizes, **_options
            )
CASES["embedding_tied_rnn_seq2seq, fewer symbols decoded"] = functools.partial(
    seq2seq, legacy.embedding_tied_rnn_seq2seq, "given", 5, 2, num_decoder_symbols=3
)
CASES["embedding_attention_seq2seq, heads of stacked cells"] = functools.partial(
    *(seq2seq, legacy.embedding_attention_seq2seq, "given", 5, 5, 2),
    make=stacked,
    num_heads=2,
    initial_state_attention=True,
)


def one_to_many(feeding):
    inputs = {"a": symbols(2, 5, 2), "b": symbols(2, 7, 3)}
    cells = {"a": gru(), "b": gru()}
    sizes = {"a": 5, "b": 7}
    return legacy.one2many_rnn_seq2seq(
        symbols(3), inputs, gru(), cells, 5, sizes, 2, feed_previous=feed(feeding)
    )


for _feeding in sorted(FEEDS):
    CASES[f"one2many_rnn_seq2seq, {_feeding}"] = functools.partial(one_to_many, _feeding)


def squared(labels, logits):
    return tf.reduce_sum(tf.square(logits - tf.one_hot(labels, 5)), 1)


def loss(name, steps=3, **options):
    function = getattr(legacy, name)
    return function(numbers(3, 5), symbols(3, seed=2), weights(steps), **options)


def with_buckets(steps=3, **options):
    def model(encoder_inputs, decoder_inputs):
        return legacy.embedding_rnn_seq2seq(encoder_inputs, decoder_inputs, gru(), 5, 5, 2)

    return legacy.model_with_buckets(
        *(symbols(steps), symbols(3, seed=2), symbols(3, seed=4), weights()),
        buckets=[(2, 2), (3, 3)],
        seq2seq=model,
        **options,
    )


for _name in ("sequence_loss", "sequence_loss_by_example"):
    for _case, _options in {
        "": {},
        ", sum": {"average_across_timesteps": False},
        ", own loss": {"softmax_loss_function": squared},
        ", too few weights": {"steps": 2},
    }.items():
        CASES[_name + _case] = functools.partial(loss, _name, **_options)
CASES["sequence_loss, sum of the batch"] = functools.partial(
    loss, "sequence_loss", average_across_batch=False
)
CASES["model_with_buckets"] = with_buckets
CASES["model_with_buckets, by example"] = functools.partial(with_buckets, per_example_loss=True)
CASES["model_with_buckets, own loss"] = functools.partial(
    with_buckets, softmax_loss_function=squared
)
CASES["model_with_buckets, too few inputs"] = functools.partial(with_buckets, steps=2)
