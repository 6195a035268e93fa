"""The decoders of `tf.contrib.legacy_seq2seq`."""

import tensorflow.compat.v1 as tf

from estimator_bridge.private_tf import nest
from estimator_bridge.tf1.contrib.rnn.linear import Linear

__all__ = [
    "attention_decoder",
    "embed_last_symbol",
    "embedding_attention_decoder",
    "embedding_rnn_decoder",
    "rnn_decoder",
]


def embed_last_symbol(embedding, output_projection=None, update_embedding=True):
    """Returns a loop function: the embedding of the most probable symbol of the last step.

    Args:
      embedding: tensor [symbols, size].
      output_projection: (weights [output size, symbols], bias [symbols]) from outputs to logits;
        None if the outputs are logits.
      update_embedding: whether gradients reach the embedding.
    """

    def look_up(output, _):
        if output_projection is not None:
            output = tf.nn.xw_plus_b(output, *output_projection)
        found = tf.nn.embedding_lookup(embedding, tf.argmax(output, 1))
        return found if update_embedding else tf.stop_gradient(found)

    return look_up


def _check_projection(output_projection, num_symbols):
    if output_projection is not None:
        bias = tf.convert_to_tensor(output_projection[1])
        bias.shape.assert_is_compatible_with([num_symbols])


def _given_input(given, step, last, loop_function):
    """Returns the input of a step: the given one, or what the loop function makes of the last."""
    if loop_function is None or last is None:
        return given
    with tf.variable_scope("loop_function", reuse=True):
        return loop_function(last, step)


def rnn_decoder(decoder_inputs, initial_state, cell, loop_function=None, scope=None):
    """Runs a cell over a list of inputs.

    Args:
      decoder_inputs: list of tensors [batch, size].
      initial_state: state of the cell.
      cell: RNNCell.
      loop_function: function of (output, step) to the next input; it replaces all given inputs but
        the first. None for the given inputs.
      scope: variable scope, or its name; None for `rnn_decoder`.

    Returns:
      Outputs, a list of tensors [batch, output size], and the last state.
    """
    with tf.variable_scope(scope or "rnn_decoder"):
        state, outputs = initial_state, []
        for step, given in enumerate(decoder_inputs):
            inputs = _given_input(given, step, outputs[-1] if outputs else None, loop_function)
            if step:
                tf.get_variable_scope().reuse_variables()
            output, state = cell(inputs, state)
            outputs.append(output)
    return outputs, state


def embedding_rnn_decoder(
    decoder_inputs,
    initial_state,
    cell,
    num_symbols,
    embedding_size,
    output_projection=None,
    feed_previous=False,
    update_embedding_for_previous=True,
    scope=None,
):
    """Runs a cell over a list of symbols.

    Args:
      decoder_inputs: list of int tensors [batch].
      initial_state: state of the cell.
      cell: RNNCell.
      num_symbols: int, number of symbols.
      embedding_size: int, size of an embedding.
      output_projection: (weights, bias) from outputs to logits, for `feed_previous`; or None.
      feed_previous: whether each input but the first is the last most probable symbol.
      update_embedding_for_previous: whether gradients reach the embedding of such a symbol.
      scope: variable scope, or its name; None for `embedding_rnn_decoder`.

    Returns:
      Outputs, a list of tensors [batch, output size], and the last state.

    Raises:
      ValueError: the bias does not have `num_symbols` elements.
    """
    with tf.variable_scope(scope or "embedding_rnn_decoder"):
        _check_projection(output_projection, num_symbols)
        embedding = tf.get_variable("embedding", [num_symbols, embedding_size])
        loop = embed_last_symbol(embedding, output_projection, update_embedding_for_previous)
        inputs = [tf.nn.embedding_lookup(embedding, one) for one in decoder_inputs]
        return rnn_decoder(inputs, initial_state, cell, loop if feed_previous else None)


class _Attention:
    """Additive attention (Bahdanau et al., 2014) of several heads to the same vectors."""

    def __init__(self, attended, num_heads, dtype):
        length = tf.compat.dimension_value(attended.shape[1])
        self._size = tf.compat.dimension_value(attended.shape[2])
        length = tf.shape(attended)[1] if length is None else length
        self._dtype, self._batch = dtype, tf.shape(attended)[0]
        # [batch, length, 1, size], the image of a convolution.
        self._attended = tf.reshape(attended, [-1, length, 1, self._size])
        self._keys, self._scores, self._queries = [], [], [None] * num_heads
        for head in range(num_heads):
            weights = tf.get_variable(f"AttnW_{head}", [1, 1, self._size, self._size], dtype)
            self._keys.append(tf.nn.conv2d(self._attended, weights, [1, 1, 1, 1], "SAME"))
            self._scores.append(tf.get_variable(f"AttnV_{head}", [self._size], dtype))

    def start(self):
        """Returns what each head attends to before the first step: nothing."""
        zeros = [tf.zeros([self._batch, self._size], self._dtype) for _ in self._keys]
        for one in zeros:
            one.set_shape([None, self._size])
        return zeros

    def __call__(self, state):
        """Returns what each head attends to in a state, tensors [batch, size]."""
        query = tf.concat(nest.flatten(state), 1)
        found = []
        for head, (keys, score) in enumerate(zip(self._keys, self._scores)):
            with tf.variable_scope(f"Attention_{head}"):
                if self._queries[head] is None:
                    self._queries[head] = Linear(query, self._size, True)
                projected = tf.reshape(self._queries[head](query), [-1, 1, 1, self._size])
                logits = tf.reduce_sum(score * tf.tanh(keys + projected), [2, 3])
                weights = tf.reshape(tf.nn.softmax(logits), [-1, tf.shape(logits)[1], 1, 1])
                vector = tf.reduce_sum(weights * self._attended, [1, 2])
                found.append(tf.reshape(vector, [-1, self._size]))
        return found


