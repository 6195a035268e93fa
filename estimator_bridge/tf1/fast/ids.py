"""The ids of a categorical column of which each row has one value.

The column's own code computes them, from all values at once. It drops missing values (empty texts
and -1) before; here they are marked.
"""

import functools
from typing import Any, NamedTuple, Optional

import tensorflow.compat.v1 as tf

from estimator_bridge.private_tf import feature_column_v2, sparse_ops

__all__ = ["Ids", "NotFusedError", "find_ids"]


class NotFusedError(Exception):
    """A lookup cannot be fused; the text says why."""


class Ids(NamedTuple):
    """One id for each row.

    Attributes:
      values: int64 [batch]; 0 for a missing value, as TensorFlow looks it up too.
      present: bool [batch]; None if no value is missing.
      crossed: the ids and where they are, for a cross: a word outside of a vocabulary has the id -1
        there, and no id in a lookup.
    """

    values: tf.Tensor
    present: Optional[tf.Tensor]
    crossed: tuple[tf.Tensor, Optional[tf.Tensor]]


def find_ids(column: Any, cache: Any, state_manager: Any) -> Ids:
    """Returns the ids of a column.

    Args:
      column: a categorical column.
      cache: the FeatureTransformationCache of the features.
      state_manager: of the layer, which has its tables.

    Raises:
      NotFusedError: the column is of another kind, or may have several values in a row.
    """
    build = _BUILDERS.get(type(column).__name__)
    if build is None or type(column).__module__ != feature_column_v2.__name__:
        raise NotFusedError(f"a {type(column).__name__}")
    if column in cache._features:
        raise NotFusedError("the features have its transformed values")
    return build(column, cache, state_manager)


def _read_feature(key: str, cache: Any) -> tf.Tensor:
    """Returns a feature of rank 1."""
    feature = cache._features.get(key)
    if not isinstance(feature, tf.Tensor):
        # A missing feature, or a NumPy array: TensorFlow says what is wrong, or converts it.
        raise NotFusedError("its feature is no dense tensor")
    shape = feature.shape
    if shape.rank == 1:
        return feature
    if shape.rank == 2 and shape.as_list()[1] == 1:
        return tf.squeeze(feature, [1])
    raise NotFusedError(f"its feature has the shape {shape}, not one value in a row")


def _find_by_key(column: Any, cache: Any, state_manager: Any) -> Ids:
    feature = _read_feature(column.key, cache)
    if feature.dtype == tf.string:
        present = tf.not_equal(feature, "")
    elif feature.dtype.is_integer:
        present = tf.not_equal(feature, tf.cast(-1, feature.dtype))
    else:
        raise NotFusedError(f"its feature has the type {feature.dtype.name}")
    # Only the values are computed in a step. Indices and shape make them a sparse tensor.
    indices = tf.zeros([tf.size(feature), 2], tf.int64)
    sparse = tf.SparseTensor(indices, feature, tf.zeros([2], tf.int64))
    has_table = type(column).__name__.startswith("Vocabulary")
    found = column._transform_input_tensor(sparse, *([state_manager] if has_table else []))
    ids = tf.cast(found.values, tf.int64)
    is_id = present
    if not isinstance(column, feature_column_v2.HashedCategoricalColumn):
        # TensorFlow drops ids below zero, for example of words outside of a vocabulary.
        is_id = tf.logical_and(present, ids >= 0)
    return Ids(_clear(ids, is_id), is_id, (ids, present))


def _clear(ids: tf.Tensor, present: tf.Tensor) -> tf.Tensor:
    return tf.where(present, ids, tf.zeros_like(ids))


def _find_bucket(column: Any, cache: Any, state_manager: Any) -> Ids:
    if tuple(column.source_column.shape) != (1,):
        raise NotFusedError(f"its number has the shape {tuple(column.source_column.shape)}")
    buckets = cache.get(column, state_manager)
    if buckets.shape.rank != 2:
        raise NotFusedError(f"its number has the shape {buckets.shape}")
    ids = tf.squeeze(tf.cast(buckets, tf.int64), [1])
    return Ids(ids, None, (ids, None))


def _find_crossed(column: Any, cache: Any, state_manager: Any) -> Ids:
    sparse, dense, present = [], [], []
    for key in feature_column_v2._collect_leaf_level_keys(column):
        if isinstance(key, str):
            # A dense feature is crossed with its empty texts.
            dense.append(_read_feature(key, cache))
            continue
        values, is_present = find_ids(key, cache, state_manager).crossed
        sparse.append(values)
        if is_present is not None:
            present.append(is_present)
    # The order in which TensorFlow hashes them.
    parts = sparse + dense
    crossed = sparse_ops.sparse_cross_hashed(
        [part[:, tf.newaxis] for part in parts], column.hash_bucket_size, column.hash_key
    ).values
    crossed.set_shape(parts[0].shape)
    if not present:
        return Ids(crossed, None, (crossed, None))
    every = functools.reduce(tf.logical_and, present)
    return Ids(_clear(crossed, every), every, (crossed, every))


_BUILDERS = {
    "BucketizedColumn": _find_bucket,
    "CrossedColumn": _find_crossed,
    "HashedCategoricalColumn": _find_by_key,
    "IdentityCategoricalColumn": _find_by_key,
    "VocabularyFileCategoricalColumn": _find_by_key,
    "VocabularyListCategoricalColumn": _find_by_key,
}
