"""The heads of `tf.contrib.estimator`.

The three heads of 1.x's canned estimators are the v1 heads of tf.estimator; more_heads.py has two
others.
"""

import tensorflow.compat.v1 as tf

from estimator_bridge.private_tf import estimator_head as _v1
from estimator_bridge.tf1.contrib.estimator.more_heads import MultiHead, MultiLabelHead

__all__ = [
    "binary_classification_head",
    "logistic_regression_head",
    "multi_class_head",
    "multi_head",
    "multi_label_head",
    "poisson_regression_head",
    "regression_head",
]

# 1.15 has it under this name; programs derive heads from it.
_MultiHead = MultiHead

_MEAN = tf.losses.Reduction.SUM_OVER_BATCH_SIZE


class _V1Head(_v1._Head):
    """A v2 Head with the interface of the v1 heads."""

    def __init__(self, head):
        self._head = head

    @property
    def name(self):
        return self._head.name

    @property
    def logits_dimension(self):
        return self._head.logits_dimension

    def create_loss(self, features, mode, logits, labels):
        loss = self._head.loss(labels, logits, features=features, mode=mode)
        return _v1.LossSpec(loss, None, None, labels)

    def create_estimator_spec(
        self,
        features,
        mode,
        logits,
        labels=None,
        optimizer=None,
        train_op_fn=None,
        regularization_losses=None,
    ):
        if optimizer is not None:
            train_op_fn = _minimize_with(optimizer)
        return self._head.create_estimator_spec(
            features,
            mode,
            logits,
            labels=labels,
            train_op_fn=train_op_fn,
            regularization_losses=regularization_losses,
        )


def _minimize_with(optimizer):
    def train_op_fn(loss):
        with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS)):
            return optimizer.minimize(loss, global_step=tf.train.get_global_step())

    return train_op_fn


def multi_class_head(
    n_classes,
    weight_column=None,
    label_vocabulary=None,
    loss_reduction=_MEAN,
    loss_fn=None,
    name=None,
):
    """Returns a head for softmax classification.

    Args:
      n_classes: int, number of classes, at least 3.
      weight_column: name of the feature with the examples' weights, or None.
      label_vocabulary: list of the label strings, or None for integer labels.
      loss_reduction: one of tf.losses.Reduction.
      loss_fn: function of (labels, logits) that returns the unreduced loss, or None.
      name: name of the head, the suffix of its metrics, or None.

    Returns:
      Head.

    Raises:
      ValueError: there are fewer than three classes.
    """
    return _v1._multi_class_head_with_softmax_cross_entropy_loss(
        n_classes, weight_column, label_vocabulary, loss_reduction, loss_fn, name
    )


def binary_classification_head(
    weight_column=None,
    thresholds=None,
    label_vocabulary=None,
    loss_reduction=_MEAN,
    loss_fn=None,
    name=None,
):
    """Returns a head for binary classification with sigmoid cross-entropy of one logit.

    Args:
      weight_column: name of the feature with the examples' weights, or None.
      thresholds: list of numbers in (0, 1) at which accuracy, precision and recall are computed.
      label_vocabulary: list of the label strings, or None for integer labels.
      loss_reduction: one of tf.losses.Reduction.
      loss_fn: function of (labels, logits) that returns the unreduced loss, or None.
      name: name of the head, the suffix of its metrics, or None.

    Returns:
      Head.
    """
    return _v1._binary_logistic_head_with_sigmoid_cross_entropy_loss(
        weight_column, thresholds, label_vocabulary, loss_reduction, loss_fn, name
    )


def regression_head(
    weight_column=None,
    label_dimension=1,
    loss_reduction=_MEAN,
    loss_fn=None,
    inverse_link_fn=None,
    name=None,
):
    """Returns a head for regression, with squared error unless `loss_fn` is given.

    Args:
      weight_column: name of the feature with the examples' weights, or None.
      label_dimension: int, number of values per label.
      loss_reduction: one of tf.losses.Reduction.
      loss_fn: function of (labels, logits) that returns the unreduced loss, or None.
      inverse_link_fn: function from logits to predictions; None for the identity.
      name: name of the head, the suffix of its metrics, or None.

    Returns:
      Head.
    """
    return _v1._regression_head(
        weight_column, label_dimension, loss_reduction, loss_fn, inverse_link_fn, name
    )


def poisson_regression_head(
    weight_column=None,
    label_dimension=1,
    loss_reduction=_MEAN,
    compute_full_loss=True,
    name=None,
):
    """Returns a head for Poisson regression; the logits are the logarithm of the mean.

    Args:
      weight_column: name of the feature with the examples' weights, or None.
      label_dimension: int, number of values per label.
      loss_reduction: one of tf.losses.Reduction.
      compute_full_loss: whether the loss includes the log-factorial term (Stirling's
        approximation).
      name: name of the head, the suffix of its metrics, or None.

    Returns:
      Head.
    """

    def loss_fn(labels, logits):
        return tf.nn.log_poisson_loss(labels, logits, compute_full_loss=compute_full_loss)

    return regression_head(weight_column, label_dimension, loss_reduction, loss_fn, tf.exp, name)


def logistic_regression_head(weight_column=None, loss_reduction=_MEAN, name=None):
    """Returns a head for logistic regression; labels are probabilities in [0, 1].

    Args:
      weight_column: name of the feature with the examples' weights, or None.
      loss_reduction: one of tf.losses.Reduction.
      name: name of the head, the suffix of its metrics, or None.

    Returns:
      Head.
    """

    def loss_fn(labels, logits):
        return tf.nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=logits)

    return regression_head(weight_column, 1, loss_reduction, loss_fn, tf.sigmoid, name)


def multi_label_head(
    n_classes,
    weight_column=None,
    thresholds=None,
    label_vocabulary=None,
    loss_reduction=_MEAN,
    loss_fn=None,
    classes_for_class_based_metrics=None,
    name=None,
):
    """Returns a head with a sigmoid per class; labels are multi-hot or sparse class ids.

    Args:
      n_classes: int, number of classes, at least 2.
      weight_column: name of the feature with the examples' weights, or None.
      thresholds: list of numbers in (0, 1) at which accuracy, precision and recall are computed.
      label_vocabulary: list of the label strings, or None for integer labels.
      loss_reduction: one of tf.losses.Reduction.
      loss_fn: function of (labels, logits) that returns the unreduced loss, or None.
      classes_for_class_based_metrics: list of classes that get separate metrics, or None.
      name: name of the head, the suffix of its metrics, or None.

    Returns:
      Head.
    """
    return MultiLabelHead(
        n_classes,
        {
            "weight_column": weight_column,
            "thresholds": thresholds,
            "label_vocabulary": label_vocabulary,
            "loss_reduction": loss_reduction,
            "loss_fn": loss_fn,
            "classes_for_class_based_metrics": classes_for_class_based_metrics,
            "name": name,
        },
    )


def multi_head(heads, head_weights=None):
    """Returns a head that adds the losses of several heads.

    Args:
      heads: list of heads of this module, or of tf.estimator.*Head objects, each with a name.
      head_weights: list of the weights of the losses, or None.

    Returns:
      Head.

    Raises:
      ValueError: there is no head, one has no name, or another number of weights is given.
    """
    own = [isinstance(head, _v1._Head) for head in heads]
    if heads and not any(own):
        return _V1Head(tf.estimator.MultiHead(heads, head_weights))
    return MultiHead(
        [head if is_own else _V1Head(head) for head, is_own in zip(heads, own)], head_weights
    )
