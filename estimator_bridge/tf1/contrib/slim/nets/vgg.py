"""The VGG networks (Simonyan and Zisserman, 2014), with convolutions as the last three layers."""

import tensorflow.compat.v1 as tf

from estimator_bridge.tf1.contrib import layers
from estimator_bridge.tf1.contrib.framework import arg_scope
from estimator_bridge.tf1.contrib.layers import utils

__all__ = ["vgg_16", "vgg_19", "vgg_a", "vgg_arg_scope", "vgg_d", "vgg_e"]


def vgg_arg_scope(weight_decay=0.0005):
    """Returns the arg_scope in which to build the networks.

    Args:
      weight_decay: strength of the L2 regularization.

    Returns:
      The arg_scope, a dict.
    """
    both = arg_scope(
        [layers.conv2d, layers.fully_connected],
        activation_fn=tf.nn.relu,
        weights_regularizer=layers.l2_regularizer(weight_decay),
        biases_initializer=tf.zeros_initializer(),
    )
    with both, arg_scope([layers.conv2d], padding="SAME") as scope:
        return scope


def _network(name, repeats):
    def network(
        inputs,
        num_classes=1000,
        is_training=True,
        dropout_keep_prob=0.5,
        spatial_squeeze=True,
        scope=name,
    ):
        with tf.variable_scope(scope, name, [inputs]) as sc:
            collection = sc.original_name_scope + "_end_points"
            layered = [layers.conv2d, layers.fully_connected, layers.max_pool2d]
            with arg_scope(layered, outputs_collections=collection):
                net = inputs
                for number, (times, depth) in enumerate(zip(repeats, _DEPTHS), start=1):
                    net = layers.repeat(
                        net, times, layers.conv2d, depth, [3, 3], scope=f"conv{number}"
                    )
                    net = layers.max_pool2d(net, [2, 2], scope=f"pool{number}")
                net = layers.conv2d(net, 4096, [7, 7], padding="VALID", scope="fc6")
                for fully_connected in (6, 7):
                    net = layers.dropout(
                        net,
                        dropout_keep_prob,
                        is_training=is_training,
                        scope=f"dropout{fully_connected}",
                    )
                    if fully_connected == 6:
                        net = layers.conv2d(net, 4096, [1, 1], scope="fc7")
                net = layers.conv2d(
                    net, num_classes, [1, 1], activation_fn=None, normalizer_fn=None, scope="fc8"
                )
                end_points = utils.convert_collection_to_dict(collection)
                if spatial_squeeze:
                    net = tf.squeeze(net, [1, 2], name="fc8/squeezed")
                    end_points[sc.name + "/fc8"] = net
                return net, end_points

    network.__name__ = network.__qualname__ = name
    network.__doc__ = (
        "Returns (logits [batch, num_classes], end points by name) of images [batch, 224, 224, 3]; "
        "larger images give [batch, height, width, num_classes] without spatial_squeeze."
    )
    network.default_image_size = 224
    return network


_DEPTHS = (64, 128, 256, 512, 512)

vgg_a = _network("vgg_a", (1, 1, 2, 2, 2))
vgg_16 = _network("vgg_16", (2, 2, 3, 3, 3))
vgg_19 = _network("vgg_19", (2, 2, 4, 4, 4))
vgg_d, vgg_e = vgg_16, vgg_19
