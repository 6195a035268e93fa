"""Finds batch normalizations that follow a layer with weights."""

import re
from typing import Any, NamedTuple, Optional

from estimator_bridge.tf1.contrib.quantize import graphs

LAYERS = ("Conv2D", "DepthwiseConv2dNative", "MatMul")
_FUSED = ("FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3")
# tf.contrib.layers.batch_norm marks what 1.x computes with the fused operation.
MARK = "_fused_batch_norm_1x"
# 1.x finds a batch normalization of single operations by the default scope of this layer.
_UNFUSED_NAME = re.compile(r"(?:.*/)?BatchNorm/batchnorm(?:_1)?/add_1")


class BatchNorm(NamedTuple):
    """A batch normalization: gamma * (x - mean) / sqrt(variance + epsilon) + beta.

    Attributes:
      op: operation that computes the outputs.
      layer: the convolution or product of matrices that computes x.
      to_space: the BatchToSpaceND between them, or None.
      scope: name of the scope of the normalization.
      fused: whether 1.x computes it with the fused operation.
      of_batch: whether mean and variance are those of the batch.
      gamma: tensor [channels], or None.
      beta: tensor [channels] of the fused operation, or None.
      mean: tensor [channels].
      variance: tensor [channels]; the unbiased one if a fused operation computes that of a batch.
      epsilon: number or scalar.
      scale: gamma / sqrt(variance + epsilon) of single operations, or None.
      shift: beta - mean * scale of single operations, or None.
    """

    op: Any
    layer: Any
    to_space: Any
    scope: str
    fused: bool
    of_batch: bool
    gamma: Any
    beta: Any
    mean: Any
    variance: Any
    epsilon: Any
    scale: Any = None
    shift: Any = None

    @property
    def is_kernel(self):
        """Returns whether the fused operation computes it here, too."""
        return self.op.type in _FUSED


class Average(NamedTuple):
    """The moving average of a moment of the batch.

    Attributes:
      value: tensor [channels], the average.
      decay: scalar: the share of the moment of the batch in the next average.
    """

    value: Any
    decay: Any


def _find_layer(tensor):
    """Returns (layer, BatchToSpaceND or None), or None if no layer computes a tensor."""
    op, to_space = tensor.op, None
    if op.type == "BatchToSpaceND":
        op, to_space = op.inputs[0].op, op
    return (op, to_space) if op.type in LAYERS else None


def _reads_variable(tensor):
    op = tensor.op
    return op.type == "ReadVariableOp" or (
        op.type == "Identity" and op.inputs[0].op.type in graphs.VARIABLES
    )


def _match_kernel(op) -> Optional[BatchNorm]:
    found = _find_layer(op.inputs[0])
    if not found:
        return None
    of_batch = op.get_attr("is_training")
    mean, variance = (op.outputs[1], op.outputs[2]) if of_batch else op.inputs[3:5]
    layer, to_space = found
    return BatchNorm(
        op=op,
        layer=layer,
        to_space=to_space,
        scope=graphs.context_of(op),
        fused=True,
        of_batch=of_batch,
        gamma=op.inputs[1],
        beta=op.inputs[2],
        mean=mean,
        variance=variance,
        epsilon=op.get_attr("epsilon"),
    )


def _is(op, *types):
    return op.type in types


def _match_operations(op) -> Optional[BatchNorm]:
    """Matches x * scale + shift; scale is gamma * rsqrt(variance + epsilon) or without gamma."""
    product, shift = (tensor.op for tensor in op.inputs)
    if not _is(product, "Mul") or not (found := _find_layer(product.inputs[0])):
        return None
    scale = product.inputs[1]
    gamma, inverse = None, scale.op
    if _is(inverse, "Mul"):
        inverse, gamma = inverse.inputs[0].op, inverse.inputs[1]
    if not _is(inverse, "Rsqrt") or not _is(inverse.inputs[0].op, *graphs.ADDS):
        return None
    variance, epsilon = inverse.inputs[0].op.inputs
    scaled_mean = shift.inputs[1].op if _is(shift, "Sub") else shift
    if not _is(scaled_mean, "Mul"):
        return None
    mean = scaled_mean.inputs[0]
    if _is(mean.op, "Neg"):
        mean = mean.op.inputs[0]
    layer, to_space = found
    return BatchNorm(
        op=op,
        layer=layer,
        to_space=to_space,
        scope=graphs.context_of(product).rpartition("/")[0],
        fused=_is_marked(op),
        of_batch=not _reads_variable(mean),
        gamma=gamma,
        beta=None,
        mean=mean,
        variance=variance,
        epsilon=epsilon,
        scale=scale,
        shift=op.inputs[1],
    )


def _is_marked(op):
    try:
        return op.get_attr(MARK)
    except ValueError:
        return False


def find_parts(graph):
    """Returns the operations that 1.x computes as parts of fused batch normalizations.

    Args:
      graph: tf.Graph.
    """
    found = set()
    for op in graph.get_operations():
        if op.type in graphs.ADDS and _is_marked(op):
            found |= {op, op.inputs[0].op}
    return found


def find_batch_norms(graph):
    """Returns the batch normalizations of layers, in the order of their operations.

    Args:
      graph: tf.Graph.
    """
    found, layers = [], set()
    for op in graph.get_operations():
        match = None
        if op.type in _FUSED:
            match = _match_kernel(op)
        elif op.type in graphs.ADDS and (_UNFUSED_NAME.fullmatch(op.name) or _is_marked(op)):
            match = _match_operations(op)
        if match and match.layer not in layers and op.outputs[0].consumers():
            layers.add(match.layer)
            found.append(match)
    return [one for one in found if one.fused] + [one for one in found if not one.fused]


def _find_update(moment, may_be_scaled):
    for op in moment.consumers():
        if op.type == "Sub" and "AssignMovingAvg" in op.name and op.inputs[1] is moment:
            products = [one for one in op.outputs[0].consumers() if one.type == "Mul"]
            if products:
                return Average(op.inputs[0], products[0].inputs[1])
    for op in moment.consumers() if may_be_scaled else ():
        # The variance without bias.
        if op.type == "Mul" and (found := _find_update(op.outputs[0], False)):
            return found
    return None


def find_averages(norm: BatchNorm):
    """Returns the moving averages of the mean and of the variance.

    Args:
      norm: batch normalization with the moments of the batch.

    Returns:
      Two of Average.

    Raises:
      ValueError: the graph has no moving averages of these moments.
    """
    found = [_find_update(norm.mean, False), _find_update(norm.variance, True)]
    if None in found:
        raise ValueError(
            f"{norm.op.name}: there are no moving averages of its mean and variance, which folding "
            "it into the weights needs"
        )
    return found
