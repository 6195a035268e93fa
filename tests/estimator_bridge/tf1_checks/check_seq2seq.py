"""tf.contrib.seq2seq: decoding, attention, loss."""

import numpy as np
import pytest
import tensorflow as tf

seq2seq = tf.contrib.seq2seq


def test_training_helper_matches_dynamic_rnn():
    inputs = np.random.RandomState(0).normal(size=[3, 5, 4]).astype(np.float32)
    lengths = [5, 2, 0]
    with tf.variable_scope("shared", reuse=tf.AUTO_REUSE):
        cell = tf.nn.rnn_cell.GRUCell(6, name="cell")
        helper = seq2seq.TrainingHelper(tf.constant(inputs), lengths)
        decoder = seq2seq.BasicDecoder(cell, helper, cell.zero_state(3, tf.float32))
        outputs, state, found = seq2seq.dynamic_decode(decoder, impute_finished=True)
        want, want_state = tf.nn.dynamic_rnn(cell, tf.constant(inputs), lengths, dtype=tf.float32)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        got, want, state, want_state, found = session.run(
            [outputs.rnn_output, want, state, want_state, found]
        )
    assert found.tolist() == lengths
    np.testing.assert_allclose(got, want, atol=1e-6)
    np.testing.assert_allclose(state, want_state, atol=1e-6)


def test_greedy_helper_stops_at_the_end_token(run):
    # The embedding of i selects i + 1, through an identity "cell".
    class Next(tf.nn.rnn_cell.RNNCell):
        state_size = 1
        output_size = 6

        def __call__(self, inputs, state, scope=None):
            return tf.roll(inputs, 1, axis=1), state

    embedding = tf.eye(6)
    helper = seq2seq.GreedyEmbeddingHelper(embedding, tf.constant([0, 2]), end_token=5)
    decoder = seq2seq.BasicDecoder(Next(), helper, tf.zeros([2, 1]))
    outputs, _, lengths = seq2seq.dynamic_decode(
        decoder, impute_finished=True, maximum_iterations=10
    )
    ids, lengths = run([outputs.sample_id, lengths])
    assert ids.tolist() == [[1, 2, 3, 4, 5], [3, 4, 5, 0, 0]]
    assert lengths.tolist() == [5, 3]
    outputs, _, lengths = seq2seq.dynamic_decode(decoder, maximum_iterations=2)
    assert run(lengths).tolist() == [2, 2]


@pytest.mark.parametrize(
    ("across_time", "across_batch"), [(True, True), (True, False), (False, True), (False, False)]
)
def test_sequence_loss(run, across_time, across_batch):
    rng = np.random.RandomState(0)
    logits = rng.normal(size=[2, 3, 4]).astype(np.float32)
    targets = rng.randint(4, size=[2, 3])
    weights = np.array([[1, 1, 0], [1, 0, 0]], np.float32)
    got = run(
        seq2seq.sequence_loss(
            tf.constant(logits),
            tf.constant(targets),
            tf.constant(weights),
            average_across_timesteps=across_time,
            average_across_batch=across_batch,
        )
    )
    logs = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
    losses = -np.take_along_axis(logs, targets[..., None], 2)[..., 0] * weights
    axes = tuple(([1] if across_time else []) + ([0] if across_batch else []))
    want = losses
    if axes:
        total = weights.sum(axes)
        want = losses.sum(axes) / (total + 1e-12)
    np.testing.assert_allclose(got, want, rtol=1e-5)


@pytest.mark.parametrize(
    "make",
    [
        lambda memory, n: seq2seq.LuongAttention(8, memory, n, scale=True),
        lambda memory, n: seq2seq.BahdanauAttention(7, memory, n, normalize=True),
        lambda memory, n: seq2seq.LuongMonotonicAttention(8, memory, n, mode="recursive"),
        lambda memory, n: seq2seq.BahdanauMonotonicAttention(7, memory, n, score_bias_init=5.0),
    ],
)
def test_attention_ignores_steps_beyond_the_length(make):
    memory = tf.constant(np.random.RandomState(0).normal(size=[2, 4, 5]).astype(np.float32))
    cell = seq2seq.AttentionWrapper(
        tf.nn.rnn_cell.LSTMCell(8),
        make(memory, [4, 2]),
        attention_layer_size=6,
        alignment_history=True,
    )
    helper = seq2seq.TrainingHelper(tf.ones([2, 3, 3]), [3, 3])
    layer = tf.layers.Dense(9)
    decoder = seq2seq.BasicDecoder(cell, helper, cell.zero_state(2, tf.float32), layer)
    outputs, state, _ = seq2seq.dynamic_decode(decoder)
    gradients = tf.gradients(tf.reduce_sum(outputs.rnn_output**2), tf.trainable_variables())
    assert outputs.rnn_output.shape.as_list()[-1] == 9
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        alignments = session.run(state.alignment_history.stack())
        assert all(np.isfinite(value).all() for value in session.run(gradients))
    assert alignments.shape == (3, 2, 4)
    if not any("attention_score_bias" in v.op.name for v in tf.trainable_variables()):
        np.testing.assert_allclose(alignments.sum(-1), 1, rtol=1e-5)
    # The attention may end: the probability not chosen is nowhere.
    assert (alignments.sum(-1) < 1 + 1e-5).all() and (alignments.sum(-1) > 0.01).all()
    assert (alignments[:, 1, 2:] == 0).all()
    names = {v.op.name for v in tf.trainable_variables()}
    assert "memory_layer/kernel" in names
    assert any(name.endswith("attention_layer/kernel") for name in names)


