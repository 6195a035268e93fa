"""Cases of tf.contrib.seq2seq."""

import functools

import tensorflow as tf
import values

CASES = {}
seq2seq = tf.contrib.seq2seq
np = values.np
ROWS, STEPS, SIZE, WORDS = 3, 4, 2, 5
LENGTHS = [4, 2, 3]


def cell():
    return tf.nn.rnn_cell.GRUCell(SIZE)


def memory():
    return values.real(ROWS, STEPS, 3, seed=1)


def inputs(size=SIZE):
    return values.real(ROWS, STEPS, size, seed=2)


def embedding():
    return values.real(WORDS, SIZE, seed=3)


# Name -> function from options to a mechanism.
MECHANISMS = {
    "BahdanauAttention": [{}, {"normalize": True}, {"probability_fn": tf.nn.sigmoid}],
    "LuongAttention": [{}, {"scale": True}],
    "BahdanauMonotonicAttention": [{"mode": "parallel"}, {"mode": "recursive", "normalize": True}],
    "LuongMonotonicAttention": [{"mode": "hard"}, {"scale": True, "score_bias_init": 0.5}],
}


def mechanism(name, lengths=None, **options):
    return getattr(seq2seq, name)(
        SIZE, memory(), None if lengths is None else tf.constant(lengths), **options
    )


def scored(name, lengths=None, **options):
    one = mechanism(name, lengths, **options)
    state = one.initial_state(ROWS, tf.float32)
    alignments, next_state = one(values.real(ROWS, SIZE, seed=4), state)
    return {
        "alignments": alignments,
        "state": next_state,
        "keys": one.keys,
        "values": one.values,
        "size": one.alignments_size,
    }


def wrapped(name, lengths=LENGTHS, wrapper=None, **options):
    made = seq2seq.AttentionWrapper(
        cell(), mechanism(name, lengths, **options), **dict(wrapper or {})
    )
    state = made.zero_state(ROWS, tf.float32)
    outputs = []
    for step in range(2):
        output, state = made(values.real(ROWS, SIZE, seed=5 + step), state)
        outputs.append(output)
    return {
        "outputs": outputs,
        "attention": state.attention,
        "alignments": state.alignments,
        "cell": state.cell_state,
        "time": state.time,
    }


def decoded(helper, make_cell=cell, layer=True, **options):
    projection = tf.layers.Dense(WORDS, use_bias=False) if layer else None
    made = make_cell()
    decoder = seq2seq.BasicDecoder(
        made, helper(), made.zero_state(ROWS, tf.float32), output_layer=projection
    )
    outputs, state, lengths = seq2seq.dynamic_decode(decoder, **options)
    return {
        "outputs": outputs.rnn_output,
        "sample": outputs.sample_id,
        "state": state,
        "lengths": lengths,
    }


for _name in sorted(MECHANISMS):
    for _number, _options in enumerate(MECHANISMS[_name]):
        _text = ", ".join(sorted(_options)) or "default"
        CASES[f"{_name}: {_text}"] = functools.partial(scored, _name, **_options)
        CASES[f"{_name}: {_text}, lengths"] = functools.partial(scored, _name, LENGTHS, **_options)
        CASES[f"AttentionWrapper, {_name}: {_text}"] = functools.partial(wrapped, _name, **_options)
for _name, _options in {
    "attention_layer_size": {"attention_layer_size": 3},
    "output of the cell": {"output_attention": False},
    "alignment_history": {"alignment_history": True},
    "cell_input_fn": {"cell_input_fn": lambda one, attention: one + attention[:, :SIZE]},
}.items():
    CASES[f"AttentionWrapper, {_name}"] = functools.partial(
        wrapped, "LuongAttention", wrapper=_options
    )


def training_helper(lengths=LENGTHS, **options):
    return seq2seq.TrainingHelper(inputs(), tf.constant(lengths), **options)


def greedy_helper(end=1):
    return seq2seq.GreedyEmbeddingHelper(embedding(), tf.constant([0, 2, 3]), end)


HELPERS = {
    "TrainingHelper": training_helper,
    "TrainingHelper, a row without steps": lambda: training_helper([4, 0, 2]),
    "GreedyEmbeddingHelper": greedy_helper,
    "GreedyEmbeddingHelper, function": lambda: seq2seq.GreedyEmbeddingHelper(
        lambda ids: tf.one_hot(ids, SIZE), tf.constant([0, 2, 3]), 1
    ),
    "ScheduledEmbeddingTrainingHelper, never": lambda: seq2seq.ScheduledEmbeddingTrainingHelper(
        inputs(), tf.constant(LENGTHS), embedding(), 0.0
    ),
}


def custom_helper(**options):
    steps = tf.unstack(inputs(), axis=1)
    return seq2seq.CustomHelper(
        initialize_fn=lambda: (tf.tile([False], [ROWS]), steps[0]),
        sample_fn=lambda time, outputs, state: tf.cast(tf.argmax(outputs, -1), tf.int32),
        next_inputs_fn=lambda time, outputs, state, sample_ids: (
            tf.equal(sample_ids, 1),
            tf.one_hot(sample_ids, SIZE),
            state,
        ),
        **options,
    )


