"""Masks of weights, and the collections in which `Pruning` finds them."""

import tensorflow.compat.v1 as tf

__all__ = [
    "apply_mask",
    "collect_masked",
    "get_masked_weights",
    "get_masks",
    "get_thresholds",
    "get_weight_sparsity",
    "get_weights",
]

# The names of 1.x; programs also read the collections by them.
_MASKS, _THRESHOLDS = "masks", "thresholds"
_MASKED_WEIGHTS, _WEIGHTS = "masked_weights", "kernel"


def collect_masked(weights, mask, threshold):
    """Returns weights x mask, and adds all of them to their collections.

    Args:
      weights: floating variable.
      mask: variable of the same shape, of ones and zeros.
      threshold: scalar variable.

    Returns:
      Floating tensor of the shape of `weights`.
    """
    masked = tf.multiply(mask, weights, name="weights/masked_weight")
    for name, value in (
        (_THRESHOLDS, threshold),
        (_MASKS, mask),
        (_MASKED_WEIGHTS, masked),
        (_WEIGHTS, weights),
    ):
        tf.add_to_collection(name, value)
    return masked


def apply_mask(x, scope=""):
    """Multiplies weights by a mask, which `Pruning` updates.

    Creates the variables `<scope>/mask`, of the shape of `x` and with ones at first, and
    `<scope>/threshold`, a scalar. Weights whose mask exists already are not added to the
    collections again.

    Args:
      x: floating variable, the weights.
      scope: name of the variable scope, or a VariableScope.

    Returns:
      Floating tensor of the shape of `x`.
    """
    ones, zeros = tf.ones_initializer(), tf.zeros_initializer()
    with tf.variable_scope(scope, auxiliary_name_scope=False):
        mask = tf.get_variable("mask", x.shape, x.dtype.base_dtype, ones, trainable=False)
        threshold = tf.get_variable("threshold", [], x.dtype.base_dtype, zeros, trainable=False)
    if any(mask is one for one in get_masks()):
        return tf.multiply(mask, x, name="weights/masked_weight")
    return collect_masked(x, mask, threshold)


def get_masks():
    """Returns the list of the mask variables of the default graph."""
    return tf.get_collection(_MASKS)


def get_thresholds():
    """Returns the list of the threshold variables of the default graph, in the order of masks."""
    return tf.get_collection(_THRESHOLDS)


def get_masked_weights():
    """Returns the list of the tensors mask x weights of the default graph."""
    return tf.get_collection(_MASKED_WEIGHTS)


def get_weights():
    """Returns the list of the masked weight variables of the default graph."""
    return tf.get_collection(_WEIGHTS)


def get_weight_sparsity():
    """Returns the share of zeros in each mask: a list of float32 scalar tensors."""
    return [tf.nn.zero_fraction(mask) for mask in get_masks()]
