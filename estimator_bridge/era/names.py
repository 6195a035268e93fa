"""Supplies names that TensorFlow 2.0 to 2.12 had, or refuses them with what to do instead."""

import importlib
import sys
import types
from collections.abc import Callable
from typing import Any

from ..errors import BridgeError
from ..process.importing import call_when_imported

__all__ = ["supply"]

# Removed from Sequential in TensorFlow 2.6.
_PREDICT_CLASSES_REMOVED_IN = (2, 6)
# The last version with the private and experimental names below is 2.12 or earlier.
_REMOVED_BEFORE = (2, 13)

# Names that are not supplied, by their path below `tensorflow`, with the remedy.
_REFUSED = {
    "keras.wrappers": "use the package scikeras, whose classes have the same names",
    "keras.layers.experimental.preprocessing.CategoryCrossing": (
        "use tf.keras.layers.HashedCrossing, or tf.strings.join of the columns before StringLookup"
    ),
    "data.experimental.StatsAggregator": "use the TensorFlow profiler; results do not change",
    "data.experimental.StatsOptions": "use the TensorFlow profiler; results do not change",
    "data.experimental.bytes_produced_stats": "remove it; it changed no data",
    "data.experimental.latency_stats": "remove it; it changed no data",
    "lookup.experimental.DatasetInitializer": (
        "use tf.data.experimental.table_from_dataset or tf.lookup.KeyValueTensorInitializer"
    ),
}

# Options of tf.data that changed the speed only. Programs may set them; nothing follows.
_OPTIONS_WITHOUT_EFFECT = (
    "autotune",
    "autotune_buffers",
    "autotune_cpu_budget",
    "autotune_ram_budget",
    "filter_with_random_uniform_fusion",
    "hoist_random_uniform",
    "map_vectorization",
    "reorder_data_discarding_ops",
)


def supply(keras: str, version: tuple[int, int]) -> None:
    """Supplies the names that a version had; TensorFlow has been imported.

    Args:
      keras: the package of Keras 2.
      version: (major, minor) of the TensorFlow that the program was written for.
    """
    if version >= _REMOVED_BEFORE:
        return
    import tensorflow as tf

    for name in _OPTIONS_WITHOUT_EFFECT:
        _allow_setting(tf.data.experimental.OptimizationOptions, name)
    _add_missing(tf.config.experimental, "enable_mlir_graph_optimization", lambda: None)
    _add_missing(tf, "quantize_and_dequantize_v4", tf.raw_ops.QuantizeAndDequantizeV4)
    _supply_mixed_precision(tf)
    call_when_imported(f"{keras}.api._v2.keras", lambda: _supply_keras(keras, version))
    for path, remedy in _REFUSED.items():
        if not path.startswith("keras."):
            owner, _, name = path.rpartition(".")
            _refuse(_find(tf, owner), name, f"tf.{path}", remedy)


def _find(tf: types.ModuleType, path: str) -> Any:
    found: Any = tf
    for part in path.split("."):
        found = getattr(found, part)
    return found


def _add_missing(owner: Any, name: str, value: Any) -> None:
    if not hasattr(owner, name):
        setattr(owner, name, value)


def _allow_setting(kind: type, name: str) -> None:
    """Gives a class of options a property that keeps what is set and does nothing else."""
    if hasattr(kind, name):
        return
    kept = f"_kept_{name}"
    # Options refuse attributes that they do not know; object's own method sets any.
    setattr(
        kind,
        name,
        property(
            lambda options: vars(options).get(kept),
            lambda options, value: vars(options).__setitem__(kept, value),
        ),
    )


def _refuse(owner: Any, name: str, path: str, remedy: str) -> None:
    """Makes the use of a name raise a BridgeError that tells what to do."""
    if hasattr(owner, name):
        return

    def refuse(*_: Any, **__: Any) -> Any:
        raise BridgeError(f"{path} is not supplied on this TensorFlow: {remedy}.")

    class _Refused(types.ModuleType):
        def __getattr__(self, attribute: str) -> Any:
            # Imports of modules below this one ask for the path first.
            if attribute.startswith("__") and attribute != "__path__":
                raise AttributeError(attribute)
            return refuse()

        __call__ = refuse

    refused = _Refused(path)
    setattr(owner, name, refused)
    sys.modules[path.replace("tf.", "tensorflow.", 1)] = refused