def inference_helper(**options):
    return seq2seq.InferenceHelper(
        sample_fn=lambda outputs: outputs[:, :SIZE],
        sample_shape=[SIZE],
        sample_dtype=tf.float32,
        start_inputs=inputs()[:, 0],
        end_fn=lambda samples: tf.reduce_sum(samples, 1) > 0.5,
        **options,
    )


# Temperature zero-like: the largest logit is drawn for certain, whatever the random numbers are.
def sampling_helper(temperature=1e-4):
    return seq2seq.SampleEmbeddingHelper(
        embedding(), tf.constant([0, 2, 3]), 1, temperature, seed=3
    )


HELPERS.update(
    {
        "CustomHelper": custom_helper,
        "CustomHelper, sample_ids_shape": lambda: custom_helper(
            sample_ids_shape=[], sample_ids_dtype=tf.int32
        ),
        "InferenceHelper": inference_helper,
        "InferenceHelper, next_inputs_fn": lambda: inference_helper(
            next_inputs_fn=lambda samples: samples * 0.5
        ),
        "SampleEmbeddingHelper": sampling_helper,
        "ScheduledOutputTrainingHelper, never": lambda: seq2seq.ScheduledOutputTrainingHelper(
            inputs(WORDS), tf.constant(LENGTHS), 0.0
        ),
        "ScheduledOutputTrainingHelper, always": lambda: seq2seq.ScheduledOutputTrainingHelper(
            inputs(WORDS), tf.constant(LENGTHS), 1.0
        ),
        "ScheduledOutputTrainingHelper, auxiliary": lambda: seq2seq.ScheduledOutputTrainingHelper(
            inputs(WORDS), tf.constant(LENGTHS), 1.0, auxiliary_inputs=inputs()
        ),
        "ScheduledOutputTrainingHelper, layer": lambda: seq2seq.ScheduledOutputTrainingHelper(
            inputs(), tf.constant(LENGTHS), 1.0, next_inputs_fn=lambda outputs: outputs[:, :SIZE]
        ),
        "TrainingHelper, time major": lambda: seq2seq.TrainingHelper(
            tf.transpose(inputs(), [1, 0, 2]), tf.constant(LENGTHS), time_major=True
        ),
        "TrainingHelper, lengths of rank 2": lambda: training_helper([[4, 2, 3]]),
        "GreedyEmbeddingHelper, end tokens": lambda: greedy_helper([1, 2, 3]),
        "SampleEmbeddingHelper, start token": lambda: seq2seq.SampleEmbeddingHelper(
            embedding(), 0, 1
        ),
    }
)
for _name in sorted(HELPERS):
    CASES[f"dynamic_decode, {_name}"] = functools.partial(
        decoded, HELPERS[_name], maximum_iterations=6
    )
for _name, _options in {
    "time major": {"output_time_major": True},
    "finished imputed": {"impute_finished": True},
    "short": {"maximum_iterations": 2},
    "no step": {"maximum_iterations": 0},
    "scope": {"scope": "mine"},
}.items():
    CASES[f"dynamic_decode, {_name}"] = functools.partial(decoded, training_helper, **_options)
CASES["dynamic_decode, without layer"] = functools.partial(decoded, training_helper, layer=False)
CASES["dynamic_decode, no decoder"] = lambda: seq2seq.dynamic_decode("decoder")


def searched(width=2, **options):
    made = cell()
    state = made.zero_state(ROWS * width, tf.float32)
    # Nothing trains the embedding of a beam search: it has no gradient.
    decoder = seq2seq.BeamSearchDecoder(
        *(made, tf.stop_gradient(embedding()), tf.constant([0, 2, 3]), 1, state, width),
        output_layer=tf.layers.Dense(WORDS, use_bias=False),
        **options,
    )
    outputs, state, lengths = seq2seq.dynamic_decode(decoder, maximum_iterations=5)
    return {
        "ids": outputs.predicted_ids,
        "scores": outputs.beam_search_decoder_output.scores,
        "parents": outputs.beam_search_decoder_output.parent_ids,
        "log_probs": state.log_probs,
        "lengths": lengths,
    }


CASES["BeamSearchDecoder"] = searched
CASES["BeamSearchDecoder, one beam"] = functools.partial(searched, 1)
CASES["BeamSearchDecoder, length_penalty_weight"] = functools.partial(
    searched, 3, length_penalty_weight=0.8
)


