"""Metrics of `tf.contrib.metrics` that are ratios of counted outcomes."""

import collections

import tensorflow.compat.v1 as tf

from estimator_bridge.tf1.contrib.metrics.thresholds import count_outcomes, even_thresholds

__all__ = [
    "precision_at_recall",
    "precision_recall_at_equal_thresholds",
    "recall_at_precision",
    "streaming_curve_points",
    "streaming_false_negative_rate",
    "streaming_false_negative_rate_at_thresholds",
    "streaming_false_positive_rate",
    "streaming_false_positive_rate_at_thresholds",
]

_EPSILON = 1e-7
_OUTCOMES = ["true_positives", "false_negatives", "true_negatives", "false_positives"]


def _collected(value, update, metrics_collections, updates_collections):
    if metrics_collections:
        tf.add_to_collections(metrics_collections, value)
    if updates_collections:
        tf.add_to_collections(updates_collections, update)
    return value, update


def _rate(name, false, true, short):
    """Returns the streaming metrics of the share of one outcome among two, and at thresholds.

    Args:
      name: name of the rate.
      false: the outcome that counts, `false_negatives` or `false_positives`.
      true: the other one.
      short: beginning of the names of the operations at thresholds.
    """

    def streaming(
        predictions,
        labels,
        weights=None,
        metrics_collections=None,
        updates_collections=None,
        name=None,
    ):
        with tf.variable_scope(name, rate, [predictions, labels, weights]):
            counts = [
                getattr(tf.metrics, kind)(labels, predictions, weights) for kind in (false, true)
            ]
            ratios = [
                tf.div_no_nan(wrong, wrong + right, name=place)
                for wrong, right, place in zip(*counts, ("value", "update_op"))
            ]
            return _collected(*ratios, metrics_collections, updates_collections)

    def at_thresholds(
        predictions,
        labels,
        thresholds,
        weights=None,
        metrics_collections=None,
        updates_collections=None,
        name=None,
    ):
        with tf.variable_scope(name, f"{rate}_at_thresholds", [predictions, labels, weights]):
            found = count_outcomes([true, false], predictions, labels, thresholds, weights)
            ratios = [
                tf.div(wrong, _EPSILON + wrong + right, name=f"{short}_{place}")
                for (right, wrong), place in zip(found, ("value", "update_op"))
            ]
            return _collected(*ratios, metrics_collections, updates_collections)

    rate, words = name, [kind.replace("_", " ") for kind in (false, true)]
    shared = """
      weights: weights of the examples, broadcastable to their shape; None for 1 each.
      metrics_collections: collections that receive the value.
      updates_collections: collections that receive the update operation.
      name: name of the variable scope.
    """
    streaming.__doc__ = f"""Computes the share of {words[0]} among them and {words[1]}.

    Args:
      predictions: tensor, converted to bool.
      labels: tensor of the shape of `predictions`, converted to bool.{shared}
    Returns:
      (value, update operation); scalars.
    """
    at_thresholds.__doc__ = f"""Computes the share of {words[0]} at each threshold.

    Args:
      predictions: floating tensor in [0, 1].
      labels: bool tensor, or 0 and 1, of the shape of `predictions`.
      thresholds: list of numbers.{shared}
    Returns:
      (value, update operation); tensors [thresholds].
    """
    for function, ending in ((streaming, ""), (at_thresholds, "_at_thresholds")):
        function.__name__ = function.__qualname__ = f"streaming_{rate}{ending}"
    return streaming, at_thresholds


streaming_false_negative_rate, streaming_false_negative_rate_at_thresholds = _rate(
    "false_negative_rate", "false_negatives", "true_positives", "fnr"
)
streaming_false_positive_rate, streaming_false_positive_rate_at_thresholds = _rate(
    "false_positive_rate", "false_positives", "true_negatives", "fpr"
)


