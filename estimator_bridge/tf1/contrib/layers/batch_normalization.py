"""Batch normalization of `tf.contrib.layers`."""

import tensorflow.compat.v1 as tf

from estimator_bridge.private_tf import attr_value_pb2, moving_averages, smart_cond
from estimator_bridge.tf1.contrib.framework.arg_scope import add_arg_scope
from estimator_bridge.tf1.contrib.layers.utils import (
    collect_named_outputs,
    get_variable_collections,
)
from estimator_bridge.tf1.contrib.layers.variables import layer_variable, static_size

_NAMES = ("beta", "gamma", "moving_mean", "moving_variance")


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
    """Normalizes each channel by the moments of the batch (Ioffe and Szegedy, 2015).

    Creates the variables `<scope>/beta`, `gamma` (see `center` and `scale`), `moving_mean` and
    `moving_variance`, all [channels]. The default scope is `BatchNorm`. For inputs of rank 2 and 4
    the moving average uses the unbiased variance of the batch, like the fused kernel.

    Args:
      inputs: floating tensor of rank 2 or more.
      decay: decay of the moving averages.
      center: whether to add the variable `beta`.
      scale: whether to multiply by the variable `gamma`.
      epsilon: number added to the variance.
      activation_fn: function applied to the outputs, or None.
      param_initializers: {variable name: initializer}, or None.
      param_regularizers: {variable name: regularizer}, or None.
      updates_collections: collections for the updates of the moving averages; None runs the updates
        with the layer.
      is_training: bool or bool tensor: use the batch's moments (True) or the moving averages.
      reuse: whether to reuse the variables of `scope`; None inherits it from the enclosing scope.
      variables_collections: collections for the variables: a list, or {variable name: list}.
      outputs_collections: collections that receive the outputs.
      trainable: whether the variables are trainable.
      batch_weights: tensor [batch], weights of the examples in the moments, or None.
      fused: False keeps the biased variance in the moving average.
      data_format: order of the axes, channels last (`NHWC`) or channels first (`NCHW`).
      zero_debias_moving_mean: whether to correct the bias of the moving mean towards zero.
      scope: name of the variable scope, or a VariableScope.
      renorm: whether to correct the moments of the batch towards moving averages (Ioffe, 2017).
      renorm_clipping: {"rmin", "rmax", "dmax": scalar}, limits of the correction, or None.
      renorm_decay: decay of the averages for the correction.
      adjustment: function from the shape of the inputs to (scale, bias) of the normalized values
        in training, or None.

    Returns:
      Tensor of the shape of `inputs`.

    Raises:
      ValueError: the number of channels is unknown, or `renorm` or `adjustment` is given without
        `updates_collections` or with `batch_weights`.
    """
    is_renormalized = renorm or adjustment is not None
    if is_renormalized and (batch_weights is not None or updates_collections is None):
        raise ValueError(
            "batch_norm: renorm and adjustment need updates_collections, and exclude batch_weights"
        )
    if data_format not in ("NHWC", "NCHW"):
        raise ValueError(f"data_format: {data_format!r} is unknown; use NHWC or NCHW")
    initializers = param_initializers or {}
    regularizers = param_regularizers or {}
    with tf.variable_scope(scope, "BatchNorm", [inputs], reuse=reuse) as sc:
        inputs = tf.convert_to_tensor(inputs)
        axis = 1 if data_format == "NCHW" else inputs.shape.ndims - 1
        channels = static_size(inputs, axis, "batch_norm")
        if is_renormalized:
            starts = {name: initializers[name] for name in initializers if name in _NAMES}
            layer = tf.layers.BatchNormalization(
                *(axis, decay, epsilon, center, scale),
                **{f"{name}_initializer": one for name, one in starts.items()},
                beta_regularizer=regularizers.get("beta"),
                gamma_regularizer=regularizers.get("gamma"),
                trainable=trainable,
                renorm=renorm,
                renorm_clipping=renorm_clipping,
                renorm_momentum=renorm_decay,
                adjustment=adjustment,
                name=sc.name,
                _scope=sc,
                _reuse=reuse,
            )
            outputs = layer.apply(inputs, training=is_training)
            _collect(layer, variables_collections, updates_collections)
            outputs = outputs if activation_fn is None else activation_fn(outputs)
            return collect_named_outputs(outputs_collections, sc.name, outputs)
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

        starts = {"beta": (center, tf.zeros_initializer()), "gamma": (scale, tf.ones_initializer())}
        # The order of creation is that of 1.x.
        gamma_first = inputs.shape.ndims == 4 and updates_collections is not None
        order = ("gamma", "beta") if gamma_first else ("beta", "gamma")
        made = {
            name: param(name, starts[name][1], True) if starts[name][0] else None for name in order
        }
        beta, gamma = made["beta"], made["gamma"]
        # The moving averages are not partitioned.
        with tf.variable_scope(tf.get_variable_scope(), partitioner=None):
            moving_mean = param("moving_mean", tf.zeros_initializer(), False)
            moving_variance = param("moving_variance", tf.ones_initializer(), False)

        def in_training():
            fusible = inputs.shape.ndims == 4 and batch_weights is None and fused is not False
            if fusible and data_format == "NHWC":
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
        is_fused = _suits_fused(inputs, batch_weights, fused)
        _mark(outputs, is_fused)
        if smart_cond.smart_constant_value(is_training) is not False:
            # If a tensor selects inference, the update assigns the average to itself.
            update_mean = _update if is_fused else _update_as_model
            updates = [
                update_mean(moving_mean, mean, decay, zero_debias_moving_mean),
                _update(moving_variance, variance, decay, False),
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


def _mark(outputs, is_fused):
    """Marks the last operation for tf.contrib.quantize, if 1.x uses the fused one instead."""
    if is_fused and not tf.executing_eagerly() and outputs.op.type == "AddV2":
        outputs.op._set_attr("_fused_batch_norm_1x", attr_value_pb2.AttrValue(b=True))


def _collect(layer, variables_collections, updates_collections):
    """Adds the variables and the updates of a layer of tf.layers to collections."""
    for variable in layer.weights:
        name = variable.op.name.rpartition("/")[2]
        collections = get_variable_collections(variables_collections, name) or ()
        tf.add_to_collections([tf.GraphKeys.MODEL_VARIABLES, *collections], variable)
    if updates_collections != tf.GraphKeys.UPDATE_OPS:
        for update in layer.updates:
            tf.add_to_collections(updates_collections, update)


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


def _suits_fused(inputs, batch_weights, fused):
    """Returns whether 1.x uses the fused operation, also for inputs of rank 2."""
    return fused is not False and batch_weights is None and inputs.shape.ndims in (2, 4)


def _update(average, value, decay, zero_debias):
    return moving_averages.assign_moving_average(average, value, decay, zero_debias=zero_debias)


def _update_as_model(average, value, decay, zero_debias):
    """Updates an average; what the correction needs is among the model's variables."""
    before = set(map(id, tf.global_variables()))
    update = _update(average, value, decay, zero_debias)
    for variable in tf.global_variables():
        if id(variable) not in before:
            tf.add_to_collection(tf.GraphKeys.MODEL_VARIABLES, variable)
    return update
