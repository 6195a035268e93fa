"""Layers of `tf.contrib.layers` without convolution: fully connected, dropout and others."""

import functools

import tensorflow.compat.v1 as tf

from estimator_bridge.tf1.contrib.framework.arg_scope import add_arg_scope
from estimator_bridge.tf1.contrib.layers.initializers import xavier_initializer
from estimator_bridge.tf1.contrib.layers.utils import collect_named_outputs
from estimator_bridge.tf1.contrib.layers.variables import bias_adder, layer_variable, static_size

_XAVIER = xavier_initializer()
_ZEROS = tf.zeros_initializer()


def finish(
    outputs,
    scope,
    activation_fn,
    normalizer_fn,
    normalizer_params,
    bias,
    outputs_collections,
):
    """Applies the last steps of a layer: normalizer or bias, activation, collections.

    Args:
      outputs: tensor, the result of the layer's linear part.
      scope: VariableScope of the layer.
      activation_fn: function applied to the outputs, or None.
      normalizer_fn: function that normalizes the outputs and replaces the bias, or None.
      normalizer_params: keyword arguments of `normalizer_fn`.
      bias: function that adds the bias to the outputs, or None.
      outputs_collections: collections that receive the outputs.

    Returns:
      The finished outputs, a tensor.
    """
    if normalizer_fn is not None:
        outputs = normalizer_fn(outputs, **(normalizer_params or {}))
    elif bias is not None:
        outputs = bias(outputs)
    if activation_fn is not None:
        outputs = activation_fn(outputs)
    return collect_named_outputs(outputs_collections, scope.name, outputs)


def multiply(inputs, weights):
    """Returns the product over the last axis of the inputs.

    Args:
      inputs: floating tensor [batch, ..., inputs] of known rank.
      weights: floating tensor [inputs, outputs].

    Returns:
      Tensor [batch, ..., outputs].
    """
    rank = inputs.shape.ndims
    if rank == 2:
        return tf.matmul(inputs, weights)
    outputs = tf.tensordot(inputs, weights, [[rank - 1], [0]])
    outputs.set_shape(inputs.shape[:-1].concatenate(weights.shape[1:]))
    return outputs


@add_arg_scope
def fully_connected(
    inputs,
    num_outputs,
    activation_fn=tf.nn.relu,
    normalizer_fn=None,
    normalizer_params=None,
    weights_initializer=_XAVIER,
    weights_regularizer=None,
    biases_initializer=_ZEROS,
    biases_regularizer=None,
    reuse=None,
    variables_collections=None,
    outputs_collections=None,
    trainable=True,
    scope=None,
):
    """Computes `inputs` x weights + biases over the last axis.

    Creates the variables `<scope>/weights` [inputs, num_outputs] and `<scope>/biases`
    [num_outputs]. With a normalizer, it creates the variables of the normalizer instead of the
    biases. The default scope is `fully_connected`.

    Args:
      inputs: floating tensor [batch, ..., inputs], rank 2 or more.
      num_outputs: int, number of output units.
      activation_fn: function applied to the outputs, or None.
      normalizer_fn: function that normalizes the outputs and replaces the bias, or None.
      normalizer_params: keyword arguments of `normalizer_fn`.
      weights_initializer: initializer of the weights.
      weights_regularizer: regularizer of the weights, or None.
      biases_initializer: initializer of the biases; None for no bias.
      biases_regularizer: regularizer of the biases, or None.
      reuse: whether to reuse the variables of `scope`; None inherits it from the enclosing scope.
      variables_collections: collections for the variables: a list, or {variable name: list}.
      outputs_collections: collections that receive the outputs.
      trainable: whether the variables are trainable.
      scope: name of the variable scope, or a VariableScope.

    Returns:
      Tensor [batch, ..., num_outputs].

    Raises:
      ValueError: the rank is below 2, the last dimension is unknown, or num_outputs is no integer.
    """
    if not isinstance(num_outputs, int) and not hasattr(num_outputs, "__index__"):
        raise ValueError(f"num_outputs: expected an int, got {num_outputs!r}")
    with tf.variable_scope(scope, "fully_connected", [inputs], reuse=reuse) as sc:
        inputs = tf.convert_to_tensor(inputs)
        rank = inputs.shape.ndims
        if rank is None or rank < 2:
            raise ValueError(f"fully_connected: inputs need rank 2 or more, got {inputs.shape}")
        num_inputs = static_size(inputs, -1, "fully_connected")
        dtype = inputs.dtype.base_dtype
        weights = layer_variable(
            "weights",
            [num_inputs, num_outputs],
            dtype,
            weights_initializer,
            weights_regularizer,
            trainable,
            variables_collections,
        )
        outputs = multiply(inputs, weights)
        bias = bias_adder(
            *(num_outputs, dtype, None, biases_initializer, biases_regularizer, trainable),
            variables_collections,
        )
        return finish(
            outputs, sc, activation_fn, normalizer_fn, normalizer_params, bias, outputs_collections
        )


