"""Layers of `tf.contrib.layers` that are not convolutions: fully connected, dropout, embedding and
the like.
"""

import functools

import tensorflow.compat.v1 as tf

from estimator_bridge.tf1.contrib.framework.arg_scope import add_arg_scope
from estimator_bridge.tf1.contrib.layers.initializers import xavier_initializer
from estimator_bridge.tf1.contrib.layers.variables import (
    collect_named_outputs,
    layer_variable,
    static_size,
)

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
    """The common end of a layer: normalizer or bias, activation, collections.

    Args:
      bias: a function of the outputs that adds the bias, or None for a layer without.
    """
    if normalizer_fn is not None:
        outputs = normalizer_fn(outputs, **(normalizer_params or {}))
    elif bias is not None:
        outputs = bias(outputs)
    if activation_fn is not None:
        outputs = activation_fn(outputs)
    return collect_named_outputs(outputs_collections, scope.name, outputs)


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
    """inputs x weights + biases, on the last dimension of a tensor of rank 2 or more.

    Variables: `<scope>/weights` [inputs, outputs] and `<scope>/biases` [outputs]; with a
      normalizer, its instead of
    the biases. The default scope is `fully_connected`.

    Raises:
      ValueError: rank below 2, or the last dimension unknown.
    """
    if not isinstance(num_outputs, int) and not hasattr(num_outputs, "__index__"):
        raise ValueError(f"num_outputs type should be one of int, got {type(num_outputs)}.")
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
        if rank == 2:
            outputs = tf.matmul(inputs, weights)
        else:
            outputs = tf.tensordot(inputs, weights, [[rank - 1], [0]])
            outputs.set_shape(inputs.shape[:-1].concatenate([num_outputs]))
        bias = None
        if biases_initializer is not None:

            def bias(values):
                biases = layer_variable(
                    "biases",
                    [num_outputs],
                    dtype,
                    biases_initializer,
                    biases_regularizer,
                    trainable,
                    variables_collections,
                )
                return tf.nn.bias_add(values, biases)

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
    data_format=None,
    scope=None,
):
    """Adds a bias to the channels. Variable: `<scope>/biases`."""
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
    """Sets a share 1 - keep_prob of the inputs to zero and scales the rest by 1 / keep_prob, while
    training.
    """
    with tf.variable_scope(scope, "Dropout", [inputs]) as sc:
        inputs = tf.convert_to_tensor(inputs)
        outputs = tf.layers.dropout(
            inputs, rate=1 - keep_prob, noise_shape=noise_shape, seed=seed, training=is_training
        )
        return collect_named_outputs(outputs_collections, sc.name, outputs)


@add_arg_scope
def flatten(inputs, outputs_collections=None, scope=None):
    """[batch, ...] to [batch, k]."""
    with tf.name_scope(scope, "Flatten", [inputs]) as sc:
        outputs = tf.layers.flatten(tf.convert_to_tensor(inputs))
        return collect_named_outputs(outputs_collections, sc, outputs)


@add_arg_scope
def one_hot_encoding(
    labels, num_classes, on_value=1.0, off_value=0.0, outputs_collections=None, scope=None
):
    """[batch] of integers to [batch, num_classes], float32."""
    with tf.name_scope(scope, "OneHotEncoding", [labels]) as sc:
        labels = tf.convert_to_tensor(labels)
        if labels.dtype == tf.int32:
            labels = tf.to_int64(labels)
        outputs = tf.one_hot(labels, num_classes, on_value=on_value, off_value=off_value)
        return collect_named_outputs(outputs_collections, sc, outputs)


