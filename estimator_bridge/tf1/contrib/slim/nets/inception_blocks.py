"""Building blocks of the Inception networks: layers from tables, and the classifier.

A table is a list of (scope, function of net and scope) for single layers and of (scope, branches)
for blocks. A branch is a list of layers from `conv` or `pool`. A nested list contains parallel
layers. Layers of a block whose name contains `_1a_` halve the grid.
"""

import tensorflow.compat.v1 as tf

from estimator_bridge.tf1.contrib import layers
from estimator_bridge.tf1.contrib.framework import arg_scope

__all__ = [
    "build",
    "classify",
    "conv",
    "inception_arg_scope",
    "pool",
    "reduced_kernel",
    "scaling",
    "with_image_size",
]


def with_image_size(size):
    """Returns a decorator that sets `default_image_size`.

    Args:
      size: int, height and width of an image in pixels.

    Returns:
      Decorator of a network function.
    """

    def decorate(network):
        network.default_image_size = size
        return network

    return decorate


def conv(scope, depth, kernel=None):
    """Returns a convolution of a table.

    Args:
      scope: name of the layer.
      depth: int, number of output channels.
      kernel: sizes of the kernel; None for those at the end of the scope (`Conv2d_0a_1x1`).

    Returns:
      (scope, depth, kernel).
    """
    return scope, depth, kernel


def pool(scope):
    """Returns a pooling of a table.

    Args:
      scope: name of the layer, such as `MaxPool_0a_3x3` or `AvgPool_0a_3x3`.

    Returns:
      (scope, None, None).
    """
    return scope, None, None


def scaling(depth_multiplier, min_depth):
    """Returns the function that scales the depth of layers.

    Args:
      depth_multiplier: positive number.
      min_depth: int, minimum depth.

    Returns:
      Function from int to int.

    Raises:
      ValueError: the multiplier is not positive.
    """
    if depth_multiplier <= 0:
        raise ValueError(f"depth_multiplier: {depth_multiplier} is not positive")
    return lambda depth: max(int(depth * depth_multiplier), min_depth)


def inception_arg_scope(
    weight_decay=0.00004,
    use_batch_norm=True,
    batch_norm_var_collection="moving_vars",
    batch_norm_decay=0.9997,
    batch_norm_epsilon=0.001,
    updates_collections=tf.GraphKeys.UPDATE_OPS,
    use_fused_batchnorm=True,
):
    """Returns the arg_scope in which to build the networks.

    Args:
      weight_decay: strength of the L2 regularization.
      use_batch_norm: whether to use batch normalization.
      batch_norm_var_collection: collection for the moving averages.
      batch_norm_decay: decay of the moving averages.
      batch_norm_epsilon: number added to the variance.
      updates_collections: collections for the updates of the moving averages.
      use_fused_batchnorm: whether to use the fused batch normalization.

    Returns:
      The arg_scope, a dict.
    """
    moving = [batch_norm_var_collection]
    params = {
        "decay": batch_norm_decay,
        "epsilon": batch_norm_epsilon,
        "updates_collections": updates_collections,
        "fused": use_fused_batchnorm,
        "variables_collections": {
            "beta": None,
            "gamma": None,
            "moving_mean": moving,
            "moving_variance": moving,
        },
    }
    decayed = arg_scope(
        [layers.conv2d, layers.fully_connected],
        weights_regularizer=layers.l2_regularizer(weight_decay),
    )
    convolutions = arg_scope(
        [layers.conv2d],
        weights_initializer=layers.variance_scaling_initializer(),
        activation_fn=tf.nn.relu,
        normalizer_fn=layers.batch_norm if use_batch_norm else None,
        normalizer_params=params if use_batch_norm else {},
    )
    with decayed, convolutions as scope:
        return scope


def build(net, table, final_endpoint, depth_of, reduce_padding="SAME"):
    """Builds the layers of a table.

    Args:
      net: tensor [batch, height, width, 3], the images.
      table: list of layers and blocks; see the module's docstring.
      final_endpoint: scope of the last layer.
      depth_of: function that scales a depth.
      reduce_padding: padding of the layers that halve the grid in a block.

    Returns:
      The features, and {scope: features} of each layer and block.

    Raises:
      ValueError: the final scope is not in the table.
    """
    if final_endpoint not in dict(table):
        raise ValueError(f"final_endpoint: {final_endpoint!r} is unknown")
    end_points = {}
    for scope, what in table:
        if isinstance(what, list):
            net = _block(net, scope, what, depth_of, reduce_padding)
        else:
            net = what(net, scope)
        end_points[scope] = net
        if scope == final_endpoint:
            break
    return net, end_points


def _block(net, scope, branches, depth_of, reduce_padding):
    with tf.variable_scope(scope):
        outputs = []
        for number, branch in enumerate(branches):
            with tf.variable_scope(f"Branch_{number}"):
                output = net
                for step in branch:
                    # A list contains parallel layers of one input.
                    side = step if isinstance(step, list) else [step]
                    found = [_layer(output, *layer, depth_of, reduce_padding) for layer in side]
                    output = found[0] if len(found) == 1 else tf.concat(found, axis=3)
                outputs.append(output)
        return tf.concat(outputs, axis=3)


def _layer(net, scope, depth, kernel, depth_of, reduce_padding):
    kernel = kernel or [int(side) for side in scope.rpartition("_")[2].split("x")]
    halves = "_1a_" in scope
    options = {
        "stride": 2 if halves else 1,
        "padding": reduce_padding if halves else "SAME",
        "scope": scope,
    }
    if scope.startswith("MaxPool"):
        return layers.max_pool2d(net, kernel, **options)
    if scope.startswith("AvgPool"):
        return layers.avg_pool2d(net, kernel, **options)
    return layers.conv2d(net, depth_of(depth), kernel, **options)


def reduced_kernel(net, kernel):
    """Limits the sizes of a kernel to those of a small input.

    Args:
      net: tensor [batch, height, width, channels].
      kernel: [height, width].

    Returns:
      [height, width].
    """
    sides = net.shape.as_list()[1:3]
    return [full if side is None else min(side, full) for side, full in zip(sides, kernel)]


def classify(
    net, end_points, num_classes, dropout_keep_prob, prediction_fn, spatial_squeeze, letter="1"
):
    """Adds the classifier and the end points `PreLogits`, `Logits` and `Predictions`.

    Args:
      net: tensor [batch, 1, 1, depth], averaged features.
      end_points: dict that receives the end points.
      num_classes: int, number of classes.
      dropout_keep_prob: probability to keep an activation during training.
      prediction_fn: function from logits to predictions.
      spatial_squeeze: whether to remove the spatial axes of the logits.
      letter: prefix of the layers' names.

    Returns:
      Tensor [batch, num_classes] of logits, or [batch, 1, 1, num_classes] without
      `spatial_squeeze`.
    """
    net = layers.dropout(net, keep_prob=dropout_keep_prob, scope=f"Dropout_{letter}b")
    end_points["PreLogits"] = net
    logits = layers.conv2d(
        net,
        num_classes,
        [1, 1],
        activation_fn=None,
        normalizer_fn=None,
        scope=f"Conv2d_{letter}c_1x1",
    )
    if spatial_squeeze:
        logits = tf.squeeze(logits, [1, 2], name="SpatialSqueeze")
    end_points["Logits"] = logits
    end_points["Predictions"] = prediction_fn(logits, scope="Predictions")
    return logits