def _supply_mixed_precision(tf: types.ModuleType) -> None:
    """The loss scales of TensorFlow 2.0 to 2.3; compat.v1 still has them."""
    old = tf.compat.v1.mixed_precision
    if not hasattr(tf, "mixed_precision"):
        experimental = types.ModuleType("tensorflow.mixed_precision.experimental")
        for name in ("DynamicLossScale", "FixedLossScale", "LossScale"):
            setattr(experimental, name, getattr(old, name))
        package = types.ModuleType("tensorflow.mixed_precision")
        vars(package)["experimental"] = experimental
        vars(tf)["mixed_precision"] = package
    for name in ("enable_mixed_precision_graph_rewrite", "disable_mixed_precision_graph_rewrite"):
        _add_missing(tf.train.experimental, name, getattr(old, name))


def _supply_keras(keras: str, version: tuple[int, int]) -> None:
    api = f"{keras}.api._v2.keras"
    layers = importlib.import_module(f"{keras}.src.engine.base_layer")
    models = importlib.import_module(f"{keras}.src.engine.sequential")
    experimental = importlib.import_module(f"{api}.experimental")
    mixed_precision = importlib.import_module(f"{api}.mixed_precision")
    _add_missing(layers.Layer, "apply", lambda layer, inputs, **options: layer(inputs, **options))
    _add_missing(layers.Layer, "get_updates_for", lambda layer, inputs: layer.updates)
    _add_missing(layers.Layer, "get_losses_for", lambda layer, inputs: layer.losses)
    if version < _PREDICT_CLASSES_REMOVED_IN:
        _add_missing(models.Sequential, "predict_proba", _predict_proba)
        _add_missing(models.Sequential, "predict_classes", _predict_classes)
    from . import keras_classes

    for name, kind in keras_classes.build(keras).items():
        _add_missing(experimental, name, kind)
    if not hasattr(mixed_precision, "experimental"):
        old = types.ModuleType(f"{api}.mixed_precision.experimental")
        vars(old).update(
            Policy=mixed_precision.Policy,
            global_policy=mixed_precision.global_policy,
            set_policy=mixed_precision.set_global_policy,
            LossScaleOptimizer=_build_loss_scale_optimizer(mixed_precision),
        )
        mixed_precision.experimental = old  # type: ignore[attr-defined]
    for path, remedy in _REFUSED.items():
        if path.startswith("keras."):
            owner, _, name = path.rpartition(".")
            module = importlib.import_module(f"{keras}.api._v2.{owner}")
            _refuse(module, name, f"tf.{path}", remedy)


def _predict_proba(model: Any, x: Any, batch_size: int = 32, verbose: int = 0) -> Any:
    return model.predict(x, batch_size=batch_size, verbose=verbose)


def _predict_classes(model: Any, x: Any, batch_size: int = 32, verbose: int = 0) -> Any:
    scores = model.predict(x, batch_size=batch_size, verbose=verbose)
    if scores.shape[-1] > 1:
        return scores.argmax(axis=-1)
    return (scores > 0.5).astype("int32")


def _build_loss_scale_optimizer(mixed_precision: types.ModuleType) -> Callable[..., Any]:
    def build(optimizer: Any, loss_scale: Any = "dynamic") -> Any:
        """Wraps an optimizer; the scale is 'dynamic', a number or a LossScale of TensorFlow."""
        kind = mixed_precision.LossScaleOptimizer
        if loss_scale == "dynamic":
            return kind(optimizer)
        if hasattr(loss_scale, "increment_period"):
            return kind(
                optimizer,
                initial_scale=loss_scale.initial_loss_scale,
                dynamic_growth_steps=loss_scale.increment_period,
            )
        fixed = loss_scale() if callable(loss_scale) else loss_scale
        return kind(optimizer, dynamic=False, initial_scale=float(fixed))

    return build
