"""`tf.contrib.feature_column`: columns of sequences."""

import tensorflow.compat.v1 as tf

from estimator_bridge.private_tf import feature_column as _fc_v1
from estimator_bridge.private_tf import feature_column_v2 as _fc
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

_SequenceNumeric = type(_columns.sequence_numeric_column("key"))


class _Transformed:
    """The values that a v1 column reads, as v2 columns ask for them.

    Args:
      inputs: the LazyBuilder that a v1 column is given.
    """

    def __init__(self, inputs):
        self._inputs = inputs

    def get(self, key, state_manager):
        del state_manager
        return self._inputs.get(key)


class _SequenceNumericColumn(_SequenceNumeric, _fc_v1._SequenceDenseColumn):  # type: ignore
    """A numeric column of sequences that is also a v1 column, as that of 1.15's tf.contrib is.

    The functions of v1 refuse other columns, such as make_parse_example_spec, which
    `tf.estimator.classifier_parse_example_spec` calls.
    """

    __slots__ = ()

    @property
    def _parse_example_spec(self):
        return self.parse_example_spec

    @property
    def _variable_shape(self):
        return self.variable_shape

    def _transform_feature(self, inputs):
        return self.transform_feature(_Transformed(inputs), None)

    def _get_sequence_dense_tensor(self, inputs, weight_collections=None, trainable=None):
        del weight_collections, trainable  # It has no variables.
        return self.get_sequence_dense_tensor(_Transformed(inputs), None)


def sequence_numeric_column(
    key, shape=(1,), default_value=0.0, dtype=tf.float32, normalizer_fn=None
):
    """Returns a column of sequences of numbers.

    Args:
      key: name of the feature.
      shape: shape of the value of one step.
      default_value: the number that pads shorter sequences.
      dtype: type of the values.
      normalizer_fn: function of the sparse values, or None.
    """
    made = _columns.sequence_numeric_column(key, shape, default_value, dtype, normalizer_fn)
    return _SequenceNumericColumn(*made)


class _ColumnVariables(_fc.StateManager):
    """Creates the variables of columns in the current variable scope."""

    def __init__(self, collections, trainable):
        self._collections, self._trainable = collections, trainable
        self._variables = {}

    def create_variable(
        self,
        feature_column,
        name,
        shape,
        dtype=None,
        trainable=True,
        use_resource=True,
        initializer=None,
    ):
        del use_resource  # The variable scope decides.
        self._variables[feature_column, name] = tf.get_variable(
            name,
            shape,
            dtype,
            initializer,
            trainable=self._trainable and trainable,
            collections=self._collections,
        )
        return self._variables[feature_column, name]

    def get_variable(self, feature_column, name):
        return self._variables[feature_column, name]

    def has_resource(self, feature_column, resource_name):
        # Vocabulary tables are made anew for each layer, as in 1.x.
        return False

    def add_resource(self, feature_column, resource_name, resource):
        pass


def sequence_input_layer(features, feature_columns, weight_collections=None, trainable=True):
    """Returns the concatenated values of dense sequence columns.

    Creates the variables `sequence_input_layer/<column>/embedding_weights`.

    Args:
      features: {feature: tensor}.
      feature_columns: dense columns over sequence columns.
      weight_collections: further collections for the variables, or None.
      trainable: whether the variables are trainable.

    Returns:
      Tensor [batch, length, size], and the lengths, int64 [batch].

    Raises:
      ValueError: a column has no sequences.
    """
    columns = sorted(feature_columns, key=lambda column: column.name)
    for column in columns:
        if not hasattr(column, "get_sequence_dense_tensor"):
            raise ValueError(f"feature_columns: {column.name!r} is no dense column of sequences")
    collections = [*(weight_collections or ()), tf.GraphKeys.GLOBAL_VARIABLES]
    with tf.variable_scope(None, "sequence_input_layer", list(features.values())):
        transformed = _fc.FeatureTransformationCache(features)
        state = _ColumnVariables(collections, trainable)
        values, lengths = [], []
        for column in columns:
            with tf.variable_scope(None, column.name):
                if hasattr(column, "create_state"):
                    column.create_state(state)
                steps, length = column.get_sequence_dense_tensor(transformed, state)
            shape = tf.shape(steps)[:2]
            size = column.variable_shape.num_elements()
            values.append(tf.reshape(steps, tf.concat([shape, [size]], 0)))
            lengths.append(length)
        with tf.control_dependencies([tf.assert_equal(lengths[0], other) for other in lengths[1:]]):
            return tf.concat(values, -1), tf.identity(lengths[0])


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