elu = functools.partial(fully_connected, activation_fn=tf.nn.elu)
linear = functools.partial(fully_connected, activation_fn=None)
relu = functools.partial(fully_connected, activation_fn=tf.nn.relu)
relu6 = functools.partial(fully_connected, activation_fn=tf.nn.relu6)


@add_arg_scope
def bias_add(
    inputs,
    activation_fn=None,
    initializer=_ZEROS,
    regularizer=None,
    reuse=None,
    variables_collections=None,
    outputs_collections=None,
    trainable=True,
    data_format="NHWC",
    scope=None,
):
    """Adds a bias per channel.

    Creates the variable `<scope>/biases` [channels].

    Args:
      inputs: tensor of rank 2 or more.
      activation_fn: function applied to the outputs, or None.
      initializer: initializer of the biases.
      regularizer: regularizer of the biases, or None.
      reuse: whether to reuse the variables of `scope`; None inherits it from the enclosing scope.
      variables_collections: collections for the variables: a list, or {variable name: list}.
      outputs_collections: collections that receive the outputs.
      trainable: whether the variables are trainable.
      data_format: order of the axes, channels last (`NHWC`) or channels first (`NCHW`).
      scope: name of the variable scope, or a VariableScope.

    Returns:
      Tensor of the shape of `inputs`.

    Raises:
      ValueError: the number of channels is unknown.
    """
    with tf.variable_scope(scope, "BiasAdd", [inputs], reuse=reuse) as sc:
        inputs = tf.convert_to_tensor(inputs)
        channels = static_size(inputs, 1 if data_format == "NCHW" else -1, "bias_add")
        biases = layer_variable(
            "biases",
            [channels],
            inputs.dtype.base_dtype,
            initializer,
            regularizer,
            trainable,
            variables_collections,
        )
        outputs = tf.nn.bias_add(inputs, biases, data_format=data_format)
        if activation_fn is not None:
            outputs = activation_fn(outputs)
        return collect_named_outputs(outputs_collections, sc.name, outputs)


@add_arg_scope
def dropout(
    inputs,
    keep_prob=0.5,
    noise_shape=None,
    is_training=True,
    outputs_collections=None,
    scope=None,
    seed=None,
):
    """Zeroes a share 1 - keep_prob of the inputs in training and scales the rest by 1 / keep_prob.

    Args:
      inputs: floating tensor.
      keep_prob: probability to keep an element.
      noise_shape: int32 shape of the random mask, broadcast to the inputs; None for their shape.
      is_training: bool or bool tensor; if False, the inputs are returned unchanged.
      outputs_collections: collections that receive the outputs.
      scope: name of the variable scope, or a VariableScope.
      seed: seed of the random operation.

    Returns:
      Tensor of the shape of `inputs`.
    """
    with tf.variable_scope(scope, "Dropout", [inputs]) as sc:
        inputs = tf.convert_to_tensor(inputs)
        layer = tf.layers.Dropout(1 - keep_prob, noise_shape, seed, name=sc.name, _scope=sc)
        outputs = layer.apply(inputs, training=is_training)
        return collect_named_outputs(outputs_collections, sc.name, outputs)


@add_arg_scope
def flatten(inputs, outputs_collections=None, scope=None):
    """Reshapes [batch, ...] to [batch, k].

    Args:
      inputs: tensor of rank 1 or more.
      outputs_collections: collections that receive the outputs.
      scope: name of the name scope.

    Returns:
      Tensor [batch, k].
    """
    with tf.name_scope(scope, "Flatten", [inputs]) as sc:
        outputs = tf.layers.flatten(tf.convert_to_tensor(inputs))
        return collect_named_outputs(outputs_collections, sc, outputs)


@add_arg_scope
def one_hot_encoding(
    labels, num_classes, on_value=1.0, off_value=0.0, outputs_collections=None, scope=None
):
    """Returns the one-hot encoding of integer labels.

    Args:
      labels: int32 or int64 tensor [batch].
      num_classes: int, length of an encoding.
      on_value: value at the label's position.
      off_value: value at all other positions.
      outputs_collections: collections that receive the outputs.
      scope: name of the name scope.

    Returns:
      float32 tensor [batch, num_classes].
    """
    with tf.name_scope(scope, "OneHotEncoding", [labels]) as sc:
        labels = tf.convert_to_tensor(labels)
        if labels.dtype == tf.int32:
            labels = tf.to_int64(labels)
        outputs = tf.one_hot(labels, num_classes, on_value=on_value, off_value=off_value)
        return collect_named_outputs(outputs_collections, sc, outputs)


