"""Supplies names that TensorFlow 2.0 to 2.15 had, or refuses them with what to do instead."""

import functools
import importlib
import inspect
import types
from typing import Any

from ..process.importing import call_when_imported
from . import (
    keras_classes,
    mixed_precision,
    options,
    preprocessing,
    refused,
    scikit_learn_api,
    strategies,
)
from .publish import Build, add_missing, publish

__all__ = ["supply"]

# Removed from Sequential in TensorFlow 2.6.
_PREDICT_CLASSES_REMOVED_IN = (2, 6)
# The second argument of load_weights, and the third of save, were other ones before.
_WEIGHTS_BY_NAME_MOVED_IN = (2, 12)

# Packages that are missing as a whole.
_PACKAGES = (
    "compat.v1.keras.mixed_precision.experimental",
    "compat.v1.keras.wrappers",
    "compat.v1.keras.wrappers.scikit_learn",
    "compat.v1.lite.experimental.nn",
    "keras.mixed_precision.experimental",
    "keras.wrappers",
    "keras.wrappers.scikit_learn",
    "mixed_precision",
    "mixed_precision.experimental",
)
_RANDOM_LAYERS = (
    *("RandomContrast", "RandomCrop", "RandomFlip", "RandomHeight", "RandomRotation"),
    *("RandomTranslation", "RandomWidth", "RandomZoom"),
)
_PREPROCESSING = (
    *("HashedCrossing", "IntegerLookup", "StringLookup", "TextVectorization"),
    *_RANDOM_LAYERS,
)
_LOSS_SCALES = ("DynamicLossScale", "FixedLossScale", "LossScale")
_GRAPH_REWRITES = (
    *("enable_mixed_precision_graph_rewrite", "disable_mixed_precision_graph_rewrite"),
)

# Missing name -> the name under which it is there, both below `tensorflow`.
_MOVED = {
    "compat.v1.lookup.experimental.DatasetInitializer": "data.experimental.DatasetInitializer",
    "lookup.experimental.DatasetInitializer": "data.experimental.DatasetInitializer",
    **{
        f"{package}.experimental.{name}": f"compat.v1.mixed_precision.{name}"
        for package in ("mixed_precision", "train")
        for name in _LOSS_SCALES
    },
    **{
        f"train.experimental.{name}": f"compat.v1.mixed_precision.{name}"
        for name in _GRAPH_REWRITES
    },
}
# Name below `tf.keras` -> the module that defines it for programs of 1.x, too.
_KERAS_OF_1X = {
    "experimental.export_saved_model": "keras_exports",
    "experimental.load_from_saved_model": "keras_exports",
    "utils.HDF5Matrix": "keras_hdf5",
    "utils.multi_gpu_model": "keras_replicas",
}
# Package -> layers that it lacks.
_LAYERS = {
    "compat.v1.keras.layers": _RANDOM_LAYERS,
    "compat.v1.keras.layers.experimental.preprocessing": _PREPROCESSING,
}
# Names of operations, which took their arguments by place too.
_OPERATIONS = {
    "compat.v1.batch_mat_mul_v3": "BatchMatMulV3",
    "compat.v1.quantize_and_dequantize_v4": "QuantizeAndDequantizeV4",
    "compat.v1.sparse_segment_sum_grad": "SparseSegmentSumGrad",
    "compat.v1.tpu_partitioned_output_v2": "TPUPartitionedOutputV2",
    "quantize_and_dequantize_v4": "QuantizeAndDequantizeV4",
}


