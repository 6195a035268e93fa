"""Normalizations of `tf.contrib.layers`."""

import math

import tensorflow.compat.v1 as tf

from estimator_bridge.private_tf import moving_averages, smart_cond
from estimator_bridge.tf1.contrib.framework.arg_scope import add_arg_scope
from estimator_bridge.tf1.contrib.layers.variables import (
    collect_named_outputs,
    layer_variable,
    static_size,
)


@add_arg_scope
def batch_norm(
    inputs,
    decay=0.999,
    center=True,
    scale=False,
    epsilon=0.001,
    activation_fn=None,
    param_initializers=None,
    param_regularizers=None,
    updates_collections=tf.GraphKeys.UPDATE_OPS,
    is_training=True,
    reuse=None,
    variables_collections=None,
    outputs_collections=None,
    trainable=True,
    batch_weights=None,
    fused=None,
    data_format="NHWC",
    zero_debias_moving_mean=False,
    scope=None,
    renorm=False,
    renorm_clipping=None,
    renorm_decay=0.99,
    adjustment=None,
):
    """Ioffe and Szegedy (2015), over all dimensions but the channels.

    Variables: `<scope>/beta` and `gamma` (as `center` and `scale` say), `moving_mean`,
      `moving_variance`, all
    [channels]. The default scope is `BatchNorm`. The variance of a batch is the unbiased one where
    it enters the moving average of inputs of rank 2 and 4, as the fused kernel has it.

    Args:
      decay: of the moving averages.
      updates_collections: where the updates of the moving averages go; None: they run with the
        layer.
      is_training: a bool, or a bool tensor.
      batch_weights: [batch], weights of the examples in the moments.

    Raises:
      ValueError: the channels' number is not known, or `renorm` or `adjustment` is asked for.
    """
    if renorm or adjustment is not None:
        raise ValueError(
            "batch_norm: renorm and adjustment are not supplied to 1.x programs; use "
            "tf.layers.batch_normalization"
        )
    if data_format not in ("NHWC", "NCHW"):
        raise ValueError("data_format has to be either NCHW or NHWC.")
    initializers = param_initializers or {}
    regularizers = param_regularizers or {}
    with tf.variable_scope(scope, "BatchNorm", [inputs], reuse=reuse) as sc:
        inputs = tf.convert_to_tensor(inputs)
        axis = 1 if data_format == "NCHW" else inputs.shape.ndims - 1
        channels = static_size(inputs, axis, "batch_norm")
        # Statistics of half-precision inputs are kept in float32.
        dtype = tf.float32 if inputs.dtype.base_dtype.size == 2 else inputs.dtype.base_dtype

        def param(name, default, can_train):
            return layer_variable(
                name,
                [channels],
                dtype,
                initializers.get(name, default),
                regularizers.get(name),
                can_train and trainable,
                variables_collections,
            )

        beta = param("beta", tf.zeros_initializer(), True) if center else None
        gamma = param("gamma", tf.ones_initializer(), True) if scale else None
        # Variables shared between towers keep one value each: no partitions.
        with tf.variable_scope(tf.get_variable_scope(), partitioner=None):
            moving_mean = param("moving_mean", tf.zeros_initializer(), False)
            moving_variance = param("moving_variance", tf.ones_initializer(), False)

        def in_training():
            if inputs.shape.ndims == 4 and batch_weights is None and data_format == "NHWC":
                # The fused kernel returns the unbiased variance itself.
                ones, zeros = tf.ones([channels], dtype), tf.zeros([channels], dtype)
                return tf.nn.fused_batch_norm(
                    inputs,
                    ones if gamma is None else gamma,
                    zeros if beta is None else beta,
                    epsilon=epsilon,
                    is_training=True,
                )
            mean, variance = _moments(inputs, axis, batch_weights, dtype)
            outputs = _normalize(inputs, mean, variance, beta, gamma, epsilon, axis, dtype)
            return outputs, mean, _unbiased(variance, inputs, axis, batch_weights, fused)

        def in_inference():
            outputs = _normalize(
                inputs, moving_mean, moving_variance, beta, gamma, epsilon, axis, dtype
            )
            return outputs, tf.identity(moving_mean), tf.identity(moving_variance)

        outputs, mean, variance = smart_cond.smart_cond(is_training, in_training, in_inference)
        if smart_cond.smart_constant_value(is_training) is not False:
            # While a tensor says "not training", the average moves towards itself and stays.
            updates = [
                moving_averages.assign_moving_average(
                    moving_mean, mean, decay, zero_debias=zero_debias_moving_mean
                ),
                moving_averages.assign_moving_average(
                    moving_variance, variance, decay, zero_debias=False
                ),
            ]
            if updates_collections is None:
                with tf.control_dependencies(updates):
                    outputs = tf.identity(outputs)
            else:
                for update in updates:
                    tf.add_to_collections(updates_collections, update)
        outputs.set_shape(inputs.shape)
        if activation_fn is not None:
            outputs = activation_fn(outputs)
        return collect_named_outputs(outputs_collections, sc.name, outputs)


