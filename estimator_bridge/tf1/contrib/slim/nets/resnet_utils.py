"""Building blocks of the residual networks (He et al., 2015 and 2016)."""

import collections

import tensorflow.compat.v1 as tf

from estimator_bridge.tf1.contrib import layers
from estimator_bridge.tf1.contrib.framework import add_arg_scope, arg_scope
from estimator_bridge.tf1.contrib.layers import utils

__all__ = [
    "Block",
    "build",
    "conv2d_same",
    "make_blocks",
    "resnet_arg_scope",
    "stack_blocks_dense",
    "subsample",
]


class Block(collections.namedtuple("Block", ["scope", "unit_fn", "args"])):
    """A part of a residual network.

    Attributes:
      scope: name of the block.
      unit_fn: function (inputs, rate=..., **args) that builds a unit.
      args: list with a dict per unit: `depth`, `depth_bottleneck` and `stride`.
    """


def subsample(inputs, factor, scope=None):
    """Returns every `factor`-th position.

    Args:
      inputs: tensor [batch, height, width, channels].
      factor: int.
      scope: name of the pooling.

    Returns:
      Tensor [batch, height / factor, width / factor, channels].
    """
    if factor == 1:
        return inputs
    return layers.max_pool2d(inputs, [1, 1], stride=factor, scope=scope)


