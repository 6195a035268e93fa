"""Functions of `keras.utils`, `keras.optimizers` and `keras.preprocessing` in Keras 2.0 to 2.3."""

import os
import re

import numpy as np
import tensorflow.compat.v1 as tf

from estimator_bridge.tf1 import private_keras
from estimator_bridge.tf1.keras_hdf5 import HDF5Matrix
from estimator_bridge.tf1.keras_replicas import multi_gpu_model

__all__ = [
    "HDF5Matrix",
    "apply_transform",
    "clip_norm",
    "convert_all_kernels_in_model",
    "convert_kernel",
    "deconv_length",
    "list_pictures",
    "multi_gpu_model",
    "object_list_uid",
    "print_summary",
    "transpose_shape",
    "unpack_singleton",
]

_conv_utils = private_keras.load_source("utils.conv_utils")
print_summary = private_keras.load_source("utils.layer_utils").print_summary


def unpack_singleton(x):
    """Returns the only element of a list, or the list if it has several.

    Args:
      x: list or tuple.
    """
    return x[0] if len(x) == 1 else x


def object_list_uid(object_list):
    """Returns a text that identifies objects of this process.

    Args:
      object_list: an object, or a list.
    """
    objects = object_list if isinstance(object_list, (list, tuple)) else [object_list]
    return ", ".join(str(abs(id(one))) for one in objects)


def clip_norm(g, c, n):
    """Returns a gradient that is scaled down where its norm is too large.

    Args:
      g: float tensor or IndexedSlices, the gradient.
      c: float, the largest norm; 0 for any.
      n: float tensor of shape [], the norm.
    """
    if c <= 0:
        return g
    factor = tf.where(n >= c, c / n, tf.ones_like(n))
    if isinstance(g, tf.IndexedSlices):
        return tf.IndexedSlices(g.values * factor, g.indices, g.dense_shape)
    return g * factor


def convert_kernel(kernel):
    """Returns a kernel of a convolution for the opposite convention: mirrored in space.

    Args:
      kernel: float array of 3 to 5 dimensions, the last two of which are the channels.

    Raises:
      ValueError: it has another number of dimensions.
    """
    kernel = np.asarray(kernel)
    if not 3 <= kernel.ndim <= 5:
        raise ValueError(f"a kernel has 3 to 5 dimensions, not {kernel.ndim}")
    return np.flip(kernel, tuple(range(kernel.ndim - 2))).copy()


def convert_all_kernels_in_model(model):
    """Mirrors the kernels of all convolutions of a model, as weights of Theano need.

    Args:
      model: the Keras model.
    """
    names = {
        "Conv1D",
        "Conv2D",
        "Conv3D",
        "Convolution1D",
        "Convolution2D",
        "Convolution3D",
        "Conv2DTranspose",
        "Conv3DTranspose",
    }
    kernels = [layer.kernel for layer in model.layers if type(layer).__name__ in names]
    backend = tf.keras.backend
    values = backend.batch_get_value(kernels)
    backend.batch_set_value([*zip(kernels, map(convert_kernel, values))])


def deconv_length(dim_size, stride_size, kernel_size, padding, output_padding=None, dilation=1):
    """Returns the length of the output of a transposed convolution, or None.

    Args:
      dim_size: int, the length of the input, or None.
      stride_size: int.
      kernel_size: int.
      padding: "same", "valid" or "full".
      output_padding: int, or None.
      dilation: int.
    """
    if dim_size is None:
        return None
    return _conv_utils.deconv_output_length(
        dim_size, kernel_size, padding, output_padding, stride_size, dilation=dilation
    )


def list_pictures(directory, ext="jpg|jpeg|bmp|png|ppm"):
    """Returns the paths of the images below a folder.

    Args:
      directory: path of the folder.
      ext: the endings, separated by `|`.
    """
    fits = re.compile(rf"[\w]+\.(?:{ext})")
    return [
        os.path.join(folder, name)
        for folder, _, names in os.walk(directory)
        for name in names
        if fits.match(name)
    ]


def apply_transform(x, transform_matrix, channel_axis=0, fill_mode="nearest", cval=0.0):
    """Returns an image with an affine map applied to each channel.

    Args:
      x: float array of 3 dimensions.
      transform_matrix: float [3, 3], of row and column in homogeneous coordinates.
      channel_axis: int, the dimension of the channels.
      fill_mode: what is outside of the image, as in `scipy.ndimage`.
      cval: float, the value outside for the mode "constant".
    """
    from scipy import ndimage

    channels = [
        ndimage.affine_transform(
            channel,
            transform_matrix[:2, :2],
            transform_matrix[:2, 2],
            order=1,
            mode=fill_mode,
            cval=cval,
        )
        for channel in np.rollaxis(x, channel_axis, 0)
    ]
    return np.rollaxis(np.stack(channels), 0, channel_axis + 1)


def transpose_shape(shape, target_format, spatial_axes):
    """Converts a shape between the formats of images.

    Args:
      shape: tuple, in the format `channels_last`.
      target_format: "channels_first" or "channels_last".
      spatial_axes: tuple of ints, the spatial dimensions of `shape`.

    Returns:
      The shape in the other format, with its type.

    Raises:
      ValueError: there is no such format.
    """
    if target_format == "channels_last":
        return shape
    if target_format != "channels_first":
        raise ValueError(
            f"target_format {target_format!r}: use 'channels_first' or 'channels_last'"
        )
    converted = [*shape[: spatial_axes[0]], shape[-1], *(shape[axis] for axis in spatial_axes)]
    return tuple(converted) if isinstance(shape, tuple) else converted
