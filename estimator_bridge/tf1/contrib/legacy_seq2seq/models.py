"""The models of `tf.contrib.legacy_seq2seq`: an encoder and a decoder."""

import copy

import tensorflow.compat.v1 as tf

from estimator_bridge.private_tf import nest
from estimator_bridge.tf1.contrib.legacy_seq2seq import decoders
from estimator_bridge.tf1.contrib.rnn import cells

__all__ = [
    "basic_rnn_seq2seq",
    "embedding_attention_seq2seq",
    "embedding_rnn_seq2seq",
    "embedding_tied_rnn_seq2seq",
    "one2many_rnn_seq2seq",
    "tied_rnn_seq2seq",
]


def basic_rnn_seq2seq(encoder_inputs, decoder_inputs, cell, dtype=tf.float32, scope=None):
    """Encodes a list of inputs, and decodes from the last state with a second copy of the cell.

    Args:
      encoder_inputs: list of tensors [batch, size].
      decoder_inputs: list of tensors [batch, size].
      cell: RNNCell.
      dtype: type of the encoder's state.
      scope: variable scope, or its name; None for `basic_rnn_seq2seq`.

    Returns:
      Outputs of the decoder, a list of tensors [batch, output size], and its last state.
    """
    with tf.variable_scope(scope or "basic_rnn_seq2seq"):
        _, state = tf.nn.static_rnn(copy.deepcopy(cell), encoder_inputs, dtype=dtype)
        return decoders.rnn_decoder(decoder_inputs, state, cell)


def tied_rnn_seq2seq(
    encoder_inputs, decoder_inputs, cell, loop_function=None, dtype=tf.float32, scope=None
):
    """Encodes a list of inputs, and decodes from the last state with the same cell.

    Args:
      encoder_inputs: list of tensors [batch, size].
      decoder_inputs: list of tensors [batch, size].
      cell: RNNCell.
      loop_function: function of (output, step) to the next input, or None.
      dtype: type of the encoder's state.
      scope: variable scope, or its name; None for `combined_tied_rnn_seq2seq`.

    Returns:
      Outputs of the decoder, a list of tensors [batch, output size], and its last state.
    """
    with tf.variable_scope(scope or "combined_tied_rnn_seq2seq"):
        inner = "tied_rnn_seq2seq"
        _, state = tf.nn.static_rnn(cell, encoder_inputs, dtype=dtype, scope=inner)
        tf.get_variable_scope().reuse_variables()
        return decoders.rnn_decoder(decoder_inputs, state, cell, loop_function, scope=inner)


def _decode(decoder, feed_previous, update_when_chosen=False):
    """Returns (outputs, state) of a decoder; a tensor selects what it is fed when it runs.

    As in 1.15, gradients reach the embedding of a fed symbol if a bool selects, but not if a tensor
    does.

    Args:
      decoder: function from (whether to feed the last symbol, whether gradients reach the
        embedding of such a symbol) to (outputs, state).
      feed_previous: bool, or scalar bool tensor.
      update_when_chosen: whether gradients reach it when a tensor selects.
    """
    if isinstance(feed_previous, bool):
        return decoder(feed_previous, True)
    structure = []

    def branch(feed):
        # The second branch has the variables of the first.
        with tf.variable_scope(tf.get_variable_scope(), reuse=None if feed else True):
            found = decoder(feed, update_when_chosen)
        structure.append(found)
        return nest.flatten(found)

    values = tf.cond(feed_previous, lambda: branch(True), lambda: branch(False))
    return nest.pack_sequence_as(structure[0], values)


