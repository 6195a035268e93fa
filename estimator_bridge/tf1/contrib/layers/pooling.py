"""Pooling of `tf.contrib.layers`."""

import tensorflow.compat.v1 as tf

from estimator_bridge.tf1.contrib.framework.arg_scope import add_arg_scope
from estimator_bridge.tf1.contrib.layers.utils import collect_named_outputs, n_positive_integers


def _pooling(pool, dims, default_scope, name):
    default_format = {2: "NHWC", 3: "NDHWC"}[dims]

    def layer(
        inputs,
        kernel_size,
        stride=2,
        padding="VALID",
        data_format=default_format,
        outputs_collections=None,
        scope=None,
    ):
        with tf.name_scope(scope, default_scope, [inputs]) as sc:
            size, step = n_positive_integers(dims, kernel_size), n_positive_integers(dims, stride)
            first = data_format.startswith("NC")
            outputs = pool(
                tf.convert_to_tensor(inputs),
                ksize=[1, 1, *size] if first else [1, *size, 1],
                strides=[1, 1, *step] if first else [1, *step, 1],
                padding=padding.upper(),
                data_format=data_format,
            )
            return collect_named_outputs(outputs_collections, sc, outputs)

    layer.__name__ = layer.__qualname__ = name
    layer.__doc__ = (
        f"Returns {default_scope} over windows of `kernel_size`; an int holds for all axes."
    )
    return add_arg_scope(layer)


avg_pool2d = _pooling(tf.nn.avg_pool, 2, "AvgPool2D", "avg_pool2d")
avg_pool3d = _pooling(tf.nn.avg_pool3d, 3, "AvgPool3D", "avg_pool3d")
max_pool2d = _pooling(tf.nn.max_pool, 2, "MaxPool2D", "max_pool2d")
max_pool3d = _pooling(tf.nn.max_pool3d, 3, "MaxPool3D", "max_pool3d")


@add_arg_scope
def pool(
    inputs,
    kernel_size,
    pooling_type,
    padding="VALID",
    data_format=None,
    dilation_rate=1,
    stride=1,
    outputs_collections=None,
    scope=None,
):
    """Pools over all spatial axes.

    Args:
      inputs: tensor of rank 3 to 5.
      kernel_size: int, or one int per spatial axis.
      pooling_type: `AVG` or `MAX`.
      padding: `SAME` or `VALID`.
      data_format: order of the axes, channels last (`NHWC`) or channels first (`NCHW`).
      dilation_rate: int, or one int per spatial axis.
      stride: int, or one int per spatial axis.
      outputs_collections: collections that receive the outputs.
      scope: name of the name scope.

    Returns:
      Tensor of the rank of `inputs`.
    """
    with tf.name_scope(scope, f"{pooling_type.lower()}_pool", [inputs]) as sc:
        spatial = inputs.shape.ndims - 2
        outputs = tf.nn.pool(
            tf.convert_to_tensor(inputs),
            window_shape=n_positive_integers(spatial, kernel_size),
            pooling_type=pooling_type,
            padding=padding,
            data_format=data_format,
            dilation_rate=n_positive_integers(spatial, dilation_rate),
            strides=n_positive_integers(spatial, stride),
        )
        return collect_named_outputs(outputs_collections, sc, outputs)