def covered(kind, width=3, weight=0.4, **options):
    """Searches with attention, whose coverage counts."""
    tiled = seq2seq.tile_batch(tf.stop_gradient(memory()), width)
    lengths = seq2seq.tile_batch(tf.constant(LENGTHS), width)
    found = [seq2seq.LuongAttention(SIZE, tiled, lengths, name=name) for name in ("a", "b")]
    made = {
        "one": lambda: seq2seq.AttentionWrapper(cell(), found[0]),
        "two mechanisms": lambda: seq2seq.AttentionWrapper(cell(), found),
        "two cells": lambda: tf.nn.rnn_cell.MultiRNNCell(
            [seq2seq.AttentionWrapper(cell(), one) for one in found] + [cell()]
        ),
        "none": cell,
    }[kind]()
    decoder = seq2seq.BeamSearchDecoder(
        *(made, tf.stop_gradient(embedding()), tf.constant([0, 2, 3]), 1),
        made.zero_state(ROWS * width, tf.float32),
        width,
        output_layer=tf.layers.Dense(WORDS, use_bias=False),
        coverage_penalty_weight=weight,
        **options,
    )
    outputs, state, lengths = seq2seq.dynamic_decode(decoder, maximum_iterations=5)
    return {
        "ids": outputs.predicted_ids,
        "scores": outputs.beam_search_decoder_output.scores,
        "log_probs": state.log_probs,
        "accumulated": state.accumulated_attention_probs,
        "lengths": lengths,
    }


for _kind in ("one", "two mechanisms", "two cells", "none"):
    CASES[f"BeamSearchDecoder, coverage_penalty_weight: {_kind}"] = functools.partial(
        covered, _kind
    )
CASES["BeamSearchDecoder, both penalties"] = functools.partial(
    covered, "one", weight=2.0, length_penalty_weight=0.8
)


def half(mechanism, output, state, layer):
    alignments, state = mechanism(output, state)
    context = tf.reduce_sum(tf.expand_dims(alignments, 2) * mechanism.values, 1) / 2
    return (context if layer is None else layer(context)), alignments, state


def changed(keys, values_):
    return keys * 2.0, values_ + 1.0


def wrapped_in(mechanism_options, **options):
    made = seq2seq.AttentionWrapper(
        cell(), mechanism("LuongAttention", LENGTHS, **mechanism_options), **options
    )
    outputs, state = tf.nn.dynamic_rnn(made, inputs(), dtype=tf.float32)
    return {"outputs": outputs, "attention": state.attention}


CASES["AttentionWrapper, attention_fn"] = lambda: wrapped_in({}, attention_fn=half)
CASES["AttentionWrapper, attention_fn with a layer"] = lambda: wrapped_in(
    {}, attention_fn=half, attention_layer_size=3, dtype=tf.float32
)
CASES["AttentionWrapper, custom_key_value_fn"] = lambda: wrapped_in(
    {"custom_key_value_fn": changed}
)


def loss(steps=STEPS, **options):
    weights = tf.sequence_mask(tf.constant(LENGTHS), steps, tf.float32)
    targets = values.whole(ROWS, STEPS, below=WORDS, seed=6, dtype=np.int32)
    return seq2seq.sequence_loss(values.real(ROWS, STEPS, WORDS), targets, weights, **options)


for _timesteps in (True, False):
    for _batch in (True, False):
        CASES[f"sequence_loss, average {_timesteps}, {_batch}"] = functools.partial(
            loss, average_across_timesteps=_timesteps, average_across_batch=_batch
        )
CASES["sequence_loss, sum over timesteps"] = functools.partial(
    *(loss,),
    average_across_timesteps=False,
    sum_over_timesteps=True,
)
CASES["sequence_loss, sum and average"] = functools.partial(loss, sum_over_timesteps=True)
CASES["sequence_loss, sum over all"] = functools.partial(
    loss,
    average_across_timesteps=False,
    average_across_batch=False,
    sum_over_timesteps=True,
    sum_over_batch=True,
)
CASES["tile_batch"] = lambda: seq2seq.tile_batch((values.real(2, 3), values.whole(2)), 3)
CASES["tile_batch, scalar"] = lambda: seq2seq.tile_batch(tf.constant(1.0), 3)
CASES["hardmax"] = lambda: seq2seq.hardmax(values.real(2, 3, 4))
CASES["safe_cumprod"] = lambda: seq2seq.safe_cumprod(values.real(2, 3, low=0.0), axis=1)
CASES["safe_cumprod, exclusive"] = lambda: seq2seq.safe_cumprod(
    values.given([[0.0, 0.5, 1.0]]), axis=1, exclusive=True
)
for _mode in ("recursive", "parallel", "hard"):
    CASES[f"monotonic_attention, {_mode}"] = lambda mode=_mode: seq2seq.monotonic_attention(
        values.real(2, 4, low=0.0), values.real(2, 4, low=0.0, seed=2), mode
    )
CASES["monotonic_attention, wrong mode"] = lambda: seq2seq.monotonic_attention(
    values.real(2, 4), values.real(2, 4), "soft"
)
CASES["gather_tree"] = lambda: seq2seq.gather_tree(
    values.whole(3, 1, 2, below=5, dtype=np.int32),
    values.whole(3, 1, 2, seed=2, dtype=np.int32),
    tf.constant([3]),
    4,
)
