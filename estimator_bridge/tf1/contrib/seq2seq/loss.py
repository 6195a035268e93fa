"""`tf.contrib.seq2seq.sequence_loss`."""

import tensorflow.compat.v1 as tf

__all__ = ["sequence_loss"]


def sequence_loss(
    logits,
    targets,
    weights,
    average_across_timesteps=True,
    average_across_batch=True,
    sum_over_timesteps=False,
    sum_over_batch=False,
    softmax_loss_function=None,
    name=None,
):
    """Returns the weighted cross-entropy of sequences.

    Args:
      logits: floating tensor [batch, length, classes].
      targets: integer tensor [batch, length].
      weights: floating tensor [batch, length].
      average_across_timesteps: whether to average over time, by weight.
      average_across_batch: whether to average over the batch, by weight.
      sum_over_timesteps: whether to add up over time, and divide by the number of weights above 0.
      sum_over_batch: whether to add up over the batch, and divide likewise.
      softmax_loss_function: function of flat `labels` and `logits`; None for softmax cross-entropy.
      name: name of the name scope.

    Returns:
      Scalar; [batch] without averaging over the batch; [length] without averaging over time;
      [batch, length] without either.

    Raises:
      ValueError: a tensor has another rank, or an axis is both averaged and added up.
    """
    for label, value, rank in (
        ("Logits", logits, 3),
        ("Targets", targets, 2),
        ("Weights", weights, 2),
    ):
        if value.shape.ndims != rank:
            raise ValueError(f"{label}: expected rank {rank}, got shape {value.shape}")
    if (average_across_timesteps and sum_over_timesteps) or (
        average_across_batch and sum_over_batch
    ):
        raise ValueError("sequence_loss: an axis is either averaged or added up, not both")
    with tf.name_scope(name, "sequence_loss", [logits, targets, weights]):
        classes = tf.shape(logits)[2]
        flat = tf.reshape(logits, [-1, classes])
        labels = tf.reshape(targets, [-1])
        if softmax_loss_function is None:
            losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=flat)
        else:
            losses = softmax_loss_function(labels=labels, logits=flat)
        losses = tf.reshape(losses, tf.shape(logits)[:2]) * weights
        epsilon = 1e-12  # The loss of a batch with zero weight is zero.
        if average_across_timesteps and average_across_batch:
            return tf.reduce_sum(losses) / (tf.reduce_sum(weights) + epsilon)
        if sum_over_timesteps and sum_over_batch:
            counted = tf.to_float(tf.count_nonzero(weights)) + epsilon
            return tf.reduce_sum(losses) / counted
        if average_across_timesteps:
            return tf.reduce_sum(losses, axis=1) / (tf.reduce_sum(weights, axis=1) + epsilon)
        if average_across_batch:
            return tf.reduce_sum(losses, axis=0) / (tf.reduce_sum(weights, axis=0) + epsilon)
        return losses
