"""The heads of `tf.contrib.estimator`.

The three that 1.x's canned estimators share are that package's own v1 heads; the others exist only
as the newer Head classes, whose `create_estimator_spec` takes the same `train_op_fn`.
"""

import tensorflow.compat.v1 as tf

from estimator_bridge.private_tf import estimator_head as _v1

__all__ = [
    "binary_classification_head",
    "logistic_regression_head",
    "multi_class_head",
    "multi_head",
    "multi_label_head",
    "poisson_regression_head",
    "regression_head",
]

_MEAN = tf.losses.Reduction.SUM_OVER_BATCH_SIZE


def _v2_reduction(reduction):
    """Returns the word of the Head classes for a reduction of tf.losses."""
    if reduction == tf.losses.Reduction.SUM:
        return "sum"
    return "sum_over_batch_size"


class _V1Head(_v1._Head):
    """A Head of the newer kind, in the place of one that 1.x's estimators and optimizers take."""

    def __init__(self, head):
        self._head = head

    @property
    def head(self):
        """The Head of the newer kind."""
        return self._head

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
    """Softmax over `n_classes`, at least 3 (ValueError)."""
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
    """One logit, sigmoid cross-entropy."""
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
    """`label_dimension` logits, squared error unless `loss_fn` is given."""
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
    """Logits are the logarithm of the mean of a Poisson distribution."""

    def loss_fn(labels, logits):
        return tf.nn.log_poisson_loss(labels, logits, compute_full_loss=compute_full_loss)

    return regression_head(weight_column, label_dimension, loss_reduction, loss_fn, tf.exp, name)


def logistic_regression_head(weight_column=None, loss_reduction=_MEAN, name=None):
    """One logit; labels are probabilities in [0, 1]."""

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
    """A sigmoid for each of `n_classes`; labels are multi-hot, or a sparse tensor of class ids."""
    head = tf.estimator.MultiLabelHead(
        n_classes,
        weight_column=weight_column,
        thresholds=thresholds,
        label_vocabulary=label_vocabulary,
        loss_reduction=_v2_reduction(loss_reduction),
        loss_fn=loss_fn,
        classes_for_class_based_metrics=classes_for_class_based_metrics,
        name=name,
    )
    return _V1Head(head)


def multi_head(heads, head_weights=None):
    """Several heads on one model: multi_label_head, or tf.estimator.*Head (else TypeError)."""
    found = [head.head if isinstance(head, _V1Head) else head for head in heads]
    for head in found:
        if isinstance(head, _v1._Head):
            raise TypeError(
                f"multi_head: {type(head).__name__} is not taken; use "
                "tf.estimator.BinaryClassHead, MultiClassHead or RegressionHead"
            )
    return _V1Head(tf.estimator.MultiHead(found, head_weights))
