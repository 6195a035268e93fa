"""Model inputs from the feature columns of `tf.contrib.layers`."""

import tensorflow.compat.v1 as tf

__all__ = [
    "create_feature_spec_for_parsing",
    "input_from_feature_columns",
    "joint_weighted_sum_from_feature_columns",
    "parse_feature_columns_from_examples",
    "weighted_sum_from_feature_columns",
]


def create_feature_spec_for_parsing(feature_columns):
    """Returns the parsing spec of columns for tf.parse_example.

    Args:
      feature_columns: list of columns.

    Returns:
      {feature: FixedLenFeature or VarLenFeature}.
    """
    return tf.feature_column.make_parse_example_spec(list(feature_columns))


def parse_feature_columns_from_examples(serialized, feature_columns, name=None, example_names=None):
    """Parses serialized tf.Example protocol buffers.

    Args:
      serialized: string tensor [batch].
      feature_columns: list of columns.
      name: name of the operations.
      example_names: string tensor [batch], names for error messages, or None.

    Returns:
      {feature: tensor}.
    """
    return tf.parse_example(
        serialized,
        create_feature_spec_for_parsing(feature_columns),
        name=name,
        example_names=example_names,
    )


def input_from_feature_columns(
    columns_to_tensors,
    feature_columns,
    weight_collections=None,
    trainable=True,
    scope=None,
    cols_to_outs=None,
):
    """Returns the concatenated values of dense columns.

    Args:
      columns_to_tensors: {feature: tensor}.
      feature_columns: list of columns.
      weight_collections: collections for the variables.
      trainable: whether the variables are trainable.
      scope: name of the variable scope, or a VariableScope.
      cols_to_outs: dict that receives {column: tensor}, or None.

    Returns:
      float32 tensor [batch, total size of the columns].
    """
    with tf.variable_scope(scope, "input_from_feature_columns"):
        return tf.feature_column.input_layer(
            columns_to_tensors,
            list(feature_columns),
            weight_collections=weight_collections,
            trainable=trainable,
            cols_to_output_tensors=cols_to_outs,
        )


def weighted_sum_from_feature_columns(
    columns_to_tensors,
    feature_columns,
    num_outputs,
    weight_collections=None,
    trainable=True,
    scope=None,
):
    """Returns the output of a linear model over columns.

    Args:
      columns_to_tensors: {feature: tensor}.
      feature_columns: list of columns.
      num_outputs: int, number of outputs.
      weight_collections: collections for the variables.
      trainable: whether the variables are trainable.
      scope: name of the variable scope, or a VariableScope.

    Returns:
      float32 tensor [batch, num_outputs], {column: variables}, and the bias variable.
    """
    with tf.variable_scope(scope, "weighted_sum_from_feature_columns"):
        variables = {}
        outputs = tf.feature_column.linear_model(
            columns_to_tensors,
            list(feature_columns),
            units=num_outputs,
            weight_collections=weight_collections,
            trainable=trainable,
            cols_to_vars=variables,
        )
        bias = variables.pop("bias")
        return outputs, variables, bias[0] if isinstance(bias, list) else bias


joint_weighted_sum_from_feature_columns = weighted_sum_from_feature_columns
