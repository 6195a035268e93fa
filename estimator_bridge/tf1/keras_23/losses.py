"""Losses of Keras 2.0 to 2.3 that differ from those of `tf.keras` in TensorFlow 1.15."""

from typing import Any

import tensorflow.compat.v1 as tf

__all__ = ["cosine", "cosine_proximity"]


def cosine_proximity(y_true: Any, y_pred: Any) -> Any:
    """Returns the negative similarity, -1 for equal directions; that of 1.15 has the other sign.

    Args:
      y_true: float [batch, ..., depth].
      y_pred: float [batch, ..., depth].

    Returns:
      float [batch, ...].
    """
    y_true = tf.nn.l2_normalize(tf.cast(y_true, y_pred.dtype), axis=-1)
    return -tf.reduce_sum(y_true * tf.nn.l2_normalize(y_pred, axis=-1), axis=-1)


cosine = cosine_proximity
