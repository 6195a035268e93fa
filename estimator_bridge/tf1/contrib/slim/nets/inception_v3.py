"""Inception v3 (Szegedy et al., 2015, "Rethinking the Inception Architecture")."""

import tensorflow.compat.v1 as tf

from estimator_bridge.tf1.contrib import layers
from estimator_bridge.tf1.contrib.framework import arg_scope
from estimator_bridge.tf1.contrib.slim.nets import inception_blocks
from estimator_bridge.tf1.contrib.slim.nets.inception_blocks import conv, pool, with_image_size

__all__ = ["inception_v3", "inception_v3_arg_scope", "inception_v3_base"]


def inception_v3_arg_scope(
    weight_decay=0.00004,
    batch_norm_var_collection="moving_vars",
    batch_norm_decay=0.9997,
    batch_norm_epsilon=0.001,
    updates_collections=tf.GraphKeys.UPDATE_OPS,
    use_fused_batchnorm=True,
):
    """Returns the arg_scope in which to build the network.

    Args:
      weight_decay: strength of the L2 regularization.
      batch_norm_var_collection: collection for the moving averages.
      batch_norm_decay: decay of the moving averages.
      batch_norm_epsilon: number added to the variance.
      updates_collections: collections for the updates of the moving averages.
      use_fused_batchnorm: whether to use the fused batch normalization.

    Returns:
      The arg_scope, a dict.
    """
    return inception_blocks.inception_arg_scope(
        weight_decay=weight_decay,
        batch_norm_var_collection=batch_norm_var_collection,
        batch_norm_decay=batch_norm_decay,
        batch_norm_epsilon=batch_norm_epsilon,
        updates_collections=updates_collections,
        use_fused_batchnorm=use_fused_batchnorm,
    )


def _mixed_5(pooled, first="Conv2d_0a_1x1", second="Conv2d_0b_5x5"):
    """Returns a block of the 35 x 35 grid."""
    return [
        [conv("Conv2d_0a_1x1", 64)],
        [conv(first, 48), conv(second, 64)],
        [conv("Conv2d_0a_1x1", 64), conv("Conv2d_0b_3x3", 96), conv("Conv2d_0c_3x3", 96)],
        [pool("AvgPool_0a_3x3"), conv("Conv2d_0b_1x1", pooled)],
    ]


def _mixed_6(depth):
    """Returns a block of the 17 x 17 grid, with 7x7 convolutions factorized."""
    return [
        [conv("Conv2d_0a_1x1", 192)],
        [conv("Conv2d_0a_1x1", depth), conv("Conv2d_0b_1x7", depth), conv("Conv2d_0c_7x1", 192)],
        [
            conv("Conv2d_0a_1x1", depth),
            conv("Conv2d_0b_7x1", depth),
            conv("Conv2d_0c_1x7", depth),
            conv("Conv2d_0d_7x1", depth),
            conv("Conv2d_0e_1x7", 192),
        ],
        [pool("AvgPool_0a_3x3"), conv("Conv2d_0b_1x1", 192)],
    ]


def _mixed_7(second):
    """Returns a block of the 8 x 8 grid, with 3x3 convolutions factorized in parallel."""
    return [
        [conv("Conv2d_0a_1x1", 320)],
        [conv("Conv2d_0a_1x1", 384), [conv("Conv2d_0b_1x3", 384), conv(second, 384)]],
        [
            conv("Conv2d_0a_1x1", 448),
            conv("Conv2d_0b_3x3", 384),
            [conv("Conv2d_0c_1x3", 384), conv("Conv2d_0d_3x1", 384)],
        ],
        [pool("AvgPool_0a_3x3"), conv("Conv2d_0b_1x1", 192)],
    ]


# Some names do not match the layers; they are those of the published checkpoint.
_BLOCKS = [
    ("Mixed_5b", _mixed_5(32)),
    ("Mixed_5c", _mixed_5(64, "Conv2d_0b_1x1", "Conv_1_0c_5x5")),
    ("Mixed_5d", _mixed_5(64)),
    (
        "Mixed_6a",
        [
            [conv("Conv2d_1a_1x1", 384, [3, 3])],
            [
                conv("Conv2d_0a_1x1", 64),
                conv("Conv2d_0b_3x3", 96),
                conv("Conv2d_1a_1x1", 96, [3, 3]),
            ],
            [pool("MaxPool_1a_3x3")],
        ],
    ),
    ("Mixed_6b", _mixed_6(128)),
    ("Mixed_6c", _mixed_6(160)),
    ("Mixed_6d", _mixed_6(160)),
    ("Mixed_6e", _mixed_6(192)),
    (
        "Mixed_7a",
        [
            [conv("Conv2d_0a_1x1", 192), conv("Conv2d_1a_3x3", 320)],
            [
                conv("Conv2d_0a_1x1", 192),
                conv("Conv2d_0b_1x7", 192),
                conv("Conv2d_0c_7x1", 192),
                conv("Conv2d_1a_3x3", 192),
            ],
            [pool("MaxPool_1a_3x3")],
        ],
    ),
    ("Mixed_7b", _mixed_7("Conv2d_0b_3x1")),
    ("Mixed_7c", _mixed_7("Conv2d_0c_3x1")),
]


