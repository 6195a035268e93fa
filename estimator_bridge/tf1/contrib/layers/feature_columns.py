"""The feature columns of `tf.contrib.layers`, as tf.feature_column objects.

They work in the estimators of tf.contrib.learn and of tf.estimator. In the functions of
tf.contrib.layers the variables have the names of 1.x, in the estimators those of tf.feature_column.
"""

import abc

import tensorflow.compat.v1 as tf

from estimator_bridge.private_tf import feature_column_v2 as _fc
from estimator_bridge.private_tf import feature_column_v2_types as _types
from estimator_bridge.tf1.contrib.layers.crossing import CrossedColumn
from estimator_bridge.tf1.contrib.layers.feature_inputs import (
    create_feature_spec_for_parsing,
    input_from_feature_columns,
    joint_weighted_sum_from_feature_columns,
    parse_feature_columns_from_examples,
    sequence_input_from_feature_columns,
    weighted_sum_from_feature_columns,
)
from estimator_bridge.tf1.contrib.layers.feature_parsing import (
    make_place_holder_tensors_for_base_features,
)
from estimator_bridge.tf1.contrib.layers.integerized import IntegerizedColumn, as_given
from estimator_bridge.tf1.contrib.layers.scattered import scattered_embedding_column
from estimator_bridge.tf1.unsupported import NotSuppliedError, advise

__all__ = [
    "bucketized_column",
    "create_feature_spec_for_parsing",
    "crossed_column",
    "embedding_column",
    "input_from_feature_columns",
    "joint_weighted_sum_from_feature_columns",
    "make_place_holder_tensors_for_base_features",
    "one_hot_column",
    "parse_feature_columns_from_examples",
    "real_valued_column",
    "scattered_embedding_column",
    "sequence_input_from_feature_columns",
    "shared_embedding_columns",
    "sparse_column_with_hash_bucket",
    "sparse_column_with_integerized_feature",
    "sparse_column_with_keys",
    "sparse_column_with_vocabulary_file",
    "weighted_sparse_column",
    "weighted_sum_from_feature_columns",
]

# Classes that programs use in isinstance checks. tf.feature_column counts crossed and bucketized
# columns as categorical; 1.x did not count them as sparse.
_FeatureColumn = _types.FeatureColumn
_RealValuedColumn = _fc.NumericColumn
_BucketizedColumn = _fc.BucketizedColumn
_CrossedColumn = _fc.CrossedColumn
_EmbeddingColumn = _fc.EmbeddingColumn
_OneHotColumn = _fc.IndicatorColumn
_WeightedSparseColumn = _fc.WeightedCategoricalColumn


class _SparseColumn(abc.ABC):  # noqa: B024
    """Base of the columns of the sparse_column_with_... functions."""


for _kind in ("VocabularyList", "VocabularyFile", "Hashed", "Identity"):
    _SparseColumn.register(getattr(_fc, f"{_kind}CategoricalColumn"))


def _combined_by(column, combiner):
    """Returns a column with the combiner of its values in a linear model."""
    if combiner not in (None, "sum", "mean", "sqrtn"):
        raise ValueError(f"combiner: {combiner!r} is unknown; use sum, mean or sqrtn")
    column.combiner = combiner or "sum"
    return column


def sparse_column_with_keys(column_name, keys, default_value=-1, combiner="sum", dtype=tf.string):
    """Returns a categorical column with a list of values.

    Args:
      column_name: str, name of the feature.
      keys: list of the values; the id is the position.
      default_value: int, id of values outside the list.
      combiner: `sum`, `mean` or `sqrtn`, of the values of an example in a linear model.
      dtype: dtype of the values.

    Returns:
      Categorical column.

    Raises:
      ValueError: the combiner is unknown.
    """
    column = tf.feature_column.categorical_column_with_vocabulary_list(
        column_name, keys, dtype=dtype, default_value=default_value
    )
    return _combined_by(column, combiner)


