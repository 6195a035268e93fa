"""`tf.contrib.metrics`: streaming metrics with the predictions before the labels."""

import functools
import inspect

import tensorflow.compat.v1 as tf

from estimator_bridge.tf1.contrib.metrics import areas as _areas
from estimator_bridge.tf1.contrib.metrics import concatenation as _concatenation
from estimator_bridge.tf1.contrib.metrics import correlation as _correlation
from estimator_bridge.tf1.contrib.metrics import ranking as _ranking
from estimator_bridge.tf1.contrib.metrics import rates as _rates
from estimator_bridge.tf1.contrib.metrics import thresholds as _thresholds
from estimator_bridge.tf1.contrib.package import unsupported_names as _unsupported_names

__getattr__, _advice_for = _unsupported_names(globals())

_Metric = tf.metrics


def _predictions_first(metric, name):
    """Returns a metric of tf.metrics with its first two arguments swapped."""

    @functools.wraps(metric)
    def streaming(predictions, labels, *args, **kwargs):
        return metric(labels, predictions, *args, **kwargs)

    streaming.__name__ = streaming.__qualname__ = name
    first, second, *others = inspect.signature(metric).parameters.values()
    streaming.__signature__ = inspect.Signature([second, first, *others])
    streaming.__doc__ = f"tf.metrics.{metric.__name__}, with predictions before labels."
    return streaming


for _old, _new in {
    "streaming_accuracy": "accuracy",
    "streaming_auc": "auc",
    "streaming_false_negatives": "false_negatives",
    "streaming_false_positives": "false_positives",
    "streaming_mean_absolute_error": "mean_absolute_error",
    "streaming_mean_cosine_distance": "mean_cosine_distance",
    "streaming_mean_iou": "mean_iou",
    "streaming_mean_relative_error": "mean_relative_error",
    "streaming_mean_squared_error": "mean_squared_error",
    "streaming_precision": "precision",
    "streaming_precision_at_thresholds": "precision_at_thresholds",
    "streaming_recall": "recall",
    "streaming_recall_at_thresholds": "recall_at_thresholds",
    "streaming_root_mean_squared_error": "root_mean_squared_error",
    "streaming_sensitivity_at_specificity": "sensitivity_at_specificity",
    "streaming_sparse_average_precision_at_k": "average_precision_at_k",
    "streaming_sparse_precision_at_k": "precision_at_k",
    "streaming_sparse_recall_at_k": "recall_at_k",
    "streaming_specificity_at_sensitivity": "specificity_at_sensitivity",
    "streaming_true_negatives": "true_negatives",
    "streaming_true_positives": "true_positives",
}.items():
    globals()[_old] = _predictions_first(getattr(_Metric, _new), _old)

cohen_kappa = _correlation.cohen_kappa
streaming_covariance = _correlation.streaming_covariance
streaming_pearson_correlation = _correlation.streaming_pearson_correlation
streaming_mean = _Metric.mean
streaming_mean_tensor = _Metric.mean_tensor
streaming_percentage_less = _Metric.percentage_below
streaming_concat = _concatenation.streaming_concat
auc_using_histogram = _areas.auc_using_histogram
auc_with_confidence_intervals = _areas.auc_with_confidence_intervals
streaming_dynamic_auc = _areas.streaming_dynamic_auc
precision_at_recall = _rates.precision_at_recall
precision_recall_at_equal_thresholds = _rates.precision_recall_at_equal_thresholds
recall_at_precision = _rates.recall_at_precision
streaming_curve_points = _rates.streaming_curve_points
streaming_false_negative_rate = _rates.streaming_false_negative_rate
streaming_false_negative_rate_at_thresholds = _rates.streaming_false_negative_rate_at_thresholds
streaming_false_positive_rate = _rates.streaming_false_positive_rate
streaming_false_positive_rate_at_thresholds = _rates.streaming_false_positive_rate_at_thresholds
sparse_recall_at_top_k = _ranking.sparse_recall_at_top_k
streaming_sparse_average_precision_at_top_k = _ranking.streaming_sparse_average_precision_at_top_k
streaming_sparse_precision_at_top_k = _ranking.streaming_sparse_precision_at_top_k
set_difference = tf.sets.difference
set_intersection = tf.sets.intersection
set_size = tf.sets.size
set_union = tf.sets.union
f1_score = _thresholds.f1_score
streaming_false_negatives_at_thresholds = _thresholds.streaming_false_negatives_at_thresholds
streaming_false_positives_at_thresholds = _thresholds.streaming_false_positives_at_thresholds
streaming_true_negatives_at_thresholds = _thresholds.streaming_true_negatives_at_thresholds
streaming_true_positives_at_thresholds = _thresholds.streaming_true_positives_at_thresholds


