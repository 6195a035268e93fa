"""GoogLeNet (Szegedy et al., 2014, "Going Deeper with Convolutions"), with batch normalization."""

import tensorflow.compat.v1 as tf

from estimator_bridge.tf1.contrib import layers
from estimator_bridge.tf1.contrib.framework import arg_scope
from estimator_bridge.tf1.contrib.slim.nets import inception_blocks
from estimator_bridge.tf1.contrib.slim.nets.inception_blocks import conv, pool, with_image_size

__all__ = ["inception_v1", "inception_v1_arg_scope", "inception_v1_base"]

inception_v1_arg_scope = inception_blocks.inception_arg_scope


def _mixed(one, three, five, pooled, last="Conv2d_0b_3x3"):
    """Returns branches of a 1x1, two 3x3 (the second instead of a 5x5) and a pooling."""
    return [
        [conv("Conv2d_0a_1x1", one)],
        [conv("Conv2d_0a_1x1", three[0]), conv("Conv2d_0b_3x3", three[1])],
        [conv("Conv2d_0a_1x1", five[0]), conv(last, five[1])],
        [pool("MaxPool_0a_3x3"), conv("Conv2d_0b_1x1", pooled)],
    ]


def _conv(depth, kernel, stride=1):
    return lambda net, scope: layers.conv2d(net, depth, kernel, stride=stride, scope=scope)


def _halve(kernel):
    return lambda net, scope: layers.max_pool2d(net, kernel, 2, padding="SAME", scope=scope)


_TABLE = [
    ("Conv2d_1a_7x7", _conv(64, 7, 2)),
    ("MaxPool_2a_3x3", _halve(3)),
    ("Conv2d_2b_1x1", _conv(64, 1)),
    ("Conv2d_2c_3x3", _conv(192, 3)),
    ("MaxPool_3a_3x3", _halve(3)),
    ("Mixed_3b", _mixed(64, (96, 128), (16, 32), 32)),
    ("Mixed_3c", _mixed(128, (128, 192), (32, 96), 64)),
    ("MaxPool_4a_3x3", _halve(3)),
    ("Mixed_4b", _mixed(192, (96, 208), (16, 48), 64)),
    ("Mixed_4c", _mixed(160, (112, 224), (24, 64), 64)),
    ("Mixed_4d", _mixed(128, (128, 256), (24, 64), 64)),
    ("Mixed_4e", _mixed(112, (144, 288), (32, 64), 64)),
    ("Mixed_4f", _mixed(256, (160, 320), (32, 128), 128)),
    ("MaxPool_5a_2x2", _halve(2)),
    # The published checkpoint uses this name.
    ("Mixed_5b", _mixed(256, (160, 320), (32, 128), 128, last="Conv2d_0a_3x3")),
    ("Mixed_5c", _mixed(384, (192, 384), (48, 128), 128)),
]


def inception_v1_base(inputs, final_endpoint="Mixed_5c", scope="InceptionV1"):
    """Builds the layers below the classifier.

    Args:
      inputs: tensor [batch, height, width, 3], the images.
      final_endpoint: name of the last layer.
      scope: name of the variable scope.

    Returns:
      The features, and {name: features} of each end point.

    Raises:
      ValueError: the final end point does not exist.
    """
    start = tf.truncated_normal_initializer(0.0, 0.01)
    scoped = arg_scope([layers.conv2d, layers.fully_connected], weights_initializer=start)
    with tf.variable_scope(scope, "InceptionV1", [inputs]), scoped:
        return inception_blocks.build(inputs, _TABLE, final_endpoint, int)


@with_image_size(224)
def inception_v1(
    inputs,
    num_classes=1000,
    is_training=True,
    dropout_keep_prob=0.8,
    prediction_fn=layers.softmax,
    spatial_squeeze=True,
    reuse=None,
    scope="InceptionV1",
):
    """Builds the network for images of 224 x 224 pixels.

    Args:
      inputs: tensor [batch, height, width, 3], the images.
      num_classes: int, number of classes.
      is_training: whether the layer runs in training mode.
      dropout_keep_prob: probability to keep an activation during training.
      prediction_fn: function from logits to predictions.
      spatial_squeeze: whether to remove the spatial axes of the logits.
      reuse: whether to reuse the variables of `scope`; None inherits it from the enclosing scope.
      scope: name of the variable scope.

    Returns:
      Tensor [batch, num_classes] of logits, and {name: tensor} of the end points.
    """
    scoped = arg_scope([layers.batch_norm, layers.dropout], is_training=is_training)
    with tf.variable_scope(scope, "InceptionV1", [inputs], reuse=reuse) as sc, scoped:
        net, end_points = inception_v1_base(inputs, scope=sc)
        with tf.variable_scope("Logits"):
            net = layers.avg_pool2d(net, [7, 7], stride=1, scope="AvgPool_0a_7x7")
            logits = inception_blocks.classify(
                net, end_points, num_classes, dropout_keep_prob, prediction_fn, spatial_squeeze, 0
            )
        return logits, end_points