def embedding_rnn_seq2seq(
    encoder_inputs,
    decoder_inputs,
    cell,
    num_encoder_symbols,
    num_decoder_symbols,
    embedding_size,
    output_projection=None,
    feed_previous=False,
    dtype=None,
    scope=None,
):
    """Encodes a list of symbols, and decodes symbols from the last state.

    Args:
      encoder_inputs: list of int tensors [batch].
      decoder_inputs: list of int tensors [batch].
      cell: RNNCell.
      num_encoder_symbols: int, number of symbols of the encoder.
      num_decoder_symbols: int, number of symbols of the decoder.
      embedding_size: int, size of an embedding.
      output_projection: (weights, bias) from outputs to logits; None if the model projects them.
      feed_previous: whether each input but the first is the last most probable symbol; bool, or
        scalar bool tensor.
      dtype: type of variables and states; None for that of the scope.
      scope: variable scope, or its name; None for `embedding_rnn_seq2seq`.

    Returns:
      Outputs, a list of tensors [batch, num_decoder_symbols], or [batch, output size] with
      `output_projection`; and the last state.
    """
    with tf.variable_scope(scope or "embedding_rnn_seq2seq", dtype=dtype) as variable_scope:
        encoder = cells.EmbeddingWrapper(
            copy.deepcopy(cell),
            embedding_classes=num_encoder_symbols,
            embedding_size=embedding_size,
        )
        _, state = tf.nn.static_rnn(encoder, encoder_inputs, dtype=variable_scope.dtype)
        if output_projection is None:
            cell = cells.OutputProjectionWrapper(cell, num_decoder_symbols)

        def decoder(feed, update):
            return decoders.embedding_rnn_decoder(
                decoder_inputs,
                state,
                cell,
                num_decoder_symbols,
                embedding_size,
                output_projection=output_projection,
                feed_previous=feed,
                update_embedding_for_previous=update,
            )

        return _decode(decoder, feed_previous)


def embedding_tied_rnn_seq2seq(
    encoder_inputs,
    decoder_inputs,
    cell,
    num_symbols,
    embedding_size,
    num_decoder_symbols=None,
    output_projection=None,
    feed_previous=False,
    dtype=None,
    scope=None,
):
    """Encodes and decodes symbols with the same cell and the same embedding.

    Args:
      encoder_inputs: list of int tensors [batch].
      decoder_inputs: list of int tensors [batch].
      cell: RNNCell.
      num_symbols: int, number of symbols.
      embedding_size: int, size of an embedding.
      num_decoder_symbols: int, number of symbols that are decoded; None for `num_symbols`.
      output_projection: (weights, bias) from outputs to logits; None if the model projects them.
      feed_previous: whether each input but the first is the last most probable symbol; bool, or
        scalar bool tensor.
      dtype: type of variables and states; None for that of the scope.
      scope: variable scope, or its name; None for `embedding_tied_rnn_seq2seq`.

    Returns:
      Outputs, a list of tensors [batch, symbols], or [batch, output size] with
      `output_projection`; and the last state.
    """
    with tf.variable_scope(scope or "embedding_tied_rnn_seq2seq", dtype=dtype) as variable_scope:
        embedding = tf.get_variable("embedding", [num_symbols, embedding_size])
        sources, inputs = (
            [tf.nn.embedding_lookup(embedding, one) for one in several]
            for several in (encoder_inputs, decoder_inputs)
        )
        if output_projection is None:
            cell = cells.OutputProjectionWrapper(cell, num_decoder_symbols or num_symbols)

        def decoder(feed, update):
            loop = decoders.embed_last_symbol(embedding, output_projection, update)
            return tied_rnn_seq2seq(
                sources, inputs, cell, loop if feed else None, variable_scope.dtype
            )

        return _decode(decoder, feed_previous)


