"""The functions of `tf.contrib.quantize`, which rewrite a graph in place."""

import tensorflow.compat.v1 as tf

from estimator_bridge.tf1.contrib.quantize import graphs
from estimator_bridge.tf1.contrib.quantize.batch_norms import find_parts
from estimator_bridge.tf1.contrib.quantize.folding import fold_batch_norms
from estimator_bridge.tf1.contrib.quantize.layers import RELUS, describe_in_1x, find_layers
from estimator_bridge.tf1.contrib.quantize.ranges import (
    Options,
    quantize_activations,
    quantize_weights,
)

_SYMMETRIC = (-6.0, 6.0)
_POSITIVE = (0.0, 6.0)
# Operations whose outputs are values of their inputs.
_KEEPING = ("BatchToSpaceND", "Identity", "Max", "MaxPool", "Reshape", "SpaceToBatchND")


def create_training_graph(input_graph=None, quant_delay=0):
    """Rewrites a graph for training with simulated quantization, in place.

    Batch normalizations are folded into the weights, and weights and activations are rounded as
    with 8 bits (Jacob et al., 2017, arXiv:1712.05877). Call it before the gradients are built.
    The variables of the ranges are added to the global variables.

    Args:
      input_graph: tf.Graph, or None for the default graph.
      quant_delay: number of runs after which the graph quantizes.

    Raises:
      ValueError: a batch normalization cannot be folded.
    """
    _rewrite(input_graph, Options(True, 8, 8, False, quant_delay, None))


def create_eval_graph(input_graph=None):
    """Rewrites a graph for evaluation with simulated quantization, in place.

    The ranges are variables that a checkpoint of training contains.

    Args:
      input_graph: tf.Graph, or None for the default graph.

    Raises:
      ValueError: a batch normalization cannot be folded.
    """
    _rewrite(input_graph, Options(False, 8, 8, False, None, None))


def experimental_create_training_graph(
    input_graph=None,
    weight_bits=8,
    activation_bits=8,
    symmetric=False,
    quant_delay=0,
    freeze_bn_delay=None,
    scope=None,
):
    """Rewrites a graph for training like create_training_graph, with more options.

    Args:
      input_graph: tf.Graph, or None for the default graph.
      weight_bits: number of bits of weights.
      activation_bits: number of bits of activations.
      symmetric: whether the ranges are symmetric around zero.
      quant_delay: number of runs after which the graph quantizes.
      freeze_bn_delay: number of runs after which the moving averages of batch normalizations no
        longer change and are used instead of the moments of the batch, or None.
      scope: name of the scope whose layers are quantized, or None for the whole graph. Batch
        normalizations are folded everywhere.

    Raises:
      ValueError: a batch normalization cannot be folded.
    """
    options = Options(True, weight_bits, activation_bits, symmetric, quant_delay, scope)
    _rewrite(input_graph, options, freeze_bn_delay)


def experimental_create_eval_graph(
    input_graph=None,
    weight_bits=8,
    activation_bits=8,
    symmetric=False,
    quant_delay=None,
    scope=None,
):
    """Rewrites a graph for evaluation like create_eval_graph, with more options.

    Args:
      input_graph: tf.Graph, or None for the default graph.
      weight_bits: number of bits of weights.
      activation_bits: number of bits of activations.
      symmetric: whether the ranges are symmetric around zero.
      quant_delay: number of runs after which the graph quantizes, or None.
      scope: name of the scope whose layers are quantized, or None for the whole graph. Batch
        normalizations are folded everywhere.

    Raises:
      ValueError: a batch normalization cannot be folded.
    """
    options = Options(False, weight_bits, activation_bits, symmetric, quant_delay, scope)
    _rewrite(input_graph, options)


def _rewrite(graph, options: Options, freeze_delay=None):
    graph = graph or tf.get_default_graph()
    with graph.as_default():
        fold_batch_norms(graph, options.is_training, freeze_delay)
        _Quantizer(graph, options).run()


def _is_quantized(tensor):
    """Returns whether an operation quantizes a tensor already, also in another shape."""
    return any(
        op.type.startswith("FakeQuant")
        or (op.type in ("Identity", "Reshape") and _is_quantized(op.outputs[0]))
        for op in tensor.consumers()
    )


class _Quantizer:
    """Quantizes the layers of a graph, and the sums and products of quantized tensors.

    Args:
      graph: the default graph.
      options: how it is quantized.
    """

    def __init__(self, graph, options: Options):
        self._graph = graph
        self._options = options
        self._quantized: set[tf.Operation] = set()

    def run(self):
        """Quantizes the graph."""
        for layer in find_layers(self._graph):
            self._quantize_layer(layer)
        parts = find_parts(self._graph)
        sums = [(op, describe_in_1x(op)) for op in self._graph.get_operations() if op not in parts]
        for op, described in sums:
            if described and self._is_inside(op):
                self._quantize_sum(op, *described)

    def _is_inside(self, op):
        scope = self._options.scope
        return not scope or op.name.startswith(scope if scope.endswith("/") else f"{scope}/")

    def _quantize_layer(self, layer):
        context = graphs.context_of(layer.op)
        if self._is_inside(layer.op):
            self._quantize(layer.weights, graphs.join(context, "weights_quant"))
        if self._is_inside(layer.activation):
            around = context.rpartition("/")[0] if layer.bypass else context
            self._quantize(layer.activation.outputs[0], graphs.join(around, "act_quant"), _POSITIVE)
        if layer.bypass and self._is_inside(layer.bias) and self._is_inside(layer.bypass):
            name = graphs.join(context, "conv_quant")
            self._quantize(layer.bias.outputs[0], name, _SYMMETRIC)
        if layer.after and self._is_inside(layer.after):
            self._quantize_after(layer.after)

    def _quantize_after(self, op):
        """Quantizes a residual connection after an activation, unless an activation reads it."""
        if not any(reader.type in RELUS for reader in graphs.consumers(op.outputs[0])):
            name = graphs.join(graphs.context_of(op), "post_activation_bypass_quant")
            self._quantize(op.outputs[0], name, _SYMMETRIC)

    def _quantize_sum(self, op, name, kind):
        """Quantizes a sum or product of a quantized tensor, unless just an activation reads it."""
        readers = graphs.consumers(op.outputs[0])
        if [reader.type in RELUS for reader in readers] == [True]:
            return
        if any(self._comes_quantized(tensor) for tensor in op.inputs):
            self._quantize(op.outputs[0], f"{name}/activation_{kind}_quant", _SYMMETRIC)

    def _comes_quantized(self, tensor):
        op = tensor.op
        while op.type in _KEEPING:
            op = op.inputs[0].op
        return op.type == "FakeQuantWithMinMaxVars" or op in self._quantized

    def _quantize(self, tensor, prefix, initial=None):
        """Lets what reads a tensor read the quantized one; weights have no initial range."""
        if _is_quantized(tensor):
            return
        readers = graphs.consumers(tensor)
        if initial is None:
            new = quantize_weights(self._graph, tensor, prefix, self._options)
        else:
            new = quantize_activations(self._graph, tensor, prefix, initial, self._options)
        graphs.reroute(tensor, new, readers)
        self._quantized.add(new.op)
