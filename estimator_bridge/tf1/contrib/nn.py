"""`tf.contrib.nn`."""

import tensorflow.compat.v1 as tf

from estimator_bridge.tf1.contrib.package import unsupported_names as _unsupported_names

__getattr__, _advice_for = _unsupported_names(globals())

conv1d_transpose = tf.nn.conv1d_transpose


def nth_element(
    input,
    n,  # noqa: A002 - a name of 1.x
    reverse=False,
    name=None,
):
    """Returns the n-th smallest value of each row.

    Args:
      input: numeric tensor [..., size].
      n: scalar int32, position in ascending order, from 0.
      reverse: whether to order descending.
      name: name of the operations.

    Returns:
      Tensor [...].
    """
    return tf.raw_ops.NthElement(input=input, n=n, reverse=reverse, name=name)


def deprecated_flipped_softmax_cross_entropy_with_logits(logits, labels, dim=-1, name=None):
    """Returns the softmax cross-entropy, with the argument order of TensorFlow 0.x.

    Args:
      logits: floating tensor [batch, classes].
      labels: floating tensor [batch, classes].
      dim: int, axis of the classes.
      name: name of the operations.

    Returns:
      Tensor [batch].
    """
    return tf.nn.softmax_cross_entropy_with_logits(labels=labels, logits=logits, dim=dim, name=name)


def deprecated_flipped_sparse_softmax_cross_entropy_with_logits(logits, labels, name=None):
    """Returns the softmax cross-entropy of class ids, with the argument order of TensorFlow 0.x.

    Args:
      logits: floating tensor [batch, classes].
      labels: integer tensor [batch].
      name: name of the operations.

    Returns:
      Tensor [batch].
    """
    return tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits, name=name)


def deprecated_flipped_sigmoid_cross_entropy_with_logits(logits, targets, name=None):
    """Returns the sigmoid cross-entropy, with the argument order of TensorFlow 0.x.

    Args:
      logits: floating tensor [batch, classes].
      targets: floating tensor of the shape of `logits`.
      name: name of the operations.

    Returns:
      Tensor of the shape of `logits`.
    """
    return tf.nn.sigmoid_cross_entropy_with_logits(labels=targets, logits=logits, name=name)


def alpha_dropout(x, keep_prob, noise_shape=None, seed=None, name=None):
    """Applies dropout that keeps the mean and variance of selu units (Klambauer et al., 2017).

    Args:
      x: floating tensor.
      keep_prob: probability to keep an element, a scalar in (0, 1].
      noise_shape: int32 shape of the random mask, broadcast to `x`; None for its shape.
      seed: seed of the random operation.
      name: name of the operations.

    Returns:
      Tensor of the shape of `x`.

    Raises:
      ValueError: `keep_prob` is out of range.
    """
    with tf.name_scope(name, "alpha_dropout", [x]):
        x = tf.convert_to_tensor(x, name="x")
        if isinstance(keep_prob, (int, float)) and not 0 < keep_prob <= 1:
            raise ValueError(f"keep_prob: expected a scalar in (0, 1], got {keep_prob}")
        if keep_prob == 1:
            return x
        # The limit of selu for very low inputs, -scale * alpha.
        low = -1.7580993408473766
        shape = tf.shape(x) if noise_shape is None else noise_shape
        kept = tf.cast(tf.random_uniform(shape, seed=seed) < keep_prob, x.dtype)
        scale = (keep_prob + keep_prob * (1 - keep_prob) * low**2) ** -0.5
        dropped = x * kept + low * (1 - kept)
        result = scale * dropped - scale * low * (1 - keep_prob)
        result.set_shape(x.shape)
        return result


def scaled_softplus(x, alpha, clip=None, name=None):
    """Returns alpha * softplus(x / alpha), optionally clipped.

    Args:
      x: floating tensor.
      alpha: number or tensor, broadcastable to `x`.
      clip: upper bound of the result, or None.
      name: name of the operations.

    Returns:
      Tensor of the shape of `x`.
    """
    with tf.name_scope(name, "scaled_softplus", [x, alpha]):
        x = tf.convert_to_tensor(x, name="x")
        alpha = tf.convert_to_tensor(alpha, x.dtype, name="alpha")
        result = alpha * tf.nn.softplus(x / alpha)
        return result if clip is None else tf.minimum(result, tf.cast(clip, x.dtype))


