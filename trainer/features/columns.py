"""The one transform from raw columns to what a model sees, for training, evaluation and serving.

It is a set of feature columns: they become part of whatever graph they are used in, so training,
evaluation and every export compute the same thing from the same raw values.
"""

import math
import re
import zlib
from collections.abc import Sequence
from typing import Any, NamedTuple

from estimator_bridge import tf
from trainer.errors import UserError
from trainer.features.multivalent import join_values
from trainer.features.shared_embedding import SharedEmbeddingColumn
from trainer.schema import MAX_INDICATOR_SIZE, Column, Moments, Schema, Statistics, resolve_defaults

# Ids of each part of a date: months and days count from 1. Years are told apart from 1950 to 2049.
YEAR_BOUNDARIES = range(1950, 2050)
_TYPES = {"float": tf.float32, "int": tf.int64, "string": tf.string}
# What a scope of the graph is called without being changed.
_SAFE_NAME, _UNSAFE = re.compile(r"[A-Za-z0-9_.\-]+"), re.compile(r"[^A-Za-z0-9_.\-]")
DATE_IDS = {"year": len(YEAR_BOUNDARIES) + 1, "month": 13, "day": 32, "weekday": 7, "hour": 24}


class FeatureColumns(NamedTuple):
    """Feature columns by the part of the model that sees them.

    Attributes:
        wide: for the linear part.
        deep: dense columns, for the deep part.
        sequence: dense columns of sequences, for the sequence part.
    """

    wide: list[Any]
    deep: list[Any]
    sequence: list[Any] = []


def build_feature_columns(schema: Schema, statistics: Statistics) -> FeatureColumns:
    """Makes the feature columns of a schema.

    Args:
        schema: columns and crosses.
        statistics: of the training data, for normalisation.

    Raises:
        UserError: two of them would have the same name.
    """
    wide: list[Any] = []
    deep: list[Any] = []
    sequence: list[Any] = []
    # Column that shares a table → its ids.
    shared: dict[str, Any] = {
        name: None for together in schema.shared_embeddings for name in together.columns
    }
    for column_name in schema.features:
        name, column = name_feature(column_name), schema.columns[column_name]
        # An image has no feature column: model.type image decodes it.
        if not column.use or column.image is not None:
            continue
        if "sequence" in column.use:
            sequence.append(_sequence(column_name, column, statistics))
        if column.is_multivalent_numeric:
            # A sequence, or the weights of another column, which names them.
            continue
        if column.is_categorical:
            ids = _weighed(name, column)
            if "wide" in column.use:
                wide.append(ids)
            if column_name in shared:
                shared[column_name] = ids
            elif "deep" in column.use:
                deep.append(_dense(ids, column.size, column.embedding))
        elif column.date:
            for part in column.date:
                ids = _date_part(name_feature(f"{column_name}_{part}"), part)
                if "wide" in column.use:
                    wide.append(ids)
                if "deep" in column.use:
                    deep.append(_dense(ids, DATE_IDS[part], column.embedding))
        else:
            number = _numeric(column_name, column, statistics)
            if "wide" in column.use:
                wide.append(_bucketized(name, column) if column.buckets else number)
            if "deep" in column.use:
                deep.append(number)
    for together in schema.shared_embeddings:
        size = schema.columns[together.columns[0]].size
        dimension = together.dimension or _choose_dimension(size)
        deep.append(
            SharedEmbeddingColumn(tuple(shared[name] for name in together.columns), dimension)
        )
    for cross in schema.crosses:
        ids = tf.feature_column.crossed_column(
            [_crossable(name, schema.columns[name]) for name in cross.columns], cross.hash_buckets
        )
        wide.append(ids)
        if cross.embedding:
            deep.append(tf.feature_column.embedding_column(ids, cross.embedding))
    for part in (wide, deep, sequence):
        names = [each.name for each in part]
        for name in names:
            if names.count(name) > 1:
                raise UserError(
                    f"schema: the model would have two inputs called {name!r}; rename the column "
                    "of that name, or remove the cross that is there twice"
                )
    return FeatureColumns(wide, deep, sequence)