def precision_at_recall(
    labels,
    predictions,
    target_recall,
    weights=None,
    num_thresholds=200,
    metrics_collections=None,
    updates_collections=None,
    name=None,
):
    """Returns the precision at the highest threshold whose recall is not below a target.

    Args:
      labels: bool tensor, or 0 and 1.
      predictions: floating tensor in [0, 1] of the shape of `labels`.
      target_recall: number in [0, 1].
      weights: weights of the examples, broadcastable to their shape; None for 1 each.
      num_thresholds: int, number of evenly spaced thresholds.
      metrics_collections: collections that receive the value.
      updates_collections: collections that receive the update operation.
      name: name of the variable scope.

    Returns:
      (value, update operation); scalars.

    Raises:
      ValueError: the target is not in [0, 1], or the shapes differ.
    """
    if not 0 <= target_recall <= 1:
        raise ValueError("`target_recall` must be in the range [0, 1].")
    with tf.variable_scope(name, "precision_at_recall", [predictions, labels, weights]):
        thresholds = even_thresholds(num_thresholds)

        def at_recall(counts, place):
            tp, fn, _, fp = counts
            enough = tf.div(tp, tp + fn + _EPSILON) >= target_recall
            last = tf.reduce_sum(tf.cast(enough, tf.int32)) - 1
            # -1, if no recall is high enough, is the last threshold.
            tp, fp = tp[last], fp[last]
            return tf.div(tp + _EPSILON, tp + fp + _EPSILON, name=place)

        counts = count_outcomes(_OUTCOMES, predictions, labels, thresholds, weights)
        found = map(at_recall, counts, ("value", "update_op"))
        return _collected(*found, metrics_collections, updates_collections)


def recall_at_precision(
    labels,
    predictions,
    precision,
    weights=None,
    num_thresholds=200,
    metrics_collections=None,
    updates_collections=None,
    name=None,
    strict_mode=False,
):
    """Returns the recall at the threshold whose precision is nearest to a given one.

    Args:
      labels: bool tensor, or 0 and 1.
      predictions: floating tensor in [0, 1] of the shape of `labels`.
      precision: number in [0, 1].
      weights: weights of the examples, broadcastable to their shape; None for 1 each.
      num_thresholds: int, number of evenly spaced thresholds.
      metrics_collections: collections that receive the value.
      updates_collections: collections that receive the update operation.
      name: name of the variable scope.
      strict_mode: whether the precision must not be below the given one; the recall is 0 if it is
        at all thresholds.

    Returns:
      (value, update operation); scalars.

    Raises:
      ValueError: the precision is not in [0, 1], or the shapes differ.
    """
    if not 0 <= precision <= 1:
        raise ValueError("`precision` must be in the range [0, 1].")
    with tf.variable_scope(name, "recall_at_precision", [predictions, labels, weights]):
        thresholds = even_thresholds(num_thresholds)

        def at_precision(counts, place):
            tp, fn, _, fp = counts
            beyond = tf.div(tp, tp + fp + _EPSILON) - precision
            far = tf.fill(tf.shape(beyond), beyond.dtype.max)
            away = tf.where(beyond >= 0, beyond, far) if strict_mode else tf.abs(beyond)
            best = tf.argmin(away, 0)
            recall = tf.div(tp[best], tp[best] + fn[best] + _EPSILON)
            if strict_mode:
                recall = tf.where(tf.reduce_any(beyond >= 0), recall, tf.zeros_like(recall))
            return tf.identity(recall, name=place)

        counts = count_outcomes(_OUTCOMES, predictions, labels, thresholds, weights)
        found = map(at_precision, counts, ("value", "update_op"))
        return _collected(*found, metrics_collections, updates_collections)


def streaming_curve_points(
    labels=None,
    predictions=None,
    weights=None,
    num_thresholds=200,
    metrics_collections=None,
    updates_collections=None,
    curve="ROC",
    name=None,
):
    """Returns the points of a curve at evenly spaced thresholds.

    Args:
      labels: bool tensor, or 0 and 1.
      predictions: floating tensor in [0, 1] of the shape of `labels`.
      weights: weights of the examples, broadcastable to their shape; None for 1 each.
      num_thresholds: int, number of thresholds.
      metrics_collections: collections that receive the value.
      updates_collections: collections that receive the update operation.
      curve: `ROC` for (false, true positive rate), or `PR` for (recall, precision).
      name: name of the variable scope.

    Returns:
      Tensor [num_thresholds, 2], and the update operation.

    Raises:
      ValueError: the curve is unknown, or the shapes differ.
    """
    with tf.variable_scope(name, "curve_points", [labels, predictions, weights]):
        if curve not in ("ROC", "PR"):
            raise ValueError(f"curve must be either ROC or PR, {curve} unknown")
        counts, updates = count_outcomes(
            _OUTCOMES, predictions, labels, even_thresholds(num_thresholds), weights
        )
        tp, fn, tn, fp = counts
        epsilon = 1e-6
        recall = tf.div(tp + epsilon, tp + fn + epsilon)
        if curve == "ROC":
            points = tf.div(fp, fp + tn + epsilon), recall
        else:
            points = recall, tf.div(tp + epsilon, tp + fp + epsilon)
        found = tf.stack(points, axis=1), tf.group(*updates)
        return _collected(*found, metrics_collections, updates_collections)