def test_tile_batch(run):
    tiled = seq2seq.tile_batch(tf.constant([[1, 2], [3, 4]]), 2)
    assert tiled.shape.as_list() == [4, 2]
    assert run(tiled).tolist() == [[1, 2], [1, 2], [3, 4], [3, 4]]


def walk(choose, before):
    """Returns the attention, computed step by step."""
    attention = np.zeros_like(choose)
    for row in range(len(choose)):
        reached = 0.0
        for j in range(choose.shape[1]):
            reached = before[row, j] + (0 if j == 0 else (1 - choose[row, j - 1]) * reached)
            attention[row, j] = choose[row, j] * reached
    return attention


@pytest.mark.parametrize("mode", ["recursive", "parallel", "hard"])
def test_monotonic_attention_never_moves_left(run, mode):
    rng = np.random.RandomState(0)
    choose = rng.uniform(0.05, 0.95, size=[4, 6]).astype(np.float32)
    before = rng.dirichlet(np.ones(6), size=4).astype(np.float32)
    if mode == "hard":
        choose, before = np.round(choose), np.eye(6, dtype=np.float32)[[0, 2, 5, 3]]
    got = run(seq2seq.monotonic_attention(choose, before, mode))
    np.testing.assert_allclose(got, walk(choose, before), rtol=1e-4, atol=1e-6)
    with pytest.raises(ValueError, match="use 'recursive', 'parallel' or 'hard'"):
        seq2seq.monotonic_attention(choose, before, "soft")


def test_custom_attention_mechanisms(run):
    from tensorflow.contrib.seq2seq.python.ops.attention_wrapper import (
        BahdanauAttention,
        _bahdanau_score,
    )

    class Cumulative(BahdanauAttention):
        def __call__(self, query, state):
            with tf.variable_scope(None, "cumulative", [query]):
                score = _bahdanau_score(self.query_layer(query), self.keys, False)
                alignments = self._probability_fn(score, state)
            return alignments, alignments + state

    memory = tf.constant(np.random.RandomState(0).normal(size=[2, 4, 5]).astype(np.float32))
    mechanism = Cumulative(6, memory, [4, 3])
    cell = seq2seq.AttentionWrapper(tf.nn.rnn_cell.GRUCell(8), mechanism)
    _, state = tf.nn.dynamic_rnn(
        cell, tf.ones([2, 5, 3]), initial_state=cell.zero_state(2, tf.float32), dtype=tf.float32
    )
    total = run(state.attention_state)
    np.testing.assert_allclose(total.sum(1), 5, rtol=1e-5)
    assert (total[1, 3:] == 0).all() and (total[0] > 0).all()


def test_an_attention_wrapper_has_the_private_names_of_1x():
    seq2seq = tf.contrib.seq2seq
    mechanism = seq2seq.LuongAttention(4, tf.ones([2, 3, 4]))
    cell = seq2seq.AttentionWrapper(tf.nn.rnn_cell.GRUCell(4), mechanism, attention_layer_size=5)
    assert cell._attention_mechanisms == (mechanism,) and len(cell._attention_layers) == 1
    assert cell._attention_layer_size == 5 and not cell._alignment_history
    assert cell._item_or_tuple(iter([1])) == 1 and len(cell._batch_size_checks(2, "rows")) == 1


@pytest.mark.parametrize("probability", [0.0, 1.0])
def test_scheduled_outputs_are_read_with_the_given_probability(run, probability):
    inputs = tf.constant(np.random.RandomState(0).normal(size=[2, 4, 3]).astype(np.float32))
    more = tf.fill([2, 4, 1], 7.0)
    read = []

    class Recorded(tf.nn.rnn_cell.BasicRNNCell):
        def __call__(self, inputs, state, scope=None):
            read.append(inputs.shape.as_list())
            return inputs[:, :3] * 2, state

    helper = seq2seq.ScheduledOutputTrainingHelper(
        inputs, [4, 4], probability, auxiliary_inputs=more
    )
    cell = Recorded(3)
    decoder = seq2seq.BasicDecoder(cell, helper, cell.zero_state(2, tf.float32))
    outputs, _, _ = seq2seq.dynamic_decode(decoder)
    got, given = run([outputs.rnn_output, inputs])
    assert read[0][-1] == 4
    # A step doubles its input: a given value, or the output of the previous step.
    twice = given[:, :1] * np.array([2, 4, 8, 16])[None, :, None]
    np.testing.assert_allclose(got, twice if probability else given * 2, rtol=1e-5)
    assert run(outputs.sample_id).dtype == np.int32


def test_hardmax_of_a_reference_variable(run):
    logits = tf.get_variable("logits", initializer=[[1.0, 3.0, 2.0], [5.0, 0.0, 4.0]])
    assert logits.dtype == tf.as_dtype("float32_ref")
    found = run(tf.contrib.seq2seq.hardmax(logits))
    assert found.dtype == np.float32 and found.tolist() == [[0, 1, 0], [1, 0, 0]]
