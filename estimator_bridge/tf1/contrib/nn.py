"""`tf.contrib.nn`."""

import tensorflow.compat.v1 as tf

from estimator_bridge.tf1.contrib.package import unsupported_names as _unsupported_names

__getattr__, _advice_for = _unsupported_names(globals())


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
