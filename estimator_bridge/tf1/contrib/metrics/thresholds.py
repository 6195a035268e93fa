"""Metrics of `tf.contrib.metrics` that count outcomes at thresholds."""

import tensorflow.compat.v1 as tf

__all__ = [
    "count_outcomes",
    "even_thresholds",
    "f1_score",
    "streaming_false_negatives_at_thresholds",
    "streaming_false_positives_at_thresholds",
    "streaming_true_negatives_at_thresholds",
    "streaming_true_positives_at_thresholds",
]


def count_outcomes(names, predictions, labels, thresholds, weights):
    """Returns (values, updates) of counters at thresholds, in the present variable scope.

    Args:
      names: list of names of counters, such as `true_positives`, which name the variables too.
      predictions: floating tensor in [0, 1].
      labels: bool tensor, or 0 and 1, of the shape of `predictions`.
      thresholds: list of numbers.
      weights: weights broadcastable to the shape of `labels`, or None.

    Returns:
      List of tensors [thresholds] and list of update operations.

    Raises:
      ValueError: the shapes are not compatible.
    """
    predictions, labels = tf.to_float(predictions), tf.cast(labels, tf.bool)
    predictions.shape.assert_is_compatible_with(labels.shape)
    limits = tf.reshape(tf.constant(thresholds, tf.float32), [-1, 1])
    true = tf.reshape(labels, [1, -1])
    positive = tf.reshape(predictions, [1, -1]) > limits
    if weights is not None:
        weights = tf.to_float(weights)
        tf.broadcast_static_shape(weights.shape, labels.shape)
        weights = tf.reshape(weights * tf.ones_like(predictions), [1, -1])
    values, updates = [], []
    for name in names:
        right, kind = name.split("_")
        of_kind = positive if kind == "positives" else tf.logical_not(positive)
        wanted = true if (right == "true") == (kind == "positives") else tf.logical_not(true)
        counted = tf.to_float(tf.logical_and(of_kind, wanted))
        new = tf.reduce_sum(counted if weights is None else counted * weights, 1)
        counter = tf.get_variable(
            name,
            [len(thresholds)],
            tf.float32,
            tf.zeros_initializer(),
            trainable=False,
            collections=[tf.GraphKeys.LOCAL_VARIABLES, tf.GraphKeys.METRIC_VARIABLES],
        )
        values.append(tf.identity(counter))
        updates.append(tf.assign_add(counter, new))
    return values, updates


def _counter(kind):
    def streaming(predictions, labels, thresholds, weights=None):
        values, updates = count_outcomes([kind], predictions, labels, thresholds, weights)
        return values[0], updates[0]

    streaming.__name__ = streaming.__qualname__ = f"streaming_{kind}_at_thresholds"
    streaming.__doc__ = f"""Counts {kind.replace("_", " ")} at each threshold.

    Args:
      predictions: floating tensor in [0, 1].
      labels: bool tensor, or 0 and 1, of the shape of `predictions`.
      thresholds: list of numbers.
      weights: weights broadcastable to the shape of `labels`, or None for 1 each.

    Returns:
      Tensor [thresholds] and the update operation.
    """
    return streaming


streaming_false_negatives_at_thresholds = _counter("false_negatives")
streaming_false_positives_at_thresholds = _counter("false_positives")
streaming_true_negatives_at_thresholds = _counter("true_negatives")
streaming_true_positives_at_thresholds = _counter("true_positives")


def even_thresholds(number):
    """Returns thresholds from 0 to 1 at equal distances; the outer ones are just outside of that.

    Args:
      number: int, number of thresholds, 2 or more.

    Returns:
      List of numbers.
    """
    epsilon = 1e-7
    inner = [(i + 1) / (number - 1) for i in range(number - 2)]
    return [0.0 - epsilon, *inner, 1.0 + epsilon]


def f1_score(
    labels,
    predictions,
    weights=None,
    num_thresholds=200,
    metrics_collections=None,
    updates_collections=None,
    name=None,
):
    """Returns the largest F1 score over evenly spaced thresholds.

    Args:
      labels: bool tensor, or 0 and 1.
      predictions: floating tensor in [0, 1].
      weights: weights of the examples, broadcastable to their shape; None for 1 each.
      num_thresholds: int, number of thresholds.
      metrics_collections: collections that receive the value.
      updates_collections: collections that receive the update operation.
      name: name of the variable scope.

    Returns:
      (value, update operation).
    """
    with tf.variable_scope(name, "f1", [labels, predictions, weights]):
        epsilon = 1e-7
        thresholds = even_thresholds(num_thresholds)
        values, updates = count_outcomes(
            ["true_positives", "false_negatives", "false_positives"],
            *(predictions, labels, thresholds, weights),
        )

        def best(tp, fn, fp):
            precision = tp / (epsilon + tp + fp)
            recall = tp / (epsilon + tp + fn)
            return tf.reduce_max(2.0 * precision * recall / (precision + recall + epsilon))

        value = best(*values)
        update = best(*updates)
        if metrics_collections:
            tf.add_to_collections(metrics_collections, value)
        if updates_collections:
            tf.add_to_collections(updates_collections, update)
        return value, update
