"""tf.contrib.crf, compared with the enumeration of all tag sequences."""

import itertools

import numpy as np
import pytest
import tensorflow as tf

LENGTHS = [4, 1, 3, 0, 2]
TAGS = 3


@pytest.fixture
def problem():
    rng = np.random.RandomState(5)
    unary = rng.normal(size=[len(LENGTHS), 4, TAGS]).astype(np.float32)
    transitions = rng.normal(size=[TAGS, TAGS]).astype(np.float32)
    tags = rng.randint(TAGS, size=[len(LENGTHS), 4]).astype(np.int32)
    return unary, transitions, tags


def score(unary, transitions, tags):
    total = sum(unary[i, tag] for i, tag in enumerate(tags))
    return total + sum(transitions[a, b] for a, b in zip(tags, tags[1:]))


def everything(unary, transitions, length):
    sequences = list(itertools.product(range(TAGS), repeat=length))
    return sequences, np.array([score(unary, transitions, s) for s in sequences])


def test_log_likelihood_matches_the_enumeration(run, problem):
    unary, transitions, tags = problem
    got, _ = tf.contrib.crf.crf_log_likelihood(
        tf.constant(unary), tf.constant(tags), tf.constant(LENGTHS), tf.constant(transitions)
    )
    norm = tf.contrib.crf.crf_log_norm(
        tf.constant(unary), tf.constant(LENGTHS), tf.constant(transitions)
    )
    got, norm = run([got, norm])
    for i, length in enumerate(LENGTHS):
        _, scores = everything(unary[i], transitions, length)
        if length == 0:
            assert got[i] == norm[i] == 0
            continue
        log_sum = np.log(np.exp(scores).sum())
        np.testing.assert_allclose(norm[i], log_sum, rtol=1e-5)
        np.testing.assert_allclose(
            got[i], score(unary[i], transitions, tags[i, :length]) - log_sum, rtol=1e-4
        )


def test_decode_finds_the_best_sequence(run, problem):
    unary, transitions, _ = problem
    tags, scores = run(
        tf.contrib.crf.crf_decode(
            tf.constant(unary), tf.constant(transitions), tf.constant(LENGTHS)
        )
    )
    assert tags.dtype == np.int32
    for i, length in enumerate(LENGTHS):
        length = max(length, 1)  # As in 1.15, an empty sequence has one step.
        assert tags[i, length:].tolist() == [0] * (4 - length)
        sequences, all_scores = everything(unary[i], transitions, length)
        assert tuple(tags[i, :length]) == sequences[all_scores.argmax()]
        np.testing.assert_allclose(scores[i], all_scores.max(), rtol=1e-5)
        alone, best = tf.contrib.crf.viterbi_decode(unary[i, :length], transitions)
        assert alone == tags[i, :length].tolist()
        np.testing.assert_allclose(best, all_scores.max(), rtol=1e-5)


def test_multitag_score_sums_over_the_allowed_tags(run, problem):
    unary, transitions, _ = problem
    bitmap = np.ones([1, 3, TAGS], bool)
    bitmap[0, 1, 2] = False
    got = run(
        tf.contrib.crf.crf_multitag_sequence_score(
            tf.constant(unary[:1, :3]), tf.constant(bitmap), [3], tf.constant(transitions)
        )
    )
    sequences, scores = everything(unary[0], transitions, 3)
    allowed = [s for seq, s in zip(sequences, scores) if seq[1] != 2]
    np.testing.assert_allclose(got[0], np.log(np.exp(allowed).sum()), rtol=1e-5)


def test_gradients_match_the_enumeration(run, problem):
    unary, transitions, tags = problem
    variable = tf.constant(transitions)
    likelihood, _ = tf.contrib.crf.crf_log_likelihood(
        tf.constant(unary), tf.constant(tags), tf.constant(LENGTHS), variable
    )
    gradient = run(tf.gradients(tf.reduce_sum(likelihood), variable)[0])

    def total(params):
        value = 0.0
        for i, length in enumerate(LENGTHS):
            if length:
                _, scores = everything(unary[i], params, length)
                value += score(unary[i], params, tags[i, :length]) - np.log(np.exp(scores).sum())
        return value

    for a, b in itertools.product(range(TAGS), repeat=2):
        step = np.zeros_like(transitions, dtype=np.float64)
        step[a, b] = 1e-4
        numeric = (total(transitions + step) - total(transitions - step)) / 2e-4
        np.testing.assert_allclose(gradient[a, b], numeric, atol=1e-3)


def test_transitions_are_a_variable(run, problem):
    unary, _, tags = problem
    _, transitions = tf.contrib.crf.crf_log_likelihood(
        tf.constant(unary), tf.constant(tags), tf.constant(LENGTHS)
    )
    assert transitions.op.name == "transitions"
    assert tf.trainable_variables() == [transitions]


def test_reference_variables_are_scores(run, problem):
    unary, transitions, tags = problem
    bitmap = np.ones([len(LENGTHS), 4, TAGS], bool)
    found = []
    for make in (tf.constant, tf.Variable):
        scores, steps = make(unary), make(transitions)
        found.append(
            [
                tf.contrib.crf.crf_log_likelihood(scores, tags, LENGTHS, steps)[0],
                tf.contrib.crf.crf_multitag_sequence_score(scores, bitmap, LENGTHS, steps),
                tf.contrib.crf.crf_decode(scores, steps, tf.constant(LENGTHS))[1],
            ]
        )
    constant, variable = run(found)
    np.testing.assert_array_equal(constant, variable)
