"""Embeddings and sparse ids of `tf.contrib.layers`."""

import tensorflow.compat.v1 as tf

from estimator_bridge.tf1.contrib.framework.variables import model_variable
from estimator_bridge.tf1.contrib.layers.utils import collect_named_outputs


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
    """Looks up embeddings of sequences of ids.

    Creates the variable `EmbedSequence/embeddings` [vocab_size, embed_dim].

    Args:
      ids: int32 or int64 tensor [batch, length].
      vocab_size: int, number of ids; optional with `reuse`.
      embed_dim: int, size of an embedding; optional with `reuse`.
      unique: whether to gather each distinct id once.
      initializer: initializer of the embeddings.
      regularizer: regularizer of the embeddings, or None.
      trainable: whether the variables are trainable.
      scope: name of the variable scope, or a VariableScope.
      reuse: whether to reuse the variables of `scope`; None inherits it from the enclosing scope.

    Returns:
      float32 tensor [batch, length, embed_dim].

    Raises:
      ValueError: a size is missing and `reuse` is not set.
    """
    if not (reuse or (vocab_size and embed_dim)):
        raise ValueError(
            "embed_sequence: vocab_size and embed_dim are required without reuse, got "
            f"{vocab_size} and {embed_dim}"
        )
    shape = [vocab_size, embed_dim] if vocab_size and embed_dim else None
    with tf.variable_scope(scope, "EmbedSequence", [ids], reuse=reuse):
        embeddings = model_variable(
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
    """Looks up embeddings, gathering each distinct id once.

    Args:
      params: embedding table [ids, size], or list of its partitions.
      ids: int32 or int64 tensor.
      partition_strategy: `mod` or `div`, as in tf.nn.embedding_lookup.
      name: name of the operations.

    Returns:
      Tensor with the shape of `ids` followed by [size].
    """
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
    """Returns the mean embedding of each row of ids (bag of words).

    Creates the variable `bow_encoder/embeddings` [vocab_size, embed_dim].

    Args:
      ids: int32 or int64 tensor [batch, length], dense or sparse.
      vocab_size: int, number of ids.
      embed_dim: int, size of an embedding.
      sparse_lookup: whether to skip the padding id 0; else all ids count.
      initializer: initializer of the embeddings.
      regularizer: regularizer of the embeddings, or None.
      trainable: whether the variables are trainable.
      scope: name of the variable scope, or a VariableScope.
      reuse: whether to reuse the variables of `scope`; None inherits it from the enclosing scope.

    Returns:
      float32 tensor [batch, embed_dim].
    """
    with tf.variable_scope(scope, "bow_encoder", [ids], reuse=reuse):
        embeddings = model_variable(
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
    """Returns a SparseTensor of the entries that differ from `eos_token`.

    Args:
      tensor: dense tensor.
      eos_token: value that is left out.
      outputs_collections: collections that receive the outputs.
      scope: name of the variable scope, or a VariableScope.

    Returns:
      SparseTensor of the shape of `tensor`.
    """
    with tf.variable_scope(scope, "dense_to_sparse", [tensor]) as sc:
        tensor = tf.convert_to_tensor(tensor)
        indices = tf.where(tf.not_equal(tensor, tf.constant(eos_token, tensor.dtype)))
        shape = tf.shape(tensor, out_type=tf.int64)
        outputs = tf.SparseTensor(indices, tf.gather_nd(tensor, indices), shape)
        return collect_named_outputs(outputs_collections, sc.name, outputs)
