"""`tf.contrib.losses`, the predecessor of tf.losses: predictions come before labels."""

import tensorflow.compat.v1 as tf

from estimator_bridge.tf1.contrib.losses import metric_learning as _metric_learning
from estimator_bridge.tf1.contrib.package import unsupported_names as _unsupported_names

__getattr__, _advice_for = _unsupported_names(globals())

metric_learning = _metric_learning

# tf.contrib.losses averaged over the losses with a nonzero weight.
_MEAN = tf.losses.Reduction.SUM_BY_NONZERO_WEIGHTS

add_loss = tf.losses.add_loss
get_losses = tf.losses.get_losses
get_regularization_losses = tf.losses.get_regularization_losses
get_total_loss = tf.losses.get_total_loss


def _spread(weights, rank):
    """Returns weights that broadcast to losses of a rank: those of tf.contrib lead from the left.

    Args:
      weights: number, or tensor whose dimensions are the first ones of the losses.
      rank: number of dimensions of the losses, or None.

    Returns:
      The number, or a tensor.
    """
    if rank is None or not hasattr(weights, "shape"):
        return weights
    weights = tf.convert_to_tensor(weights)
    if rank == 1 and weights.shape.ndims == 2 and weights.shape[1] == 1:
        return tf.squeeze(weights, [1])
    while weights.shape.ndims and weights.shape.ndims < rank:
        weights = tf.expand_dims(weights, -1)
    return weights


def _rank(tensor):
    return tf.convert_to_tensor(tensor).shape.ndims


def compute_weighted_loss(losses, weights=1.0, scope=None):
    """Returns the mean of losses with a nonzero weight and adds it to the losses.

    Args:
      losses: floating tensor [batch, ...].
      weights: scalar, or tensor whose dimensions are the first ones of `losses`.
      scope: name of the name scope.

    Returns:
      Scalar tensor.
    """
    losses = tf.convert_to_tensor(losses)
    weights = _spread(weights, losses.shape.ndims)
    return tf.losses.compute_weighted_loss(losses, weights, scope, reduction=_MEAN)


def absolute_difference(predictions, labels=None, weights=1.0, scope=None):
    """Returns the mean absolute error and adds it to the losses.

    Args:
      predictions: floating tensor.
      labels: tensor of the shape of `predictions`.
      weights: scalar or tensor broadcastable to the losses.
      scope: name of the name scope.

    Returns:
      Scalar tensor.
    """
    weights = _spread(weights, _rank(predictions))
    return tf.losses.absolute_difference(labels, predictions, weights, scope, reduction=_MEAN)


def cosine_distance(predictions, labels=None, axis=None, weights=1.0, scope=None, dim=None):
    """Returns one minus the cosine of unit vectors and adds it to the losses.

    Args:
      predictions: floating tensor.
      labels: tensor of the shape of `predictions`.
      axis: int, axis of the vectors.
      weights: scalar or tensor broadcastable to the losses.
      scope: name of the name scope.
      dim: old name of `axis`.

    Returns:
      Scalar tensor.
    """
    axis = dim if axis is None else axis
    weights = _spread(weights, _rank(predictions))
    return tf.losses.cosine_distance(
        labels, predictions, axis=axis, weights=weights, scope=scope, reduction=_MEAN
    )


def hinge_loss(logits, labels=None, scope=None):
    """Returns the hinge loss of each logit, without reduction.

    Args:
      logits: floating tensor.
      labels: tensor of 0 and 1, of the shape of `logits`.
      scope: name of the name scope.

    Returns:
      Tensor of the shape of `logits`.
    """
    with tf.name_scope(scope, "hinge_loss", [logits, labels]):
        labels = 2 * tf.to_float(labels) - 1
        return tf.nn.relu(1 - labels * logits)


def log_loss(predictions, labels=None, weights=1.0, epsilon=1e-7, scope=None):
    """Returns the mean log loss and adds it to the losses.

    Args:
      predictions: floating tensor in [0, 1].
      labels: tensor of the shape of `predictions`.
      weights: scalar or tensor broadcastable to the losses.
      epsilon: number that avoids the logarithm of 0.
      scope: name of the name scope.

    Returns:
      Scalar tensor.
    """
    weights = _spread(weights, _rank(predictions))
    return tf.losses.log_loss(labels, predictions, weights, epsilon, scope, reduction=_MEAN)