def supply(keras: str, version: tuple[int, int]) -> None:
    """Supplies the names that a version had; TensorFlow has been imported.

    Args:
      keras: the package of Keras 2.
      version: (major, minor) of the TensorFlow that the program was written for.
    """
    import tensorflow as tf

    options.allow(tf)
    names: dict[str, Build] = {
        path: functools.partial(_find, tf, source) for path, source in _MOVED.items()
    }
    for package, layers in _LAYERS.items():
        for name in layers:
            names[f"{package}.{name}"] = functools.partial(_find_layer, keras, name)
    for path, operation in _OPERATIONS.items():
        names[path] = functools.partial(_by_place, tf, operation)
    names.update(_of_both_apis(tf, keras, version))
    names["compat.v1.config.experimental_list_devices"] = lambda: _list_devices
    names["config.experimental_list_devices"] = lambda: _list_devices
    names["keras.dtensor.experimental.layout_map_scope"] = lambda: _layout_map_scope
    for path, module in _KERAS_OF_1X.items():
        for api in ("", "compat.v1."):
            names[f"{api}keras.{path}"] = functools.partial(_find_of_1x, path, module)
    for name in scikit_learn_api.NAMES:
        classes = functools.partial(scikit_learn_api.build, keras)
        for api in ("", "compat.v1."):
            names[f"{api}keras.wrappers.scikit_learn.{name}"] = functools.partial(
                _pick, classes, name
            )
    names.update((path, functools.partial(refused.build, path)) for path in refused.REFUSED)
    publish(keras, names, _PACKAGES)
    if version < strategies.REPLACED_IN:
        strategies.restore(tf)
        strategies.allow_parameter_servers()
        path = strategies.PARAMETER_SERVER
        publish(keras, {path: functools.partial(_find, tf, f"compat.v1.{path}")}, replaces=True)
    if version < preprocessing.REPLACED_IN:
        _restore_preprocessing(keras, version)
    call_when_imported(f"{keras}.src.engine.base_layer", lambda: _add_to_layers(keras))
    if version < _WEIGHTS_BY_NAME_MOVED_IN:
        call_when_imported(f"{keras}.src.engine.training", lambda: _restore_order(keras))
    if version < _PREDICT_CLASSES_REMOVED_IN:
        call_when_imported(f"{keras}.src.engine.sequential", lambda: _add_to_models(keras))


def _find_of_1x(path: str, module: str) -> Any:
    return getattr(importlib.import_module(f"..tf1.{module}", __package__), path.split(".")[-1])


def _keras_version(tensorflow: tuple[int, int]) -> str:
    """Returns the version of Keras that a TensorFlow had; from 2.5 on they were the same."""
    if tensorflow < (2, 2):
        return "2.2.4-tf"
    if tensorflow < (2, 5):
        return "2.3.0-tf" if tensorflow == (2, 2) else "2.4.0"
    return "{}.{}.0".format(*tensorflow)


def _restore_preprocessing(keras: str, version: tuple[int, int]) -> None:
    layers = functools.cache(lambda: preprocessing.build(keras, version))
    package = "keras.layers.experimental.preprocessing"
    names: dict[str, Build] = {
        f"{api}{package}.{name}": functools.partial(_pick, layers, name)
        for api in ("", "compat.v1.")
        for name in preprocessing.NAMES
    }
    publish(keras, names, replaces=True)


def _of_both_apis(tf: types.ModuleType, keras: str, version: tuple[int, int]) -> dict[str, Build]:
    """Returns the names that `tf` and `tf.compat.v1` had alike."""
    names: dict[str, Build] = {
        "config.experimental.disable_mlir_graph_optimization": lambda: _do_nothing,
        "config.experimental.enable_mlir_graph_optimization": lambda: _do_nothing,
        "data.experimental.MapVectorizationOptions": lambda: options.MapVectorizationOptions,
        "data.experimental.StatsOptions": lambda: options.StatsOptions,
        "data.experimental.bytes_produced_stats": lambda: _measure_nothing,
        "data.experimental.latency_stats": lambda: _measure_nothing,
        "keras.__version__": functools.partial(_keras_version, version),
        "keras.backend.binary_weighted_focal_crossentropy": functools.partial(
            _build_focal_crossentropy, tf
        ),
    }
    classes = functools.cache(lambda: keras_classes.build(keras))
    for name in keras_classes.NAMES:
        names[f"keras.experimental.{name}"] = functools.partial(_pick, classes, name)
    scaling = functools.cache(lambda: mixed_precision.build(keras))
    for name in mixed_precision.NAMES:
        names[f"keras.mixed_precision.experimental.{name}"] = functools.partial(
            _pick, scaling, name
        )
    return {**names, **{f"compat.v1.{path}": build for path, build in names.items()}}