def embedding_attention_seq2seq(
    encoder_inputs,
    decoder_inputs,
    cell,
    num_encoder_symbols,
    num_decoder_symbols,
    embedding_size,
    num_heads=1,
    output_projection=None,
    feed_previous=False,
    dtype=None,
    scope=None,
    initial_state_attention=False,
):
    """Encodes a list of symbols, and decodes symbols with attention to the encoder's outputs.

    Args:
      encoder_inputs: list of int tensors [batch].
      decoder_inputs: list of int tensors [batch].
      cell: RNNCell.
      num_encoder_symbols: int, number of symbols of the encoder.
      num_decoder_symbols: int, number of symbols of the decoder.
      embedding_size: int, size of an embedding.
      num_heads: int, number of attention heads.
      output_projection: (weights, bias) from outputs to logits; None if the model projects them.
      feed_previous: whether each input but the first is the last most probable symbol; bool, or
        scalar bool tensor.
      dtype: type of variables and states; None for that of the scope.
      scope: variable scope, or its name; None for `embedding_attention_seq2seq`.
      initial_state_attention: whether the first step attends to the encoder too.

    Returns:
      Outputs, a list of tensors [batch, num_decoder_symbols], or [batch, output size] with
      `output_projection`; and the last state.
    """
    with tf.variable_scope(scope or "embedding_attention_seq2seq", dtype=dtype) as variable_scope:
        encoder = cells.EmbeddingWrapper(
            copy.deepcopy(cell),
            embedding_classes=num_encoder_symbols,
            embedding_size=embedding_size,
        )
        outputs, state = tf.nn.static_rnn(encoder, encoder_inputs, dtype=variable_scope.dtype)
        attended = tf.stack([tf.reshape(one, [-1, cell.output_size]) for one in outputs], 1)
        output_size = None
        if output_projection is None:
            cell = cells.OutputProjectionWrapper(cell, num_decoder_symbols)
            output_size = num_decoder_symbols

        def decoder(feed, update):
            return decoders.embedding_attention_decoder(
                decoder_inputs,
                state,
                attended,
                cell,
                num_decoder_symbols,
                embedding_size,
                num_heads=num_heads,
                output_size=output_size,
                output_projection=output_projection,
                feed_previous=feed,
                update_embedding_for_previous=update,
                initial_state_attention=initial_state_attention,
            )

        return _decode(decoder, feed_previous)


def one2many_rnn_seq2seq(
    encoder_inputs,
    decoder_inputs_dict,
    enc_cell,
    dec_cells_dict,
    num_encoder_symbols,
    num_decoder_symbols_dict,
    embedding_size,
    feed_previous=False,
    dtype=None,
    scope=None,
):
    """Encodes a list of symbols, and decodes several lists of symbols from the last state.

    Args:
      encoder_inputs: list of int tensors [batch].
      decoder_inputs_dict: name → list of int tensors [batch].
      enc_cell: RNNCell of the encoder.
      dec_cells_dict: name → RNNCell.
      num_encoder_symbols: int, number of symbols of the encoder.
      num_decoder_symbols_dict: name → number of symbols.
      embedding_size: int, size of an embedding.
      feed_previous: whether each input but the first is the last most probable symbol; bool, or
        scalar bool tensor.
      dtype: type of variables and states; None for that of the scope.
      scope: variable scope, or its name; None for `one2many_rnn_seq2seq`.

    Returns:
      Name → list of outputs [batch, symbols], and name → last state.
    """
    outputs, states = {}, {}
    with tf.variable_scope(scope or "one2many_rnn_seq2seq", dtype=dtype) as variable_scope:
        encoder = cells.EmbeddingWrapper(
            enc_cell, embedding_classes=num_encoder_symbols, embedding_size=embedding_size
        )
        _, state = tf.nn.static_rnn(encoder, encoder_inputs, dtype=variable_scope.dtype)
        for name, inputs in decoder_inputs_dict.items():
            size = num_decoder_symbols_dict[name]
            with tf.variable_scope(f"one2many_decoder_{name}"):
                cell = cells.OutputProjectionWrapper(dec_cells_dict[name], size)

                def decoder(feed, update, inputs=inputs, cell=cell, size=size):
                    return decoders.embedding_rnn_decoder(
                        *(inputs, state, cell, size, embedding_size),
                        feed_previous=feed,
                        update_embedding_for_previous=update,
                    )

                # In 1.15 this model differs from the others.
                outputs[name], states[name] = _decode(decoder, feed_previous, True)
    return outputs, states
