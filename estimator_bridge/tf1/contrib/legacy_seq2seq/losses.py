"""The losses of `tf.contrib.legacy_seq2seq`."""

import tensorflow.compat.v1 as tf

__all__ = ["model_with_buckets", "sequence_loss", "sequence_loss_by_example"]


def sequence_loss_by_example(
    logits,
    targets,
    weights,
    average_across_timesteps=True,
    softmax_loss_function=None,
    name=None,
):
    """Returns the weighted cross-entropy of each sequence, [batch].

    Args:
      logits: list of tensors [batch, symbols], one per step.
      targets: list of int tensors [batch].
      weights: list of float tensors [batch].
      average_across_timesteps: whether to divide by the sum of a sequence's weights.
      softmax_loss_function: function of (labels, logits) to losses [batch]; None for the sparse
        softmax cross-entropy.
      name: name of the operations, or None.

    Raises:
      ValueError: the lists differ in length.
    """
    lengths = len(logits), len(weights), len(targets)
    if len(set(lengths)) > 1:
        raise ValueError("logits, weights, targets: {}, {} and {} steps".format(*lengths))
    loss = softmax_loss_function or tf.nn.sparse_softmax_cross_entropy_with_logits
    with tf.name_scope(name, "sequence_loss_by_example", [*logits, *targets, *weights]):
        losses = []
        for logit, target, weight in zip(logits, targets, weights):
            if softmax_loss_function is None:
                target = tf.reshape(target, [-1])
            losses.append(loss(labels=target, logits=logit) * weight)
        total = tf.add_n(losses)
        if average_across_timesteps:
            # No division by 0 where all weights are 0.
            total /= tf.add_n(weights) + 1e-12
        return total


def sequence_loss(
    logits,
    targets,
    weights,
    average_across_timesteps=True,
    average_across_batch=True,
    softmax_loss_function=None,
    name=None,
):
    """Returns the weighted cross-entropy of a batch of sequences, a scalar.

    Args:
      logits: list of tensors [batch, symbols], one per step.
      targets: list of int tensors [batch].
      weights: list of float tensors [batch].
      average_across_timesteps: whether to divide by the sum of a sequence's weights.
      average_across_batch: whether to divide by the number of sequences.
      softmax_loss_function: function of (labels, logits) to losses [batch], or None.
      name: name of the operations, or None.

    Raises:
      ValueError: the lists differ in length.
    """
    with tf.name_scope(name, "sequence_loss", [*logits, *targets, *weights]):
        cost = tf.reduce_sum(
            sequence_loss_by_example(
                logits,
                targets,
                weights,
                average_across_timesteps=average_across_timesteps,
                softmax_loss_function=softmax_loss_function,
            )
        )
        if average_across_batch:
            cost /= tf.cast(tf.shape(targets[0])[0], cost.dtype)
        return cost


def model_with_buckets(
    encoder_inputs,
    decoder_inputs,
    targets,
    weights,
    buckets,
    seq2seq,
    softmax_loss_function=None,
    per_example_loss=False,
    name=None,
):
    """Builds a model for each pair of lengths; all share the variables of the first.

    Args:
      encoder_inputs: list of tensors [batch], or [batch, size].
      decoder_inputs: the same for the decoder.
      targets: list of int tensors [batch].
      weights: list of float tensors [batch].
      buckets: list of (length of the encoder's inputs, length of the decoder's).
      seq2seq: function of (encoder inputs, decoder inputs) to (outputs, state).
      softmax_loss_function: function of (labels, logits) to losses [batch], or None.
      per_example_loss: whether a loss is [batch] instead of a scalar.
      name: name of the operations, or None.

    Returns:
      The outputs of each bucket, and its loss.

    Raises:
      ValueError: a list is shorter than the last bucket.
    """
    for given, (number, kind) in {
        "encoder_inputs": (len(encoder_inputs), 0),
        "targets": (len(targets), 1),
        "weights": (len(weights), 1),
    }.items():
        if number < buckets[-1][kind]:
            raise ValueError(f"{given}: {number} steps, the last bucket has {buckets[-1][kind]}")
    loss = sequence_loss_by_example if per_example_loss else sequence_loss
    losses, outputs = [], []
    everything = [*encoder_inputs, *decoder_inputs, *targets, *weights]
    with tf.name_scope(name, "model_with_buckets", everything):
        for number, (sources, length) in enumerate(buckets):
            with tf.variable_scope(tf.get_variable_scope(), reuse=True if number else None):
                found, _ = seq2seq(encoder_inputs[:sources], decoder_inputs[:length])
                outputs.append(found)
                losses.append(
                    loss(
                        found,
                        targets[:length],
                        weights[:length],
                        softmax_loss_function=softmax_loss_function,
                    )
                )
    return outputs, losses