def accuracy(predictions, labels, weights=None, name=None):
    """Returns the share of correct predictions in a batch.

    Args:
      predictions: tensor.
      labels: tensor of the shape of `predictions`.
      weights: weights of the examples, broadcastable to their shape; None for 1 each.
      name: name of the variable scope.

    Returns:
      Scalar float32 tensor.

    Raises:
      ValueError: the dtypes of predictions and labels differ.
    """
    with tf.name_scope(name, "accuracy", [predictions, labels]):
        if labels.dtype != predictions.dtype:
            raise ValueError(
                "predictions and labels: the dtypes differ "
                f"({predictions.dtype} and {labels.dtype})"
            )
        correct = tf.to_float(tf.equal(predictions, labels))
        if weights is None:
            return tf.reduce_mean(correct)
        weights = tf.to_float(weights)
        return tf.div(tf.reduce_sum(correct * weights), tf.reduce_sum(weights))


def confusion_matrix(
    labels, predictions, num_classes=None, dtype=tf.int32, name=None, weights=None
):
    """Returns the confusion matrix of class ids.

    Args:
      labels: integer tensor [batch].
      predictions: integer tensor [batch].
      num_classes: int, number of classes; None for the largest id plus one.
      dtype: dtype of the matrix.
      name: name of the name scope.
      weights: weights of the examples, broadcastable to their shape; None for 1 each.

    Returns:
      Tensor [num_classes, num_classes], labels by predictions.
    """
    return tf.confusion_matrix(
        labels, predictions, num_classes, dtype=dtype, name=name, weights=weights
    )


def count(values, weights=None, metrics_collections=None, updates_collections=None, name=None):
    """Counts the values, or sums their weights.

    Args:
      values: tensor.
      weights: weights of the examples, broadcastable to their shape; None for 1 each.
      metrics_collections: collections that receive the value.
      updates_collections: collections that receive the update operation.
      name: name of the variable scope.

    Returns:
      (value, update operation).
    """
    with tf.variable_scope(name, "count", [values, weights]):
        total = tf.get_variable(
            "count",
            [],
            tf.float32,
            tf.zeros_initializer(),
            trainable=False,
            collections=[tf.GraphKeys.LOCAL_VARIABLES, tf.GraphKeys.METRIC_VARIABLES],
        )
        if weights is None:
            new = tf.to_float(tf.size(values))
        else:
            new = tf.reduce_sum(tf.to_float(weights) * tf.ones_like(tf.to_float(values)))
        value, update = tf.identity(total), tf.assign_add(total, new)
        _collect(metrics_collections, value)
        _collect(updates_collections, update)
        return value, update


def _collect(collections, tensor):
    if collections:
        tf.add_to_collections(collections, tensor)


def streaming_recall_at_k(
    predictions,
    labels,
    k,
    weights=None,
    metrics_collections=None,
    updates_collections=None,
    name=None,
):
    """Computes the share of examples whose label is among the k largest predictions.

    Args:
      predictions: floating tensor [batch, classes].
      labels: int64 tensor [batch].
      k: int, number of predictions that count.
      weights: weights of the examples, broadcastable to [batch]; None for 1 each.
      metrics_collections: collections that receive the value.
      updates_collections: collections that receive the update operation.
      name: name of the variable scope.

    Returns:
      (value, update operation).
    """
    found = tf.to_float(tf.nn.in_top_k(predictions, labels, k))
    return tf.metrics.mean(
        found, weights, metrics_collections, updates_collections, name or f"recall_at_{k}"
    )


def aggregate_metrics(*value_update_tuples):
    """Separates the values and updates of metrics.

    Args:
      *value_update_tuples: (value, update operation) pairs.

    Returns:
      List of values and list of update operations.

    Raises:
      ValueError: there are no metrics.
    """
    if not value_update_tuples:
        raise ValueError("aggregate_metrics: at least one metric is required")
    values, updates = zip(*value_update_tuples)
    return list(values), list(updates)


def aggregate_metric_map(names_to_tuples):
    """Separates the values and updates of named metrics.

    Args:
      names_to_tuples: {name: (value, update operation)}.

    Returns:
      {name: value} and {name: update operation}.
    """
    values = {name: pair[0] for name, pair in names_to_tuples.items()}
    return values, {name: pair[1] for name, pair in names_to_tuples.items()}