@add_arg_scope
def maxout(inputs, num_units, axis=-1, scope=None):
    """Returns the maximum of each group of features (Goodfellow et al., 2013).

    Args:
      inputs: tensor; its size along `axis` must be known.
      num_units: int, number of groups, the size of the output along `axis`.
      axis: int, axis of the features.
      scope: name of the name scope.

    Returns:
      Tensor like `inputs`, with the size `num_units` along `axis`.

    Raises:
      ValueError: the number of features is unknown, or not a multiple of `num_units`.
    """
    with tf.name_scope(scope, "MaxOut", [inputs]):
        inputs = tf.convert_to_tensor(inputs)
        axis %= inputs.shape.ndims
        features = static_size(inputs, axis, "maxout")
        if features % num_units:
            raise ValueError(f"maxout: {features} features are not a multiple of {num_units}")
        # As in 1.x the groups are consecutive elements of the whole tensor, so that they are groups
        # of features only along the last axis.
        shape = tf.shape(inputs)
        size = [num_units], shape[axis + 1 :], [features // num_units]
        outputs = tf.reduce_max(tf.reshape(inputs, tf.concat([shape[:axis], *size], 0)), -1)
        static = inputs.shape.as_list()
        outputs.set_shape([*static[:axis], num_units, *static[axis + 1 :]])
        return outputs


@add_arg_scope
def softmax(logits, scope=None):
    """Returns the softmax over the last axis of a tensor of any rank.

    Args:
      logits: floating tensor.
      scope: name of the variable scope, or a VariableScope.

    Returns:
      Tensor of the shape of `logits`.
    """
    with tf.variable_scope(scope, "softmax", [logits]):
        return tf.nn.softmax(logits)


@add_arg_scope
def unit_norm(inputs, dim, epsilon=1e-7, scope=None):
    """Divides by the Euclidean norm along an axis.

    Args:
      inputs: floating tensor of known rank.
      dim: int, axis of the norm, not negative.
      epsilon: number added to the squared norm.
      scope: name of the variable scope, or a VariableScope.

    Returns:
      Tensor of the shape of `inputs`.

    Raises:
      ValueError: the rank is unknown, or `dim` is not less than the rank.
    """
    with tf.variable_scope(scope, "UnitNorm", [inputs]):
        rank = inputs.shape.ndims
        if rank is None or not 0 <= dim < rank:
            raise ValueError(f"dim: {dim} is not an axis of inputs of shape {inputs.shape}")
        lengths = tf.sqrt(epsilon + tf.reduce_sum(tf.square(inputs), axis=dim, keepdims=True))
        return tf.div(inputs, lengths)


def repeat(inputs, repetitions, layer, *args, **kwargs):
    """Applies a layer repeatedly, in the scopes `<scope>/<layer>_1`, `<scope>/<layer>_2` and so on.

    Args:
      inputs: input tensor of the first application.
      repetitions: int, number of applications.
      layer: layer function with a `scope` argument.
      *args: positional arguments of each application.
      **kwargs: keyword arguments of each application, and the `scope` of all.

    Returns:
      Output tensor of the last application.
    """
    scope = kwargs.pop("scope", None)
    with tf.variable_scope(scope, "Repeat", [inputs]):
        inputs = tf.convert_to_tensor(inputs)
        if scope is None:
            scope = getattr(layer, "__name__", None) or layer.func.__name__
        for i in range(repetitions):
            kwargs["scope"] = f"{scope}_{i + 1}"
            inputs = layer(inputs, *args, **kwargs)
        return inputs


def stack(inputs, layer, stack_args, **kwargs):
    """Applies a layer repeatedly, each time with the next arguments.

    Args:
      inputs: input tensor of the first application.
      layer: layer function with a `scope` argument.
      stack_args: list with one entry per application: a value, or a tuple of positional values.
      **kwargs: keyword arguments of each application, and the `scope` of all.

    Returns:
      Output tensor of the last application.

    Raises:
      ValueError: `stack_args` is not a list or tuple.
    """
    scope = kwargs.pop("scope", None)
    if not isinstance(stack_args, (list, tuple)):
        raise ValueError(f"stack_args: expected a list or tuple, got {stack_args!r}")
    with tf.variable_scope(scope, "Stack", [inputs]):
        inputs = tf.convert_to_tensor(inputs)
        if scope is None:
            scope = getattr(layer, "__name__", None) or layer.func.__name__
        for i, args in enumerate(stack_args):
            kwargs["scope"] = f"{scope}_{i + 1}"
            args = args if isinstance(args, (list, tuple)) else [args]
            inputs = layer(inputs, *args, **kwargs)
        return inputs
