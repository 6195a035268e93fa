"""The heads of `tf.contrib.learn`: regression, classes, labels and support vectors."""

import tensorflow.compat.v1 as tf

from estimator_bridge.tf1.contrib.learn import head_kinds as _kinds
from estimator_bridge.tf1.contrib.learn.head_base import Head, no_op_train_fn
from estimator_bridge.tf1.contrib.learn.multi_head import loss_only_head, multi_head

__all__ = [
    "Head",
    "binary_svm_head",
    "loss_only_head",
    "multi_class_head",
    "multi_head",
    "multi_label_head",
    "no_op_train_fn",
    "poisson_regression_head",
    "regression_head",
]


def _check_classes(number, metric_class_ids):
    if not isinstance(number, int) or number < 2:
        raise ValueError(f"n_classes must be > 1 for classification: {number}.")
    wrong = [one for one in metric_class_ids if not 0 <= one < number]
    if wrong:
        raise ValueError(f"metric_class_ids: {wrong} are not in 0..{number - 1}")


def multi_class_head(
    n_classes,
    label_name=None,
    weight_column_name=None,
    enable_centered_bias=False,
    head_name=None,
    thresholds=None,
    metric_class_ids=None,
    loss_fn=None,
    label_keys=None,
):
    """Returns the head of a classifier: logistic with two classes, softmax with more.

    Args:
      n_classes: int, number of classes.
      label_name: name of the label in a dict of labels, or None.
      weight_column_name: name of the feature with the examples' weights, or None.
      enable_centered_bias: whether to learn a bias of its own for the mean of the labels.
      head_name: name at the end of all keys and of the scope, or None.
      thresholds: list of probabilities for metrics of two classes; None for 0.5.
      metric_class_ids: list of classes with metrics of their own, for three or more; or None.
      loss_fn: function of labels, logits and weights that returns a loss, or None.
      label_keys: list of the strings that labels are, for three or more classes; or None.

    Returns:
      The head.

    Raises:
      ValueError: there are fewer than two classes, or options that two classes do not have.
    """
    ids = tuple(metric_class_ids or ())
    _check_classes(n_classes, ids)
    common = (label_name, weight_column_name, enable_centered_bias, head_name, loss_fn)
    if n_classes == 2:
        if label_keys:
            raise ValueError("label_keys is not supported for n_classes=2.")
        if ids:
            raise ValueError("metric_class_ids invalid for n_classes==2.")
        head = _kinds.BinaryHead(1, *common)
        head.thresholds = tuple(thresholds or _kinds.THRESHOLDS)
        return head
    if label_keys and len(label_keys) != n_classes:
        raise ValueError(f"label_keys: {n_classes} expected, got {len(label_keys)}")
    head = _kinds.MultiClassHead(n_classes, *common)
    head.number, head.label_keys = n_classes, list(label_keys) if label_keys else None
    head.metric_class_ids = ids
    return head


def multi_label_head(
    n_classes,
    label_name=None,
    weight_column_name=None,
    enable_centered_bias=False,
    head_name=None,
    thresholds=None,
    metric_class_ids=None,
    loss_fn=None,
):
    """Returns the head of a model whose examples have any number of classes.

    Args:
      n_classes: int, number of classes.
      label_name: name of the label in a dict of labels, or None.
      weight_column_name: name of the feature with the examples' weights, or None.
      enable_centered_bias: whether to learn a bias of its own for the mean of the labels.
      head_name: name at the end of all keys and of the scope, or None.
      thresholds: ignored, as in 1.x.
      metric_class_ids: list of classes with metrics of their own, or None.
      loss_fn: function of labels, logits and weights that returns a loss, or None.

    Returns:
      The head.

    Raises:
      ValueError: there are fewer than two classes.
    """
    del thresholds
    _check_classes(n_classes, metric_class_ids or ())
    common = (label_name, weight_column_name, enable_centered_bias, head_name, loss_fn)
    head = _kinds.MultiLabelHead(n_classes, *common)
    head.number, head.metric_class_ids = n_classes, tuple(metric_class_ids or ())
    return head


def binary_svm_head(
    label_name=None,
    weight_column_name=None,
    enable_centered_bias=False,
    head_name=None,
    thresholds=None,
):
    """Returns the head of a support vector machine, with the hinge loss.

    Args:
      label_name: name of the label in a dict of labels, or None.
      weight_column_name: name of the feature with the examples' weights, or None.
      enable_centered_bias: whether to learn a bias of its own for the mean of the labels.
      head_name: name at the end of all keys and of the scope, or None.
      thresholds: ignored, as in 1.x.

    Returns:
      The head.
    """
    del thresholds
    return _kinds.SvmHead(1, label_name, weight_column_name, enable_centered_bias, head_name)


def poisson_regression_head(
    label_name=None,
    weight_column_name=None,
    label_dimension=1,
    enable_centered_bias=False,
    head_name=None,
):
    """Returns the head of a regression of counts.

    Args:
      label_name: name of the label in a dict of labels, or None.
      weight_column_name: name of the feature with the examples' weights, or None.
      label_dimension: int, number of labels of an example.
      enable_centered_bias: whether to learn a bias of its own for the mean of the labels.
      head_name: name at the end of all keys and of the scope, or None.

    Returns:
      The head.
    """
    common = (label_name, weight_column_name, enable_centered_bias, head_name)
    return _kinds.PoissonHead(label_dimension, *common)


def regression_head(
    label_name=None,
    weight_column_name=None,
    label_dimension=1,
    enable_centered_bias=False,
    head_name=None,
    link_fn=None,
):
    """Returns the head of a regressor with the mean squared error.

    Args:
      label_name: name of the label in a dict of labels, or None.
      weight_column_name: name of the feature with the examples' weights, or None.
      label_dimension: int, number of labels of an example.
      enable_centered_bias: whether to learn a bias of its own for the mean of the labels.
      head_name: name at the end of all keys and of the scope, or None.
      link_fn: function from logits to predictions, or None.

    Returns:
      The head.
    """
    common = (label_name, weight_column_name, enable_centered_bias, head_name)
    head = _kinds.RegressionHead(label_dimension, *common)
    head.link_fn = link_fn or tf.identity
    return head
