"""The linear and the deep part of the canned estimators of `tf.contrib.learn`."""

import math

import tensorflow.compat.v1 as tf

from estimator_bridge.tf1.contrib import layers

__all__ = [
    "DEEP",
    "LINEAR",
    "build_deep_input",
    "build_deep_layers",
    "build_deep_logits",
    "build_linear_logits",
    "embedding_multipliers",
    "linear_learning_rate",
    "make_optimizer",
    "make_partitioner",
]

# The scopes of the parts, which are also collections of their variables.
LINEAR, DEEP = "linear", "dnn"
_SLICE_BYTES = 64 << 20


def make_partitioner(config, min_slice_bytes=None):
    """Returns the partitioner of variables over the parameter servers.

    Args:
      config: RunConfig.
      min_slice_bytes: int, smallest part; None for TensorFlow's.

    Returns:
      Function for tf.variable_scope.
    """
    options = {} if min_slice_bytes is None else {"min_slice_size": min_slice_bytes}
    parts = max(1, config.num_ps_replicas if config else 1)
    return tf.min_max_variable_partitioner(max_partitions=parts, **options)


def build_linear_logits(features, columns, dimension, joint):
    """Returns the logits of a linear model, in the present variable scope `linear`.

    Args:
      features: {feature: tensor}.
      columns: list of feature columns.
      dimension: int, number of logits.
      joint: whether the sparse columns share one variable.

    Returns:
      float32 tensor [batch, dimension].
    """
    function = (
        layers.joint_weighted_sum_from_feature_columns
        if joint
        else layers.weighted_sum_from_feature_columns
    )
    logits, _, _ = function(
        columns_to_tensors=features,
        feature_columns=columns,
        num_outputs=dimension,
        weight_collections=[LINEAR],
        scope=tf.get_variable_scope(),
    )
    return logits


def build_deep_logits(features, columns, dimension, network, form, config, train):
    """Returns the logits of a deep model, in the present variable scope `dnn`.

    Args:
      features: {feature: tensor}.
      columns: list of feature columns.
      dimension: int, number of logits.
      network: (sizes of the hidden layers, activation function or its name, dropout or None,
        smallest part of a table in bytes, the partitioner of tables, or None).
      form: format of the summaries' tags, of the scope and the kind.
      config: RunConfig.
      train: bool, whether dropout applies.

    Returns:
      float32 tensor [batch, dimension].
    """
    partitioner = network[3]
    if not callable(partitioner):
        partitioner = make_partitioner(config, partitioner or _SLICE_BYTES)
    net = build_deep_input(features, columns, partitioner)
    return build_deep_layers(net, dimension, network[:3], form, train)


def build_deep_input(features, columns, partitioner):
    """Returns the input layer of a deep model, in the present variable scope `dnn`.

    Args:
      features: {feature: tensor}.
      columns: list of feature columns.
      partitioner: function for tf.variable_scope.

    Returns:
      float32 tensor [batch, n].
    """
    values = tuple(features.values())
    with tf.variable_scope("input_from_feature_columns", values=values, partitioner=partitioner):
        return layers.input_from_feature_columns(
            features,
            columns,
            weight_collections=[DEEP],
            scope=tf.get_variable_scope(),
        )


def build_deep_layers(net, dimension, network, form, train):
    """Returns the logits of a deep model, in the present variable scope `dnn`.

    Args:
      net: float32 tensor [batch, n], the input layer.
      dimension: int, number of logits.
      network: (sizes of the hidden layers, activation function or its name, dropout or None).
      form: format of the summaries' tags, of the scope and the kind.
      train: bool, whether dropout applies.

    Returns:
      float32 tensor [batch, dimension].
    """
    units, activation_fn, dropout = network
    if isinstance(activation_fn, str):
        activation_fn = getattr(tf.nn, activation_fn)
    for place, size in enumerate(units):
        with tf.variable_scope(f"hiddenlayer_{place}", values=(net,)) as scope:
            net = layers.fully_connected(
                net, size, activation_fn, variables_collections=[DEEP], scope=scope
            )
            if dropout is not None and train:
                net = layers.dropout(net, keep_prob=1.0 - dropout)
        summarize(form, scope.name, net)
    with tf.variable_scope("logits", values=(net,)) as scope:
        logits = layers.fully_connected(
            net, dimension, activation_fn=None, variables_collections=[DEEP], scope=scope
        )
    summarize(form, scope.name, logits)
    return logits


def summarize(form, name, value):
    """Writes the summaries of a layer.

    Args:
      form: format of the tags, of the scope and the kind.
      name: name of the layer's scope.
      value: tensor.
    """
    tf.summary.scalar(form.format(name, "fraction_of_zero_values"), tf.nn.zero_fraction(value))
    tf.summary.histogram(form.format(name, "activation"), value)


def embedding_multipliers(multipliers):
    """Returns the factors of the gradients of embedding tables.

    Args:
      multipliers: {embedding column: factor}, or None.

    Returns:
      {variable name: factor}, or None.
    """
    if not multipliers:
        return None
    scope = f"{DEEP}/input_from_feature_columns/"
    return {
        variable.name: factor
        for column, factor in multipliers.items()
        for variable in tf.get_collection(DEEP)
        if variable.op.name.startswith(f"{scope}{column.name}/")
    }


def linear_learning_rate(columns):
    """Returns the default learning rate of a linear part.

    Args:
      columns: list of feature columns.

    Returns:
      Number.
    """
    return min(0.2, 1.0 / math.sqrt(len(columns)))


def make_optimizer(given, default, learning_rate):
    """Returns an optimizer.

    Args:
      given: tf.train.Optimizer, its name, a function that returns one, or None for the default.
      default: class of the default.
      learning_rate: number, of the default and of a named optimizer.

    Returns:
      tf.train.Optimizer.
    """
    if given is None:
        return default(learning_rate=learning_rate)
    if isinstance(given, str):
        return layers.OPTIMIZER_CLS_NAMES[given](learning_rate=learning_rate)
    return given() if callable(given) else given
