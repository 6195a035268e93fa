"""The feature columns of `tf.contrib.layers`, as the tf.feature_column objects that followed them.

They go into the estimators of tf.contrib.learn here and into tf.estimator's alike. In checkpoints
the variables carry the names of tf.feature_column.
"""

import abc

import tensorflow.compat.v1 as tf

from estimator_bridge.private_tf import feature_column_v2 as _fc
from estimator_bridge.private_tf import feature_column_v2_types as _types
from estimator_bridge.tf1.unsupported import NotSuppliedError, advise

__all__ = [
    "bucketized_column",
    "create_feature_spec_for_parsing",
    "crossed_column",
    "embedding_column",
    "input_from_feature_columns",
    "joint_weighted_sum_from_feature_columns",
    "one_hot_column",
    "parse_feature_columns_from_examples",
    "real_valued_column",
    "shared_embedding_columns",
    "sparse_column_with_hash_bucket",
    "sparse_column_with_integerized_feature",
    "sparse_column_with_keys",
    "sparse_column_with_vocabulary_file",
    "weighted_sparse_column",
    "weighted_sum_from_feature_columns",
]

# The classes that programs ask a column about. Those of tf.feature_column also count crossed and
# bucketized columns as categorical; 1.x did not count them as sparse.
_FeatureColumn = _types.FeatureColumn
_RealValuedColumn = _fc.NumericColumn
_BucketizedColumn = _fc.BucketizedColumn
_CrossedColumn = _fc.CrossedColumn
_EmbeddingColumn = _fc.EmbeddingColumn
_OneHotColumn = _fc.IndicatorColumn
_WeightedSparseColumn = _fc.WeightedCategoricalColumn


class _SparseColumn(abc.ABC):  # noqa: B024
    """Any column of sparse_column_with_..."""


for _kind in ("VocabularyList", "VocabularyFile", "Hashed", "Identity"):
    _SparseColumn.register(getattr(_fc, f"{_kind}CategoricalColumn"))


def _check_combiner(function, combiner):
    """A linear model has one combiner for all its columns now, and the default is the one that 1.x
    had.
    """
    if combiner not in (None, "sum"):
        raise NotSuppliedError(
            advise(
                f"tf.contrib.layers.{function}(combiner={combiner!r})",
                "pass sparse_combiner to the linear estimator of tf.estimator",
            )
        )


def sparse_column_with_keys(column_name, keys, default_value=-1, combiner="sum", dtype=tf.string):
    """A categorical column with a list of values; others get the id `default_value`."""
    _check_combiner("sparse_column_with_keys", combiner)
    return tf.feature_column.categorical_column_with_vocabulary_list(
        column_name, keys, dtype=dtype, default_value=default_value
    )


def sparse_column_with_vocabulary_file(
    column_name,
    vocabulary_file,
    num_oov_buckets=0,
    vocab_size=None,
    default_value=-1,
    combiner="sum",
    dtype=tf.string,
):
    """A categorical column with a file of values, one a line."""
    _check_combiner("sparse_column_with_vocabulary_file", combiner)
    return tf.feature_column.categorical_column_with_vocabulary_file(
        column_name,
        vocabulary_file,
        vocabulary_size=vocab_size,
        num_oov_buckets=num_oov_buckets,
        default_value=None if num_oov_buckets else default_value,
        dtype=dtype,
    )


def sparse_column_with_hash_bucket(
    column_name, hash_bucket_size, combiner="sum", dtype=tf.string, hash_keys=None
):
    """A categorical column of hashed values."""
    _check_combiner("sparse_column_with_hash_bucket", combiner)
    if hash_keys is not None:
        raise NotSuppliedError(
            advise(
                "tf.contrib.layers.sparse_column_with_hash_bucket(hash_keys=...)",
                "use one column for each hash key",
            )
        )
    return tf.feature_column.categorical_column_with_hash_bucket(
        column_name, hash_bucket_size, dtype=dtype
    )


def sparse_column_with_integerized_feature(
    column_name, bucket_size, combiner="sum", dtype=tf.int64
):
    """A categorical column whose values are the ids, 0 to bucket_size - 1."""
    _check_combiner("sparse_column_with_integerized_feature", combiner)
    del dtype  # The ids may come in any integer type.
    return tf.feature_column.categorical_column_with_identity(column_name, bucket_size)


