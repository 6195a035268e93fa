"""Descriptions of Keras models as Keras wrote them then, so that it can read them again.

Keras 2 describes layers with arguments that did not exist, and gives some classes other names. A
model that is saved as HDF5 or JSON has the description of TensorFlow 1.15, or that of Keras 2.2 if
the program takes its layers from the package `keras`. An argument is only left out where it has its
default.
"""

import functools
import types
from typing import Any

import numpy as np

from estimator_bridge.tf1 import private_keras

__all__ = ["install"]

_CONVOLUTIONS = (
    *("Conv1D", "Conv2D", "Conv3D", "Conv2DTranspose", "Conv3DTranspose", "DepthwiseConv2D"),
    *("SeparableConv1D", "SeparableConv2D"),
)
_POOLS = tuple(f"Global{kind}Pooling{n}D" for kind in ("Average", "Max") for n in (1, 2, 3))
_RECURRENT = ("ConvLSTM2D", "CuDNNGRU", "CuDNNLSTM", "GRU", "LSTM", "RNN", "SimpleRNN")
_ANY = object()

# Layer -> its arguments that 1.15 does not have, with their defaults.
_ADDED: dict[str, dict[str, Any]] = {
    **dict.fromkeys(_CONVOLUTIONS, {"groups": 1}),
    **dict.fromkeys(_POOLS, {"keepdims": False}),
    **dict.fromkeys(("AlphaDropout", "GaussianDropout", "GaussianNoise"), {"seed": None}),
    "AdditiveAttention": {"dropout": 0.0},
    "Attention": {"dropout": 0.0, "score_mode": "dot"},
    "InputLayer": {"optional": False},
}
# Layer -> its arguments that `tf.keras` of 1.15 has, and the package `keras` has not.
_ONLY_IN_TF: dict[str, dict[str, Any]] = {
    **dict.fromkeys(_RECURRENT, {"time_major": False}),
    **dict.fromkeys(
        ("SeparableConv1D", "SeparableConv2D"),
        {"kernel_initializer": _ANY, "kernel_regularizer": _ANY, "kernel_constraint": _ANY},
    ),
    "InputLayer": {"ragged": False},
    "Lambda": {"module": _ANY, "output_shape_module": _ANY},
    "LocallyConnected1D": {"data_format": "channels_last", "implementation": 1},
    "LocallyConnected2D": {"implementation": 1},
}
# Initializer -> what it is as VarianceScaling: scale, mode and distribution.
_SCALED = {
    "HeNormal": (2.0, "fan_in", "truncated_normal"),
    "HeUniform": (2.0, "fan_in", "uniform"),
    "LecunNormal": (1.0, "fan_in", "truncated_normal"),
    "LecunUniform": (1.0, "fan_in", "uniform"),
}
_SCALED_IN_KERAS = {
    **_SCALED,
    "GlorotNormal": (1.0, "fan_avg", "truncated_normal"),
    "GlorotUniform": (1.0, "fan_avg", "uniform"),
}
_INITIALIZERS = frozenset(
    [
        *("Constant", "Identity", "Ones", "Orthogonal", "RandomNormal", "RandomUniform"),
        *("TruncatedNormal", "VarianceScaling", "Zeros"),
    ]
)
# Optimizer -> its arguments that the package `keras` does not have, with their defaults.
_OPTIMIZERS: dict[str, dict[str, Any]] = {
    "Adagrad": {"initial_accumulator_value": 0.0},
    "RMSprop": {"centered": False, "momentum": 0.0},
}


def install() -> None:
    """Makes Keras write such descriptions; calling it again has no effect."""
    hdf5 = private_keras.load_source("saving.legacy.hdf5_format")
    model = private_keras.load_source("engine.training").Model
    if hasattr(model._updated_config, "__wrapped__"):
        return
    model._updated_config = _describe(model._updated_config)
    # SavedModels use the original.
    copy = types.ModuleType(hdf5.saving_utils.__name__, hdf5.saving_utils.__doc__)
    vars(copy).update(vars(hdf5.saving_utils))
    vars(copy)["model_metadata"] = _describe_saved(copy.model_metadata)
    hdf5.saving_utils = copy
    hdf5.save_attributes_to_hdf5_group = _store_fixed(hdf5.save_attributes_to_hdf5_group)
    hdf5.save_optimizer_weights_to_hdf5_group = _add_maxima(
        hdf5.save_optimizer_weights_to_hdf5_group
    )


def _describe(original: Any) -> Any:
    """Returns the method that describes a model for `to_json`."""

    @functools.wraps(original)
    def _updated_config(model: Any) -> Any:
        return _convert(original(model), _is_of_package())

    return _updated_config