def inception_v3_base(
    inputs, final_endpoint="Mixed_7c", min_depth=16, depth_multiplier=1.0, scope=None
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

    def _conv(depth, kernel, stride=1, padding="VALID"):
        return lambda net, scope: layers.conv2d(
            net, depth_of(depth), kernel, stride=stride, padding=padding, scope=scope
        )

    def halve(net, scope):
        return layers.max_pool2d(net, 3, 2, padding="VALID", scope=scope)

    table = [
        ("Conv2d_1a_3x3", _conv(32, 3, 2)),
        ("Conv2d_2a_3x3", _conv(32, 3)),
        ("Conv2d_2b_3x3", _conv(64, 3, padding="SAME")),
        ("MaxPool_3a_3x3", halve),
        ("Conv2d_3b_1x1", _conv(80, 1)),
        ("Conv2d_4a_3x3", _conv(192, 3)),
        ("MaxPool_5a_3x3", halve),
        *_BLOCKS,
    ]
    with tf.variable_scope(scope, "InceptionV3", [inputs]):
        return inception_blocks.build(inputs, table, final_endpoint, depth_of, "VALID")


@with_image_size(299)
def inception_v3(
    inputs,
    num_classes=1000,
    is_training=True,
    dropout_keep_prob=0.8,
    min_depth=16,
    depth_multiplier=1.0,
    prediction_fn=layers.softmax,
    spatial_squeeze=True,
    reuse=None,
    create_aux_logits=True,
    scope="InceptionV3",
):
    """Builds the network for images of 299 x 299 pixels.

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
      create_aux_logits: whether to add the auxiliary classifier, end point `AuxLogits`.
      scope: name of the variable scope.

    Returns:
      Tensor [batch, num_classes] of logits, and {name: tensor} of the end points.

    Raises:
      ValueError: the multiplier is not positive.
    """
    depth_of = inception_blocks.scaling(depth_multiplier, min_depth)
    scoped = arg_scope([layers.batch_norm, layers.dropout], is_training=is_training)
    with tf.variable_scope(scope, "InceptionV3", [inputs], reuse=reuse) as sc, scoped:
        net, end_points = inception_v3_base(
            inputs, min_depth=min_depth, depth_multiplier=depth_multiplier, scope=sc
        )
        if create_aux_logits:
            with tf.variable_scope("AuxLogits"):
                end_points["AuxLogits"] = _auxiliary(
                    end_points["Mixed_6e"], num_classes, depth_of, spatial_squeeze
                )
        with tf.variable_scope("Logits"):
            kernel = inception_blocks.reduced_kernel(net, [8, 8])
            net = layers.avg_pool2d(net, kernel, scope="AvgPool_1a_{}x{}".format(*kernel))
            logits = inception_blocks.classify(
                net, end_points, num_classes, dropout_keep_prob, prediction_fn, spatial_squeeze
            )
        return logits, end_points


def _auxiliary(net, num_classes, depth_of, spatial_squeeze):
    net = layers.avg_pool2d(net, [5, 5], stride=3, scope="AvgPool_1a_5x5")
    net = layers.conv2d(net, depth_of(128), [1, 1], scope="Conv2d_1b_1x1")
    kernel = inception_blocks.reduced_kernel(net, [5, 5])
    net = layers.conv2d(
        net,
        depth_of(768),
        kernel,
        weights_initializer=tf.truncated_normal_initializer(0.0, 0.01),
        padding="VALID",
        scope="Conv2d_2a_{}x{}".format(*kernel),
    )
    logits = layers.conv2d(
        net,
        num_classes,
        [1, 1],
        activation_fn=None,
        normalizer_fn=None,
        weights_initializer=tf.truncated_normal_initializer(0.0, 0.001),
        scope="Conv2d_2b_1x1",
    )
    return tf.squeeze(logits, [1, 2], name="SpatialSqueeze") if spatial_squeeze else logits
