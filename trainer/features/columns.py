"""Feature columns of a schema: the only transformation from raw columns to inputs of a model.

Feature columns are part of the graph that uses them. So training, evaluation and every export
compute the same from the same raw values.
"""

import math
import re
import zlib
from collections.abc import Sequence
from typing import Any, Callable, NamedTuple, Optional

from estimator_bridge import tf
from trainer.errors import UserError
from trainer.features.shared_embedding import SharedEmbeddingColumn
from trainer.schema import MAX_INDICATOR_SIZE, Column, Cross, Moments, Schema, Statistics
from trainer.schema.columns import NumberMoments
from trainer.schema.types import SharedEmbedding

# Each year from 1950 to 2049 has an id of its own.
YEAR_BOUNDARIES = range(1950, 2050)
# Number of ids of each part of a date; months and days count from 1.
DATE_IDS = {"year": len(YEAR_BOUNDARIES) + 1, "month": 13, "day": 32, "weekday": 7, "hour": 24}
# Names that TensorFlow uses unchanged as scopes of the graph, and the characters of other names.
_SAFE_NAME, _UNSAFE = re.compile(r"[A-Za-z0-9_.\-]+"), re.compile(r"[^A-Za-z0-9_.\-]")


class FeatureColumns(NamedTuple):
    """Feature columns by the part of the model that uses them.

    Attributes:
        wide: feature columns of the linear part.
        deep: dense columns of the deep part.
        sequence: dense columns of sequences, for the sequence part.
    """

    wide: list[Any]
    deep: list[Any]
    sequence: list[Any] = []


def build_feature_columns(schema: Schema, statistics: Statistics) -> FeatureColumns:
    """Builds the feature columns of a schema.

    Args:
        schema: columns, shared embeddings and crosses.
        statistics: statistics of the training data, for normalisation.

    Raises:
        UserError: two feature columns would have the same name.
    """
    parts = FeatureColumns([], [], [])
    shared = {name for together in schema.shared_embeddings for name in together.columns}
    for name in schema.features:
        column = schema.columns[name]
        # An image has no feature column: the model of type image decodes it.
        if not column.use or column.image is not None:
            continue
        if "sequence" in column.use:
            parts.sequence.append(_build_sequence(name, column, statistics))
        if column.is_multivalent_numeric:
            # The column is a sequence, or contains the weights of another column. It needs no
            # feature column here.
            continue
        if column.is_categorical:
            _add_categorical(parts, name, column, is_shared=name in shared)
        elif column.date:
            _add_date(parts, name, column)
        else:
            _add_number(parts, name, column, statistics)
            if column.missing_indicator:
                _add_indicator(parts, name, column)
    for together in schema.shared_embeddings:
        parts.deep.append(_build_shared_embedding(together, schema))
    for cross in schema.crosses:
        _add_cross(parts, cross, schema)
    _require_unique_names(parts)
    return parts


def _add_categorical(parts: FeatureColumns, name: str, column: Column, is_shared: bool) -> None:
    ids = _build_weighted(name, column)
    if "wide" in column.use:
        parts.wide.append(ids)
    # The shared embedding is added to the deep part once, for all of its columns.
    if "deep" in column.use and not is_shared:
        parts.deep.append(_densify(ids, column.size, column.embedding))


def _add_date(parts: FeatureColumns, name: str, column: Column) -> None:
    for part in column.date:
        ids = _build_date_part(name_feature(f"{name}_{part}"), part)
        if "wide" in column.use:
            parts.wide.append(ids)
        if "deep" in column.use:
            parts.deep.append(_densify(ids, DATE_IDS[part], column.embedding))


def _add_number(parts: FeatureColumns, name: str, column: Column, statistics: Statistics) -> None:
    number = tf.feature_column.numeric_column(
        name_feature(name),
        dtype=number_dtype(column),
        normalizer_fn=make_normalizer(column, name, statistics),
    )
    if "wide" in column.use:
        parts.wide.append(_build_bucketized(name, column) if column.buckets else number)
    if "deep" in column.use:
        parts.deep.append(number)


def _add_indicator(parts: FeatureColumns, name: str, column: Column) -> None:
    ids = tf.feature_column.categorical_column_with_identity(name_feature(name_indicator(name)), 1)
    if "wide" in column.use:
        parts.wide.append(ids)
    if "deep" in column.use:
        parts.deep.append(tf.feature_column.indicator_column(ids))


def _build_shared_embedding(together: SharedEmbedding, schema: Schema) -> SharedEmbeddingColumn:
    ids = tuple(_build_weighted(name, schema.columns[name]) for name in together.columns)
    size = schema.columns[together.columns[0]].size
    return SharedEmbeddingColumn(ids, together.dimension or _choose_dimension(size))


