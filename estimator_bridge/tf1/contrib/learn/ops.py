"""`tf.contrib.learn.ops`: losses with predictions, embeddings, and unrolled seq2seq models."""

import tensorflow.compat.v1 as tf

__all__ = [
    "categorical_variable",
    "embedding_lookup",
    "mean_squared_error_regressor",
    "rnn_decoder",
    "rnn_seq2seq",
    "seq2seq_inputs",
    "sequence_classifier",
    "softmax_classifier",
]


def mean_squared_error_regressor(tensor_in, labels, weights, biases, name=None):
    """Returns the predictions of a linear model, and their mean squared error.

    Args:
      tensor_in: float [batch, features].
      labels: float [batch], or [batch, outputs].
      weights: float [features, outputs].
      biases: float [outputs].
      name: of the scope, or None.

    Returns:
      (predictions with the rank of the labels, loss of rank 0).

    Raises:
      ValueError: the labels have rank 1, and there are several outputs.
    """
    with tf.name_scope(name, "mean_squared_error_regressor", [tensor_in, labels]):
        predictions = tf.nn.xw_plus_b(tensor_in, weights, biases)
        if len(labels.get_shape()) == 1 and len(predictions.get_shape()) == 2:
            predictions = tf.squeeze(predictions, axis=[1])
        return predictions, tf.losses.mean_squared_error(labels, predictions)


def softmax_classifier(tensor_in, labels, weights, biases, class_weight=None, name=None):
    """Returns the probabilities of a linear model, and their cross entropy.

    Args:
      tensor_in: float [batch, features].
      labels: float [batch, classes], one-hot.
      weights: float [features, classes].
      biases: float [classes].
      class_weight: float [classes], by which the logits are multiplied; None for ones.
      name: of the scope, or None.

    Returns:
      (float [batch, classes], loss of rank 0).
    """
    with tf.name_scope(name, "softmax_classifier", [tensor_in, labels]):
        logits = tf.nn.xw_plus_b(tensor_in, weights, biases)
        if class_weight is not None:
            logits = tf.multiply(logits, class_weight)
        return tf.nn.softmax(logits), tf.losses.softmax_cross_entropy(labels, logits)


def embedding_lookup(params, ids, name="embedding_lookup"):
    """Returns the rows of a table at ids of any rank.

    Args:
      params: [rows, size].
      ids: int [...].
      name: of the scope.

    Returns:
      Tensor [..., size].
    """
    with tf.name_scope(name, "embedding_lookup", [params, ids]):
        params, ids = tf.convert_to_tensor(params), tf.convert_to_tensor(ids)
        shape = tf.shape(ids)
        flat = tf.reshape(ids, tf.reduce_prod(shape, keepdims=True))
        rows = tf.nn.embedding_lookup(params, flat)
        found = tf.reshape(rows, tf.concat([shape, tf.shape(params)[1:]], 0))
        found.set_shape(ids.get_shape().concatenate(params.get_shape()[1:]))
        return found


def categorical_variable(tensor_in, n_classes, embedding_size, name):
    """Returns the embedding of a category; its table is the variable NAME/NAME_embeddings.

    Args:
      tensor_in: int [...], the category.
      n_classes: int, how many there are.
      embedding_size: int.
      name: of the variable.

    Returns:
      float32 [..., embedding_size].
    """
    with tf.variable_scope(name):
        table = tf.get_variable(f"{name}_embeddings", [n_classes, embedding_size])
        return embedding_lookup(table, tensor_in)


def seq2seq_inputs(x, y, input_length, output_length, sentinel=None, name=None):
    """Splits sequences into steps, for an encoder and a decoder.

    Args:
      x: [batch, input_length, size].
      y: [batch, output_length, size].
      input_length: int; not used, the steps are those of `x`.
      output_length: int; not used.
      sentinel: [batch, size], the first input of the decoder and its last output; None for zeros.
      name: of the scope, or None.

    Returns:
      (inputs of the encoder, of the decoder, outputs of the decoder): lists of [batch, size]; the
      last two have one step more than `y`.
    """
    del input_length, output_length
    with tf.name_scope(name, "seq2seq_inputs", [x, y]):
        encoder, outputs = tf.unstack(x, axis=1), tf.unstack(y, axis=1)
        if sentinel is None:
            sentinel = tf.zeros(tf.stack([tf.shape(x)[0], y.get_shape()[2]]))
            sentinel.set_shape(y[:, 0].get_shape())
        return encoder, [sentinel, *outputs], [*outputs, sentinel]


def rnn_decoder(decoder_inputs, initial_state, cell, scope=None):
    """Unrolls a decoder twice: for training, and for sampling from its own outputs.

    Args:
      decoder_inputs: list of [batch, size]; sampling takes the first one only.
      initial_state: state of the cell.
      cell: RNNCell.
      scope: of the variables; None for dnn_decoder.

    Returns:
      (outputs, states, outputs of sampling, states of sampling): lists of tensors; the states begin
      with the initial one.
    """
    with tf.variable_scope(scope or "dnn_decoder"):
        states, sampled_states = [initial_state], [initial_state]
        outputs, sampled = [], []
        with tf.name_scope("training"):
            for number, values in enumerate(decoder_inputs):
                if number:
                    tf.get_variable_scope().reuse_variables()
                output, state = cell(values, states[-1])
                outputs.append(output)
                states.append(state)
                # 1.x began sampling with the step of training that is the same.
                if number:
                    output, state = cell(sampled[-1], sampled_states[-1])
                    sampled_states.append(state)
                else:
                    sampled_states.append(initial_state)
                sampled.append(output)
    return outputs, states, sampled, sampled_states


def rnn_seq2seq(
    encoder_inputs, decoder_inputs, encoder_cell, decoder_cell=None, dtype=tf.float32, scope=None
):
    """Unrolls an encoder, and a decoder that begins with its last state.

    Args:
      encoder_inputs: list of [batch, size].
      decoder_inputs: list of [batch, size].
      encoder_cell: RNNCell.
      decoder_cell: RNNCell; None for that of the encoder.
      dtype: of the encoder's first state.
      scope: of the variables; None for rnn_seq2seq.

    Returns:
      As `rnn_decoder`.
    """
    with tf.variable_scope(scope or "rnn_seq2seq"):
        _, state = tf.nn.static_rnn(encoder_cell, encoder_inputs, dtype=dtype)
        return rnn_decoder(decoder_inputs, state, decoder_cell or encoder_cell)


def sequence_classifier(decoding, labels, sampling_decoding=None, name=None):
    """Returns the probabilities of each step, and the sum of the cross entropies.

    Args:
      decoding: list of [batch, classes], the logits of each step.
      labels: list of [batch, classes], one-hot.
      sampling_decoding: list of [batch, classes], the logits to be predicted; None for `decoding`.
      name: of the scope, or None.

    Returns:
      (float [batch, steps, classes], loss of rank 0, summed over batch and steps).
    """
    with tf.name_scope(name, "sequence_classifier", [decoding, labels]):
        entropies, probabilities = [], []
        for number, logits in enumerate(decoding):
            entropies.append(
                tf.nn.softmax_cross_entropy_with_logits_v2(
                    labels=tf.stop_gradient(labels[number]),
                    logits=logits,
                    name=f"sequence_loss/xent_raw{number}",
                )
            )
            predicted = sampling_decoding[number] if sampling_decoding else logits
            probabilities.append(tf.nn.softmax(predicted))
        entropy = tf.add_n(entropies, name="sequence_loss/xent")
        loss = tf.reduce_sum(entropy, name="sequence_loss")
        return tf.stack(probabilities, axis=1), loss
