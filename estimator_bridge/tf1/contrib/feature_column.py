"""`tf.contrib.feature_column`: columns of sequences."""

import tensorflow.compat.v1 as tf

from estimator_bridge.tf1.contrib.package import unsupported_names as _unsupported_names

__getattr__, _advice_for = _unsupported_names(globals())

_columns = tf.feature_column

sequence_categorical_column_with_hash_bucket = _columns.sequence_categorical_column_with_hash_bucket
sequence_categorical_column_with_identity = _columns.sequence_categorical_column_with_identity
sequence_categorical_column_with_vocabulary_file = (
    _columns.sequence_categorical_column_with_vocabulary_file
)
sequence_categorical_column_with_vocabulary_list = (
    _columns.sequence_categorical_column_with_vocabulary_list
)
sequence_numeric_column = _columns.sequence_numeric_column


def sequence_input_layer(features, feature_columns, weight_collections=None, trainable=True):
    """Returns the concatenated values of dense sequence columns.

    Creates the variables `sequence_input_layer/<column>/embedding_weights`.

    Args:
      features: {feature: tensor}.
      feature_columns: dense columns over sequence columns.
      weight_collections: ignored.
      trainable: whether the variables are trainable.

    Returns:
      Tensor [batch, length, size], and the lengths, int64 [batch].
    """
    del weight_collections  # The variables are always in the global collection.
    with tf.variable_scope(None, "sequence_input_layer", list(features.values())):
        layer = tf.keras.experimental.SequenceFeatures(
            list(feature_columns), trainable=trainable, name="columns"
        )
        return layer(features)


def concatenate_context_input(context_input, sequence_input):
    """Appends the context to each step of a sequence.

    Args:
      context_input: tensor [batch, context size].
      sequence_input: tensor [batch, length, sequence size].

    Returns:
      Tensor [batch, length, sequence size + context size].
    """
    length = tf.shape(sequence_input)[1]
    repeated = tf.tile(tf.expand_dims(context_input, 1), [1, length, 1])
    return tf.concat([sequence_input, repeated], 2)
