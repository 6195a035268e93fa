"""The heads of the classifier and of the regressor, and the derivatives of their losses."""

from collections.abc import Callable, Sequence
from typing import Any, Optional

import tensorflow as tf

from ..private_tf import estimator_head

__all__ = [
    "build_classification_head",
    "build_regression_head",
    "compute_log_loss",
    "differentiate",
    "differentiate_log_loss",
]

_Reduction = tf.compat.v1.losses.Reduction

# Probabilities are kept away from 0 and 1 by this much.
_SMALLEST_PROBABILITY = 1e-15


def build_classification_head(
    n_classes: int, weight_column: Any, label_vocabulary: Optional[Sequence[str]]
) -> Any:
    """Returns the head of a classifier.

    Args:
      n_classes: the number of classes.
      weight_column: the feature with the weights of rows, or None.
      label_vocabulary: the labels in the order of their classes, or None for integers.
    """
    if n_classes == 2:
        return estimator_head._binary_logistic_head_with_sigmoid_cross_entropy_loss(
            weight_column=weight_column,
            label_vocabulary=label_vocabulary,
            loss_reduction=_Reduction.SUM_OVER_BATCH_SIZE,
        )

    def compute_loss(labels: Any, logits: Any) -> Any:
        return compute_log_loss(labels, logits, n_classes)

    return estimator_head._multi_class_head_with_softmax_cross_entropy_loss(
        n_classes=n_classes,
        weight_column=weight_column,
        label_vocabulary=label_vocabulary,
        loss_fn=compute_loss,
        loss_reduction=_Reduction.SUM_OVER_NONZERO_WEIGHTS,
    )


def compute_log_loss(labels: Any, logits: Any, n_classes: int) -> Any:
    """Returns the log loss of each row, written so that TensorFlow can differentiate it twice.

    Args:
      labels: the classes, integers [batch] or [batch, 1].
      logits: float32 [batch, n_classes].
      n_classes: the number of classes.

    Returns:
      float32 [batch, 1].
    """
    targets = tf.one_hot(tf.reshape(tf.cast(labels, tf.int64), [-1]), n_classes)
    scores = tf.exp(logits)
    total = tf.reduce_sum(scores, axis=1, keepdims=True) + _SMALLEST_PROBABILITY
    probability = tf.reduce_sum(targets * (scores / total), axis=1)
    least = tf.zeros_like(probability) + _SMALLEST_PROBABILITY
    most = tf.ones_like(probability) - _SMALLEST_PROBABILITY
    probability = tf.where(probability >= _SMALLEST_PROBABILITY, probability, least)
    probability = tf.where(probability <= 1 - _SMALLEST_PROBABILITY, probability, most)
    return -tf.math.log(probability)[:, tf.newaxis]


def build_regression_head(label_dimension: int, weight_column: Any) -> Any:
    """Returns the head of a regressor.

    Args:
      label_dimension: the number of values of a label.
      weight_column: the feature with the weights of rows, or None.
    """
    return estimator_head._regression_head(
        label_dimension=label_dimension,
        weight_column=weight_column,
        loss_reduction=_Reduction.SUM_OVER_BATCH_SIZE,
    )


Derivatives = Callable[[Any, Any], tuple[Any, Any]]


def differentiate_log_loss(logits: Any, labels: Any) -> tuple[Any, Any]:
    """Returns gradients and hessians of the mean log loss of two classes, in closed form.

    Args:
      logits: float32 [batch, 1].
      labels: 0 or 1, [batch, 1] or [batch].
    """
    probabilities = tf.math.reciprocal(tf.exp(-logits) + 1.0)
    share = tf.math.reciprocal(tf.cast(tf.size(probabilities), tf.float32))
    targets = estimator_head._check_dense_labels_match_logits_and_reshape(
        tf.cast(labels, tf.float32), logits, 1
    )
    gradients = (probabilities - targets) * share
    hessians = probabilities * (1.0 - probabilities) * share
    return gradients, hessians


def differentiate(loss: Any, logits: Any, dimension: int) -> tuple[Any, Any]:
    """Returns gradients and hessians of a loss.

    Args:
      loss: the loss of the batch, a scalar.
      logits: float32 [batch, dimension].
      dimension: the number of logits.

    Returns:
      float32 [batch, dimension] and [batch, dimension * dimension].

    Raises:
      ValueError: the loss has no second derivative.
    """
    (gradients,) = tf.compat.v1.gradients(loss, logits)
    rows = []
    for number in range(dimension):
        (row,) = tf.compat.v1.gradients(gradients[:, number], logits)
        if row is None:
            raise ValueError(
                "loss: boosted trees need its second derivative, which this loss does not have"
            )
        rows.append(row)
    return gradients, tf.reshape(tf.stack(rows, axis=1), [-1, dimension * dimension])
