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
      (value, update operation); the value is a float64 scalar.

    Raises:
      ValueError: there are fewer than two classes.
    """
    if num_classes < 2:
        raise ValueError(f"num_classes: must be at least 2, got {num_classes}")
    with _scope(name, "cohen_kappa"):
        ids = [tf.reshape(tf.to_int64(one), [-1]) for one in (labels, predictions_idx)]
        agreed = tf.boolean_mask(ids[0], tf.equal(*ids))
        dtype = tf.int64 if weights is None else tf.convert_to_tensor(weights).dtype.base_dtype
        flat = tf.ones_like(ids[0]) if weights is None else tf.reshape(weights, [-1])
        groups = [
            (agreed, tf.boolean_mask(flat, tf.equal(*ids)), "po"),
            (ids[0], flat, "pe_row"),
            (ids[1], flat, "pe_col"),
        ]
        counters = [_variable([num_classes], dtype, kind) for _, _, kind in groups]
        found = [
            tf.math.unsorted_segment_sum(counted, classes, num_classes)
            for classes, counted, _ in groups
        ]

        def kappa(agreements, rows, columns, kind):
            total = tf.to_double(tf.reduce_sum(rows))
            agreed = tf.to_double(tf.reduce_sum(agreements))
            chance = tf.reduce_sum(tf.to_double(rows) * tf.to_double(columns))
            chance = tf.div_no_nan(chance, total)
            return tf.div_no_nan(agreed - chance, total - chance, name=kind)

        value = kappa(*map(tf.identity, counters), "value")
        update = kappa(*map(tf.assign_add, counters, found), "update_op")
    return _collect(value, update, metrics_collections, updates_collections)