def attention_decoder(
    decoder_inputs,
    initial_state,
    attention_states,
    cell,
    output_size=None,
    num_heads=1,
    loop_function=None,
    dtype=None,
    scope=None,
    initial_state_attention=False,
):
    """Runs a cell that attends to vectors over a list of inputs.

    Args:
      decoder_inputs: list of tensors [batch, size].
      initial_state: state of the cell.
      attention_states: tensor [batch, length, size] of the vectors to attend to.
      cell: RNNCell.
      output_size: int, size of the outputs; None for that of the cell.
      num_heads: int, number of attention heads.
      loop_function: function of (output, step) to the next input, or None.
      dtype: type of the variables; None for that of the scope.
      scope: variable scope, or its name; None for `attention_decoder`.
      initial_state_attention: whether the first step attends to the vectors too.

    Returns:
      Outputs, a list of tensors [batch, output size], and the last state.

    Raises:
      ValueError: there is no input or no head, or a size is unknown.
    """
    if not decoder_inputs:
        raise ValueError("decoder_inputs: at least one is required")
    if num_heads < 1:
        raise ValueError(f"num_heads: {num_heads} is less than 1")
    if tf.compat.dimension_value(attention_states.shape[2]) is None:
        raise ValueError(f"attention_states: the size must be known, got {attention_states.shape}")
    output_size = cell.output_size if output_size is None else output_size
    with tf.variable_scope(scope or "attention_decoder", dtype=dtype) as variable_scope:
        attention = _Attention(attention_states, num_heads, variable_scope.dtype)
        state, outputs, joined, project = initial_state, [], None, None
        attended = attention(state) if initial_state_attention else attention.start()
        for step, given in enumerate(decoder_inputs):
            if step:
                variable_scope.reuse_variables()
            inputs = _given_input(given, step, outputs[-1] if outputs else None, loop_function)
            size = tf.compat.dimension_value(inputs.shape.with_rank(2)[1])
            if size is None:
                raise ValueError(f"decoder_inputs: the size must be known, got {inputs.shape}")
            parts = [inputs, *attended]
            joined = Linear(parts, size, True) if joined is None else joined
            output, state = cell(joined(parts), state)
            attended = attention(state)
            with tf.variable_scope("AttnOutputProjection"):
                parts = [output, *attended]
                project = Linear(parts, output_size, True) if project is None else project
                outputs.append(project(parts))
    return outputs, state


def embedding_attention_decoder(
    decoder_inputs,
    initial_state,
    attention_states,
    cell,
    num_symbols,
    embedding_size,
    num_heads=1,
    output_size=None,
    output_projection=None,
    feed_previous=False,
    update_embedding_for_previous=True,
    dtype=None,
    scope=None,
    initial_state_attention=False,
):
    """Runs a cell that attends to vectors over a list of symbols.

    Args:
      decoder_inputs: list of int tensors [batch].
      initial_state: state of the cell.
      attention_states: tensor [batch, length, size] of the vectors to attend to.
      cell: RNNCell.
      num_symbols: int, number of symbols.
      embedding_size: int, size of an embedding.
      num_heads: int, number of attention heads.
      output_size: int, size of the outputs; None for that of the cell.
      output_projection: (weights, bias) from outputs to logits, for `feed_previous`; or None.
      feed_previous: whether each input but the first is the last most probable symbol.
      update_embedding_for_previous: whether gradients reach the embedding of such a symbol.
      dtype: type of the variables; None for that of the scope.
      scope: variable scope, or its name; None for `embedding_attention_decoder`.
      initial_state_attention: whether the first step attends to the vectors too.

    Returns:
      Outputs, a list of tensors [batch, output size], and the last state.

    Raises:
      ValueError: the bias does not have `num_symbols` elements.
    """
    _check_projection(output_projection, num_symbols)
    with tf.variable_scope(scope or "embedding_attention_decoder", dtype=dtype):
        embedding = tf.get_variable("embedding", [num_symbols, embedding_size])
        loop = embed_last_symbol(embedding, output_projection, update_embedding_for_previous)
        return attention_decoder(
            [tf.nn.embedding_lookup(embedding, one) for one in decoder_inputs],
            initial_state,
            attention_states,
            cell,
            output_size=output_size,
            num_heads=num_heads,
            loop_function=loop if feed_previous else None,
            initial_state_attention=initial_state_attention,
        )