def sampled_sparse_softmax_loss(
    weights,
    biases,
    labels,
    inputs,
    num_sampled,
    num_classes,
    sampled_values=None,
    remove_accidental_hits=True,
    partition_strategy="mod",
    name="sampled_sparse_softmax_loss",
):
    """Returns the sampled softmax loss of one label per example (Jean et al., 2015).

    Args:
      weights: floating tensor [classes, size], or list of its parts.
      biases: floating tensor [classes], or list of its parts.
      labels: int64 tensor [batch, 1].
      inputs: floating tensor [batch, size].
      num_sampled: int, number of classes drawn per batch.
      num_classes: int.
      sampled_values: (classes, expected counts of the labels, expected counts of the classes) of a
        candidate sampler; None for tf.nn.log_uniform_candidate_sampler.
      remove_accidental_hits: whether drawn classes that are the label do not count.
      partition_strategy: `mod` or `div`, how the parts are numbered.
      name: name of the operations.

    Returns:
      Tensor [batch].
    """
    return tf.nn.sampled_softmax_loss(
        *(weights, biases, labels, inputs, num_sampled, num_classes),
        sampled_values=sampled_values,
        remove_accidental_hits=remove_accidental_hits,
        partition_strategy=partition_strategy,
        name=name,
    )


def rank_sampled_softmax_loss(
    weights,
    biases,
    labels,
    inputs,
    num_sampled,
    num_resampled,
    num_classes,
    num_true,
    sampled_values,
    resampling_temperature,
    remove_accidental_hits,
    partition_strategy,
    name=None,
):
    """Returns the sampled softmax loss with the likeliest of the drawn classes (Bai et al., 2017).

    Of the classes drawn first, those with the largest log-sum-exp of the logits of the batch,
    divided by the temperature, are kept.

    Args:
      weights: floating tensor [classes, size], or list of its parts.
      biases: floating tensor [classes], or list of its parts.
      labels: int64 tensor [batch, num_true].
      inputs: floating tensor [batch, size].
      num_sampled: int, number of classes drawn first.
      num_resampled: int, number of these that are kept.
      num_classes: int.
      num_true: int, number of labels of an example.
      sampled_values: (classes, expected counts of the labels, expected counts of the classes) of a
        candidate sampler; None for tf.nn.learned_unigram_candidate_sampler.
      resampling_temperature: number, or scalar tensor of the dtype of the inputs.
      remove_accidental_hits: whether drawn classes that are a label do not count.
      partition_strategy: `mod` or `div`, how the parts are numbered.
      name: name of the operations.

    Returns:
      Tensor [batch].

    Raises:
      ValueError: num_resampled is not below num_sampled.
    """
    if num_sampled <= num_resampled:
        raise ValueError(
            f"num_resampled ({num_resampled}) must be less than num_sampled ({num_sampled})"
        )
    parts = [weights, biases, labels, inputs]
    with tf.name_scope(name, "rank_sampled_softmax_loss", parts) as scope:
        if sampled_values is None:
            sampled_values = tf.nn.learned_unigram_candidate_sampler(
                labels, num_true, num_sampled, unique=True, range_max=num_classes
            )
        classes, true_counts, counts = (tf.stop_gradient(one) for one in sampled_values)
        look_up = tf.nn.embedding_lookup
        vectors = look_up(weights, classes, partition_strategy=partition_strategy)
        offsets = tf.reshape(look_up(biases, classes, partition_strategy=partition_strategy), [-1])
        logits = tf.matmul(vectors, inputs / resampling_temperature, transpose_b=True)
        scores = tf.reduce_logsumexp(logits, axis=1) + offsets / resampling_temperature
        _, kept = tf.nn.top_k(scores, num_resampled)
        return tf.nn.sampled_softmax_loss(
            *(weights, biases, labels, inputs, num_resampled, num_classes, num_true),
            sampled_values=(tf.gather(classes, kept), true_counts, tf.gather(counts, kept)),
            remove_accidental_hits=remove_accidental_hits,
            partition_strategy=partition_strategy,
            name=scope,
        )
