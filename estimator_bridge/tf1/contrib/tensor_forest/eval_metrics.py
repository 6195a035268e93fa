"""Metrics of random forests by name."""

import tensorflow.compat.v1 as tf

__all__ = ["get_metric", "get_prediction_key"]

INFERENCE_PROB_NAME = "probabilities"
INFERENCE_PRED_NAME = "classes"
FEATURE_IMPORTANCE_NAME = "global_feature_importance"
_THRESHOLDS = [place / 100 for place in range(100)]


def _top_k(k):
    def metric(probabilities, targets):
        hits = tf.nn.in_top_k(probabilities, tf.to_int32(tf.reshape(targets, [-1])), k)
        return tf.metrics.mean(tf.to_float(hits))

    return metric


def _one_hot(targets, probabilities):
    return tf.one_hot(tf.to_int32(tf.squeeze(targets, [1])), probabilities.shape[1])


def _predictions(predictions, unused_targets, **unused_kwargs):
    return predictions


def _log_loss(probabilities, targets, weights=None):
    loss = tf.losses.log_loss(_one_hot(targets, probabilities), probabilities)
    return tf.metrics.mean(loss, weights)


def _sigmoid_entropy(probabilities, targets, weights=None):
    loss = tf.losses.sigmoid_cross_entropy(_one_hot(targets, probabilities), probabilities)
    return tf.metrics.mean(loss, weights)


def _softmax_entropy(probabilities, targets, weights=None):
    loss = tf.losses.sparse_softmax_cross_entropy(tf.to_int32(targets), probabilities)
    return tf.metrics.mean(loss, weights)


def _precision(predictions, targets, weights=None):
    return tf.metrics.precision(targets, predictions, weights)


def _recall(predictions, targets, weights=None):
    return tf.metrics.recall(targets, predictions, weights)


def _precision_at_thresholds(predictions, targets, weights=None):
    return tf.metrics.precision_at_thresholds(targets, predictions[:, 1], _THRESHOLDS, weights)


def _recall_at_thresholds(predictions, targets, weights=None):
    return tf.metrics.recall_at_thresholds(targets, predictions[:, 1], _THRESHOLDS, weights)


def _accuracy(predictions, targets, weights=None):
    return tf.metrics.accuracy(targets, predictions, weights)


def _r2(probabilities, targets, weights=None):
    targets = tf.to_float(targets)
    mean = tf.reduce_mean(targets, 0)
    whole, left = tf.square(targets - mean), tf.square(targets - probabilities)
    return tf.metrics.mean(1 - tf.reduce_sum(left) / tf.reduce_sum(whole), weights)


def _auc(probs, targets, weights=None):
    return tf.metrics.auc(targets, probs[:, 1], weights)


_EVAL_METRICS = {
    "auc": (_auc, INFERENCE_PROB_NAME),
    "accuracy": (_accuracy, INFERENCE_PRED_NAME),
    "classification_log_loss": (_log_loss, INFERENCE_PROB_NAME),
    "precision": (_precision, INFERENCE_PRED_NAME),
    "precision_at_thresholds": (_precision_at_thresholds, INFERENCE_PROB_NAME),
    "predictions": (_predictions, INFERENCE_PRED_NAME),
    "r2": (_r2, "scores"),
    "recall": (_recall, INFERENCE_PRED_NAME),
    "recall_at_thresholds": (_recall_at_thresholds, INFERENCE_PROB_NAME),
    "sigmoid_entropy": (_sigmoid_entropy, INFERENCE_PROB_NAME),
    "softmax_entropy": (_softmax_entropy, INFERENCE_PROB_NAME),
    "top_5": (_top_k(5), INFERENCE_PROB_NAME),
}


def get_metric(metric_name):
    """Returns a function of predictions and targets.

    Args:
      metric_name: its name.

    Raises:
      KeyError: the name is unknown.
    """
    return _EVAL_METRICS[metric_name][0]


def get_prediction_key(metric_name):
    """Returns the name of the prediction that a metric needs.

    Args:
      metric_name: its name.

    Raises:
      KeyError: the name is unknown.
    """
    return _EVAL_METRICS[metric_name][1]
