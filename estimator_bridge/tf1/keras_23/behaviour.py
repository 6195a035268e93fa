"""What Keras 2.0 to 2.3 computes or names otherwise than `tf.keras` of TensorFlow 1.15.

It applies to a process whose program takes layers or models from `keras`. A program that only takes
tools from it (`keras.utils`, `keras.preprocessing`) has layers of `tf.keras`, and checkpoints with
their names.

The versions themselves differ in two ways: up to 2.2, `metrics=["accuracy"]` is reported as `acc`,
and the gates of LSTM and GRU have the activation `hard_sigmoid`; in 2.3 they are `accuracy` and
`sigmoid`.
"""

import functools
import inspect
import os
from typing import Any

import tensorflow.compat.v1 as tf

from estimator_bridge.errors import BridgeError
from estimator_bridge.tf1 import private_keras
from estimator_bridge.tf1.keras_23 import losses, optimizers

__all__ = ["VERSION_VARIABLE", "install", "read_version"]

# "2.3" for the behaviour of this version; 2.2 is the default.
VERSION_VARIABLE = "ESTIMATOR_BRIDGE_KERAS"

_VERSIONS = {"": "2.2.5", "2.2": "2.2.5", "2.3": "2.3.1"}


def read_version() -> str:
    """Returns the version of Keras that is chosen.

    Raises:
      BridgeError: the environment variable names another version.
    """
    wanted = os.environ.get(VERSION_VARIABLE, "")
    if wanted not in _VERSIONS:
        raise BridgeError(f"{VERSION_VARIABLE}={wanted}: set it to 2.2 or 2.3")
    return _VERSIONS[wanted]


@functools.cache
def install() -> None:
    """Makes Keras behave so."""
    backend = private_keras.load_source("backend")
    backend.unique_object_name = _count_from_one(backend.unique_object_name)
    backend.resize_images = _resize_from_corner(backend.resize_images)
    optimizers.install()
    by_name = vars(private_keras.load_source("losses"))
    by_name.update(cosine=losses.cosine, cosine_proximity=losses.cosine_proximity)
    _give_lists(private_keras.load_source("engine.node").Node)
    if read_version().startswith("2.3"):
        _use_sigmoid()
        utils = private_keras.load_source("engine.training_utils_v1")
        utils.get_metric_name = _name_accuracy(utils.get_metric_name)


def _count_from_one(original: Any) -> Any:
    """Returns what names layers and models: the first `dense_1`, not `dense`."""

    @functools.wraps(original)
    def unique_object_name(name: str, name_uid_map: Any = None, **options: Any) -> str:
        if name_uid_map is None:
            options["zero_based"] = False
        return original(name, name_uid_map, **options)

    return unique_object_name


def _resize_from_corner(original: Any) -> Any:
    """Returns what resizes images: its bilinear pixels are counted from their corners."""

    @functools.wraps(original)
    def resize_images(  # noqa: PLR0913
        x: Any,
        height_factor: int,
        width_factor: int,
        data_format: str,
        interpolation: str = "nearest",
    ) -> Any:
        if interpolation != "bilinear":
            return original(x, height_factor, width_factor, data_format, interpolation)
        first = data_format == "channels_first"
        x = tf.transpose(x, [0, 2, 3, 1]) if first else x
        height, width = x.shape[1:3].as_list()
        if height is None or width is None:
            height, width = tf.unstack(tf.shape(x)[1:3])
        size = [height * height_factor, width * width_factor]
        resized = tf.image.resize_bilinear(x, size)
        return tf.transpose(resized, [0, 3, 1, 2]) if first else resized

    return resize_images


def _give_lists(node: Any) -> None:
    """Gives nodes lists of tensors and layers, also of one, and their masks.

    Args:
      node: the class of nodes.
    """

    def list_of(original: Any) -> property:
        return property(lambda self: list(tf.nest.flatten(original.fget(self))))

    def shapes_of(tensors: Any) -> property:
        shape_of = tf.keras.backend.int_shape
        return property(lambda self: tf.nest.map_structure(shape_of, tensors.fget(self)))

    def masks_of(name: str) -> property:
        return property(lambda self: [getattr(t, "_keras_mask", None) for t in getattr(self, name)])

    # Layers have the shape of one tensor, not a list.
    for end in ("input", "output"):
        setattr(node, f"{end}_shapes", shapes_of(vars(node)[f"{end}_tensors"]))
    for name in ("inbound_layers", "input_tensors", "output_tensors"):
        setattr(node, name, list_of(vars(node)[name]))
    node.input_masks = masks_of("input_tensors")
    node.output_masks = masks_of("output_tensors")


def _use_sigmoid() -> None:
    for name in ("lstm_v1", "gru_v1"):
        for kind in vars(private_keras.load_source(f"layers.rnn.{name}")).values():
            if not isinstance(kind, type) or "__init__" not in vars(kind):
                continue
            # Below what takes the arguments of Keras 1.
            initializer: Any = inspect.unwrap(vars(kind)["__init__"])
            defaults = initializer.__defaults__ or ()
            if "hard_sigmoid" in defaults:
                initializer.__defaults__ = tuple(
                    "sigmoid" if value == "hard_sigmoid" else value for value in defaults
                )


def _name_accuracy(original: Any) -> Any:
    @functools.wraps(original)
    def get_metric_name(metric: Any, weighted: bool = False) -> str:
        if metric in ("accuracy", "acc"):
            return f"weighted_{metric}" if weighted else metric
        return original(metric, weighted)

    return get_metric_name