def _moments(inputs, axis, batch_weights, dtype):
    axes = [a for a in range(inputs.shape.ndims) if a != axis]
    inputs = tf.cast(inputs, dtype)
    if batch_weights is None:
        return tf.nn.moments(inputs, axes)
    weights = tf.cast(tf.convert_to_tensor(batch_weights), dtype)
    weights = tf.reshape(weights, [-1] + [1] * (inputs.shape.ndims - 1))
    return tf.nn.weighted_moments(inputs, axes, weights)


def _normalize(inputs, mean, variance, beta, gamma, epsilon, axis, dtype):
    def broadcast(values):
        if values is None or axis == inputs.shape.ndims - 1:
            return values
        return tf.reshape(values, [-1] + [1] * (inputs.shape.ndims - axis - 1))

    outputs = tf.nn.batch_normalization(
        tf.cast(inputs, dtype), *map(broadcast, (mean, variance, beta, gamma)), epsilon
    )
    return tf.cast(outputs, inputs.dtype)


def _unbiased(variance, inputs, axis, batch_weights, fused):
    if batch_weights is not None or fused is False or inputs.shape.ndims not in (2, 4):
        return variance
    shape = tf.shape(inputs)
    count = tf.cast(tf.reduce_prod(shape) // shape[axis], variance.dtype)
    return variance * (count / tf.maximum(count - 1, 1))


@add_arg_scope
def layer_norm(
    inputs,
    center=True,
    scale=True,
    activation_fn=None,
    reuse=None,
    variables_collections=None,
    outputs_collections=None,
    trainable=True,
    begin_norm_axis=1,
    begin_params_axis=-1,
    scope=None,
):
    """Ba, Kiros and Hinton (2016): normalizes each example over the dimensions from
    `begin_norm_axis` on.

    Variables: `<scope>/beta` and `<scope>/gamma` of the shape of the dimensions from
      `begin_params_axis` on. The default
    scope is `LayerNorm`; epsilon is 1e-12 (1e-3 in half precision).

    Raises:
      ValueError: the rank or the parameters' shape is not known, or an axis is outside of it.
    """
    with tf.variable_scope(scope, "LayerNorm", [inputs], reuse=reuse) as sc:
        inputs = tf.convert_to_tensor(inputs)
        rank = inputs.shape.ndims
        if rank is None:
            raise ValueError(f"Inputs {inputs.name} has undefined rank.")
        begin_norm_axis += rank if begin_norm_axis < 0 else 0
        if begin_params_axis >= rank or begin_norm_axis >= rank:
            raise ValueError(
                f"begin_params_axis ({begin_params_axis}) and begin_norm_axis ({begin_norm_axis}) "
                "must be < rank "
                f"of inputs ({rank})"
            )
        shape = inputs.shape[begin_params_axis:]
        if not shape.is_fully_defined():
            raise ValueError(
                f"Inputs {inputs.name}: shape[begin_params_axis:] is not fully defined: "
                f"{inputs.shape}"
            )
        dtype = inputs.dtype.base_dtype

        def param(name, initializer):
            return layer_variable(
                name, shape, dtype, initializer, None, trainable, variables_collections
            )

        beta = param("beta", tf.zeros_initializer()) if center else None
        gamma = param("gamma", tf.ones_initializer()) if scale else None
        axes = list(range(begin_norm_axis, rank))
        mean, variance = tf.nn.moments(inputs, axes, keep_dims=True)
        epsilon = 1e-3 if dtype == tf.float16 else 1e-12
        outputs = tf.nn.batch_normalization(inputs, mean, variance, beta, gamma, epsilon)
        outputs.set_shape(inputs.shape)
        if activation_fn is not None:
            outputs = activation_fn(outputs)
        return collect_named_outputs(outputs_collections, sc.name, outputs)


def _beta_and_gamma(inputs, shape, center, scale, initializers, trainable, collections):
    """The variables `beta` and `gamma`, one value a channel, reshaped; None for one not wanted."""
    made = []
    for name, is_wanted, default in (
        ("beta", center, tf.zeros_initializer()),
        ("gamma", scale, tf.ones_initializer()),
    ):
        values = None
        if is_wanted:
            values = layer_variable(
                name,
                [math.prod(shape)],
                inputs.dtype.base_dtype,
                (initializers or {}).get(name, default),
                None,
                trainable,
                collections,
            )
            values = tf.reshape(values, shape)
        made.append(values)
    return made


@add_arg_scope
def instance_norm(
    inputs,
    center=True,
    scale=True,
    epsilon=1e-6,
    activation_fn=None,
    param_initializers=None,
    reuse=None,
    variables_collections=None,
    outputs_collections=None,
    trainable=True,
    data_format="NHWC",
    scope=None,
):
    """Ulyanov et al. (2016): normalizes each example and channel over its positions.

    Variables: `<scope>/beta` and `<scope>/gamma`, [channels]. The default scope is `InstanceNorm`.
    """
    with tf.variable_scope(scope, "InstanceNorm", [inputs], reuse=reuse) as sc:
        inputs = tf.convert_to_tensor(inputs)
        rank = inputs.shape.ndims
        axis = 1 if data_format == "NCHW" else rank - 1
        channels = static_size(inputs, axis, "instance_norm")
        beta, gamma = _beta_and_gamma(
            inputs,
            [channels] + [1] * (rank - axis - 1),
            center,
            scale,
            param_initializers,
            trainable,
            variables_collections,
        )
        axes = [a for a in range(1, rank) if a != axis]
        mean, variance = tf.nn.moments(inputs, axes, keep_dims=True)
        outputs = tf.nn.batch_normalization(inputs, mean, variance, beta, gamma, epsilon)
        if activation_fn is not None:
            outputs = activation_fn(outputs)
        return collect_named_outputs(outputs_collections, sc.name, outputs)


@add_arg_scope
def group_norm(
    inputs,
    groups=32,
    channels_axis=-1,
    reduction_axes=(-3, -2),
    center=True,
    scale=True,
    epsilon=1e-6,
    activation_fn=None,
    param_initializers=None,
    reuse=None,
    variables_collections=None,
    outputs_collections=None,
    trainable=True,
    scope=None,
    mean_close_to_zero=False,
):
    """Wu and He (2018): normalizes each example and group of channels over its positions.

    Variables: `<scope>/beta` and `<scope>/gamma`, [channels]. The default scope is `GroupNorm`.

    Args:
      groups: how many; a divisor of the channels' number.
      reduction_axes: the positions' axes.
      mean_close_to_zero: the variance is of E[x^2] - E[x]^2, which is exact enough then.

    Raises:
      ValueError: the rank or the channels' number is not known, an axis is outside of the rank or
        among the channels, or the channels cannot be divided into the groups.
    """
    with tf.variable_scope(scope, "GroupNorm", [inputs], reuse=reuse) as sc:
        inputs = tf.convert_to_tensor(inputs)
        rank = inputs.shape.ndims
        if rank is None:
            raise ValueError(f"Inputs {inputs.name} has undefined rank.")
        axes = [channels_axis, *reduction_axes]
        if any(not -rank <= axis < rank for axis in axes):
            raise ValueError(f"group_norm: axes {axes} are not all within the rank {rank}")
        axis, *reduced = [one % rank for one in axes]
        if axis in reduced:
            raise ValueError("reduction_axes must not have the channels' axis")
        channels = static_size(inputs, axis, "group_norm")
        if groups > channels or channels % groups:
            raise ValueError(f"{channels} channels cannot be divided into {groups} groups")
        split = [groups, channels // groups]
        spread = [1] * (rank + 1)
        spread[axis : axis + 2] = split
        beta, gamma = _beta_and_gamma(
            inputs, spread, center, scale, param_initializers, trainable, variables_collections
        )
        shape = tf.shape(inputs)
        grouped = tf.reshape(inputs, tf.concat([shape[:axis], split, shape[axis + 1 :]], 0))
        # The channels of a group are averaged too; axes behind them have moved by one.
        over = [axis + 1, *(one + (one > axis) for one in reduced)]
        if mean_close_to_zero:
            mean = tf.reduce_mean(grouped, over, keepdims=True)
            variance = tf.reduce_mean(tf.square(grouped), over, keepdims=True) - tf.square(mean)
        else:
            mean, variance = tf.nn.moments(grouped, over, keep_dims=True)
        outputs = tf.nn.batch_normalization(grouped, mean, variance, beta, gamma, epsilon)
        outputs = tf.reshape(outputs, shape)
        outputs.set_shape(inputs.shape)
        if activation_fn is not None:
            outputs = activation_fn(outputs)
        return collect_named_outputs(outputs_collections, sc.name, outputs)
