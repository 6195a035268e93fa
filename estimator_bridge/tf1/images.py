"""tf.image as in 1.15: boxes whose overlap equals a threshold, and types of results."""

import functools
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

__all__ = ["install"]


@functools.cache
def install() -> None:
    """Sets the functions of tf.image that compute something else in 2.x."""
    image = tf.compat.v1.image
    for name in ("non_max_suppression", "non_max_suppression_with_scores"):
        setattr(image, name, _with_equal(getattr(image, name), "iou_threshold"))
    overlaps = image.non_max_suppression_overlaps
    image.non_max_suppression_overlaps = _with_equal(overlaps, "overlap_threshold")
    image.non_max_suppression_padded = _suppress_and_pad
    image.per_image_standardization = _of_same_type(image.per_image_standardization)


def _with_equal(original: Callable[..., Any], name: str) -> Callable[..., Any]:
    """Returns a function that leaves out a box whose overlap equals the threshold, as 1.15 does.

    2.x leaves it out only if its overlap is larger. Soft suppression, whose scores decrease with
    the overlap, has no threshold in 2.x, and stays so.

    Args:
      original: the function of 2.x.
      name: of its argument with the threshold.
    """
    signature = inspect.signature(original)

    @functools.wraps(original)
    def suppress(*args: Any, **kwargs: Any) -> Any:
        given = signature.bind(*args, **kwargs)
        given.apply_defaults()
        values = given.arguments
        if _read_static(values.get("soft_nms_sigma", 0.0)) == 0:
            lower = _lower(values[name], values["max_output_size"])
            values[name], values["max_output_size"] = lower
        return original(*given.args, **given.kwargs)

    return suppress


def _read_static(value: Any) -> Any:
    """Returns the value of a number or of a constant tensor; None for another tensor."""
    return tf.get_static_value(value) if tf.is_tensor(value) else value


def _lower(threshold: Any, most: Any) -> tuple[Any, Any]:
    """Returns the next lower threshold, and the largest number of boxes.

    Every overlap is at least 0, so a threshold of 0 leaves the best box only.
    """
    value = _read_static(threshold)
    if value is not None:
        if value > 0:
            return np.nextafter(np.float32(value), np.float32(0)), most
        return threshold, tf.minimum(most, 1) if tf.is_tensor(most) else min(most, 1)
    threshold = tf.cast(threshold, tf.float32)
    is_above = threshold > 0
    lower = tf.bitcast(tf.bitcast(threshold, tf.int32) - 1, tf.float32)
    return tf.where(is_above, lower, threshold), tf.where(is_above, most, tf.minimum(most, 1))


def _suppress_and_pad(  # noqa: PLR0913 - the arguments of 1.15
    boxes,
    scores,
    max_output_size,
    iou_threshold=0.5,
    score_threshold=float("-inf"),
    pad_to_max_output_size=False,
    name=None,
):
    """Returns selected_indices, int32 [boxes], and valid_outputs, int32 scalar."""
    with tf.name_scope(name or "non_max_suppression_padded"):
        threshold, most = _lower(iou_threshold, max_output_size)
        found = tf.raw_ops.NonMaxSuppressionV4(
            boxes=boxes,
            scores=scores,
            max_output_size=most,
            iou_threshold=tf.convert_to_tensor(threshold, tf.float32),
            score_threshold=tf.convert_to_tensor(score_threshold, tf.float32),
            pad_to_max_output_size=pad_to_max_output_size,
        )
        if not pad_to_max_output_size or most is max_output_size:
            return found
        rest = max_output_size - tf.size(found.selected_indices)
        return found._replace(selected_indices=tf.pad(found.selected_indices, [[0, rest]]))


def _of_same_type(original: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a function whose result has the type of the images, if that is a floating one.

    Of integers, 1.15 gives the result as integers, of which nothing is left.
    """

    @functools.wraps(original)
    def standardize(image):
        image = tf.convert_to_tensor(image)
        result = original(image)
        return tf.cast(result, image.dtype) if image.dtype.is_floating else result

    return standardize
