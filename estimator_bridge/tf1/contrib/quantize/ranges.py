"""Rounds a tensor as its quantization does, within a range that the graph measures.

The scheme is that of Jacob et al. (2017, arXiv:1712.05877).
"""

from typing import NamedTuple, Optional

import tensorflow.compat.v1 as tf

from estimator_bridge.tf1.contrib.quantize import graphs

_DECAY = 0.999


class Options(NamedTuple):
    """How a graph is quantized.

    Attributes:
      is_training: whether the ranges are measured.
      weight_bits: number of bits of weights.
      activation_bits: number of bits of activations.
      symmetric: whether the ranges are symmetric around zero.
      quant_delay: number of runs after which the graph quantizes, or None.
      scope: name of the scope to quantize, or None for the whole graph.
    """

    is_training: bool
    weight_bits: int
    activation_bits: int
    symmetric: bool
    quant_delay: Optional[int]
    scope: Optional[str]


def quantize_weights(graph, tensor, prefix, options: Options):
    """Returns weights with the rounding of their quantization, between their extremes.

    Args:
      graph: the default graph.
      tensor: weights, float32.
      prefix: name of the scope of the new variables `min` and `max`.
      options: how the graph is quantized.
    """
    with tf.variable_scope(None, default_name=prefix, values=[tensor]):
        ranges = _make_range(-6.0, 6.0)
        if options.is_training:
            ends = _measure(tensor, options.weight_bits, True, options.symmetric)
            ranges = [
                tf.assign(variable, end, name=f"Assign{end_name}Last")
                for variable, end, end_name in zip(ranges, ends, ("Min", "Max"))
            ]
        quantized = _round(tensor, ranges, options.weight_bits, True)
    return _delay(graph, tensor, quantized, prefix, options)


def quantize_activations(graph, tensor, prefix, initial, options: Options):
    """Returns activations with the rounding of their quantization.

    The range is a moving average of their extremes.

    Args:
      graph: the default graph.
      tensor: activations, float32.
      prefix: name of the scope of the new variables.
      initial: initial range: two numbers.
      options: how the graph is quantized.
    """
    with tf.variable_scope(None, default_name=prefix, values=[tensor]):
        ranges = _make_range(*initial)
        if options.is_training:
            ends = _measure(tensor, options.activation_bits, False, options.symmetric)
            ranges = [
                _average(variable, end, f"Assign{end_name}Ema")
                for variable, end, end_name in zip(ranges, ends, ("Min", "Max"))
            ]
        quantized = _round(tensor, ranges, options.activation_bits, False)
    return _delay(graph, tensor, quantized, prefix, options)


def _make_range(*initial):
    return [
        tf.get_variable(
            name,
            [],
            initializer=tf.constant_initializer(value),
            trainable=False,
            collections=[tf.GraphKeys.GLOBAL_VARIABLES],
        )
        for name, value in zip(("min", "max"), initial)
    ]


def _measure(tensor, bits, narrow_range, symmetric):
    """Returns the extremes of a tensor; the range between them contains zero."""
    low, high = tf.reduce_min(tensor, name="BatchMin"), tf.reduce_max(tensor, name="BatchMax")
    if not symmetric:
        return tf.minimum(low, 0.0), tf.maximum(high, 0.0)
    # Of 2 ** bits steps, one more is below zero, unless the range is narrow.
    above = 2 ** (bits - 1) - 1
    ratio = -1.0 if narrow_range else -above / (above + 1)
    return tf.minimum(low, high / ratio), tf.maximum(high, low * ratio)


def _average(variable, value, name):
    """Assigns a moving average without the bias towards its start (Kingma and Ba, 2014)."""
    with tf.variable_scope(variable.op.name, values=[variable, value]):
        biased, local_step = (
            tf.get_variable(
                one, [], initializer=tf.zeros_initializer(), trainable=False, use_resource=False
            )
            for one in ("biased", "local_step")
        )
    with tf.name_scope(name) as scope:
        share = tf.constant(1.0 - _DECAY, name="decay")
        sum_so_far = tf.assign_sub(biased, (biased - value) * share, name="AssignSub")
        steps = tf.assign_add(local_step, tf.ones([]), name="AssignAdd")
        without_bias = sum_so_far / (1.0 - tf.pow(1.0 - share, steps))
        return tf.assign(variable, without_bias, name=scope)


def _round(tensor, ranges, bits, narrow_range):
    low, high = (tf.convert_to_tensor(one) for one in ranges)
    return tf.quantization.fake_quant_with_min_max_vars(
        *(tensor, low, high, bits, narrow_range), name="FakeQuantWithMinMaxVars"
    )


def _delay(graph, tensor, quantized, prefix, options):
    if not options.quant_delay or options.quant_delay <= 0:
        return quantized
    step = graphs.get_step(graph)
    active = tf.greater_equal(
        step, tf.constant(options.quant_delay, tf.int64), name=f"{prefix}/activate_quant"
    )
    return tf.cond(active, lambda: quantized, lambda: tensor, name=f"{prefix}/delayed_quant")
