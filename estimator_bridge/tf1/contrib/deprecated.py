"""`tf.contrib.deprecated`: the summaries of TensorFlow 0.x, whose tags are exactly those given.

Until 0.12 the functions were in `tf` itself, where programs find them too.
"""

import tensorflow.compat.v1 as tf

from estimator_bridge.tf1.contrib.package import unsupported_names as _unsupported_names

__getattr__, _advice_for = _unsupported_names(globals(), default_advice="use tf.summary")


def _collect(summary, collections):
    for collection in [tf.GraphKeys.SUMMARIES] if collections is None else collections:
        tf.add_to_collection(collection, summary)
    return summary


def scalar_summary(tags, values, collections=None, name=None):
    """Returns a summary of scalars, a string tensor.

    Args:
      tags: strings of the same shape as `values`.
      values: real tensor.
      collections: collections that it is added to; None for SUMMARIES.
      name: name of the operation, or None.
    """
    with tf.name_scope(name, "ScalarSummary", [tags, values]) as scope:
        summary = tf.raw_ops.ScalarSummary(tags=tags, values=values, name=scope)
        return _collect(summary, collections)


def histogram_summary(tag, values, collections=None, name=None):
    """Returns a summary of a distribution, a string tensor.

    Args:
      tag: string.
      values: real tensor of any shape.
      collections: collections that it is added to; None for SUMMARIES.
      name: name of the operation, or None.
    """
    with tf.name_scope(name, "HistogramSummary", [tag, values]) as scope:
        summary = tf.raw_ops.HistogramSummary(tag=tag, values=values, name=scope)
        return _collect(summary, collections)


def image_summary(tag, tensor, max_images=3, collections=None, name=None):
    """Returns a summary of images, a string tensor.

    Args:
      tag: string.
      tensor: [images, height, width, channels], uint8 or float32.
      max_images: int, the number of images that are written.
      collections: collections that it is added to; None for SUMMARIES.
      name: name of the operation, or None.
    """
    with tf.name_scope(name, "ImageSummary", [tag, tensor]) as scope:
        summary = tf.raw_ops.ImageSummary(tag=tag, tensor=tensor, max_images=max_images, name=scope)
        return _collect(summary, collections)


def audio_summary(tag, tensor, sample_rate, max_outputs=3, collections=None, name=None):
    """Returns a summary of sounds, a string tensor.

    Args:
      tag: string.
      tensor: [sounds, frames] or [sounds, frames, channels], float32 in [-1, 1].
      sample_rate: samples per second.
      max_outputs: int, the number of sounds that are written.
      collections: collections that it is added to; None for SUMMARIES.
      name: name of the operation, or None.
    """
    with tf.name_scope(name, "AudioSummary", [tag, tensor]) as scope:
        summary = tf.raw_ops.AudioSummaryV2(
            tag=tag,
            tensor=tensor,
            sample_rate=tf.convert_to_tensor(sample_rate, tf.float32),
            max_outputs=max_outputs,
            name=scope,
        )
        return _collect(summary, collections)


def merge_summary(inputs, collections=None, name=None):
    """Returns one summary with the values of several, a string tensor.

    Args:
      inputs: list of string tensors.
      collections: collections that it is added to; None for none.
      name: name of the operation, or None.
    """
    with tf.name_scope(name, "MergeSummary", inputs):
        summary = tf.raw_ops.MergeSummary(inputs=inputs, name=name)
        return _collect(summary, collections or [])


def merge_all_summaries(key=tf.GraphKeys.SUMMARIES):
    """Returns one summary of all that a collection contains; None if it is empty.

    Args:
      key: name of the collection.
    """
    summaries = tf.get_collection(key)
    return merge_summary(summaries) if summaries else None
