"""The fully connected layers of the first releases, `tf.contrib.layers.legacy_...`."""

import functools

import tensorflow.compat.v1 as tf

from estimator_bridge.tf1.contrib.layers.initializers import xavier_initializer
from estimator_bridge.tf1.contrib.layers.variables import static_size

__all__ = ["legacy_fully_connected", "legacy_linear", "legacy_relu"]


def legacy_fully_connected(
    x,
    num_output_units,
    activation_fn=None,
    weight_init=xavier_initializer(),  # noqa: B008
    bias_init=tf.zeros_initializer(),  # noqa: B008
    name=None,
    weight_collections=(tf.GraphKeys.WEIGHTS,),
    bias_collections=(tf.GraphKeys.BIASES,),
    output_collections=(tf.GraphKeys.ACTIVATIONS,),
    trainable=True,
    weight_regularizer=None,
    bias_regularizer=None,
):
    """Computes `x` x weights + bias over the last axis.

    Creates the variables `<name>/weights` [inputs, num_output_units] and `<name>/bias`
    [num_output_units]; they are not model variables. The default name is `fully_connected`.

    Args:
      x: floating tensor [batch, ..., inputs], rank 2 or more.
      num_output_units: int, number of output units.
      activation_fn: function applied to the outputs, or None.
      weight_init: initializer of the weights.
      bias_init: initializer of the bias; None for no bias.
      name: name of the variable scope.
      weight_collections: collections for the weights.
      bias_collections: collections for the bias.
      output_collections: collections that receive the outputs, as `activations` always does.
      trainable: whether the variables are trainable.
      weight_regularizer: regularizer of the weights, or None.
      bias_regularizer: regularizer of the bias, or None.

    Returns:
      Tensor [batch, ..., num_output_units].

    Raises:
      ValueError: the rank is below 2, or the last dimension is unknown.
    """
    with tf.variable_scope(name, "fully_connected", [x]):
        x = tf.convert_to_tensor(x)
        rank = x.shape.ndims
        if rank is None or rank < 2:
            raise ValueError(f"legacy_fully_connected: x needs rank 2 or more, got {x.shape}")
        size = static_size(x, -1, "legacy_fully_connected")
        dtype = x.dtype.base_dtype

        def variable(name, shape, initializer, collections, regularizer):
            return tf.get_variable(
                name,
                shape,
                dtype,
                initializer,
                regularizer,
                trainable,
                {tf.GraphKeys.GLOBAL_VARIABLES, *(collections or ())},
            )

        weights = variable(
            "weights",
            [size, num_output_units],
            weight_init,
            weight_collections,
            weight_regularizer,
        )
        outputs = tf.matmul(x if rank == 2 else tf.reshape(x, [-1, size]), weights)
        if bias_init is not None:
            bias = variable(
                "bias", [num_output_units], bias_init, bias_collections, bias_regularizer
            )
            outputs = tf.nn.bias_add(outputs, bias)
        if rank != 2:
            outputs = tf.reshape(outputs, tf.concat([tf.shape(x)[:-1], [num_output_units]], 0))
            outputs.set_shape(x.shape[:-1].concatenate([num_output_units]))
        if activation_fn is not None:
            outputs = activation_fn(outputs)
        collections = {tf.GraphKeys.ACTIVATIONS, *(output_collections or ())}
        tf.add_to_collections(collections, outputs)
        return outputs


legacy_linear = functools.partial(legacy_fully_connected, activation_fn=None)
legacy_relu = functools.partial(legacy_fully_connected, activation_fn=tf.nn.relu)
