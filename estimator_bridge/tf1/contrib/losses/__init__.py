"""`tf.contrib.losses`, the predecessor of tf.losses: predictions come before labels."""

import tensorflow.compat.v1 as tf

from estimator_bridge.tf1.contrib.losses import metric_learning as _metric_learning
from estimator_bridge.tf1.contrib.package import unsupported_names as _unsupported_names

__getattr__, _advice_for = _unsupported_names(globals())

metric_learning = _metric_learning

# tf.contrib.losses averaged over the losses with a nonzero weight.
_MEAN = tf.losses.Reduction.SUM_BY_NONZERO_WEIGHTS

add_loss = tf.losses.add_loss
compute_weighted_loss = tf.losses.compute_weighted_loss
get_losses = tf.losses.get_losses
get_regularization_losses = tf.losses.get_regularization_losses
get_total_loss = tf.losses.get_total_loss


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
    return tf.losses.mean_squared_error(labels, predictions, weights, scope, reduction=_MEAN)


def mean_pairwise_squared_error(predictions, labels=None, weights=1.0, scope=None):
    """Returns the mean squared error of pairwise differences and adds it to the losses.

    Args:
      predictions: floating tensor.
      labels: tensor of the shape of `predictions`.
      weights: scalar, or tensor [batch] or [batch, 1].
      scope: name of the name scope.

    Returns:
      Scalar tensor.
    """
    with tf.name_scope(scope, "mean_pairwise_squared_error", [predictions, labels, weights]):
        predictions, labels = tf.to_float(predictions), tf.to_float(labels)
        predictions.shape.assert_is_compatible_with(labels.shape)
        weights = tf.to_float(weights)
        errors = tf.reshape(predictions - labels, [tf.shape(predictions)[0], -1])
        # 1.x divides by n and not by n - 1, and adds up the examples.
        pairs = 2 * (tf.reduce_mean(errors**2, 1) - tf.reduce_mean(errors, 1) ** 2)
        loss = tf.reduce_sum(
            pairs * (tf.reshape(weights, [-1]) if weights.shape.ndims else weights)
        )
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
