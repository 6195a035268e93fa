"""Inception with batch normalization (Ioffe and Szegedy, 2015)."""

import tensorflow.compat.v1 as tf

from estimator_bridge.tf1.contrib import layers
from estimator_bridge.tf1.contrib.framework import arg_scope
from estimator_bridge.tf1.contrib.slim.nets import inception_blocks
from estimator_bridge.tf1.contrib.slim.nets.inception_blocks import conv, pool, with_image_size

__all__ = ["inception_v2", "inception_v2_arg_scope", "inception_v2_base"]

inception_v2_arg_scope = inception_blocks.inception_arg_scope


def _mixed(one, three, double, pooled, pooling="AvgPool"):
    """Returns branches of a 1x1, a 3x3, two 3x3 and a pooling."""
    return [
        [conv("Conv2d_0a_1x1", one)],
        [conv("Conv2d_0a_1x1", three[0]), conv("Conv2d_0b_3x3", three[1])],
        [
            conv("Conv2d_0a_1x1", double[0]),
            conv("Conv2d_0b_3x3", double[1]),
            conv("Conv2d_0c_3x3", double[1]),
        ],
        [pool(f"{pooling}_0a_3x3"), conv("Conv2d_0b_1x1", pooled)],
    ]


def _halving(three, double):
    return [
        [conv("Conv2d_0a_1x1", three[0]), conv("Conv2d_1a_3x3", three[1])],
        [
            conv("Conv2d_0a_1x1", double[0]),
            conv("Conv2d_0b_3x3", double[1]),
            conv("Conv2d_1a_3x3", double[1]),
        ],
        [pool("MaxPool_1a_3x3")],
    ]


def _halve(net, scope):
    return layers.max_pool2d(net, 3, 2, padding="SAME", scope=scope)


def inception_v2_base(
    inputs, final_endpoint="Mixed_5c", min_depth=16, depth_multiplier=1.0, scope=None
):
    """Builds the layers below the classifier.

    Args:
      inputs: tensor [batch, height, width, 3], the images.
      final_endpoint: name of the last layer.
      min_depth: int, minimum depth of a layer.
      depth_multiplier: positive number that scales the depth of all layers.
      scope: name of the variable scope.

    Returns:
      The features, and {name: features} of each end point.

    Raises:
      ValueError: the final end point does not exist, or the multiplier is not positive.
    """
    depth_of = inception_blocks.scaling(depth_multiplier, min_depth)

    def _conv(depth, kernel):
        return lambda net, scope: layers.conv2d(net, depth_of(depth), kernel, scope=scope)

    def first(net, scope):
        return layers.separable_conv2d(
            net,
            depth_of(64),
            7,
            depth_multiplier=min(int(depth_of(64) / 3), 8),
            stride=2,
            weights_initializer=tf.truncated_normal_initializer(0.0, 1.0),
            scope=scope,
        )

    table = [
        ("Conv2d_1a_7x7", first),
        ("MaxPool_2a_3x3", _halve),
        ("Conv2d_2b_1x1", _conv(64, 1)),
        ("Conv2d_2c_3x3", _conv(192, 3)),
        ("MaxPool_3a_3x3", _halve),
        ("Mixed_3b", _mixed(64, (64, 64), (64, 96), 32)),
        ("Mixed_3c", _mixed(64, (64, 96), (64, 96), 64)),
        ("Mixed_4a", _halving((128, 160), (64, 96))),
        ("Mixed_4b", _mixed(224, (64, 96), (96, 128), 128)),
        ("Mixed_4c", _mixed(192, (96, 128), (96, 128), 128)),
        ("Mixed_4d", _mixed(160, (128, 160), (128, 160), 96)),
        ("Mixed_4e", _mixed(96, (128, 192), (160, 192), 96)),
        ("Mixed_5a", _halving((128, 192), (192, 256))),
        ("Mixed_5b", _mixed(352, (192, 320), (160, 224), 128)),
        ("Mixed_5c", _mixed(352, (192, 320), (192, 224), 128, pooling="MaxPool")),
    ]
    with tf.variable_scope(scope, "InceptionV2", [inputs]):
        return inception_blocks.build(inputs, table, final_endpoint, depth_of)


@with_image_size(224)
def inception_v2(
    inputs,
    num_classes=1000,
    is_training=True,
    dropout_keep_prob=0.8,
    min_depth=16,
    depth_multiplier=1.0,
    prediction_fn=layers.softmax,
    spatial_squeeze=True,
    reuse=None,
    scope="InceptionV2",
):
    """Builds the network for images of 224 x 224 pixels.

    Args:
      inputs: tensor [batch, height, width, 3], the images.
      num_classes: int, number of classes.
      is_training: whether the layer runs in training mode.
      dropout_keep_prob: probability to keep an activation during training.
      min_depth: int, minimum depth of a layer.
      depth_multiplier: positive number that scales the depth of all layers.
      prediction_fn: function from logits to predictions.
      spatial_squeeze: whether to remove the spatial axes of the logits.
      reuse: whether to reuse the variables of `scope`; None inherits it from the enclosing scope.
      scope: name of the variable scope.

    Returns:
      Tensor [batch, num_classes] of logits, and {name: tensor} of the end points.

    Raises:
      ValueError: the multiplier is not positive.
    """
    scoped = arg_scope([layers.batch_norm, layers.dropout], is_training=is_training)
    with tf.variable_scope(scope, "InceptionV2", [inputs], reuse=reuse) as sc, scoped:
        net, end_points = inception_v2_base(
            inputs, min_depth=min_depth, depth_multiplier=depth_multiplier, scope=sc
        )
        with tf.variable_scope("Logits"):
            kernel = inception_blocks.reduced_kernel(net, [7, 7])
            net = layers.avg_pool2d(net, kernel, scope="AvgPool_1a_{}x{}".format(*kernel))
            logits = inception_blocks.classify(
                net, end_points, num_classes, dropout_keep_prob, prediction_fn, spatial_squeeze
            )
        return logits, end_points