def weighted_sparse_column(sparse_id_column, weight_column_name, dtype=tf.float32):
    """A categorical column whose values count by the weights of another feature."""
    return tf.feature_column.weighted_categorical_column(
        sparse_id_column, weight_column_name, dtype=dtype
    )


def real_valued_column(
    column_name, dimension=1, default_value=None, dtype=tf.float32, normalizer=None
):
    """A numeric column of `dimension` values."""
    if dimension is None:
        raise TypeError(
            "dimension must be an integer. dimension: None, column_name: " + column_name
        )
    return tf.feature_column.numeric_column(
        column_name,
        shape=(dimension,),
        default_value=default_value,
        dtype=dtype,
        normalizer_fn=normalizer,
    )


def bucketized_column(source_column, boundaries):
    """The bucket of a real-valued column between sorted boundaries."""
    return tf.feature_column.bucketized_column(source_column, list(boundaries))


def crossed_column(
    columns,
    hash_bucket_size,
    combiner="sum",
    ckpt_to_load_from=None,
    tensor_name_in_ckpt=None,
    hash_key=None,
):
    """The combinations of two or more columns, hashed."""
    _check_combiner("crossed_column", combiner)
    _check_no_checkpoint("crossed_column", ckpt_to_load_from, tensor_name_in_ckpt)
    # The feature itself is crossed, not the bucket it would be hashed into.
    keys = [c.key if isinstance(c, _fc.HashedCategoricalColumn) else c for c in columns]
    return tf.feature_column.crossed_column(keys, hash_bucket_size, hash_key=hash_key)


def _check_no_checkpoint(function, *arguments):
    if any(argument is not None for argument in arguments):
        raise NotSuppliedError(
            advise(
                f"tf.contrib.layers.{function}(ckpt_to_load_from=...)",
                "use warm_start_from of the estimator",
            )
        )


def one_hot_column(sparse_id_column):
    """A categorical column as a vector of counts, for a deep model."""
    return tf.feature_column.indicator_column(sparse_id_column)


def embedding_column(
    sparse_id_column,
    dimension,
    combiner="mean",
    initializer=None,
    ckpt_to_load_from=None,
    tensor_name_in_ckpt=None,
    max_norm=None,
    trainable=True,
):
    """A categorical column as a learned vector, for a deep model."""
    return tf.feature_column.embedding_column(
        sparse_id_column,
        dimension,
        combiner=combiner or "mean",
        initializer=initializer,
        ckpt_to_load_from=ckpt_to_load_from,
        tensor_name_in_ckpt=tensor_name_in_ckpt,
        max_norm=max_norm,
        trainable=trainable,
    )


def shared_embedding_columns(
    sparse_id_columns,
    dimension,
    combiner="mean",
    shared_embedding_name=None,
    initializer=None,
    ckpt_to_load_from=None,
    tensor_name_in_ckpt=None,
    max_norm=None,
    trainable=True,
):
    """Several categorical columns with one table of vectors; returns a list of columns."""
    return tf.feature_column.shared_embedding_columns(
        list(sparse_id_columns),
        dimension,
        combiner=combiner or "mean",
        initializer=initializer,
        shared_embedding_collection_name=shared_embedding_name,
        ckpt_to_load_from=ckpt_to_load_from,
        tensor_name_in_ckpt=tensor_name_in_ckpt,
        max_norm=max_norm,
        trainable=trainable,
    )


def create_feature_spec_for_parsing(feature_columns):
    """Returns {feature: FixedLenFeature or VarLenFeature} for tf.parse_example."""
    return tf.feature_column.make_parse_example_spec(list(feature_columns))


def parse_feature_columns_from_examples(serialized, feature_columns, name=None, example_names=None):
    """Parses serialized tf.Example, [batch]; returns {feature: tensor}."""
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
    """Returns the dense columns side by side, [batch, total size]."""
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
    """Returns a linear model's output [batch, num_outputs], {column: variables}, and the bias."""
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
