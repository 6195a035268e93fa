"""Cases of tf.contrib.crf."""

import functools

import tensorflow as tf
import values

CASES = {}
crf = tf.contrib.crf
LENGTHS = {"full": [4, 4, 4], "shorter": [4, 2, 1], "with 0": [4, 0, 2], "all 0": [0, 0, 0]}


def scores(rows=3, steps=4, tags=3):
    return values.real(rows, steps, tags, seed=1)


def tags(rows=3, steps=4):
    return values.whole(rows, steps, below=3, seed=2, dtype=values.np.int32)


def transitions():
    return values.real(3, 3, seed=3)


def bitmap():
    return tf.cast(values.whole(3, 4, 3, below=2, seed=4), tf.bool)


FUNCTIONS = {
    "crf_sequence_score": lambda n: crf.crf_sequence_score(scores(), tags(), n, transitions()),
    "crf_multitag_sequence_score": lambda n: crf.crf_multitag_sequence_score(
        scores(), bitmap(), n, transitions()
    ),
    "crf_log_norm": lambda n: crf.crf_log_norm(scores(), n, transitions()),
    "crf_log_likelihood": lambda n: crf.crf_log_likelihood(scores(), tags(), n, transitions()),
    "crf_unary_score": lambda n: crf.crf_unary_score(tags(), n, scores()),
    "crf_binary_score": lambda n: crf.crf_binary_score(tags(), n, transitions()),
    "crf_decode": lambda n: crf.crf_decode(scores(), transitions(), n),
}
for _name in sorted(FUNCTIONS):
    for _lengths in sorted(LENGTHS):
        CASES[f"{_name}, {_lengths}"] = lambda name=_name, lengths=_lengths: FUNCTIONS[name](
            tf.constant(LENGTHS[lengths])
        )


def single(steps):
    one = scores(steps=steps)
    lengths = tf.constant([steps] * 3)
    return [
        crf.crf_log_likelihood(one, tags(steps=steps), lengths, transitions())[0],
        crf.crf_decode(one, transitions(), lengths),
    ]


CASES["one step"] = functools.partial(single, 1)
CASES["two steps"] = functools.partial(single, 2)
CASES["crf_log_likelihood, own transitions"] = lambda: crf.crf_log_likelihood(
    scores(), tags(), tf.constant([4, 3, 2])
)
CASES["crf_log_likelihood, int64 lengths"] = lambda: crf.crf_log_likelihood(
    scores(), tags(), tf.constant([4, 3, 2], tf.int64), transitions()
)[0]
CASES["crf_log_likelihood, int64 tags"] = lambda: crf.crf_log_likelihood(
    scores(), tf.to_int64(tags()), tf.constant([4, 3, 2]), transitions()
)[0]


def variable_inputs(reference):
    inputs = tf.get_variable("scores", [3, 4, 3], use_resource=not reference)
    weights = tf.get_variable("weights", [3, 3], use_resource=not reference)
    lengths = tf.constant([4, 3, 2])
    return [
        crf.crf_log_likelihood(inputs, tags(), lengths, weights)[0],
        crf.crf_decode(inputs, weights, lengths),
    ]


CASES["reference variables"] = functools.partial(variable_inputs, True)
CASES["resource variables"] = functools.partial(variable_inputs, False)
CASES["viterbi_decode"] = lambda: [
    tf.constant(part) for part in crf.viterbi_decode(values.array(4, 3), values.array(3, 3, seed=2))
]
