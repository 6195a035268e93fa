"""Finds the layers of a graph whose weights and activations are quantized.

A layer is a convolution or a product of matrices with weights. Its outputs are those of the
activation after it, with a bias, a folded batch normalization and a residual connection between
them, if there are any.
"""

from typing import Any, NamedTuple, Optional

from estimator_bridge.tf1.contrib.quantize import graphs
from estimator_bridge.tf1.contrib.quantize.batch_norms import LAYERS

RELUS = ("Relu", "Relu6")
_ACTIVATIONS = (*RELUS, "Identity")


class Layer(NamedTuple):
    """A layer.

    Attributes:
      op: the convolution or product of matrices.
      weights: tensor, its weights.
      activation: operation whose outputs are those of the layer.
      bias: operation that adds the bias or ends a folded batch normalization, or None.
      bypass: operation that adds a residual connection before the activation, or None.
      after: operation that adds one after the activation, or None.
    """

    op: Any
    weights: Any
    activation: Any = None
    bias: Any = None
    bypass: Any = None
    after: Any = None


def _is_variable(tensor):
    return tensor.op.type == "Identity" and tensor.op.inputs[0].op.type in graphs.VARIABLES


def _are_weights(tensor):
    """Returns whether a tensor may be weights: a variable that is read, or a product.

    A variable may be read by two operations, and may have two partitions.
    """
    op = tensor.op
    if op.type in ("ReadVariableOp", "Mul"):
        return True
    if op.type != "Identity":
        return False
    source = op.inputs[0]
    if source.op.type in graphs.VARIABLES or _is_variable(source):
        return True
    inputs = source.op.inputs
    return source.op.type == "ConcatV2" and len(inputs) == 3 and _is_variable(inputs[0])


def _match_layer(tensor) -> Optional[Layer]:
    """Matches the outputs of a convolution or product, of a dilated one, too."""
    op = tensor.op
    if op.type == "BatchToSpaceND":
        op = op.inputs[0].op
    if op.type in LAYERS:
        # The second input is preferred.
        for place in (1, 0):
            if _are_weights(op.inputs[place]):
                return Layer(op, op.inputs[place])
    return None


def _first(matcher, tensors):
    return next((found for tensor in tensors if (found := matcher(tensor)) is not None), None)


def _match_bias(tensor) -> Optional[Layer]:
    """Matches a bias after a layer."""
    op = tensor.op
    if op.type in (*graphs.ADDS, "BiasAdd"):
        found = _first(_match_layer, op.inputs)
        return found and found._replace(bias=op)
    return None


def _match_folded(tensor) -> Optional[Layer]:
    """Matches a folded batch normalization with its correction: layer * a + b + c."""

    def is_added(one):
        return _first(is_multiplied, one.op.inputs) if one.op.type in graphs.ADDS else None

    def is_multiplied(one):
        return _first(_match_layer, one.op.inputs) if one.op.type == "Mul" else None

    if tensor.op.type in graphs.ADDS:
        found = _first(is_added, tensor.op.inputs)
        return found and found._replace(bias=tensor.op)
    return None


def _match_identity(tensor) -> Optional[Layer]:
    return _match_folded(tensor.op.inputs[0]) if tensor.op.type == "Identity" else None


def _match_bypass(tensor) -> Optional[Layer]:
    """Matches a residual connection after a layer with a bias."""
    if tensor.op.type not in graphs.ADDS:
        return None
    for part in tensor.op.inputs:
        for matcher in (_match_bias, _match_folded, _match_identity):
            found = matcher(part)
            if found:
                return found._replace(bypass=tensor.op)
    return None


def _match_activation(tensor) -> Optional[Layer]:
    if tensor.op.type not in _ACTIVATIONS:
        return None
    matchers = (_match_bias, _match_folded, _match_bypass, _match_identity, _match_layer)
    for matcher in matchers:
        found = matcher(tensor.op.inputs[0])
        if found:
            return found._replace(activation=tensor.op)
    return None


def _match_after(op) -> Optional[Layer]:
    """Matches a residual connection after an activation."""
    if op.type in graphs.ADDS:
        found = _first(_match_activation, reversed(list(op.inputs)))
        return found and found._replace(after=op)
    return None


def _match_with_activation(op) -> Optional[Layer]:
    return _match_activation(op.outputs[0]) if op.type in _ACTIVATIONS else None


def _match_without_activation(op) -> Optional[Layer]:
    if op.type not in (*graphs.ADDS, "BiasAdd"):
        return None
    found = _match_bias(op.outputs[0]) or _match_folded(op.outputs[0])
    return found and found._replace(activation=op)


def _match_before_layer(op) -> Optional[Layer]:
    """Matches a layer whose outputs another one reads, such as the parts of a separable one."""
    if op.type not in LAYERS:
        return None
    for place in (0, 1):
        if _are_weights(op.inputs[1 - place]):
            found = _match_layer(op.inputs[place])
            if found:
                return found._replace(activation=found.op)
    return None


def find_layers(graph):
    """Returns the layers of a graph in the order in which 1.x quantizes them.

    Args:
      graph: tf.Graph.
    """
    found: dict[Any, Layer] = {}
    for matcher in (
        *(_match_after, _match_with_activation, _match_without_activation, _match_before_layer),
    ):
        for op in graph.get_operations():
            layer = matcher(op) if op.outputs else None
            if layer:
                found.setdefault(layer.op, layer)
    return list(found.values())


def describe_in_1x(op):
    """Returns the name and the type that a sum or product has in 1.x, or None.

    There, `+` adds AddV2, tf.add adds Add, and dropout multiplies by the mask.

    Args:
      op: operation.
    """
    scope, _, name = op.name.rpartition("/")
    if op.type == "AddV2":
        return op.name, op.type if name.startswith("add") else "Add"
    if op.type == "SelectV2" and _is_dropout(op):
        return graphs.join(scope, "mul_1"), "Mul"
    if op.type == "Mul" and any(map(_is_dropout, op.outputs[0].consumers())):
        return graphs.join(scope, "mul"), "Mul"
    return (op.name, op.type) if op.type in ("Add", "Mul") else None


def _is_dropout(op):
    """Returns whether an operation selects what dropout keeps."""
    if op.type != "SelectV2":
        return False
    scopes = {graphs.context_of(one) for one in (op, op.inputs[0].op, op.inputs[1].op)}
    types = (op.inputs[0].op.type, op.inputs[1].op.type)
    return len(scopes) == 1 and types == ("GreaterEqual", "Mul")