def _describe_saved(original: Any) -> Any:
    """Returns what describes a model in an HDF5 file."""

    @functools.wraps(original)
    def model_metadata(model: Any, *arguments: Any, **options: Any) -> dict[str, Any]:
        metadata = original(model, *arguments, **options)
        of_package = _is_of_package()
        metadata["model_config"] = _convert(metadata["model_config"], of_package)
        for name in ("keras_version", "backend"):
            # Read as bytes.
            metadata[name] = str(metadata[name]).encode()
        training = metadata.get("training_config", {})
        if of_package and "optimizer_config" in training:
            training["optimizer_config"] = _convert_optimizer(training["optimizer_config"])
        return metadata

    return model_metadata


def _store_fixed(original: Any) -> Any:
    """Returns what stores a list of names: as texts of fixed length, which Keras 2.2 expects."""

    @functools.wraps(original)
    def save_attributes_to_hdf5_group(group: Any, name: str, data: Any) -> None:
        original(group, name, np.asarray(data) if len(data) else data)

    return save_attributes_to_hdf5_group


def _add_maxima(original: Any) -> Any:
    """Returns what stores the state of an optimizer.

    In the package `keras`, Adam has a weight for each variable's maximum, also without `amsgrad`.
    """

    @functools.wraps(original)
    def save_optimizer_weights_to_hdf5_group(hdf5_group: Any, optimizer: Any) -> None:
        original(hdf5_group, optimizer)
        group = hdf5_group.get("optimizer_weights")
        is_adam = type(optimizer).__name__ == "Adam" and not getattr(optimizer, "amsgrad", True)
        if group is None or not is_adam or not _is_of_package():
            return
        names = list(group.attrs["weight_names"])
        more = [f"Adam/vhat_{number}:0".encode() for number in range(len(names) // 2)]
        for name in more:
            group.create_dataset(name.decode(), data=np.zeros(1, np.float32))
        group.attrs["weight_names"] = np.asarray(names + more)

    return save_optimizer_weights_to_hdf5_group


def _is_of_package() -> bool:
    # Imported here, because it imports TensorFlow.
    from estimator_bridge.tf1.keras_23 import behaviour

    return behaviour.install.cache_info().currsize > 0


def _convert(value: Any, of_package: bool) -> Any:
    """Converts the objects in a description, those inside first."""
    if isinstance(value, (list, tuple)):
        converted = [_convert(one, of_package) for one in value]
        return tuple(converted) if isinstance(value, tuple) else converted
    if not isinstance(value, dict):
        return value
    value = {key: _convert(one, of_package) for key, one in value.items()}
    if isinstance(value.get("class_name"), str) and isinstance(value.get("config"), dict):
        value.pop("shared_object_id", None)
        value["class_name"], value["config"] = _convert_object(
            value["class_name"], value["config"], of_package
        )
    return value


def _convert_object(
    name: str, config: dict[str, Any], of_package: bool
) -> tuple[str, dict[str, Any]]:
    if name == "Functional":
        return "Model", config
    if name in ("L1", "L2") and set(config) == {name.lower()}:
        return "L1L2", {"l1": 0.0, "l2": 0.0, **config}
    scaled = _SCALED_IN_KERAS if of_package else _SCALED
    if name in scaled and set(config) <= {"seed", "dtype"}:
        scale, mode, distribution = scaled[name]
        config = {"scale": scale, "mode": mode, "distribution": distribution, **config}
        name, config = "VarianceScaling", {**config, "dtype": "float32"}
    if of_package and name in _INITIALIZERS:
        config = _leave_out(config, {"dtype": _ANY})
        if config.get("distribution") == "truncated_normal":
            config["distribution"] = "normal"
        return name, config
    config = _leave_out(config, _ADDED.get(name, {}))
    if of_package:
        config = _leave_out(config, _ONLY_IN_TF.get(name, {}))
        axis = config.get("axis")
        if name == "BatchNormalization" and isinstance(axis, (list, tuple)) and len(axis) == 1:
            config["axis"] = axis[0]
    return name, config


def _convert_optimizer(optimizer: dict[str, Any]) -> dict[str, Any]:
    """Returns the description of an optimizer with the names of Keras 2.2."""
    name = optimizer["class_name"]
    config = _leave_out(optimizer["config"], {"name": _ANY, **_OPTIMIZERS.get(name, {})})
    if "learning_rate" in config:
        config = {"lr": config.pop("learning_rate"), **config}
    if name == "Nadam" and "decay" in config:
        config["schedule_decay"] = config.pop("decay")
    return {**optimizer, "config": config}


def _leave_out(config: dict[str, Any], defaults: dict[str, Any]) -> dict[str, Any]:
    """Returns a copy without the arguments that have these values."""
    return {
        key: value
        for key, value in config.items()
        if key not in defaults or (defaults[key] is not _ANY and value != defaults[key])
    }
