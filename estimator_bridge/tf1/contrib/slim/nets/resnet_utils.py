"""What both residual networks are built of (He et al., 2015 and 2016)."""

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

    scope: its name. unit_fn: (inputs, rate=..., **one of args) -> outputs, one unit. args: for each
    unit, its `depth`, `depth_bottleneck` and `stride`.
    """


def subsample(inputs, factor, scope=None):
    """Returns every `factor`-th place of [batch, height, width, channels]."""
    if factor == 1:
        return inputs
    return layers.max_pool2d(inputs, [1, 1], stride=factor, scope=scope)


def conv2d_same(inputs, num_outputs, kernel_size, stride, rate=1, scope=None):
    """Returns a convolution padded the same way whatever the size of the inputs: where the stride
    is not 1, the padding of layers.conv2d depends on it.
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
    """Returns the outputs of the blocks, one after the other.

    Once `output_stride` is reached, the strides left turn into rates of dilated convolutions.

    Raises:
      ValueError: the strides of the units do not come to output_stride.
    """
    stride, rate = 1, 1
    for block in blocks:
        with tf.variable_scope(block.scope, "block", [net]) as sc:
            for number, unit in enumerate(block.args, start=1):
                if output_stride is not None and stride > output_stride:
                    raise ValueError("The target output_stride cannot be reached.")
                with tf.variable_scope(f"unit_{number}", values=[net]):
                    if output_stride is not None and stride == output_stride:
                        net = block.unit_fn(net, rate=rate, **dict(unit, stride=1))
                        rate *= unit.get("stride", 1)
                    else:
                        net = block.unit_fn(net, rate=1, **unit)
                        stride *= unit.get("stride", 1)
            net = utils.collect_named_outputs(outputs_collections, sc.name, net)
    if output_stride is not None and stride != output_stride:
        raise ValueError("The target output_stride cannot be reached.")
    return net


def resnet_arg_scope(
    weight_decay=0.0001, batch_norm_decay=0.997, batch_norm_epsilon=1e-5, batch_norm_scale=True
):
    """Returns the scope that residual networks are to be built in."""
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
    # The paper pads before the first pooling; the published checkpoints are of this.
    pooling = arg_scope([layers.max_pool2d], padding="SAME")
    with convolutions, arg_scope([layers.batch_norm], **norm), pooling as scope:
        return scope


def make_blocks(unit_fn, num_units):
    """Returns the four blocks of an ImageNet network, by how many units each has."""
    blocks = []
    for number, units in enumerate(num_units, start=1):
        base = 32 * 2**number
        unit = {"depth": 4 * base, "depth_bottleneck": base, "stride": 1}
        # The last unit of a block halves the size; that of the last block does not.
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
    """Builds a network of either version; see `resnet_v1.resnet_v1` for the arguments and what is
    returned. With `before_activation` (v2) units leave their outputs without norm and activation.
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
                        raise ValueError("The output_stride needs to be a multiple of 4.")
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
    """Makes the function of a network for images.

    Args:
      build_fn: resnet_v1.resnet_v1, or that of v2.
      unit_fn: its unit.
      name: of the function, and its default scope.
      num_units: units in each block.
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
    network.__doc__ = f"{build_fn.__name__} with blocks of {num_units} units, for images."
    network.default_image_size = 224
    return network
