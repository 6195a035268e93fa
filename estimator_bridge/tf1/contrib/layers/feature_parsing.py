"""Checks, placeholders and transformed values of the feature columns of `tf.contrib.layers`."""

import tensorflow.compat.v1 as tf

from estimator_bridge.private_tf import feature_column as _v1
from estimator_bridge.private_tf import feature_column_v2 as _fc
from estimator_bridge.tf1.contrib.layers.feature_inputs import (
    column_order,
    create_feature_spec_for_parsing,
)

__all__ = [
    "check_feature_columns",
    "infer_real_valued_columns",
    "make_place_holder_tensors_for_base_features",
    "parse_feature_columns_from_sequence_examples",
    "transform_features",
]


def check_feature_columns(feature_columns):
    """Checks that no column is given twice.

    Args:
      feature_columns: list of columns.

    Raises:
      ValueError: the columns are a dict, or two of them are equal.
    """
    if isinstance(feature_columns, dict):
        raise ValueError("Expected feature_columns to be iterable, found dict.")
    seen = set()
    for column in feature_columns:
        # Columns of two kinds with the same fields are equal as tuples.
        name, key = column.name, (type(column), column)
        if key in seen:
            raise ValueError(
                f"Duplicate feature column key found for column: {name}. This usually means that "
                "the column is almost identical to another column, and one must be discarded."
            )
        seen.add(key)


def transform_features(features, feature_columns):
    """Returns what columns compute from features before embeddings and weights.

    Args:
      features: {feature: tensor}.
      feature_columns: list of columns.

    Returns:
      {column: value} in the order of a model's columns: the numbers of a real-valued column
      [batch, size], the buckets of a bucketized one, and a SparseTensor of ids of the others; ids
      and weights of a weighted one.

    Raises:
      KeyError: a feature is missing.
      ValueError: the columns are a dict, or two of them are equal.
    """
    check_feature_columns(feature_columns)
    for name in create_feature_spec_for_parsing(feature_columns):
        if name not in features:
            raise KeyError(name)
    values = _v1._LazyBuilder(features)
    ordered = []
    for column in sorted(feature_columns, key=column_order):
        ordered += _with_inner(column)
    given = set(feature_columns)
    return {
        column: values.get(column.categorical_column if isinstance(column, _EMBEDDED) else column)
        for column in dict.fromkeys(ordered)
        if column in given
    }


_EMBEDDED = (_fc.EmbeddingColumn, _v1._SharedEmbeddingColumn, _fc.IndicatorColumn)


def _with_inner(column):
    """Returns a column after those whose ids it takes, which 1.x transforms before it."""
    outer = isinstance(column, (*_EMBEDDED, _fc.WeightedCategoricalColumn))
    return [*(_with_inner(column.categorical_column) if outer else ()), column]


def infer_real_valued_columns(features):
    """Returns a real-valued column for each feature.

    Args:
      features: {feature: tensor [batch, ...]} of numbers, or one such tensor, named "".

    Returns:
      List of columns, whose dimension is the number of elements of an example.

    Raises:
      ValueError: a feature is sparse, is no number, or has an unknown shape.
    """
    if not isinstance(features, dict):
        features = {"": features}
    return [
        tf.feature_column.numeric_column(name, shape=(_numbers(name, tensor),), dtype=tensor.dtype)
        for name, tensor in features.items()
    ]


def _numbers(name, tensor):
    """Returns how many numbers an example of a feature has."""
    if isinstance(tensor, tf.SparseTensor):
        raise ValueError(f"feature {name!r}: a sparse feature needs a column; got {tensor}")
    if not (tensor.dtype.is_integer or tensor.dtype.is_floating):
        raise ValueError(f"feature {name!r}: a feature of no numbers needs a column; got {tensor}")
    return tf.TensorShape(tensor.shape.as_list()[1:]).num_elements()


def make_place_holder_tensors_for_base_features(feature_columns):
    """Returns placeholders of the features that columns use.

    Args:
      feature_columns: list of columns.

    Returns:
      {feature: placeholder, sparse for sparse features}.
    """
    found = {}
    for name, spec in create_feature_spec_for_parsing(feature_columns).items():
        if isinstance(spec, tf.VarLenFeature):
            found[name] = tf.sparse_placeholder(spec.dtype, name=f"Placeholder_{name}")
        else:
            shape = [None, *spec.shape]
            found[name] = tf.placeholder(spec.dtype, shape=shape, name=f"Placeholder_{name}")
    return found


def parse_feature_columns_from_sequence_examples(
    serialized,
    context_feature_columns,
    sequence_feature_columns,
    name=None,
    example_name=None,
):
    """Parses a serialized tf.SequenceExample.

    Args:
      serialized: string scalar.
      context_feature_columns: columns of features of the whole sequence, or None.
      sequence_feature_columns: columns of features of each step, or None.
      name: name of the operations.
      example_name: string scalar, name for error messages, or None.

    Returns:
      {feature: tensor} of the context, and {feature: tensor [steps, ...]} of the steps.

    Raises:
      ValueError: `serialized` is several examples, or there are no columns.
    """
    context = create_feature_spec_for_parsing(context_feature_columns or [])
    steps = {
        feature: spec
        if isinstance(spec, tf.VarLenFeature)
        else tf.FixedLenSequenceFeature(spec.shape, spec.dtype)
        for feature, spec in create_feature_spec_for_parsing(sequence_feature_columns or []).items()
    }
    try:
        serialized = tf.reshape(serialized, [])
    except ValueError as error:
        raise ValueError(
            "serialized must contain as single sequence example. Batching must be done after "
            f"parsing for sequence examples. Error: {error}"
        ) from error
    if not context and not steps:
        raise ValueError("Missing features.")
    return tf.parse_single_sequence_example(serialized, context, steps, example_name, name)
