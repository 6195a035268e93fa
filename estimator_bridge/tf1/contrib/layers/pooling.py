"""Pooling of `tf.contrib.layers`."""

import tensorflow.compat.v1 as tf

from estimator_bridge.tf1.contrib.framework.arg_scope import add_arg_scope
from estimator_bridge.tf1.contrib.layers.variables import (
    collect_named_outputs,
    n_positive_integers,
)


def _pool2d(pool, default_scope, name):
    def layer(
        inputs,
        kernel_size,
        stride=2,
        padding="VALID",
        data_format="NHWC",
        outputs_collections=None,
        scope=None,
    ):
        with tf.name_scope(scope, default_scope, [inputs]) as sc:
            size, step = n_positive_integers(2, kernel_size), n_positive_integers(2, stride)
            first = data_format == "NCHW"
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
        f"{default_scope} over windows of `kernel_size`; one number stands for both sides."
    )
    return add_arg_scope(layer)


avg_pool2d = _pool2d(tf.nn.avg_pool, "AvgPool2D", "avg_pool2d")
max_pool2d = _pool2d(tf.nn.max_pool, "MaxPool2D", "max_pool2d")


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
    """Pooling of any kind (`AVG` or `MAX`) over all spatial dimensions."""
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
