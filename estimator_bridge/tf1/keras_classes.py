"""Classes of `tf.keras` where Keras 2 computes or saves something else than TensorFlow 1.15.

`tf.keras.losses.cosine_similarity` has the other sign, the optimizer Ftrl one variable more, the
optimizer "adagrad" begins with other sums, LinearModel has other names of variables, and
WideDeepModel adds its parts instead of averaging them. A functional model has no node until it is
called. Some names and methods are gone; those that TensorFlow 2.0 has as well come from `era`.
"""

import functools
import importlib
import types
from typing import Any

import tensorflow.compat.v1 as tf

from estimator_bridge.era import names
from estimator_bridge.tf1 import private_keras

__all__ = ["install"]

_VERSION = (1, 15)


def install() -> None:
    """Replaces classes and functions of Keras; calling it again has no effect."""
    source = private_keras.source()
    package = source.partition(".")[0]
    losses = importlib.import_module(f"{source}.losses")
    if hasattr(losses, "cosine_proximity"):
        return
    names.supply(package, _VERSION)
    _replace_cosine(losses, f"{package}.api._v1.keras")
    _drop_beta(importlib.import_module(f"{source}.optimizers.legacy.ftrl").Ftrl)
    _begin_with_zero(importlib.import_module(f"{source}.optimizers.legacy.adagrad").Adagrad)
    importlib.import_module(f"{source}.premade_models.linear").LinearModel.build = _build_linear
    combined = importlib.import_module(f"{source}.premade_models.wide_deep").WideDeepModel
    combined.call = _average(combined.call)
    functional = importlib.import_module(f"{source}.engine.functional").Functional
    node = importlib.import_module(f"{source}.engine.node").Node
    functional._init_graph_network = _add_own_node(functional._init_graph_network, node)


def _replace_cosine(losses: types.ModuleType, api: str) -> None:
    """Gives the similarity as a loss the sign of 1.15: it is 1 for equal directions."""

    def cosine_proximity(y_true: Any, y_pred: Any, axis: int = -1) -> Any:
        y_true = tf.nn.l2_normalize(tf.cast(y_true, y_pred.dtype), axis=axis)
        return tf.reduce_sum(y_true * tf.nn.l2_normalize(y_pred, axis=axis), axis=axis)

    public = importlib.import_module(f"{api}.losses")
    by_name = importlib.import_module(f"{losses.__package__}.metrics")
    for module in (losses, by_name, public):
        vars(module).update(cosine_proximity=cosine_proximity, cosine_similarity=cosine_proximity)
    for module in (public, importlib.import_module(f"{api}.metrics")):
        vars(module).update(cosine=cosine_proximity, cosine_proximity=cosine_proximity)


def _drop_beta(kind: Any) -> None:
    """Keeps the optimizer Ftrl from making a variable of `beta`, which 1.15 does not have."""
    original = kind.__init__

    def __init__(optimizer: Any, *arguments: Any, **options: Any) -> None:
        original(optimizer, *arguments, **options)
        beta = optimizer._hyper["beta"]
        optimizer._hyper["beta"] = lambda: beta

    kind.__init__ = __init__


def _begin_with_zero(kind: Any) -> None:
    """Makes the optimizer that is named "adagrad" begin with sums of 0, as in 1.15."""
    original = kind.from_config.__func__

    def from_config(cls: Any, config: dict[str, Any], custom_objects: Any = None) -> Any:
        return original(cls, {"initial_accumulator_value": 0.0, **config}, custom_objects)

    kind.from_config = classmethod(from_config)


def _build_linear(model: Any, input_shape: Any) -> None:
    """Makes a Dense layer for each input of a LinearModel; each is built by its first call."""
    named = isinstance(input_shape, dict)
    several = named or any(not isinstance(one, (int, type(None))) for one in input_shape)
    keys = sorted(input_shape) if named else [None] * (len(input_shape) if several else 1)
    model.dense_layers = [
        tf.keras.layers.Dense(
            model.units,
            use_bias=False,
            kernel_initializer=model.kernel_initializer,
            kernel_regularizer=model.kernel_regularizer,
            name=key,
        )
        for key in keys
    ]
    model.bias = (
        model.add_weight(
            "bias",
            shape=model.units,
            initializer=model.bias_initializer,
            regularizer=model.bias_regularizer,
            dtype=model.dtype,
            trainable=True,
        )
        if model.use_bias
        else None
    )
    tf.keras.layers.Layer.build(model, input_shape)


def _average(call: Any) -> Any:
    """Returns what calls a WideDeepModel: the mean of its two parts, [batch, units]."""

    @functools.wraps(call)
    def averaged(model: Any, inputs: Any, training: Any = None) -> Any:
        activation, model.activation = model.activation, None
        try:
            found = call(model, inputs, training=training)
        finally:
            model.activation = activation
        return tf.nest.map_structure(lambda one: (activation or tf.identity)(0.5 * one), found)

    return averaged


def _add_own_node(connect: Any, node: Any) -> Any:
    """Returns what connects a functional model: its first node links its inputs to its outputs.

    So `get_input_at(0)` works before the model is called, and the first call makes node 1. Keras 2
    expects that as well where it reads and writes configurations (`_should_skip_first_node`).

    Args:
      connect: the method of Keras 2.
      node: its class of nodes.
    """

    class OwnNode(node):
        def __init__(self, model: Any) -> None:
            # Not that of the class, which would count as a call of the model.
            self.layer = model
            self.is_input = False
            self.outputs = model._nested_outputs
            self.call_args = (model._nested_inputs,)
            self.call_kwargs: dict[str, Any] = {}
            self._keras_inputs = self._flat_arguments = ()

    @functools.wraps(connect)
    def connect_and_add(model: Any, *arguments: Any, **options: Any) -> None:
        connect(model, *arguments, **options)
        nodes = model._inbound_nodes
        # A Sequential model is connected again with each layer that is added.
        if not nodes or isinstance(nodes[0], OwnNode):
            nodes[:1] = [OwnNode(model)]

    return connect_and_add
