"""tf.contrib.seq2seq.BeamSearchDecoder, compared with an exhaustive search."""

import itertools

import numpy as np
import pytest
import tensorflow as tf

seq2seq = tf.contrib.seq2seq
TOKENS, START, END = 4, 0, 3


class Markov(tf.nn.rnn_cell.RNNCell):
    """A cell that reads the next token's logits from a table and counts steps in its state."""

    state_size = 2
    output_size = TOKENS

    def __init__(self, table):
        super().__init__()
        self._table = table

    def call(self, inputs, state):
        return tf.matmul(inputs, self._table), state + 1.0


def search(tables, width, steps, penalty=0.0, **options):
    """Decodes from START with each table of logits [TOKENS, TOKENS]."""
    found = []
    for table in tables:
        with tf.Graph().as_default(), tf.Session() as session:
            cell = Markov(tf.constant(table, tf.float32))
            state = seq2seq.tile_batch(cell.zero_state(2, tf.float32), width)
            decoder = seq2seq.BeamSearchDecoder(
                cell,
                tf.eye(TOKENS),
                tf.fill([2], START),
                END,
                state,
                width,
                length_penalty_weight=penalty,
                **options,
            )
            outputs, last, lengths = seq2seq.dynamic_decode(decoder, maximum_iterations=steps)
            found.append(session.run([outputs, last, lengths]))
    return found


def best(table, steps, count, penalty=0.0):
    """Returns the best sequences and their scores, by exhaustive search."""
    log = table - np.log(np.exp(table).sum(1, keepdims=True))
    scores = {}
    for tokens in itertools.product(range(TOKENS), repeat=steps):
        tokens = tokens[: tokens.index(END) + 1] if END in tokens else tokens
        total = sum(log[a, b] for a, b in zip((START, *tokens), tokens))
        # As in 1.x, end_token is free of cost from the following step on.
        length = len(tokens) - (len(tokens) == steps and tokens[-1] == END)
        scores[tokens] = total / ((5 + length) / 6) ** penalty
    ordered = sorted(scores, key=scores.get, reverse=True)[:count]
    return ordered, [scores[tokens] for tokens in ordered]


@pytest.mark.parametrize("penalty", [0.0, 0.7])
def test_wide_search_finds_the_results_of_an_exhaustive_search(penalty):
    # The search is wide enough to keep all candidates.
    tables = np.random.RandomState(1).normal(size=[4, TOKENS, TOKENS])
    for table, (outputs, last, _) in zip(tables, search(tables, 64, 3, penalty)):
        wanted, scores = best(table, 3, 5, penalty)
        assert outputs.predicted_ids.shape == (2, 3, 64)
        for row in range(2):
            for place, tokens in enumerate(wanted):
                got = outputs.predicted_ids[row, :, place].tolist()
                assert got == [*tokens, *[END] * (3 - len(tokens))]
            got = outputs.beam_search_decoder_output.scores[row, -1, :5]
            np.testing.assert_allclose(got, scores, rtol=1e-4)
            assert last.lengths[row, 0] == len(wanted[0])


def test_one_beam_is_greedy_search():
    tables = np.random.RandomState(2).normal(size=[5, TOKENS, TOKENS])
    for table, (outputs, _, _) in zip(tables, search(tables, 1, 6)):
        token, wanted = START, []
        while len(wanted) < outputs.predicted_ids.shape[1]:
            token = END if token == END else int(table[token].argmax())
            wanted.append(token)
        assert outputs.predicted_ids[0, :, 0].tolist() == wanted


def test_search_with_attention_and_an_output_layer(run):
    cell = tf.nn.rnn_cell.MultiRNNCell([tf.nn.rnn_cell.LSTMCell(8), tf.nn.rnn_cell.GRUCell(8)])
    memory = tf.constant(np.random.RandomState(0).normal(size=[3, 5, 6]), tf.float32)
    tiled = seq2seq.tile_batch(memory, 4)
    mechanism = seq2seq.LuongAttention(8, tiled, seq2seq.tile_batch(tf.constant([5, 2, 3]), 4))
    cell = seq2seq.AttentionWrapper(cell, mechanism, attention_layer_size=8)
    decoder = seq2seq.BeamSearchDecoder(
        cell,
        tf.get_variable("embedding", [7, 5]),
        tf.constant([1, 1, 1]),
        2,
        cell.zero_state(12, tf.float32),
        4,
        output_layer=tf.layers.Dense(7, use_bias=False),
    )
    outputs, state, _ = seq2seq.dynamic_decode(decoder, maximum_iterations=6)
    outputs, attention = run([outputs, state.cell_state.attention])
    assert outputs.predicted_ids.shape == (3, 6, 4) and attention.shape == (3, 4, 8)
    scores = outputs.beam_search_decoder_output.scores[:, -1]
    assert (np.diff(scores) <= 0).all() and np.isfinite(scores).all()


def test_gather_tree_follows_parents_and_pads_with_end_token(run):
    ids = [[[1, 2, 3]], [[4, 5, 6]], [[7, 8, 9]]]
    parents = [[[0, 0, 0]], [[0, 1, 1]], [[2, 1, 2]]]
    got = run(seq2seq.gather_tree(ids, parents, [3], end_token=10))
    assert got.tolist() == [[[2, 2, 2]], [[6, 5, 6]], [[7, 8, 9]]]


def test_a_coverage_penalty_needs_attention():
    with pytest.raises(ValueError, match="coverage_penalty_weight"):
        search([np.zeros([TOKENS, TOKENS])], 2, 1, coverage_penalty_weight=0.1)