def conv2d_same(inputs, num_outputs, kernel_size, stride, rate=1, scope=None):
    """Convolves with a padding that does not depend on the size of the inputs.

    With a stride above 1, the padding of layers.conv2d does depend on it.

    Args:
      inputs: tensor [batch, height, width, channels].
      num_outputs: int, number of output channels.
      kernel_size: int.
      stride: int.
      rate: int, dilation.
      scope: name of the variable scope.

    Returns:
      Tensor [batch, height / stride, width / stride, num_outputs].
    """
    if stride == 1:
        return layers.conv2d(
            inputs, num_outputs, kernel_size, stride=1, rate=rate, padding="SAME", scope=scope
        )
    total = (kernel_size - 1) * rate
    sides = [total // 2, total - total // 2]
    inputs = tf.pad(inputs, [[0, 0], sides, sides, [0, 0]])
    return layers.conv2d(
        inputs, num_outputs, kernel_size, stride=stride, rate=rate, padding="VALID", scope=scope
    )


@add_arg_scope
def stack_blocks_dense(net, blocks, output_stride=None, outputs_collections=None):
    """Builds blocks one after the other.

    Once `output_stride` is reached, the remaining strides become dilations.

    Args:
      net: tensor [batch, height, width, channels].
      blocks: list of Block.
      output_stride: int, total stride of the network; None for that of the blocks.
      outputs_collections: collections that receive the outputs.

    Returns:
      Tensor, the outputs of the last block.

    Raises:
      ValueError: the strides of the units do not reach `output_stride`.
    """
    stride, rate = 1, 1
    for block in blocks:
        with tf.variable_scope(block.scope, "block", [net]) as sc:
            for number, unit in enumerate(block.args, start=1):
                if output_stride is not None and stride > output_stride:
                    raise ValueError(
                        f"output_stride: the strides of the units do not reach {output_stride}"
                    )
                with tf.variable_scope(f"unit_{number}", values=[net]):
                    if output_stride is not None and stride == output_stride:
                        net = block.unit_fn(net, rate=rate, **dict(unit, stride=1))
                        rate *= unit.get("stride", 1)
                    else:
                        net = block.unit_fn(net, rate=1, **unit)
                        stride *= unit.get("stride", 1)
            net = utils.collect_named_outputs(outputs_collections, sc.name, net)
    if output_stride is not None and stride != output_stride:
        raise ValueError(f"output_stride: the strides of the units do not reach {output_stride}")
    return net


def resnet_arg_scope(
    weight_decay=0.0001, batch_norm_decay=0.997, batch_norm_epsilon=1e-5, batch_norm_scale=True
):
    """Returns the arg_scope in which to build residual networks.

    Args:
      weight_decay: strength of the L2 regularization.
      batch_norm_decay: decay of the moving averages.
      batch_norm_epsilon: number added to the variance.
      batch_norm_scale: whether batch normalization has the variable `gamma`.

    Returns:
      The arg_scope, a dict.
    """
    norm = {
        "decay": batch_norm_decay,
        "epsilon": batch_norm_epsilon,
        "scale": batch_norm_scale,
        "updates_collections": tf.GraphKeys.UPDATE_OPS,
    }
    convolutions = arg_scope(
        [layers.conv2d],
        weights_regularizer=layers.l2_regularizer(weight_decay),
        weights_initializer=layers.variance_scaling_initializer(),
        activation_fn=tf.nn.relu,
        normalizer_fn=layers.batch_norm,
        normalizer_params=norm,
    )
    # The paper pads before the first pooling; the published checkpoints do not.
    pooling = arg_scope([layers.max_pool2d], padding="SAME")
    with convolutions, arg_scope([layers.batch_norm], **norm), pooling as scope:
        return scope


def make_blocks(unit_fn, num_units):
    """Returns the four blocks of an ImageNet network.

    Args:
      unit_fn: function (inputs, rate=..., **args) that builds a unit.
      num_units: four ints, units per block.

    Returns:
      List of Block.
    """
    blocks = []
    for number, units in enumerate(num_units, start=1):
        base = 32 * 2**number
        unit = {"depth": 4 * base, "depth_bottleneck": base, "stride": 1}
        # The last unit of each block but the last one halves the size.
        last = dict(unit, stride=1 if number == len(num_units) else 2)
        blocks.append(Block(f"block{number}", unit_fn, [unit] * (units - 1) + [last]))
    return blocks


def build(
    inputs,
    blocks,
    num_classes,
    is_training,
    global_pool,
    output_stride,
    include_root_block,
    reuse,
    scope,
    default_scope,
    unit_fn,
    before_activation,
):
    """Builds a network of version 1 or 2.

    Args:
      inputs: tensor [batch, height, width, channels].
      blocks: list of Block.
      num_classes: int, classes of the logits; None for features only.
      is_training: whether batch normalization uses the moments of the batch.
      global_pool: whether to average over height and width.
      output_stride: int, total stride of the network; None for that of the blocks.
      include_root_block: whether to start with a convolution and a pooling.
      reuse: whether to reuse the variables.
      scope: name of the variable scope.
      default_scope: default name of the variable scope.
      unit_fn: function (inputs, rate=..., **args) that builds a unit.
      before_activation: whether units return outputs without norm and activation (version 2).

    Returns:
      The outputs, and {name: tensor} of the end points.

    Raises:
      ValueError: `output_stride` is not a multiple of 4, or cannot be reached.
    """
    with tf.variable_scope(scope, default_scope, [inputs], reuse=reuse) as sc:
        collection = sc.original_name_scope + "_end_points"
        named = [layers.conv2d, unit_fn, stack_blocks_dense]
        naming = arg_scope(named, outputs_collections=collection)
        with naming, arg_scope([layers.batch_norm], is_training=is_training):
            net = inputs
            if include_root_block:
                if output_stride is not None:
                    if output_stride % 4 != 0:
                        raise ValueError(f"output_stride: {output_stride} is not a multiple of 4")
                    output_stride //= 4
                plain = {"activation_fn": None, "normalizer_fn": None} if before_activation else {}
                with arg_scope([layers.conv2d], **plain):
                    net = conv2d_same(net, 64, 7, stride=2, scope="conv1")
                net = layers.max_pool2d(net, [3, 3], stride=2, scope="pool1")
            net = stack_blocks_dense(net, blocks, output_stride)
            if before_activation:
                net = layers.batch_norm(net, activation_fn=tf.nn.relu, scope="postnorm")
            if global_pool:
                net = tf.reduce_mean(net, [1, 2], name="pool5", keepdims=True)
            if num_classes is not None:
                net = layers.conv2d(
                    net,
                    num_classes,
                    [1, 1],
                    activation_fn=None,
                    normalizer_fn=None,
                    scope="logits",
                )
            end_points = utils.convert_collection_to_dict(collection)
            if num_classes is not None:
                end_points["predictions"] = layers.softmax(net, scope="predictions")
            return net, end_points


def make_network(build_fn, unit_fn, name, num_units):
    """Returns the function of a network with given numbers of units.

    Args:
      build_fn: resnet_v1.resnet_v1 or resnet_v2.resnet_v2.
      unit_fn: function (inputs, rate=..., **args) that builds a unit.
      name: name of the function and its default scope.
      num_units: four ints, units per block.

    Returns:
      Function that builds the network.
    """

    def network(
        inputs,
        num_classes=None,
        is_training=True,
        global_pool=True,
        output_stride=None,
        reuse=None,
        scope=name,
    ):
        return build_fn(
            inputs,
            make_blocks(unit_fn, num_units),
            num_classes,
            is_training,
            global_pool,
            output_stride,
            include_root_block=True,
            reuse=reuse,
            scope=scope,
        )

    network.__name__ = network.__qualname__ = name
    network.__doc__ = f"Builds {build_fn.__name__} with blocks of {num_units} units, for images."
    network.default_image_size = 224
    return network
