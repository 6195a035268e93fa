"""`tf.contrib.losses.metric_learning`: losses of distances between embeddings of a batch."""

import tensorflow.compat.v1 as tf

from estimator_bridge.tf1.contrib.package import unsupported_names as _unsupported_names

_WRITE = "write it in the program, as triplet_semihard_loss is here"

__getattr__, _advice_for = _unsupported_names(globals(), {"cluster_loss": _WRITE})


def _square_distances(embeddings):
    """Returns the squared distances [batch, batch]; never negative, 0 on the diagonal."""
    squares = tf.reduce_sum(tf.square(embeddings), axis=1, keepdims=True)
    products = tf.matmul(embeddings, embeddings, transpose_b=True)
    found = tf.maximum(squares + tf.transpose(squares) - 2 * products, 0.0)
    return found * (1 - tf.eye(tf.shape(embeddings)[0]))


def _distances(embeddings):
    squares = _square_distances(embeddings)
    # The square root has no gradient at 0.
    zero = squares <= 0.0
    roots = tf.sqrt(tf.where(zero, tf.fill(tf.shape(squares), 1e-16), squares))
    return tf.where(zero, tf.zeros_like(roots), roots)


def _same_label(labels):
    column = tf.reshape(labels, [-1, 1])
    return tf.equal(column, tf.transpose(column))


def triplet_semihard_loss(labels, embeddings, margin=1.0):
    """Returns the triplet loss with semi-hard negatives (Schroff et al., 2015).

    For each pair of examples with the same label, the negative is the nearest example of another
    label that is farther away than the pair; without such an example, the farthest one.

    Args:
      labels: int32 tensor [batch].
      embeddings: float32 tensor [batch, size] of unit vectors.
      margin: number, minimum difference of the squared distances.

    Returns:
      Scalar tensor; NaN where no two labels are equal.
    """
    distances = _square_distances(tf.convert_to_tensor(embeddings))
    same = _same_label(labels)
    batch = tf.shape(distances)[0]
    # [anchor, positive, negative]
    to_negative = tf.tile(tf.expand_dims(distances, 1), [1, batch, 1])
    other = tf.tile(tf.expand_dims(tf.logical_not(same), 1), [1, batch, 1])
    farther = tf.logical_and(other, to_negative > tf.expand_dims(distances, 2))
    highest = tf.fill(tf.shape(to_negative), to_negative.dtype.max)
    nearest = tf.reduce_min(tf.where(farther, to_negative, highest), axis=2)
    lowest = tf.reduce_min(distances, axis=1, keepdims=True)
    of_others = (distances - lowest) * tf.to_float(tf.logical_not(same))
    farthest = tf.reduce_max(of_others, axis=1, keepdims=True) + lowest
    negative = tf.where(tf.reduce_any(farther, axis=2), nearest, tf.tile(farthest, [1, batch]))
    pairs = tf.to_float(same) - tf.eye(batch)
    losses = tf.maximum((margin + distances - negative) * pairs, 0.0)
    # As in 1.15, the loss without a pair is NaN.
    return tf.truediv(tf.reduce_sum(losses), tf.reduce_sum(pairs), name="triplet_semihard_loss")


def lifted_struct_loss(labels, embeddings, margin=1.0):
    """Returns the lifted structured loss (Song et al., 2016).

    Args:
      labels: int32 tensor [batch].
      embeddings: float32 tensor [batch, size]; should not be normalized.
      margin: number, distance beyond which a negative example counts little.

    Returns:
      Scalar tensor.
    """
    distances = _distances(tf.convert_to_tensor(embeddings))
    same = _same_label(labels)
    lowest = tf.fill(tf.shape(distances), distances.dtype.min)
    negatives = tf.reduce_logsumexp(
        tf.where(same, lowest, margin - distances), axis=1, keepdims=True
    )
    both = tf.stack([negatives + 0 * distances, tf.transpose(negatives) + 0 * distances])
    losses = tf.maximum(tf.reduce_logsumexp(both, axis=0) + distances, 0.0)
    pairs = tf.to_float(same) - tf.eye(tf.shape(distances)[0])
    total = tf.reduce_sum(tf.square(losses * pairs))
    return tf.div(total, 2 * tf.reduce_sum(pairs), name="liftedstruct_loss")