@add_arg_scope
def maxout(inputs, num_units, axis=-1, scope=None):
    """The largest of each group of features: along `axis`, as many are left as `num_units`.

    Raises: ValueError: the features' number is not known, or no multiple of `num_units`.
    """
    with tf.name_scope(scope, "MaxOut", [inputs]):
        inputs = tf.convert_to_tensor(inputs)
        axis %= inputs.shape.ndims
        features = static_size(inputs, axis, "maxout")
        if features % num_units:
            raise ValueError(f"number of features({features}) is not a multiple of {num_units}")
        shape = tf.shape(inputs)
        groups = [num_units, features // num_units]
        split = tf.reshape(inputs, tf.concat([shape[:axis], groups, shape[axis + 1 :]], 0))
        outputs = tf.reduce_max(split, axis + 1)
        static = inputs.shape.as_list()
        outputs.set_shape([*static[:axis], num_units, *static[axis + 1 :]])
        return outputs


@add_arg_scope
def softmax(logits, scope=None):
    """Softmax over the last dimension of a tensor of any rank."""
    with tf.variable_scope(scope, "softmax", [logits]):
        return tf.nn.softmax(logits)


@add_arg_scope
def unit_norm(inputs, dim, epsilon=1e-7, scope=None):
    """Divides by the Euclidean length along dimension `dim`."""
    with tf.variable_scope(scope, "UnitNorm", [inputs]):
        rank = inputs.shape.ndims
        if rank is None or not 0 <= dim < rank:
            raise ValueError("dim must be positive but smaller than the input rank.")
        lengths = tf.sqrt(epsilon + tf.reduce_sum(tf.square(inputs), axis=dim, keepdims=True))
        return tf.div(inputs, lengths)


def embed_sequence(
    ids,
    vocab_size=None,
    embed_dim=None,
    unique=False,
    initializer=None,
    regularizer=None,
    trainable=True,
    scope=None,
    reuse=None,
):
    """[batch, length] of ids to [batch, length, embed_dim]. Variable: `EmbedSequence/embeddings`.

    Raises:
      ValueError: neither a size nor `reuse` is given.
    """
    if not (reuse or (vocab_size and embed_dim)):
        raise ValueError(
            "Must specify vocab size and embedding dimension when not reusing. "
            f"Got vocab_size={vocab_size} and embed_dim={embed_dim}"
        )
    shape = [vocab_size, embed_dim] if vocab_size and embed_dim else None
    with tf.variable_scope(scope, "EmbedSequence", [ids], reuse=reuse):
        embeddings = tf.get_variable(
            "embeddings",
            shape,
            tf.float32,
            initializer=initializer,
            regularizer=regularizer,
            trainable=trainable,
        )
        lookup = embedding_lookup_unique if unique else tf.nn.embedding_lookup
        return lookup(embeddings, ids)


def embedding_lookup_unique(params, ids, partition_strategy="mod", name=None):
    """tf.nn.embedding_lookup that gathers each id once."""
    with tf.name_scope(name, "EmbeddingLookupUnique", [params, ids]):
        ids = tf.convert_to_tensor(ids)
        flat, positions = tf.unique(tf.reshape(ids, [-1]))
        gathered = tf.nn.embedding_lookup(params, flat, partition_strategy)
        rows = tf.gather(gathered, positions)
        outputs = tf.reshape(rows, tf.concat([tf.shape(ids), tf.shape(rows)[1:]], 0))
        outputs.set_shape(ids.shape.concatenate(rows.shape[1:]))
        return outputs


def bow_encoder(
    ids,
    vocab_size,
    embed_dim,
    sparse_lookup=True,
    initializer=None,
    regularizer=None,
    trainable=True,
    scope=None,
    reuse=None,
):
    """The mean of the embeddings of [batch, length] ids: [batch, embed_dim].

    Variable: `bow_encoder/embeddings`.
    """
    with tf.variable_scope(scope, "bow_encoder", [ids], reuse=reuse):
        embeddings = tf.get_variable(
            "embeddings",
            [vocab_size, embed_dim],
            initializer=initializer,
            regularizer=regularizer,
            trainable=trainable,
        )
        if sparse_lookup:
            if not isinstance(ids, tf.SparseTensor):
                ids = dense_to_sparse(ids)
            return tf.nn.embedding_lookup_sparse(embeddings, ids, None, combiner="mean")
        return tf.reduce_mean(tf.nn.embedding_lookup(embeddings, ids), axis=1)


def dense_to_sparse(tensor, eos_token=0, outputs_collections=None, scope=None):
    """Returns the entries that are not `eos_token` as a sparse tensor."""
    with tf.variable_scope(scope, "dense_to_sparse", [tensor]) as sc:
        tensor = tf.convert_to_tensor(tensor)
        indices = tf.where(tf.not_equal(tensor, tf.constant(eos_token, tensor.dtype)))
        shape = tf.shape(tensor, out_type=tf.int64)
        outputs = tf.SparseTensor(indices, tf.gather_nd(tensor, indices), shape)
        return collect_named_outputs(outputs_collections, sc.name, outputs)


def repeat(inputs, repetitions, layer, *args, **kwargs):
    """Applies the same layer several times, in scopes `<scope>/<layer>_1` and so on."""
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
    """Applies a layer several times, each with the next of `stack_args` (one value, or a tuple of
    positional ones).
    """
    scope = kwargs.pop("scope", None)
    if not isinstance(stack_args, (list, tuple)):
        raise ValueError("stack_args need to be a list or tuple")
    with tf.variable_scope(scope, "Stack", [inputs]):
        inputs = tf.convert_to_tensor(inputs)
        if scope is None:
            scope = getattr(layer, "__name__", None) or layer.func.__name__
        for i, args in enumerate(stack_args):
            kwargs["scope"] = f"{scope}_{i + 1}"
            args = args if isinstance(args, (list, tuple)) else [args]
            inputs = layer(inputs, *args, **kwargs)
        return inputs
