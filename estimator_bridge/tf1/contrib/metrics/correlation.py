"""Streaming correlation and agreement metrics of `tf.contrib.metrics`."""

import tensorflow.compat.v1 as tf

__all__ = ["cohen_kappa", "streaming_covariance", "streaming_pearson_correlation"]


def _variable(shape, dtype, name):
    return tf.get_variable(
        name,
        shape=shape,
        dtype=dtype,
        initializer=tf.zeros_initializer(),
        trainable=False,
        collections=[tf.GraphKeys.LOCAL_VARIABLES, tf.GraphKeys.METRIC_VARIABLES],
    )


def _scope(name, default):
    # As in tf.metrics, each call has its own scope.
    return tf.variable_scope(name, default)


def _collect(value, update, metrics_collections, updates_collections):
    if metrics_collections:
        tf.add_to_collections(metrics_collections, value)
    if updates_collections:
        tf.add_to_collections(updates_collections, update)
    return value, update


def streaming_covariance(
    predictions,
    labels,
    weights=None,
    metrics_collections=None,
    updates_collections=None,
    name=None,
):
    """Computes the unbiased sample covariance of all values; NaN for fewer than two.

    Batches are merged by the pairwise formula of Chan, Golub and LeVeque (1983).

    Args:
      predictions: floating tensor.
      labels: floating tensor of the shape of `predictions`.
      weights: weights of the examples, broadcastable to their shape; None for 1 each.
      metrics_collections: collections that receive the value.
      updates_collections: collections that receive the update operation.
      name: name of the variable scope.

    Returns:
      (value, update operation); the value is a scalar.
    """
    with _scope(name, "covariance"):
        predictions = tf.to_float(predictions)
        labels = tf.to_float(labels)
        predictions.shape.assert_is_compatible_with(labels.shape)
        count, mean_p, mean_l, moment = (
            _variable([], tf.float32, one)
            for one in ("count", "mean_prediction", "mean_label", "comoment")
        )
        weights = tf.ones_like(labels) if weights is None else tf.to_float(weights)
        weights = tf.broadcast_to(weights, tf.shape(labels))
        batch = tf.reduce_sum(weights)
        batch_p = tf.div_no_nan(tf.reduce_sum(predictions * weights), batch)
        batch_l = tf.div_no_nan(tf.reduce_sum(labels * weights), batch)
        batch_moment = tf.reduce_sum((predictions - batch_p) * (labels - batch_l) * weights)

        before, before_p, before_l = tf.identity(count), tf.identity(mean_p), tf.identity(mean_l)
        total = before + batch
        share = tf.div_no_nan(batch, total)
        step_p, step_l = batch_p - before_p, batch_l - before_l
        added = batch_moment + step_p * step_l * before * share
        # Read all variables before the first update.
        with tf.control_dependencies([total, share, step_p, step_l, added]):
            writes = [
                tf.assign(count, total),
                tf.assign(mean_p, before_p + step_p * share),
                tf.assign(mean_l, before_l + step_l * share),
                tf.assign_add(moment, added),
            ]
        value = _covariance(count, moment, "value")
        with tf.control_dependencies(writes):
            update = _covariance(count, moment, "update_op")
    return _collect(value, update, metrics_collections, updates_collections)


def _covariance(count, moment, name):
    count, moment = tf.identity(count), tf.identity(moment)
    nan = tf.constant(float("nan"))
    return tf.where(count > 1, moment / tf.maximum(count - 1, 1), nan, name=name)


def streaming_pearson_correlation(
    predictions,
    labels,
    weights=None,
    metrics_collections=None,
    updates_collections=None,
    name=None,
):
    """Computes Pearson's correlation of all values.

    Args:
      predictions: floating tensor.
      labels: floating tensor of the shape of `predictions`.
      weights: weights of the examples, broadcastable to their shape; None for 1 each.
      metrics_collections: collections that receive the value.
      updates_collections: collections that receive the update operation.
      name: name of the variable scope.

    Returns:
      (value, update operation); the value is a scalar.
    """
    with _scope(name, "pearson_r"):
        pairs = [
            streaming_covariance(one, other, weights, name=scope)
            for one, other, scope in (
                (predictions, labels, "covariance"),
                (predictions, predictions, "variance_predictions"),
                (labels, labels, "variance_labels"),
            )
        ]
        value, update = (
            tf.div(together, tf.sqrt(of_predictions) * tf.sqrt(of_labels), name=kind)
            for (together, of_predictions, of_labels), kind in zip(
                zip(*pairs), ("pearson_r", "update_op")
            )
        )
    return _collect(value, update, metrics_collections, updates_collections)


def cohen_kappa(
    labels,
    predictions_idx,
    num_classes,
    weights=None,
    metrics_collections=None,
    updates_collections=None,
    name=None,
):
    """Computes Cohen's kappa, the agreement of two raters beyond chance (Cohen, 1960).

    Args:
      labels: integer tensor [batch] or [batch, 1], classes below `num_classes`.
      predictions_idx: integer tensor of the shape of `labels`.
      num_classes: int, number of classes.
      weights: weights of the examples, broadcastable to their shape; None for 1 each.
      metrics_collections: collections that receive the value.
      updates_collections: collections that receive the update operation.
      name: name of the variable scope.

    Returns:
      (value, update operation); the value is a scalar.
    """
    with _scope(name, "cohen_kappa"):
        confusion = _variable([num_classes, num_classes], tf.float64, "confusion")
        flat = lambda values: tf.reshape(tf.to_int64(values), [-1])  # noqa: E731
        weights = None if weights is None else tf.reshape(tf.cast(weights, tf.float64), [-1])
        found = tf.math.confusion_matrix(
            flat(labels), flat(predictions_idx), num_classes, weights=weights, dtype=tf.float64
        )

        def kappa(matrix, kind):
            rows, columns = tf.reduce_sum(matrix, 0), tf.reduce_sum(matrix, 1)
            total = tf.reduce_sum(rows)
            chance = tf.div_no_nan(tf.reduce_sum(rows * columns), total)
            above = tf.linalg.trace(matrix) - chance
            return tf.to_float(tf.div_no_nan(above, total - chance), name=kind)

        value = kappa(tf.identity(confusion), "value")
        update = kappa(tf.assign_add(confusion, found), "update_op")
    return _collect(value, update, metrics_collections, updates_collections)