def contrastive_loss(labels, embeddings_anchor, embeddings_positive, margin=1.0):
    """Returns the contrastive loss of pairs (Hadsell et al., 2006).

    Args:
      labels: tensor [batch]; 1 for similar pairs, 0 for others.
      embeddings_anchor: float32 tensor [batch, size].
      embeddings_positive: float32 tensor [batch, size].
      margin: number, minimum distance of dissimilar pairs.

    Returns:
      Scalar tensor.
    """
    apart = tf.reduce_sum(tf.squared_difference(embeddings_anchor, embeddings_positive), 1)
    distances = tf.sqrt(tf.maximum(apart, 1e-16))
    labels = tf.to_float(labels)
    losses = labels * apart + (1 - labels) * tf.square(tf.maximum(margin - distances, 0.0))
    return tf.reduce_mean(losses, name="contrastive_loss")


def npairs_loss(
    labels, embeddings_anchor, embeddings_positive, reg_lambda=0.002, print_losses=False
):
    """Returns the n-pairs loss (Sohn, 2016): softmax over all positives, plus weight decay.

    Args:
      labels: int32 tensor [batch].
      embeddings_anchor: float32 tensor [batch, size].
      embeddings_positive: float32 tensor [batch, size].
      reg_lambda: strength of the L2 regularization of the embeddings.
      print_losses: ignored.

    Returns:
      Scalar tensor.
    """
    del print_losses
    norms = [
        tf.reduce_mean(tf.reduce_sum(tf.square(one), 1))
        for one in (embeddings_anchor, embeddings_positive)
    ]
    decay = 0.25 * reg_lambda * tf.add_n(norms)
    products = tf.matmul(embeddings_anchor, embeddings_positive, transpose_b=True)
    same = tf.to_float(_same_label(labels))
    targets = same / tf.reduce_sum(same, axis=1, keepdims=True)
    losses = tf.nn.softmax_cross_entropy_with_logits(labels=targets, logits=products)
    return tf.reduce_mean(losses) + decay


def npairs_loss_multilabel(
    sparse_labels, embeddings_anchor, embeddings_positive, reg_lambda=0.002, print_losses=False
):
    """Returns the n-pairs loss (Sohn, 2016) of examples with several labels.

    The target of a pair of examples is the number of labels that both have, divided by the sum of
    these numbers over all partners of the first.

    Args:
      sparse_labels: list of a SparseTensor [classes] or [1, classes] of ones for each pair.
      embeddings_anchor: float32 tensor [batch, size].
      embeddings_positive: float32 tensor [batch, size].
      reg_lambda: strength of the L2 regularization of the embeddings.
      print_losses: whether the two parts of the loss are logged when it is computed.

    Returns:
      Scalar tensor.

    Raises:
      TypeError: the labels are no list of SparseTensors.
    """
    if not all(isinstance(one, tf.SparseTensor) for one in sparse_labels):
        raise TypeError(f"sparse_labels must be a list of SparseTensors, but got {sparse_labels}")
    with tf.name_scope("NpairsLossMultiLabel"):
        norms = [
            tf.reduce_mean(tf.reduce_sum(tf.square(one), 1))
            for one in (embeddings_anchor, embeddings_positive)
        ]
        decay = 0.25 * reg_lambda * tf.add_n(norms)
        products = tf.matmul(embeddings_anchor, embeddings_positive, transpose_b=True)
        rows = [
            tf.reshape(tf.sparse_tensor_to_dense(one, validate_indices=False), [-1])
            for one in sparse_labels
        ]
        rows = tf.stack(rows)
        shared = tf.reduce_sum(tf.minimum(rows[:, None], rows[None]), 2)
        shared = tf.to_float(shared)
        targets = shared / tf.reduce_sum(shared, axis=1, keepdims=True)
        entropy = tf.reduce_mean(
            tf.nn.softmax_cross_entropy_with_logits(labels=targets, logits=products)
        )
        if print_losses:
            entropy = tf.Print(entropy, ["cross entropy:", entropy, "l2loss:", decay])
        return decay + entropy
