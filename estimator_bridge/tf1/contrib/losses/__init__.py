"""`tf.contrib.losses`, the forerunner of tf.losses: predictions come before labels."""

import tensorflow.compat.v1 as tf

from estimator_bridge.tf1.contrib.losses import metric_learning as _metric_learning
from estimator_bridge.tf1.contrib.package import unsupported_names as _unsupported_names

__getattr__, _advice_for = _unsupported_names(globals())

metric_learning = _metric_learning

# 1.x weighted by this: the mean over the losses whose weight is not zero.
_MEAN = tf.losses.Reduction.SUM_BY_NONZERO_WEIGHTS

add_loss = tf.losses.add_loss
compute_weighted_loss = tf.losses.compute_weighted_loss
get_losses = tf.losses.get_losses
get_regularization_losses = tf.losses.get_regularization_losses
get_total_loss = tf.losses.get_total_loss


def absolute_difference(predictions, labels=None, weights=1.0, scope=None):
    """tf.losses.absolute_difference."""
    return tf.losses.absolute_difference(labels, predictions, weights, scope, reduction=_MEAN)


def cosine_distance(predictions, labels=None, axis=None, weights=1.0, scope=None, dim=None):
    """tf.losses.cosine_distance."""
    axis = dim if axis is None else axis
    return tf.losses.cosine_distance(
        labels, predictions, axis=axis, weights=weights, scope=scope, reduction=_MEAN
    )


def hinge_loss(logits, labels=None, scope=None):
    """The hinge of each logit, not reduced. Labels are 0 or 1."""
    with tf.name_scope(scope, "hinge_loss", [logits, labels]):
        labels = 2 * tf.to_float(labels) - 1
        return tf.nn.relu(1 - labels * logits)


def log_loss(predictions, labels=None, weights=1.0, epsilon=1e-7, scope=None):
    """tf.losses.log_loss."""
    return tf.losses.log_loss(labels, predictions, weights, epsilon, scope, reduction=_MEAN)


def mean_squared_error(predictions, labels=None, weights=1.0, scope=None):
    """tf.losses.mean_squared_error."""
    return tf.losses.mean_squared_error(labels, predictions, weights, scope, reduction=_MEAN)


def mean_pairwise_squared_error(predictions, labels=None, weights=1.0, scope=None):
    """tf.losses.mean_pairwise_squared_error."""
    return tf.losses.mean_pairwise_squared_error(labels, predictions, weights, scope)


def sigmoid_cross_entropy(logits, multi_class_labels, weights=1.0, label_smoothing=0, scope=None):
    """tf.losses.sigmoid_cross_entropy."""
    return tf.losses.sigmoid_cross_entropy(
        multi_class_labels, logits, weights, label_smoothing, scope, reduction=_MEAN
    )


def softmax_cross_entropy(logits, onehot_labels, weights=1.0, label_smoothing=0, scope=None):
    """tf.losses.softmax_cross_entropy."""
    return tf.losses.softmax_cross_entropy(
        onehot_labels, logits, weights, label_smoothing, scope, reduction=_MEAN
    )


def sparse_softmax_cross_entropy(logits, labels, weights=1.0, scope=None):
    """tf.losses.sparse_softmax_cross_entropy; labels may be [batch, 1]."""
    if labels.shape.ndims == 2 and logits.shape.ndims == 2:
        labels = tf.squeeze(labels, [1])
    return tf.losses.sparse_softmax_cross_entropy(labels, logits, weights, scope, reduction=_MEAN)
