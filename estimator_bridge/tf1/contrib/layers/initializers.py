"""Initializers and regularizers of `tf.contrib.layers`."""

import math
import numbers

import tensorflow.compat.v1 as tf

__all__ = [
    "apply_regularization",
    "l1_l2_regularizer",
    "l1_regularizer",
    "l2_regularizer",
    "sum_regularizer",
    "variance_scaling_initializer",
    "xavier_initializer",
]


def xavier_initializer(uniform=True, seed=None, dtype=tf.float32):
    """Returns the initializer of Glorot and Bengio (2010): variance 2 / (inputs + outputs).

    Args:
      uniform: whether to draw from a uniform distribution; else from a truncated normal one.
      seed: seed of the random operation.
      dtype: floating dtype of the weights.

    Returns:
      Function of (shape, dtype, partition_info) that returns a tensor.
    """
    return variance_scaling_initializer(
        factor=1.0, mode="FAN_AVG", uniform=uniform, seed=seed, dtype=dtype
    )


def variance_scaling_initializer(
    factor=2.0, mode="FAN_IN", uniform=False, seed=None, dtype=tf.float32
):
    """Returns an initializer with variance `factor` / n.

    The defaults are those of He et al. (2015).

    Args:
      factor: float, numerator of the variance.
      mode: n is the number of inputs (`FAN_IN`), of outputs (`FAN_OUT`) or their mean (`FAN_AVG`).
      uniform: whether to draw from a uniform distribution; else from a normal one that is truncated
        at two standard deviations.
      seed: seed of the random operation.
      dtype: floating dtype of the weights.

    Returns:
      Function of (shape, dtype, partition_info) that returns a tensor.

    Raises:
      TypeError: dtype is not floating.
      ValueError: the mode is unknown.
    """
    if not tf.as_dtype(dtype).is_floating:
        raise TypeError(f"dtype: expected a floating dtype, got {dtype}")
    if mode not in ("FAN_IN", "FAN_OUT", "FAN_AVG"):
        raise ValueError(f"mode: {mode!r} is unknown; use FAN_IN, FAN_OUT or FAN_AVG")

    def initializer(shape, dtype=dtype, partition_info=None):
        if partition_info is not None:
            # A partition uses the scale of the whole variable.
            fan_shape = [int(dim) for dim in partition_info.full_shape]
        else:
            fan_shape = [int(dim) for dim in shape]
        if not fan_shape:
            n = 1.0
        else:
            field = math.prod(fan_shape[:-2])
            fan_in = float(fan_shape[-2] if len(fan_shape) > 1 else fan_shape[-1]) * field
            fan_out = float(fan_shape[-1]) * field
            n = {"FAN_IN": fan_in, "FAN_OUT": fan_out, "FAN_AVG": (fan_in + fan_out) / 2.0}[mode]
        if uniform:
            limit = math.sqrt(3.0 * factor / n)
            return tf.random_uniform(shape, -limit, limit, dtype, seed=seed)
        # Truncation at two standard deviations reduces the variance; the factor 1.3 compensates.
        stddev = math.sqrt(1.3 * factor / n)
        return tf.truncated_normal(shape, 0.0, stddev, dtype, seed=seed)

    return initializer


def _check_scale(name, scale):
    if isinstance(scale, numbers.Integral):
        raise ValueError(f"{name}: expected a float, got the integer {scale}")
    if isinstance(scale, numbers.Real) and scale < 0.0:
        raise ValueError(f"{name}: {scale} is negative")


def l1_regularizer(scale, scope=None):
    """Returns a regularizer: `scale` times the sum of absolute values.

    Args:
      scale: number, not negative; 0.0 disables the regularizer.
      scope: name of the name scope.

    Returns:
      Function of a weight tensor that returns a scalar, or None.

    Raises:
      ValueError: `scale` is negative or an integer.
    """
    _check_scale("scale", scale)
    if isinstance(scale, numbers.Real) and scale == 0.0:
        tf.logging.info("Scale of 0 disables regularizer.")
        return lambda _: None

    def l1(weights, name=None):
        with tf.name_scope(scope, "l1_regularizer", [weights]) as name:
            factor = tf.convert_to_tensor(scale, dtype=weights.dtype.base_dtype, name="scale")
            return tf.multiply(factor, tf.reduce_sum(tf.abs(weights)), name=name)

    return l1


