"""Residual networks (He et al., 2016, "Identity Mappings in Deep Residual Networks")."""

import tensorflow.compat.v1 as tf

from estimator_bridge.tf1.contrib import layers
from estimator_bridge.tf1.contrib.framework import add_arg_scope
from estimator_bridge.tf1.contrib.layers import utils
from estimator_bridge.tf1.contrib.slim.nets import resnet_utils
from estimator_bridge.tf1.contrib.slim.nets.inception_blocks import with_image_size
from estimator_bridge.tf1.contrib.slim.nets.resnet_utils import resnet_arg_scope

__all__ = [
    "bottleneck",
    "resnet_arg_scope",
    "resnet_v2",
    "resnet_v2_101",
    "resnet_v2_152",
    "resnet_v2_200",
    "resnet_v2_50",
    "resnet_v2_block",
]


@add_arg_scope
def bottleneck(
    inputs, depth, depth_bottleneck, stride, rate=1, outputs_collections=None, scope=None
):
    """Builds a unit of three convolutions and a shortcut, with norm and activation first.

    Variables: `<scope>/preact/...`, `<scope>/{conv1,conv2,conv3}/...`, and `<scope>/shortcut/...`
    if the depth changes.

    Args:
      inputs: tensor [batch, height, width, channels].
      depth: int, number of output channels.
      depth_bottleneck: int, number of channels of the inner convolutions.
      stride: int, stride of the unit.
      rate: int, dilation.
      outputs_collections: collections that receive the outputs.
      scope: name of the variable scope.

    Returns:
      Tensor [batch, height / stride, width / stride, depth].
    """
    plain = {"normalizer_fn": None, "activation_fn": None}
    with tf.variable_scope(scope, "bottleneck_v2", [inputs]) as sc:
        preact = layers.batch_norm(inputs, activation_fn=tf.nn.relu, scope="preact")
        if depth == tf.compat.dimension_value(inputs.shape[-1]):
            shortcut = resnet_utils.subsample(inputs, stride, "shortcut")
        else:
            shortcut = layers.conv2d(
                preact, depth, [1, 1], stride=stride, scope="shortcut", **plain
            )
        net = layers.conv2d(preact, depth_bottleneck, [1, 1], stride=1, scope="conv1")
        net = resnet_utils.conv2d_same(net, depth_bottleneck, 3, stride, rate, scope="conv2")
        net = layers.conv2d(net, depth, [1, 1], stride=1, scope="conv3", **plain)
        return utils.collect_named_outputs(outputs_collections, sc.name, shortcut + net)


def resnet_v2_block(scope, base_depth, num_units, stride):
    """Returns a Block of units of depth 4 x base_depth.

    Args:
      scope: name of the block.
      base_depth: int, depth of the inner convolutions.
      num_units: int, number of units.
      stride: int, stride of the last unit.

    Returns:
      Block.
    """
    unit = {"depth": base_depth * 4, "depth_bottleneck": base_depth, "stride": 1}
    args = [unit] * (num_units - 1) + [dict(unit, stride=stride)]
    return resnet_utils.Block(scope, bottleneck, args)


@with_image_size(224)
def resnet_v2(
    inputs,
    blocks,
    num_classes=None,
    is_training=True,
    global_pool=True,
    output_stride=None,
    include_root_block=True,
    reuse=None,
    scope=None,
):
    """Builds a residual network whose units apply the activation before the convolutions.

    Args:
      inputs: tensor [batch, height, width, channels].
      blocks: list of Block.
      num_classes: int, classes of the logits; None for features only.
      is_training: whether batch normalization uses the moments of the batch.
      global_pool: whether to average over height and width.
      output_stride: int, total stride of the network; None for that of the blocks.
      include_root_block: whether to start with a convolution and a pooling.
      reuse: whether to reuse the variables of `scope`; None inherits it from the enclosing scope.
      scope: name of the variable scope.

    Returns:
      Tensor [batch, height, width, channels or classes], and {name: tensor} of the end points.

    Raises:
      ValueError: `output_stride` cannot be reached.
    """
    return resnet_utils.build(
        inputs,
        blocks,
        num_classes,
        is_training,
        global_pool,
        output_stride,
        include_root_block,
        reuse,
        scope,
        default_scope="resnet_v2",
        unit_fn=bottleneck,
        before_activation=True,
    )


resnet_v2_50 = resnet_utils.make_network(resnet_v2, bottleneck, "resnet_v2_50", (3, 4, 6, 3))
resnet_v2_101 = resnet_utils.make_network(resnet_v2, bottleneck, "resnet_v2_101", (3, 4, 23, 3))
resnet_v2_152 = resnet_utils.make_network(resnet_v2, bottleneck, "resnet_v2_152", (3, 8, 36, 3))
resnet_v2_200 = resnet_utils.make_network(resnet_v2, bottleneck, "resnet_v2_200", (3, 24, 36, 3))
