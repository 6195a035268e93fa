"""`tf.contrib.nn`."""

import tensorflow.compat.v1 as tf

from estimator_bridge.tf1.contrib.package import unsupported_names as _unsupported_names

__getattr__, _advice_for = _unsupported_names(globals())


def nth_element(values, n, reverse=False, name=None):
    """tf.raw_ops.NthElement."""
    return tf.raw_ops.NthElement(input=values, n=n, reverse=reverse, name=name)


def deprecated_flipped_softmax_cross_entropy_with_logits(logits, labels, dim=-1, name=None):
    """tf.nn.softmax_cross_entropy_with_logits with the arguments of 0.x."""
    return tf.nn.softmax_cross_entropy_with_logits(labels=labels, logits=logits, dim=dim, name=name)


def deprecated_flipped_sparse_softmax_cross_entropy_with_logits(logits, labels, name=None):
    """tf.nn.sparse_softmax_cross_entropy_with_logits with the arguments of 0.x."""
    return tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits, name=name)


def deprecated_flipped_sigmoid_cross_entropy_with_logits(logits, targets, name=None):
    """tf.nn.sigmoid_cross_entropy_with_logits with the arguments of 0.x."""
    return tf.nn.sigmoid_cross_entropy_with_logits(labels=targets, logits=logits, name=name)


def alpha_dropout(x, keep_prob, noise_shape=None, seed=None, name=None):
    """Dropout for selu (Klambauer et al., 2017): it keeps mean and variance."""
    with tf.name_scope(name, "alpha_dropout", [x]):
        x = tf.convert_to_tensor(x, name="x")
        if isinstance(keep_prob, (int, float)) and not 0 < keep_prob <= 1:
            raise ValueError(
                f"keep_prob must be a scalar tensor or a float in the range (0, 1], got {keep_prob}"
            )
        if keep_prob == 1:
            return x
        # What selu gives for very low inputs: -scale * alpha.
        low = -1.7580993408473766
        shape = tf.shape(x) if noise_shape is None else noise_shape
        kept = tf.cast(tf.random_uniform(shape, seed=seed) < keep_prob, x.dtype)
        scale = (keep_prob + keep_prob * (1 - keep_prob) * low**2) ** -0.5
        dropped = x * kept + low * (1 - kept)
        result = scale * dropped - scale * low * (1 - keep_prob)
        result.set_shape(x.shape)
        return result


def scaled_softplus(x, alpha, clip=None, name=None):
    """alpha * softplus(x / alpha), clipped from above if `clip` is given."""
    with tf.name_scope(name, "scaled_softplus", [x, alpha]):
        x = tf.convert_to_tensor(x, name="x")
        alpha = tf.convert_to_tensor(alpha, x.dtype, name="alpha")
        result = alpha * tf.nn.softplus(x / alpha)
        return result if clip is None else tf.minimum(result, tf.cast(clip, x.dtype))