def mean_squared_error(predictions, labels=None, weights=1.0, scope=None):
    """Returns the mean squared error and adds it to the losses.

    Args:
      predictions: floating tensor.
      labels: tensor of the shape of `predictions`.
      weights: scalar or tensor broadcastable to the losses.
      scope: name of the name scope.

    Returns:
      Scalar tensor.
    """
    weights = _spread(weights, _rank(predictions))
    return tf.losses.mean_squared_error(labels, predictions, weights, scope, reduction=_MEAN)


def mean_pairwise_squared_error(predictions, labels=None, weights=1.0, scope=None):
    """Returns the mean squared error of pairwise differences and adds it to the losses.

    Args:
      predictions: floating tensor.
      labels: tensor of the shape of `predictions`.
      weights: scalar, or tensor [batch]; [batch, 1] is accepted, but gives another loss.
      scope: name of the name scope.

    Returns:
      Scalar tensor.
    """
    with tf.name_scope(scope, "mean_pairwise_squared_error", [predictions, labels, weights]):
        predictions, labels = tf.to_float(predictions), tf.to_float(labels)
        predictions.shape.assert_is_compatible_with(labels.shape)
        weights = tf.to_float(weights)
        errors = predictions - labels
        inner = list(range(1, errors.shape.ndims))
        # 1.x divides by the number of values that have a weight, not by one less, and adds up the
        # examples. A column of weights counts as one value, and multiplies the sum of all rows.
        present = tf.to_float(tf.not_equal(weights, 0.0))
        present = tf.reduce_sum(present, list(range(1, weights.shape.ndims)))
        counted = tf.shape(errors)[max(weights.shape.ndims, 1) :]
        number = present * tf.to_float(tf.reduce_prod(counted))
        squares = tf.div_no_nan(tf.reduce_sum(errors**2, inner), number)
        means = tf.div_no_nan(tf.reduce_sum(errors, inner), number)
        loss = tf.reduce_sum(2 * (squares - means**2) * weights, name="value_2")
        tf.losses.add_loss(loss)
        return loss


def sigmoid_cross_entropy(logits, multi_class_labels, weights=1.0, label_smoothing=0, scope=None):
    """Returns the mean sigmoid cross-entropy and adds it to the losses.

    Args:
      logits: floating tensor [batch, classes].
      multi_class_labels: tensor [batch, classes] in [0, 1].
      weights: scalar or tensor broadcastable to the losses.
      label_smoothing: number in [0, 1]; above 0 the labels move towards their mean.
      scope: name of the name scope.

    Returns:
      Scalar tensor.
    """
    weights = _spread(weights, _rank(logits))
    return tf.losses.sigmoid_cross_entropy(
        multi_class_labels, logits, weights, label_smoothing, scope, reduction=_MEAN
    )


def softmax_cross_entropy(logits, onehot_labels, weights=1.0, label_smoothing=0, scope=None):
    """Returns the mean softmax cross-entropy and adds it to the losses.

    Args:
      logits: floating tensor [batch, classes].
      onehot_labels: tensor [batch, classes].
      weights: scalar or tensor broadcastable to the losses.
      label_smoothing: number in [0, 1]; above 0 the labels move towards their mean.
      scope: name of the name scope.

    Returns:
      Scalar tensor.
    """
    weights = _spread(weights, 1)
    return tf.losses.softmax_cross_entropy(
        onehot_labels, logits, weights, label_smoothing, scope, reduction=_MEAN
    )


def sparse_softmax_cross_entropy(logits, labels, weights=1.0, scope=None):
    """Returns the mean softmax cross-entropy of class ids and adds it to the losses.

    Args:
      logits: floating tensor [batch, classes].
      labels: integer tensor [batch] or [batch, 1].
      weights: scalar or tensor broadcastable to the losses.
      scope: name of the name scope.

    Returns:
      Scalar tensor.
    """
    if labels.shape.ndims == 2 and logits.shape.ndims == 2:
        labels = tf.squeeze(labels, [1])
    return tf.losses.sparse_softmax_cross_entropy(labels, logits, weights, scope, reduction=_MEAN)