def name_feature(name: str) -> str:
    """The key under which feature columns find a column, or what is made of one.

    Feature columns make scopes of the graph of their keys, which take few characters, and put an
    underscore for some others: a name of other characters gets a key of its own.
    """
    if _SAFE_NAME.fullmatch(name):
        return name
    return f"{_UNSAFE.sub('_', name)}_{zlib.crc32(name.encode()):08x}"


def _categorical(name: str, column: Column):
    if column.vocabulary is not None:
        return tf.feature_column.categorical_column_with_vocabulary_list(
            name,
            list(column.vocabulary),
            dtype=tf.string if column.type == "string" else tf.int64,
            num_oov_buckets=column.oov_buckets,
        )
    if column.identities:
        # An id out of range is as unknown as a missing one.
        return tf.feature_column.categorical_column_with_identity(
            name, column.identities, default_value=0
        )
    return tf.feature_column.categorical_column_with_hash_bucket(
        name, column.hash_buckets, dtype=tf.string if column.type == "string" else tf.int64
    )


def _weighed(name: str, column: Column):
    ids = _categorical(name, column)
    if column.weights is None:
        return ids
    return tf.feature_column.weighted_categorical_column(ids, name_feature(column.weights))


def _date_part(name: str, part: str):
    # -1 is no date: an identity column takes it for no value. A year is counted in its bucket.
    if part == "year":
        raw = tf.feature_column.numeric_column(name, dtype=tf.int64)
        return tf.feature_column.bucketized_column(raw, list(YEAR_BOUNDARIES))
    return tf.feature_column.categorical_column_with_identity(name, DATE_IDS[part])


def name_sequence(name: str) -> str:
    """Name of the feature that holds a column's values in their order."""
    return f"{name}_sequence"


def _sequence(name: str, column: Column, statistics: Statistics):
    key, kinds = name_feature(name_sequence(name)), tf.feature_column
    if not column.is_categorical:
        normalize = make_normalizer(column, name, statistics)
        if normalize is None:
            return kinds.sequence_numeric_column(key)

        def normalize_all(numbers):
            # The function is given all numbers of a batch as one sparse tensor.
            return tf.SparseTensor(numbers.indices, normalize(numbers.values), numbers.dense_shape)

        return kinds.sequence_numeric_column(key, normalizer_fn=normalize_all)
    dtype = _TYPES[column.type]
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
    return _dense(ids, column.size, column.embedding)


def name_shared_embedding(columns: Sequence[str], schema: Schema) -> str:
    """Name of the table that columns share."""
    ids = tuple(_weighed(name_feature(name), schema.columns[name]) for name in columns)
    return SharedEmbeddingColumn(ids, 1).name


def is_one_hot(name: str, schema: Schema) -> bool:
    """Whether the deep or the sequence part sees a categorical column without an embedding."""
    column = schema.columns[name]
    is_shared = any(name in shared.columns for shared in schema.shared_embeddings)
    seen = "sequence" in column.use or ("deep" in column.use and not is_shared)
    return seen and _has_indicator(column.size, column.embedding)


def _has_indicator(size: int, embedding) -> bool:
    return embedding is None and size <= MAX_INDICATOR_SIZE


def _dense(ids, size: int, embedding):
    if _has_indicator(size, embedding):
        return tf.feature_column.indicator_column(ids)
    return tf.feature_column.embedding_column(ids, embedding or _choose_dimension(size))


def _choose_dimension(size: int) -> int:
    # The fourth root of the number of categories, six-fold, after the wide-and-deep tutorial's rule
    # of thumb (Google Developers Blog, "Introducing TensorFlow Feature Columns", 2017).
    return max(2, round(6 * size**0.25))


def _bucketized(name: str, column: Column):
    raw = tf.feature_column.numeric_column(name, dtype=_numeric_type(column))
    return tf.feature_column.bucketized_column(raw, list(column.buckets))


def _crossable(name: str, column: Column):
    if column.is_categorical:
        # A plain key is hashed as it stands, whatever the vocabulary; identities are taken as ids.
        return name_feature(name)
    return _bucketized(name_feature(name), column)