def _pick(build: Build, name: str) -> Any:
    return build()[name]


def _find(tf: types.ModuleType, path: str) -> Any:
    found: Any = tf
    for part in path.split("."):
        found = getattr(found, part)
    return found


def _find_layer(keras: str, name: str) -> Any:
    return getattr(importlib.import_module(f"{keras}.src.layers"), name)


def _by_place(tf: types.ModuleType, operation: str) -> Any:
    """Returns a function of an operation that takes its arguments by place and by name."""
    function = getattr(tf.raw_ops, operation)
    signature = inspect.signature(function)

    def call(*arguments: Any, **options: Any) -> Any:
        return function(**signature.bind(*arguments, **options).arguments)

    vars(call)["__signature__"] = signature
    return call


def _do_nothing() -> None:
    """Chooses a compiler of graphs that later versions always use."""


def _measure_nothing(tag: str) -> Any:  # noqa: ARG001 - an argument of the original
    """Returns a transformation for `Dataset.apply` that gives the dataset itself."""
    return lambda dataset: dataset


def _list_devices() -> list[str]:
    """Returns the names of all devices, as 2.0 did."""
    import tensorflow as tf

    task = "/job:localhost/replica:0/task:0"
    return [task + device.name for device in tf.config.list_logical_devices()]


def _layout_map_scope(layout_map: Any) -> Any:
    """Returns the context in which variables are created by a tf.keras.dtensor LayoutMap."""
    return layout_map.scope()


def _build_focal_crossentropy(tf: types.ModuleType) -> Any:
    def binary_weighted_focal_crossentropy(
        target: Any, output: Any, alpha: float = 0.25, gamma: float = 2.0, from_logits: bool = False
    ) -> Any:
        """Returns the focal crossentropy of each element, with the classes weighted by alpha."""
        return tf.keras.backend.binary_focal_crossentropy(
            target, output, True, alpha=alpha, gamma=gamma, from_logits=from_logits
        )

    return binary_weighted_focal_crossentropy


def _add_to_layers(keras: str) -> None:
    layer = importlib.import_module(f"{keras}.src.engine.base_layer").Layer
    add_update = layer.add_update

    def add_update_of_inputs(self: Any, updates: Any, inputs: Any = None) -> None:  # noqa: ARG001
        add_update(self, updates)

    if "inputs" not in inspect.signature(add_update).parameters:
        layer.add_update = add_update_of_inputs
    add_missing(layer, "apply", lambda self, inputs, **options: self(inputs, **options))
    add_missing(layer, "get_updates_for", lambda self, inputs: self.updates)
    add_missing(layer, "get_losses_for", lambda self, inputs: self.losses)


def _restore_order(keras: str) -> None:
    """Gives the arguments of two methods their places until 2.11."""
    model = importlib.import_module(f"{keras}.src.engine.training").Model
    load_weights, save = model.load_weights, model.save

    def load_old(self: Any, filepath: Any, by_name: bool = False, *more: Any, **named: Any) -> Any:
        named.update(zip(("skip_mismatch", "options"), more))
        return load_weights(self, filepath, by_name=by_name, **named)

    def save_old(self: Any, filepath: Any, overwrite: bool = True, *more: Any, **named: Any) -> Any:
        order = ("include_optimizer", "save_format", "signatures", "options", "save_traces")
        return save(self, filepath, overwrite, **dict(zip(order, more)), **named)

    model.load_weights, model.save = load_old, save_old


def _add_to_models(keras: str) -> None:
    model = importlib.import_module(f"{keras}.src.engine.sequential").Sequential
    add_missing(model, "predict_proba", _predict_proba)
    add_missing(model, "predict_classes", _predict_classes)


def _predict_proba(model: Any, x: Any, batch_size: int = 32, verbose: int = 0) -> Any:
    return model.predict(x, batch_size=batch_size, verbose=verbose)


def _predict_classes(model: Any, x: Any, batch_size: int = 32, verbose: int = 0) -> Any:
    scores = model.predict(x, batch_size=batch_size, verbose=verbose)
    if scores.shape[-1] > 1:
        return scores.argmax(axis=-1)
    return (scores > 0.5).astype("int32")
