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
    """Returns the dense sequence columns side by side, [batch, length, size], and the lengths
    [batch], int64.

    Variables: `sequence_input_layer/<column>/embedding_weights`.
    """
    del weight_collections  # The variables are in the global ones.
    with tf.variable_scope(None, "sequence_input_layer", list(features.values())):
        layer = tf.keras.experimental.SequenceFeatures(
            list(feature_columns), trainable=trainable, name="columns"
        )
        return layer(features)


def concatenate_context_input(context_input, sequence_input):
    """Returns [batch, length, both sizes]: the context [batch, size] repeated at each step."""
    length = tf.shape(sequence_input)[1]
    repeated = tf.tile(tf.expand_dims(context_input, 1), [1, length, 1])
    return tf.concat([sequence_input, repeated], 2)
