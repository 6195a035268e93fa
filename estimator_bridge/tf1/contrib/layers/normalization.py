"""Normalizations of `tf.contrib.layers`."""

import math

import tensorflow.compat.v1 as tf

from estimator_bridge.tf1.contrib.framework.arg_scope import add_arg_scope
from estimator_bridge.tf1.contrib.layers.utils import collect_named_outputs
from estimator_bridge.tf1.contrib.layers.variables import layer_variable, static_size


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
    """Normalizes each example over the axes from `begin_norm_axis` on.

    The method is that of Ba, Kiros and Hinton (2016). Creates the variables `<scope>/beta` and
    `<scope>/gamma`, of the shape of the axes from `begin_params_axis` on. The default scope is
    `LayerNorm`. Epsilon is 1e-12, or 1e-3 in half precision.

    Args:
      inputs: floating tensor of known rank.
      center: whether to add the variable `beta`.
      scale: whether to multiply by the variable `gamma`.
      activation_fn: function applied to the outputs, or None.
      reuse: whether to reuse the variables of `scope`; None inherits it from the enclosing scope.
      variables_collections: collections for the variables: a list, or {variable name: list}.
      outputs_collections: collections that receive the outputs.
      trainable: whether the variables are trainable.
      begin_norm_axis: int, first normalized axis.
      begin_params_axis: int, first axis of the parameters.
      scope: name of the variable scope, or a VariableScope.

    Returns:
      Tensor of the shape of `inputs`.

    Raises:
      ValueError: the rank or the parameters' shape is unknown, or an axis is out of range.
    """
    with tf.variable_scope(scope, "LayerNorm", [inputs], reuse=reuse) as sc:
        inputs = tf.convert_to_tensor(inputs)
        rank = inputs.shape.ndims
        if rank is None:
            raise ValueError(f"inputs: the rank of {inputs.name} must be known")
        begin_norm_axis += rank if begin_norm_axis < 0 else 0
        if begin_params_axis >= rank or begin_norm_axis >= rank:
            raise ValueError(
                f"begin_params_axis ({begin_params_axis}) and begin_norm_axis "
                f"({begin_norm_axis}): both must be below the rank {rank}"
            )
        shape = inputs.shape[begin_params_axis:]
        if not shape.is_fully_defined():
            raise ValueError(
                f"inputs: the shape from begin_params_axis on must be known, got {inputs.shape}"
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
    """Returns the variables `beta` and `gamma`, one value per channel, or None if disabled."""
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
    """Normalizes each channel of each example over its positions (Ulyanov et al., 2016).

    Creates the variables `<scope>/beta` and `<scope>/gamma`, [channels]. The default scope is
    `InstanceNorm`.

    Args:
      inputs: floating tensor [batch, ..., channels], or channels first.
      center: whether to add the variable `beta`.
      scale: whether to multiply by the variable `gamma`.
      epsilon: number added to the variance.
      activation_fn: function applied to the outputs, or None.
      param_initializers: {variable name: initializer}, or None.
      reuse: whether to reuse the variables of `scope`; None inherits it from the enclosing scope.
      variables_collections: collections for the variables: a list, or {variable name: list}.
      outputs_collections: collections that receive the outputs.
      trainable: whether the variables are trainable.
      data_format: order of the axes, channels last (`NHWC`) or channels first (`NCHW`).
      scope: name of the variable scope, or a VariableScope.

    Returns:
      Tensor of the shape of `inputs`.

    Raises:
      ValueError: the rank or the number of channels is unknown.
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
    """Normalizes each group of channels of each example over its positions (Wu and He, 2018).

    Creates the variables `<scope>/beta` and `<scope>/gamma`, [channels]. The default scope is
    `GroupNorm`.

    Args:
      inputs: floating tensor of known rank.
      groups: int, number of groups; it must divide the number of channels.
      channels_axis: int, axis of the channels.
      reduction_axes: axes of the positions.
      center: whether to add the variable `beta`.
      scale: whether to multiply by the variable `gamma`.
      epsilon: number added to the variance.
      activation_fn: function applied to the outputs, or None.
      param_initializers: {variable name: initializer}, or None.
      reuse: whether to reuse the variables of `scope`; None inherits it from the enclosing scope.
      variables_collections: collections for the variables: a list, or {variable name: list}.
      outputs_collections: collections that receive the outputs.
      trainable: whether the variables are trainable.
      scope: name of the variable scope, or a VariableScope.
      mean_close_to_zero: whether to compute the variance as E[x^2] - E[x]^2, which is accurate for
        means near zero.

    Returns:
      Tensor of the shape of `inputs`.

    Raises:
      ValueError: the rank or the number of channels is unknown, an axis is out of range or is the
        channels' axis, or the groups do not divide the channels.
    """
    with tf.variable_scope(scope, "GroupNorm", [inputs], reuse=reuse) as sc:
        inputs = tf.convert_to_tensor(inputs)
        rank = inputs.shape.ndims
        if rank is None:
            raise ValueError(f"inputs: the rank of {inputs.name} must be known")
        axes = [channels_axis, *reduction_axes]
        if any(not -rank <= axis < rank for axis in axes):
            raise ValueError(
                f"reduction_axes and channels_axis: {axes} are not all within the rank {rank}"
            )
        axis, *reduced = [one % rank for one in axes]
        if axis in reduced:
            raise ValueError("reduction_axes: they must not contain the channels' axis")
        channels = static_size(inputs, axis, "group_norm")
        if groups > channels or channels % groups:
            raise ValueError(f"groups: {channels} channels cannot be divided into {groups} groups")
        split = [groups, channels // groups]
        spread = [1] * (rank + 1)
        spread[axis : axis + 2] = split
        beta, gamma = _beta_and_gamma(
            inputs, spread, center, scale, param_initializers, trainable, variables_collections
        )
        shape = tf.shape(inputs)
        grouped = tf.reshape(inputs, tf.concat([shape[:axis], split, shape[axis + 1 :]], 0))
        # The channels of a group are averaged too; the axes after them are shifted by one.
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
