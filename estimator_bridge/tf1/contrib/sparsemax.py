"""`tf.contrib.sparsemax`: a softmax that gives zeros (Martins and Astudillo, 2016)."""

import tensorflow.compat.v1 as tf

from estimator_bridge.tf1.contrib.package import unsupported_names as _unsupported_names

__getattr__, _advice_for = _unsupported_names(globals())


def sparsemax(logits, name=None):
    """Returns the nearest probabilities of logits: max(z - tau, 0), which add up to 1.

    A row with NaN, infinity or only minus infinity gives NaN.

    Args:
      logits: floating tensor [batch, classes].
      name: name of the operations.

    Returns:
      Tensor of the shape and dtype of `logits`.
    """
    with tf.name_scope(name, "sparsemax", [logits]):
        logits = tf.convert_to_tensor(logits, name="logits")
        observations, classes = tf.shape(logits)[0], tf.shape(logits)[1]
        # The largest z is 0, where NaN and minus infinity leave the rest finite.
        z = tf.reshape(logits, [observations, classes])
        z -= tf.reduce_max(z, 1, keepdims=True)
        descending = tf.nn.top_k(z, k=classes)[0]
        sums = tf.cumsum(descending, axis=-1)
        places = tf.range(1, tf.cast(classes, logits.dtype) + 1, dtype=logits.dtype)
        # The number of probabilities that are not 0; at least one is.
        count = tf.reduce_sum(tf.cast(1 + places * descending > sums, tf.int32), 1)
        safe = tf.maximum(count, 1)
        rows = tf.range(observations)
        total = tf.gather_nd(sums, tf.stack([rows, safe - 1], 1))
        threshold = (total - 1) / tf.cast(count, logits.dtype)
        probabilities = tf.nn.relu(z - threshold[:, None])
        undefined = tf.logical_or(tf.equal(count, 0), tf.is_nan(sums[:, -1]))
        undefined = tf.broadcast_to(undefined[:, None], tf.shape(z))
        nan = tf.fill(tf.shape(z), tf.constant(float("nan"), logits.dtype))
        found = tf.where(undefined, nan, probabilities)
        return tf.reshape(found, tf.shape(logits))


def sparsemax_loss(logits, sparsemax, labels, name=None):
    """Returns the loss whose gradient is sparsemax(logits) - labels.

    For one-hot labels, -z_k + (sum over the support of z^2 - tau^2) / 2 + 1/2.

    Args:
      logits: floating tensor [batch, classes].
      sparsemax: the result of `sparsemax(logits)`.
      labels: tensor [batch, classes] of probabilities, of the dtype of `logits`.
      name: name of the operations.

    Returns:
      Tensor [batch].
    """
    with tf.name_scope(name, "sparsemax_loss", [logits, sparsemax, labels]):
        logits = tf.convert_to_tensor(logits, name="logits")
        sparsemax = tf.convert_to_tensor(sparsemax, name="sparsemax")
        labels = tf.convert_to_tensor(labels, name="labels")
        z = logits - tf.reduce_max(logits, 1, keepdims=True)
        # Outside of the support z may be infinite.
        support = tf.where(sparsemax > 0, z - 0.5 * sparsemax, tf.zeros_like(sparsemax))
        wanted = labels * (0.5 * labels - z)
        wanted = tf.where(tf.equal(labels, 0), tf.zeros_like(wanted), wanted)
        return tf.reduce_sum(sparsemax * support + wanted, 1)
