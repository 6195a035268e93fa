"""Functions that read and write the weights of a list of layers in an HDF5 file.

Keras takes a model instead of the list since TensorFlow 2.6. The format is the same.
"""

import types

from estimator_bridge.tf1 import private_keras

__all__ = [
    "load_weights_from_hdf5_group",
    "load_weights_from_hdf5_group_by_name",
    "preprocess_weights_for_loading",
    "save_weights_to_hdf5_group",
]

_format = private_keras.load_source("saving.legacy.hdf5_format")


def _as_model(layers):
    """Returns what the functions of Keras take for a model: it has weights of its layers only."""
    if hasattr(layers, "layers"):
        return layers
    layers = list(layers)
    return types.SimpleNamespace(
        layers=layers,
        _trainable_weights=[],
        _non_trainable_weights=[],
        _flatten_layers=lambda: [part for layer in layers for part in layer._flatten_layers()],
        name="layers",
    )


def load_weights_from_hdf5_group(f, layers, reshape=False):
    """Sets the weights of layers in the order of the file.

    Args:
      f: group of h5py.
      layers: list of layers.
      reshape: bool; accepted for programs that pass it, False.

    Raises:
      ValueError: the file has other layers or shapes.
    """
    _format.load_weights_from_hdf5_group(f, _as_model(layers))


def load_weights_from_hdf5_group_by_name(f, layers, skip_mismatch=False, reshape=False):
    """Sets the weights of the layers whose names are in the file.

    Args:
      f: group of h5py.
      layers: list of layers.
      skip_mismatch: bool, whether layers with other shapes are left as they are.
      reshape: bool; accepted for programs that pass it, False.

    Raises:
      ValueError: a layer has other shapes, and `skip_mismatch` is False.
    """
    _format.load_weights_from_hdf5_group_by_name(f, _as_model(layers), skip_mismatch)


def save_weights_to_hdf5_group(f, layers):
    """Writes the weights of layers.

    Args:
      f: group of h5py.
      layers: list of layers.
    """
    _format.save_weights_to_hdf5_group(f, _as_model(layers))


def preprocess_weights_for_loading(
    layer, weights, original_keras_version=None, original_backend=None, reshape=False
):
    """Converts the weights that an older Keras wrote for a layer.

    Args:
      layer: the layer.
      weights: list of arrays.
      original_keras_version: text, the version that wrote them; None for 1.
      original_backend: text, such as "theano"; None for unknown.
      reshape: bool; accepted for programs that pass it, False.

    Returns:
      A list of arrays.
    """
    return _format.preprocess_weights_for_loading(
        layer, weights, original_keras_version or "1", original_backend
    )
