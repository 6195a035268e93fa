"""Metrics of `tf.contrib.metrics` of the classes with the highest scores, given as ids."""

import tensorflow.compat.v1 as tf

from estimator_bridge.private_tf import metrics_impl as _impl

__all__ = [
    "sparse_recall_at_top_k",
    "streaming_sparse_average_precision_at_top_k",
    "streaming_sparse_precision_at_top_k",
]


def sparse_recall_at_top_k(
    labels,
    top_k_predictions,
    class_id=None,
    weights=None,
    metrics_collections=None,
    updates_collections=None,
    name=None,
):
    """Computes the share of labels that are among the top k predictions.

    Args:
      labels: int64 tensor or SparseTensor [batch, ..., labels].
      top_k_predictions: integer tensor [batch, ..., k], ids of classes.
      class_id: int, the class that counts; None for all.
      weights: weights [batch, ...] of the examples; None for 1 each.
      metrics_collections: collections that receive the value.
      updates_collections: collections that receive the update operation.
      name: name of the variable scope; the default is `recall_at_k`.

    Returns:
      (value, update operation); float64 scalars.
    """
    return tf.metrics.recall_at_top_k(
        *(labels, top_k_predictions),
        class_id=class_id,
        weights=weights,
        metrics_collections=metrics_collections,
        updates_collections=updates_collections,
        name=name,
    )


def streaming_sparse_precision_at_top_k(
    top_k_predictions,
    labels,
    class_id=None,
    weights=None,
    metrics_collections=None,
    updates_collections=None,
    name=None,
):
    """Computes the share of the top k predictions that are among the labels.

    Args:
      top_k_predictions: integer tensor [batch, ..., k], ids of classes.
      labels: int64 tensor or SparseTensor [batch, ..., labels].
      class_id: int, the class that counts; None for all.
      weights: weights [batch, ...] of the examples; None for 1 each.
      metrics_collections: collections that receive the value.
      updates_collections: collections that receive the update operation.
      name: name of the variable scope; the default is `precision_at_k`.

    Returns:
      (value, update operation); float64 scalars.
    """
    return tf.metrics.precision_at_top_k(
        *(labels, top_k_predictions),
        class_id=class_id,
        weights=weights,
        metrics_collections=metrics_collections,
        updates_collections=updates_collections,
        name=name,
    )


def streaming_sparse_average_precision_at_top_k(
    top_k_predictions,
    labels,
    weights=None,
    metrics_collections=None,
    updates_collections=None,
    name=None,
):
    """Computes the mean of the average precision of the top k predictions.

    Args:
      top_k_predictions: integer tensor [batch, ..., k], ids of classes, the best first; k must be
        known.
      labels: int64 tensor or SparseTensor [batch, ..., labels] or [batch, ...].
      weights: weights [batch, ...] of the examples; None for 1 each.
      metrics_collections: collections that receive the value.
      updates_collections: collections that receive the update operation.
      name: name of the variable scope; the default is `average_precision_at_top_k`.

    Returns:
      (value, update operation); float64 scalars.

    Raises:
      ValueError: k is unknown.
    """
    return _impl._streaming_sparse_average_precision_at_top_k(
        *(labels, top_k_predictions, weights),
        *(metrics_collections, updates_collections, name),
    )