def _add_cross(parts: FeatureColumns, cross: Cross, schema: Schema) -> None:
    keys = [_build_cross_key(name, schema.columns[name]) for name in cross.columns]
    ids = tf.feature_column.crossed_column(keys, cross.hash_buckets)
    parts.wide.append(ids)
    if cross.embedding:
        parts.deep.append(tf.feature_column.embedding_column(ids, cross.embedding))


def _require_unique_names(parts: FeatureColumns) -> None:
    for part in parts:
        names = [each.name for each in part]
        for name in names:
            if names.count(name) > 1:
                raise UserError(
                    f"schema: the model would have two inputs called {name!r}; rename the column "
                    "of that name, or remove the cross that is there twice"
                )


def name_feature(name: str) -> str:
    """Returns the key of a column, or of a derived feature, for feature columns.

    Feature columns use their keys as scopes of the graph. Scopes allow only a few characters. A
    name with other characters gets a key with underscores and a checksum.

    Args:
        name: name of the column or feature.
    """
    if _SAFE_NAME.fullmatch(name):
        return name
    return f"{_UNSAFE.sub('_', name)}_{zlib.crc32(name.encode()):08x}"


def name_sequence(name: str) -> str:
    """Returns the name of the feature that contains a column's values in their order.

    Args:
        name: name of the column.
    """
    return f"{name}_sequence"


def name_indicator(name: str) -> str:
    """Returns the name of the feature that says whether a column's number is missing.

    Args:
        name: name of the column.
    """
    return f"{name}_missing"


def name_shared_embedding(columns: Sequence[str], schema: Schema) -> str:
    """Returns the name of the embedding that these columns share.

    Args:
        columns: names of the columns.
        schema: the columns.
    """
    ids = tuple(_build_weighted(name, schema.columns[name]) for name in columns)
    return SharedEmbeddingColumn(ids, 1).name


def is_one_hot(name: str, schema: Schema) -> bool:
    """Returns whether the deep or the sequence part uses a categorical column as one-hot vectors.

    Args:
        name: name of the column.
        schema: the column and the shared embeddings.
    """
    column = schema.columns[name]
    is_shared = any(name in shared.columns for shared in schema.shared_embeddings)
    is_dense = "sequence" in column.use or ("deep" in column.use and not is_shared)
    return is_dense and _has_indicator(column.size, column.embedding)


def build_categorical(name: str, column: Column) -> Any:
    """Returns the categorical column of a column with ids.

    Args:
        name: its name.
        column: its type, and its vocabulary, ids or hash buckets.
    """
    key, kinds = name_feature(name), tf.feature_column
    dtype = tf.string if column.type == "string" else tf.int64
    if column.vocabulary is not None:
        return kinds.categorical_column_with_vocabulary_list(
            key, list(column.vocabulary), dtype=dtype, num_oov_buckets=column.oov_buckets
        )
    if column.identities:
        # An id out of range counts as id 0.
        return kinds.categorical_column_with_identity(key, column.identities, default_value=0)
    # Of a growing column, only name and number of ids matter: the fused engine finds the ids.
    size = column.hash_buckets or column.size
    return kinds.categorical_column_with_hash_bucket(key, size, dtype=dtype)


def _build_weighted(name: str, column: Column) -> Any:
    """Returns a categorical column, weighted if the schema gives it weights."""
    ids = build_categorical(name, column)
    if column.weights is None:
        return ids
    return tf.feature_column.weighted_categorical_column(ids, name_feature(column.weights))


def _build_date_part(key: str, part: str) -> Any:
    # A missing date is -1. An identity column drops it, but the year has a bucket for it.
    if part == "year":
        raw = tf.feature_column.numeric_column(key, dtype=tf.int64)
        return tf.feature_column.bucketized_column(raw, list(YEAR_BOUNDARIES))
    return tf.feature_column.categorical_column_with_identity(key, DATE_IDS[part])


def _build_sequence(name: str, column: Column, statistics: Statistics) -> Any:
    key, kinds = name_feature(name_sequence(name)), tf.feature_column
    if not column.is_categorical:
        normalize = make_normalizer(column, name, statistics)
        if normalize is None:
            return kinds.sequence_numeric_column(key)

        def normalize_all(numbers: Any) -> Any:
            # The feature column passes all numbers of a batch as one sparse tensor.
            return tf.SparseTensor(numbers.indices, normalize(numbers.values), numbers.dense_shape)

        return kinds.sequence_numeric_column(key, normalizer_fn=normalize_all)
    dtype = tf.string if column.type == "string" else tf.int64
    if column.vocabulary is not None:
        ids = kinds.sequence_categorical_column_with_vocabulary_list(
            key, list(column.vocabulary), dtype=dtype, num_oov_buckets=column.oov_buckets
        )
    elif column.identities:
        ids = kinds.sequence_categorical_column_with_identity(
            key, column.identities, default_value=0
        )
    else:
        ids = kinds.sequence_categorical_column_with_hash_bucket(
            key, column.hash_buckets, dtype=dtype
        )
    return _densify(ids, column.size, column.embedding)


