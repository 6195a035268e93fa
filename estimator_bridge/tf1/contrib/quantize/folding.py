"""Folds batch normalizations into the weights of the layer before them.

With the moments of the batch, the weights are scaled by those of the moving averages, so that they
do not jitter from batch to batch. The outputs are then corrected to what the moments of the batch
give (Krishnamoorthi, 2018, arXiv:1806.08342, section 3.2.2).
"""

from typing import Any, NamedTuple

import tensorflow.compat.v1 as tf

from estimator_bridge.private_tf import attr_value_pb2
from estimator_bridge.tf1.contrib.quantize import graphs
from estimator_bridge.tf1.contrib.quantize.batch_norms import find_averages, find_batch_norms

_GRADIENT = "EstimatorBridgeFoldedBatchNorm"


@tf.RegisterGradient(_GRADIENT)
def _differentiate_moments(op, _, of_mean, of_variance, *__):
    """Returns the gradients of a fused batch normalization of which only the moments are used.

    TensorFlow's own gradient takes the moments for constants. With n values x of a channel, the
    derivative of the mean is 1 / n, and that of the unbiased variance 2 (x - mean) / (n - 1).
    """
    x, mean = op.inputs[0], op.outputs[1]
    count = tf.cast(tf.size(x) / tf.size(mean), tf.float32)
    of_x = of_mean / count + 2.0 * of_variance * (x - mean) / (count - 1.0)
    return [of_x, *[None] * (len(op.inputs) - 1)]


class _Correction(NamedTuple):
    """What a folded layer multiplies its weights and outputs by and adds to them; [channels]."""

    scale: Any
    reciprocal: Any
    offset: Any


def fold_batch_norms(graph, is_training, freeze_delay):
    """Replaces batch normalizations by layers with scaled weights and a bias.

    Args:
      graph: the default graph.
      is_training: whether the graph is trained.
      freeze_delay: number of runs after which the moving averages are used and no longer change,
        or None.

    Raises:
      ValueError: a batch normalization cannot be folded.
    """
    for norm in find_batch_norms(graph):
        # Single operations with the moments of the batch are corrected in training only.
        corrected = norm.of_batch and (norm.fused or is_training)
        scope = graphs.context_of(norm.layer) if norm.fused else norm.scope.rpartition("/")[0]
        with graph.name_scope(f"{scope}/" if scope else None):
            _fold(graph, norm, corrected, freeze_delay)


def _fold(graph, norm, corrected, freeze_delay):
    if norm.is_kernel and norm.of_batch:
        gradient = attr_value_pb2.AttrValue(s=_GRADIENT.encode())
        norm.op._set_attr("_gradient_op_type", gradient)
    with tf.name_scope("BatchNorm_Fold" if norm.fused else None) as inner:
        variance = _biased(graph, norm) if norm.is_kernel and norm.of_batch else norm.variance
        scale, shift = norm.scale, norm.shift
        if norm.is_kernel:
            scale = norm.gamma * tf.rsqrt(variance + norm.epsilon)
            shift = tf.subtract(norm.beta, norm.mean * scale, name="bias")
        correction = None
        if corrected:
            correction = _correct(graph, norm, variance, freeze_delay)
    weights = norm.layer.inputs[1]
    if correction is not None:
        factor = _suit(correction.scale, norm.layer, inner, "correction_reshape")
        weights = tf.multiply(factor, weights, name="correction_mult")
    scale = _suit(scale, norm.layer, inner, "scale_reshape")
    weights = tf.multiply(weights, scale, name="mul_fold")
    with graph.name_scope(None):
        name = f"{norm.layer.name}_Fold"
        outputs = graphs.copy_op(norm.layer, [norm.layer.inputs[0], weights], name)
        if norm.to_space is not None:
            others = list(norm.to_space.inputs)[1:]
            name = f"{norm.to_space.name}_Fold"
            outputs = graphs.copy_op(norm.to_space, [outputs, *others], name)
    if correction is not None:
        outputs = tf.multiply(correction.reciprocal, outputs, name="post_conv_mul")
        outputs = graphs.add(outputs, correction.offset, "correction_add")
    outputs = graphs.add(outputs, shift, "add_fold")
    old = norm.op.outputs[0]
    readers = graphs.consumers(old)
    if not norm.fused and [op.type for op in readers] == ["Identity"]:
        # It waits for the updates of the moving averages.
        old = readers[0].outputs[0]
        readers = graphs.consumers(old)
    graphs.reroute(old, outputs, readers)


def _suit(factor, layer, scope, name):
    """Returns a factor of each channel in the shape that the weights of a layer need."""
    if layer.type != "DepthwiseConv2dNative":
        return factor
    _, _, channels, multiplier = layer.inputs[1].shape.as_list()
    with tf.name_scope(scope):
        return tf.reshape(factor, [channels, multiplier], name=name)


def _biased(graph, norm):
    """Returns the biased variance of the batch, which the fused operation uses but never returns.

    The operation returns the variance times n / (n - 1) for n values of each channel.
    """
    with graph.name_scope(f"{norm.scope}/" if norm.scope else None):
        count = tf.cast(tf.size(norm.layer.outputs[0]) / tf.size(norm.gamma), tf.float32)
        return tf.multiply(norm.variance, (count - 1.0) / count, name="Undo_Bessel_Correction")


def _correct(graph, norm, variance, freeze_delay):
    """Returns the correction from the moving averages to the moments of the batch."""
    mean_average, variance_average = find_averages(norm)
    with tf.name_scope("batch_norm_correction"):
        of_averages = tf.rsqrt(variance_average.value + norm.epsilon)
        of_batch = tf.rsqrt(variance + norm.epsilon)
        scale = tf.identity(
            tf.divide(of_averages, of_batch, name="scale_compute"), name="correction_scale"
        )
        reciprocal = tf.reciprocal(scale, name="reciprocal_compute")
        offset = norm.mean * of_batch - mean_average.value * of_averages
        if norm.gamma is not None:
            offset = tf.multiply(norm.gamma, offset, name="offset_compute")
        if freeze_delay is None:
            return _Correction(scale, reciprocal, tf.zeros_like(offset, name="zeros"))
        frozen = tf.greater_equal(graphs.get_step(graph), freeze_delay, name="use_moving_average")
        _freeze(frozen, mean_average.decay, "freeze_moving_mean")
        _freeze(frozen, variance_average.decay, "freeze_moving_var")
        return _Correction(
            scale,
            _select(frozen, tf.ones_like(reciprocal), reciprocal, "correction_recip"),
            _select(frozen, offset, tf.zeros_like(offset), "correction_offset"),
        )


def _select(condition, if_true, if_false, name):
    return tf.cond(condition, lambda: if_true, lambda: if_false, name=name)


def _freeze(frozen, decay, name):
    """Lets a moving average change no more once it is frozen."""
    readers = graphs.consumers(decay)
    graphs.reroute(decay, _select(frozen, tf.zeros_like(decay), decay, name), readers)