def sparse_column_with_vocabulary_file(
    column_name,
    vocabulary_file,
    num_oov_buckets=0,
    vocab_size=None,
    default_value=-1,
    combiner="sum",
    dtype=tf.string,
):
    """Returns a categorical column with a vocabulary file.

    Args:
      column_name: str, name of the feature.
      vocabulary_file: path of a text file with one value per line.
      num_oov_buckets: int, number of out-of-vocabulary buckets.
      vocab_size: int, number of lines of the file to use; required, as in 1.x.
      default_value: int, id of out-of-vocabulary values if there are no buckets.
      combiner: `sum`, `mean` or `sqrtn`, of the values of an example in a linear model.
      dtype: dtype of the values.

    Returns:
      Categorical column.

    Raises:
      ValueError: the combiner is unknown.
    """
    if vocab_size is None:
        raise ValueError(f"vocab_size: a number of lines is required for column {column_name!r}")
    column = tf.feature_column.categorical_column_with_vocabulary_file(
        column_name,
        vocabulary_file,
        vocabulary_size=vocab_size,
        num_oov_buckets=num_oov_buckets,
        default_value=None if num_oov_buckets else default_value,
        dtype=dtype,
    )
    return _combined_by(column, combiner)


def sparse_column_with_hash_bucket(
    column_name, hash_bucket_size, combiner="sum", dtype=tf.string, hash_keys=None
):
    """Returns a categorical column of hashed values.

    Args:
      column_name: str, name of the feature.
      hash_bucket_size: int, number of buckets.
      combiner: `sum`, `mean` or `sqrtn`, of the values of an example in a linear model.
      dtype: dtype of the values.
      hash_keys: not supported; must be None.

    Returns:
      Categorical column.

    Raises:
      NotSuppliedError: `hash_keys` is given.
      ValueError: the combiner is unknown.
    """
    if hash_keys is not None:
        raise NotSuppliedError(
            advise(
                "tf.contrib.layers.sparse_column_with_hash_bucket(hash_keys=...)",
                "use one column for each hash key",
            )
        )
    column = tf.feature_column.categorical_column_with_hash_bucket(
        column_name, hash_bucket_size, dtype=dtype
    )
    return _combined_by(column, combiner)


def sparse_column_with_integerized_feature(
    column_name, bucket_size, combiner="sum", dtype=tf.int64
):
    """Returns a categorical column whose values are ids, taken modulo bucket_size.

    Args:
      column_name: str, name of the feature.
      bucket_size: int, number of ids.
      combiner: `sum`, `mean` or `sqrtn`, of the values of an example in a linear model.
      dtype: ignored; any integer dtype works.

    Returns:
      Categorical column.

    Raises:
      ValueError: the combiner is unknown.
    """
    del dtype  # Any integer dtype works.
    column = tf.feature_column.categorical_column_with_identity(column_name, bucket_size)
    return _combined_by(IntegerizedColumn(*column), combiner)


def weighted_sparse_column(sparse_id_column, weight_column_name, dtype=tf.float32):
    """Returns a categorical column whose values have weights.

    Args:
      sparse_id_column: categorical column.
      weight_column_name: str, name of the feature with the weights.
      dtype: dtype of the weights.

    Returns:
      Categorical column.
    """
    column = tf.feature_column.weighted_categorical_column(
        sparse_id_column, weight_column_name, dtype=dtype
    )
    return _combined_by(column, getattr(sparse_id_column, "combiner", "sum"))


def real_valued_column(
    column_name, dimension=1, default_value=None, dtype=tf.float32, normalizer=None
):
    """Returns a numeric column.

    Args:
      column_name: str, name of the feature.
      dimension: int, number of values per example.
      default_value: value for missing features, or None.
      dtype: dtype of the values.
      normalizer: function applied to the tensor, or None.

    Returns:
      Numeric column of shape [dimension].

    Raises:
      TypeError: dimension is None.
    """
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
    """Returns a column with the bucket of a numeric value.

    Args:
      source_column: real_valued_column.
      boundaries: sorted numbers.

    Returns:
      Bucketized column.
    """
    return tf.feature_column.bucketized_column(source_column, list(boundaries))