PrecisionRecallData = collections.namedtuple(
    "PrecisionRecallData", ["tp", "fp", "tn", "fn", "precision", "recall", "thresholds"]
)


def precision_recall_at_equal_thresholds(
    labels, predictions, weights=None, num_thresholds=None, use_locking=None, name=None
):
    """Counts outcomes at evenly spaced thresholds, in time linear in both numbers.

    A prediction is counted once, at the highest threshold that it reaches; the counts at a
    threshold are sums over those above it. The variables are `variables/tp_buckets` and
    `variables/fp_buckets` [num_thresholds] of float64.

    Args:
      labels: bool tensor.
      predictions: floating tensor in [0, 1] of the shape of `labels`.
      weights: weights of the dtype of `predictions`, broadcastable to them; None for 1 each.
      num_thresholds: int, number of thresholds, 2 or more; None for 201.
      use_locking: whether updates lock the variables; None for True.
      name: name of the variable scope.

    Returns:
      Named tuple of tensors [num_thresholds] of the dtype of `predictions`: tp, fp, tn, fn,
      precision, recall and thresholds; and the update operation.

    Raises:
      TypeError: the labels are not bool.
      ValueError: the shapes differ.
    """
    size = 201 if num_thresholds is None else num_thresholds
    with tf.variable_scope(
        name, "precision_recall_at_equal_thresholds", [labels, predictions, weights]
    ):
        tf.debugging.assert_type(labels, tf.bool)
        predictions.shape.assert_is_compatible_with(labels.shape)
        dtype = predictions.dtype
        checks = [
            tf.assert_greater_equal(
                predictions, tf.zeros([], dtype), message="predictions must be >= 0"
            ),
            tf.assert_less_equal(
                predictions, tf.ones([], dtype), message="predictions must be <= 1"
            ),
        ]
        with tf.control_dependencies(checks):
            predictions = tf.identity(predictions)
        weights = tf.cast(1.0 if weights is None else weights, tf.float64)
        weights = weights + tf.zeros_like(predictions, tf.float64)
        true = tf.cast(labels, tf.float64)
        places = tf.cast(tf.floor(tf.reshape(predictions, [-1]) * (size - 1)), tf.int32)
        with tf.variable_scope("variables"):
            buckets = [
                tf.get_variable(
                    *(f"{kind}_buckets", [size], tf.float64, tf.zeros_initializer()),
                    trainable=False,
                    collections=[tf.GraphKeys.LOCAL_VARIABLES, tf.GraphKeys.METRIC_VARIABLES],
                )
                for kind in ("tp", "fp")
            ]
        counted = (tf.reshape(one, [-1]) for one in (weights * true, weights * (1 - true)))
        with tf.name_scope("update_op"):
            locks = use_locking is None or use_locking
            update = tf.group(
                *(tf.scatter_add(kept, places, new, locks) for kept, new in zip(buckets, counted))
            )
        tp, fp = (tf.cumsum(one, reverse=True) for one in buckets)
        tn, fn = fp[0] - fp, tp[0] - tp
        found = (
            *(tp, fp, tn, fn),
            *(tp / tf.maximum(tp + other, _EPSILON) for other in (fp, fn)),
        )
        found = [tf.cast(one, dtype) for one in found]
        thresholds = tf.raw_ops.LinSpace(
            start=tf.zeros([], dtype), stop=tf.ones([], dtype), num=tf.constant(size)
        )
        return PrecisionRecallData(*found, thresholds), update