def l2_regularizer(scale, scope=None):
    """Returns a regularizer: `scale` times half the sum of squares.

    Args:
      scale: number, not negative; 0.0 disables the regularizer.
      scope: name of the name scope.

    Returns:
      Function of a weight tensor that returns a scalar, or None.

    Raises:
      ValueError: `scale` is negative or an integer.
    """
    _check_scale("scale", scale)
    if isinstance(scale, numbers.Real) and scale == 0.0:
        tf.logging.info("Scale of 0 disables regularizer.")
        return lambda _: None

    def l2(weights):
        with tf.name_scope(scope, "l2_regularizer", [weights]) as name:
            factor = tf.convert_to_tensor(scale, dtype=weights.dtype.base_dtype, name="scale")
            return tf.multiply(factor, tf.nn.l2_loss(weights), name=name)

    return l2


def l1_l2_regularizer(scale_l1=1.0, scale_l2=1.0, scope=None):
    """Returns the sum of an L1 and an L2 regularizer.

    Args:
      scale_l1: scale of the L1 regularizer.
      scale_l2: scale of the L2 regularizer.
      scope: name of the name scope.

    Returns:
      Function of a weight tensor that returns a scalar.

    Raises:
      ValueError: a scale is negative or an integer.
    """
    _check_scale("scale_l1", scale_l1)
    _check_scale("scale_l2", scale_l2)
    scope = scope or "l1_l2_regularizer"
    if scale_l1 == 0.0:
        return l2_regularizer(scale_l2, scope)
    if scale_l2 == 0.0:
        return l1_regularizer(scale_l1, scope)
    return sum_regularizer([l1_regularizer(scale_l1), l2_regularizer(scale_l2)], scope=scope)


def sum_regularizer(regularizer_list, scope=None):
    """Returns the sum of regularizers as one regularizer, or None for an empty list.

    Args:
      regularizer_list: list of regularizers; None entries are skipped.
      scope: name of the name scope.

    Returns:
      Function of a weight tensor that returns a scalar, or None.
    """
    regularizers = [regularizer for regularizer in regularizer_list if regularizer is not None]
    if not regularizers:
        return None

    def total(weights):
        with tf.name_scope(scope, "sum_regularizer", [weights]) as name:
            terms = [regularizer(weights) for regularizer in regularizers]
            terms = [term for term in terms if term is not None]
            return tf.add_n(terms, name=name) if terms else None

    return total


def apply_regularization(regularizer, weights_list=None):
    """Adds the regularization of weights to the regularization losses.

    Args:
      regularizer: function of a weight tensor that returns a scalar.
      weights_list: list of tensors; None for the collection WEIGHTS.

    Returns:
      Scalar tensor, the sum over all weights.

    Raises:
      ValueError: there are no weights, or the regularizer does not return scalars.
    """
    weights_list = weights_list or tf.get_collection(tf.GraphKeys.WEIGHTS)
    if not weights_list:
        raise ValueError("apply_regularization: there are no weights")
    with tf.name_scope("get_regularization_penalty", values=weights_list) as scope:
        penalties = [regularizer(weights) for weights in weights_list]
        penalties = [tf.constant(0.0) if penalty is None else penalty for penalty in penalties]
        for penalty in penalties:
            if penalty.get_shape().ndims != 0:
                raise ValueError(f"regularizer: expected it to return a scalar, got {penalty}")
        total = tf.add_n(penalties, name=scope)
        tf.add_to_collection(tf.GraphKeys.REGULARIZATION_LOSSES, total)
        return total