def _has_indicator(size: int, embedding: Optional[int]) -> bool:
    return embedding is None and size <= MAX_INDICATOR_SIZE


def _densify(ids: Any, size: int, embedding: Optional[int]) -> Any:
    """Returns categorical ids as a dense column: one-hot, or an embedding."""
    if _has_indicator(size, embedding):
        return tf.feature_column.indicator_column(ids)
    return tf.feature_column.embedding_column(ids, embedding or _choose_dimension(size))


def _choose_dimension(size: int) -> int:
    # Six times the fourth root of the number of categories: the rule of Wang et al., "Deep & Cross
    # Network for Ad Click Predictions" (2017).
    return max(2, round(6 * math.pow(size, 0.25)))


def _build_bucketized(name: str, column: Column) -> Any:
    raw = tf.feature_column.numeric_column(name_feature(name), dtype=number_dtype(column))
    return tf.feature_column.bucketized_column(raw, list(column.buckets or ()))


def _build_cross_key(name: str, column: Column) -> Any:
    # For a plain key, crossed_column hashes the value itself. The vocabulary has no effect.
    return name_feature(name) if column.is_categorical else _build_bucketized(name, column)


def number_dtype(column: Column) -> Any:
    """Returns the dtype of a numeric column's tensor.

    Args:
        column: the column.
    """
    return tf.int64 if column.type == "int" else tf.float32


class Normalization(NamedTuple):
    """How a numeric column is normalised: ([log] x - shift) / scale, in float32.

    Attributes:
        log: whether the logarithm is taken first; it is mirrored for negative values.
        shift: is subtracted; None: neither shift nor scale.
        scale: divides.
    """

    log: bool
    shift: Optional[float] = None
    scale: float = 1.0


def find_normalization(
    column: Column, name: str, statistics: Statistics
) -> Optional[Normalization]:
    """Returns how a numeric column is normalised; None if it is not.

    Args:
        column: how it is normalised.
        name: its name.
        statistics: statistics of the training data, for normalisation.
    """
    normalize = column.normalize
    if normalize == "none":
        return None
    if normalize == "log":
        return Normalization(log=True)
    if isinstance(normalize, Moments):
        shift, scale = normalize.mean, normalize.std
    elif normalize == "minmax":
        seen = statistics.columns[name]
        if seen.min is None or seen.max is None:
            raise UserError(
                f"statistics: no smallest and largest value of {name}, which minmax needs; start "
                "the job again in another --job_dir"
            )
        shift, scale = seen.min, seen.max - seen.min
    else:
        seen = statistics.columns[name]
        shift, scale = seen.mean, seen.std
    # A constant column must not divide by zero.
    scale = scale if scale > 0 and math.isfinite(scale) else 1.0
    log = isinstance(normalize, NumberMoments) and normalize.log
    return Normalization(log, shift, scale)


def make_normalizer(
    column: Column, name: str, statistics: Statistics
) -> Optional[Callable[[Any], Any]]:
    """Returns the function that normalises a numeric column; None if it is not normalised.

    Args:
        column: how it is normalised.
        name: its name.
        statistics: statistics of the training data.

    Returns:
        a function from a tensor of numbers to float32 of the same shape.
    """
    one = find_normalization(column, name, statistics)
    return None if one is None else lambda x: normalize_all(x, [one])


def normalize_all(x: Any, together: Sequence[Normalization]) -> Any:
    """Normalises columns that differ only in shift and scale; returns float32 of the same shape.

    Args:
        x: tensor of numbers; its last dimension is that of the columns if there are several.
        together: the normalisation of each column.
    """
    x = _to_log(x) if together[0].log else _to_float(x)
    if together[0].shift is None:
        return x
    if len(together) == 1:
        return (x - together[0].shift) / together[0].scale
    shifts, scales = [one.shift for one in together], [one.scale for one in together]
    return (x - tf.constant(shifts, tf.float32)) / tf.constant(scales, tf.float32)


def _to_log(x: Any) -> Any:
    # The logarithm is mirrored for negative values, so that no value becomes NaN.
    return tf.sign(_to_float(x)) * tf.math.log1p(tf.abs(_to_float(x)))


def _to_float(x: Any) -> Any:
    return tf.cast(x, tf.float32)