def crossed_column(
    columns,
    hash_bucket_size,
    combiner="sum",
    ckpt_to_load_from=None,
    tensor_name_in_ckpt=None,
    hash_key=None,
):
    """Returns a column of the hashed combinations of two or more columns.

    Args:
      columns: categorical or bucketized columns.
      hash_bucket_size: int, number of buckets.
      combiner: `sum`, `mean` or `sqrtn`, of the values of an example in a linear model.
      ckpt_to_load_from: not supported; must be None.
      tensor_name_in_ckpt: not supported; must be None.
      hash_key: int, key of the fingerprint hash; None for the older hash of 1.x.

    Returns:
      Categorical column.

    Raises:
      NotSuppliedError: a checkpoint is given.
      ValueError: the combiner is unknown.
    """
    _check_no_checkpoint("crossed_column", ckpt_to_load_from, tensor_name_in_ckpt)
    # As in 1.x, the hash is of the raw features, not of their ids, in the order of their names.
    raw = (
        _fc.HashedCategoricalColumn,
        _fc.VocabularyListCategoricalColumn,
        _fc.VocabularyFileCategoricalColumn,
    )
    columns = sorted(columns, key=lambda column: column.name)
    keys = [c.key if isinstance(c, raw) else as_given(c) for c in columns]
    column = tf.feature_column.crossed_column(keys, hash_bucket_size, hash_key=hash_key)
    if hash_key is None:
        column = CrossedColumn(*column)
    column.parts = tuple(columns)
    return _combined_by(column, combiner)


def _check_no_checkpoint(function, *arguments):
    if any(argument is not None for argument in arguments):
        raise NotSuppliedError(
            advise(
                f"tf.contrib.layers.{function}(ckpt_to_load_from=...)",
                "use warm_start_from of the estimator",
            )
        )


def one_hot_column(sparse_id_column):
    """Returns a dense column of counts per id.

    Args:
      sparse_id_column: categorical column.

    Returns:
      Indicator column [ids].
    """
    return tf.feature_column.indicator_column(sparse_id_column)


def _default_table(sparse_id_column):
    """Returns the initializer of an embedding table in 1.x, which depends on the number of ids."""
    return tf.truncated_normal_initializer(0.0, sparse_id_column.num_buckets**-0.5)


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
    """Returns a dense column of a learned embedding.

    Args:
      sparse_id_column: categorical column.
      dimension: int, size of the embedding.
      combiner: `mean`, `sqrtn` or `sum`, for examples with more than one id.
      initializer: initializer of the embedding table.
      ckpt_to_load_from: checkpoint to initialize the table from, or None.
      tensor_name_in_ckpt: name of the table in that checkpoint.
      max_norm: number to which the norm of an embedding is clipped, or None.
      trainable: whether the variables are trainable.

    Returns:
      Embedding column [dimension].
    """
    return tf.feature_column.embedding_column(
        sparse_id_column,
        dimension,
        combiner=combiner or "mean",
        initializer=initializer or _default_table(sparse_id_column),
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
    """Returns dense columns that share one embedding table.

    Args:
      sparse_id_columns: categorical columns.
      dimension: int, size of the embedding.
      combiner: `mean`, `sqrtn` or `sum`, for examples with more than one id.
      shared_embedding_name: name of the table, or None.
      initializer: initializer of the embedding table.
      ckpt_to_load_from: checkpoint to initialize the table from, or None.
      tensor_name_in_ckpt: name of the table in that checkpoint.
      max_norm: number to which the norm of an embedding is clipped, or None.
      trainable: whether the variables are trainable.

    Returns:
      List of embedding columns [dimension], in the order of `sparse_id_columns`.
    """
    return tf.feature_column.shared_embedding_columns(
        list(sparse_id_columns),
        dimension,
        combiner=combiner or "mean",
        initializer=initializer or _default_table(sparse_id_columns[0]),
        shared_embedding_collection_name=shared_embedding_name,
        ckpt_to_load_from=ckpt_to_load_from,
        tensor_name_in_ckpt=tensor_name_in_ckpt,
        max_norm=max_norm,
        trainable=trainable,
    )