def _numeric_type(column: Column):
    return tf.int64 if column.type == "int" else tf.float32


def _numeric(name: str, column: Column, statistics: Statistics):
    return tf.feature_column.numeric_column(
        name_feature(name),
        dtype=_numeric_type(column),
        normalizer_fn=make_normalizer(column, name, statistics),
    )


def make_normalizer(column: Column, name: str, statistics: Statistics):
    """Makes the function from a raw tensor [batch, 1] to float32 [batch, 1]; None for none."""
    normalize = column.normalize
    if normalize == "none":
        return None
    if normalize == "log":
        # Below zero the logarithm is mirrored, so that no value becomes NaN.
        return lambda x: tf.sign(_float(x)) * tf.math.log1p(tf.abs(_float(x)))
    if isinstance(normalize, Moments):
        shift, scale = normalize.mean, normalize.std
    elif normalize == "minmax":
        seen = statistics.columns[name]
        shift, scale = seen.min, seen.max - seen.min
    else:
        seen = statistics.columns[name]
        shift, scale = seen.mean, seen.std
    # A constant column carries nothing; it must not divide by zero either.
    scale = scale if scale > 0 and math.isfinite(scale) else 1.0
    return lambda x: (_float(x) - shift) / scale


def _float(x):
    return tf.cast(x, tf.float32)


# Serving


def raw_dtype(column: Column):
    """TensorFlow type of a column's raw values."""
    return _TYPES[column.raw_type]


def parse_examples(serialized, schema: Schema, statistics: Statistics) -> dict[str, Any]:
    """Parses tf.Example strings [batch] into raw features, name → tensor [batch]."""
    defaults = resolve_defaults(schema, statistics)
    spec = {
        name: tf.io.FixedLenFeature([], raw_dtype(schema.columns[name]), defaults[name])
        for name in list_inputs(schema)
    }
    several = [name for name in spec if schema.columns[name].separator is not None]
    kinds = {name: _TYPES[schema.columns[name].type] for name in several}
    spec.update({name: tf.io.RaggedFeature(kind) for name, kind in kinds.items()})
    parsed = tf.io.parse_example(serialized, spec)
    for name in several:
        # As in a CSV file: one text, whether a record has its values joined or apart.
        joined = join_values(parsed[name], schema.columns[name].separator)
        default = tf.fill(tf.shape(joined), defaults[name])
        parsed[name] = tf.where(tf.equal(joined, ""), default, joined)
    return parsed


def parse_csv_lines(
    lines, schema: Schema, statistics: Statistics, delimiter: str
) -> dict[str, Any]:
    """Parses CSV lines [batch] into raw features, name → tensor [batch].

    A line has the schema's columns in their order, without the label and the weight.
    """
    defaults = resolve_defaults(schema, statistics)
    names = list_csv_inputs(schema)
    fields = tf.io.decode_csv(lines, [[""]] * len(names), field_delim=delimiter)
    wanted = set(list_inputs(schema))
    features = {}
    for name, text in zip(names, fields):
        if name not in wanted:
            continue
        missing = tf.reduce_any(
            tf.equal(text[:, None], tf.constant(list(schema.missing_values))[None, :]), axis=1
        )
        dtype = raw_dtype(schema.columns[name])
        default = defaults[name]
        if dtype == tf.string:
            features[name] = tf.where(missing, tf.fill(tf.shape(text), default), text)
            continue
        # Without a default a missing number stays what it is, text that is no number: an error.
        if default is not None:
            text = tf.where(missing, tf.fill(tf.shape(text), str(default)), text)
        features[name] = tf.strings.to_number(text, dtype)
    return features


def list_inputs(schema: Schema) -> list[str]:
    """Names of the raw features that an export takes: those in use, and the key."""
    names = schema.used_features
    return names + [schema.key] if schema.key else names


def list_csv_inputs(schema: Schema) -> list[str]:
    """Columns of a CSV line for serving: all but the label and the weight, in file order."""
    roles = {*schema.label_columns, schema.weight}
    return [name for name in schema.columns if name not in roles]
