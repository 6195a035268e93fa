"""Encodes rows as ids and numbers, the inputs of a model, before training.

The ids and numbers are exactly those that the feature columns of trainer.features.columns compute.
"""

import math
from collections import Counter
from collections.abc import Hashable, Sequence
from typing import Any, Callable, NamedTuple, Optional

from estimator_bridge import tf
from trainer.features.columns import (
    DATE_IDS,
    YEAR_BOUNDARIES,
    find_normalization,
    name_feature,
    name_indicator,
    normalize_all,
)
from trainer.features.matrices import map_parts, stack_columns
from trainer.schema import Column, Cross, Schema, Statistics

IDS, NUMBERS = "ids", "numbers"
# Start of the names of the tensors of encoded rows in the graph of an export.
ENCODED = "encoded_rows/"
# The id of a row without a value.
NO_VALUE = -1
# A value of a growing column is encoded as its hashes modulo these two numbers, in two fields.
# Together, they differ for any two values, except with a probability of 2e-19. Which id of the
# model the value has depends on the rows trained so far (see features.growing).
KEY_SIZES = (2**31 - 1, 2**31 - 2)


class Field(NamedTuple):
    """A categorical input with one value per row.

    Attributes:
        name: name of its feature column: "city", "age_bucketized", "born_month", "age_X_city".
        columns: names of the raw columns from which it is computed; for a cross, in its order.
        kind: vocabulary, hash, identity, growing, bucketized, date, missing or cross.
        size: number of ids in the model, which start at 0.
        part: year, month, day, weekday or hour for a date, else None.
        num_keys: number of ids in encoded rows, if it is another; see KEY_SIZES.
    """

    name: str
    columns: tuple[str, ...]
    kind: str
    size: int
    part: Optional[str] = None
    num_keys: Optional[int] = None

    @property
    def num_encoded(self) -> int:
        """Number of ids in encoded rows."""
        return self.num_keys or self.size


class Encoding(NamedTuple):
    """How the rows of a schema are encoded.

    Attributes:
        fields: the field of each column of the ids. A field that both the wide and the deep part
            use is included once.
        numbers: raw column of each column of the numbers; the numbers are normalised.
        schema: the schema that is encoded.
        statistics: statistics of the training data, for normalisation.
    """

    fields: tuple[Field, ...]
    numbers: tuple[str, ...]
    schema: Schema
    statistics: Statistics

    def can_encode(self, features: dict[str, Any]) -> bool:
        """Returns whether `encode` accepts these features.

        Args:
            features: name → anything.
        """
        wanted = [features.get(name) for name in self._list_features()]
        return all(
            isinstance(each, tf.Tensor)
            and each.shape.rank in (1, 2)
            and each.shape[1:] in ([], [1])
            for each in wanted
        )

    def _list_features(self) -> list[str]:
        inputs = [name for field in self.fields for name in _list_inputs(field)]
        return list(dict.fromkeys([*self.numbers, *inputs]))

    def encode(self, features: dict[str, Any]) -> dict[str, Any]:
        """Encodes raw rows in the graph.

        Args:
            features: name → tensor [batch] or [batch, 1] of the column's type, with the parts of
                dates and the indicators that trainer.features.parts.derive_features adds.

        Returns:
            "ids": int32 [batch, len(fields)], -1 for a missing value;
            "numbers": float32 [batch, len(numbers)].
        """
        raw = {}
        for name in self._list_features():
            # Each operation counts where there are hundreds of columns.
            is_flat = features[name].shape.rank == 1
            raw[name] = features[name] if is_flat else tf.reshape(features[name], [-1])
        num_rows = tf.shape(next(iter(raw.values())))[0]
        ids, numbers = self._encode_fields(raw), self._encode_numbers(raw)
        return {
            IDS: tf.zeros([num_rows, 0], tf.int32) if ids is None else ids,
            NUMBERS: tf.zeros([num_rows, 0]) if numbers is None else numbers,
        }

    def _encode_numbers(self, raw: dict[str, Any]) -> Any:
        """Returns the numbers; None if there are none."""
        kinds = [
            find_normalization(self.schema.columns[name], name, self.statistics)
            for name in self.numbers
        ]

        def compute(places: list[int]) -> Any:
            values = stack_columns([raw[self.numbers[place]] for place in places])
            together = [kind for place in places if (kind := kinds[place]) is not None]
            return normalize_all(values, together) if together else tf.cast(values, tf.float32)

        return _compute_together(
            [
                (raw[name].dtype, kind and (kind.log, kind.shift is None))
                for name, kind in zip(self.numbers, kinds)
            ],
            compute,
        )

    def _encode_fields(self, raw: dict[str, Any]) -> Any:
        """Returns the ids; None if there are none."""

        def group(field: Field) -> Hashable:
            column = self.schema.columns[field.columns[0]]
            if field.kind == "vocabulary":
                return field.kind, column.type, column.oov_buckets
            if field.kind in ("identity", "hash"):
                return field.kind, column.type
            return "alone"

        def compute(places: list[int]) -> Any:
            fields = [self.fields[place] for place in places]
            if group(fields[0]) == "alone":
                each = [tf.cast(self._encode_alone(field, raw), tf.int32) for field in fields]
                return tf.stack(each, axis=1)
            names = [field.columns[0] for field in fields]
            values = stack_columns([raw[name] for name in names])
            columns = [self.schema.columns[name] for name in names]
            if fields[0].kind == "hash" and columns[0].type == "string":
                return map_parts(lambda texts: _hash_texts(texts, columns), values)
            return tf.cast(_look_up(values, columns), tf.int32)

        return _compute_together([group(field) for field in self.fields], compute)

    def _encode_alone(self, field: Field, raw: dict[str, Any]) -> Any:
        """Returns the ids of a field that is not a category, an integer tensor [batch]."""
        if field.kind == "cross":
            return self._cross(field, raw)
        (name,) = _list_inputs(field)
        if field.kind == "date":
            return _bucketize(raw[name], YEAR_BOUNDARIES) if field.part == "year" else raw[name]
        if field.kind == "missing":
            return raw[name]
        if field.kind == "growing":
            return _hash(raw[name], self.schema.columns[name], field.num_encoded)
        return _bucketize(raw[name], self.schema.columns[name].buckets or ())

    def _cross(self, field: Field, raw: dict[str, Any]) -> Any:
        parts = []
        for name in field.columns:
            column = self.schema.columns[name]
            if column.is_categorical:
                parts.append(raw[name][:, None])
            else:
                # As in crossed_column, buckets are sparse, and sparse parts are hashed before dense
                # parts.
                buckets = tf.cast(_bucketize(raw[name], column.buckets or ()), tf.int64)
                rows = tf.range(tf.shape(buckets, tf.int64)[0])
                where = tf.stack([rows, tf.zeros_like(rows)], axis=1)
                shape = tf.stack([tf.shape(buckets, tf.int64)[0], 1])
                parts.append(tf.SparseTensor(where, buckets, shape))
        return tf.sparse.cross_hashed(parts, field.size).values


def build_encoding(schema: Schema, statistics: Statistics) -> Encoding:
    """Builds the encoding of a schema that can be encoded.

    Args:
        schema: columns and crosses, with vocabularies loaded; `unsupported_reason` is None.
        statistics: statistics of the training data, for normalisation.
    """
    fields: list[Field] = []
    numbers: list[str] = []
    for name in schema.features:
        column = schema.columns[name]
        if not column.use:
            continue
        if column.growing is not None:
            for key, num_keys in zip((name_feature(name), name_second(name)), KEY_SIZES):
                fields.append(Field(key, (name,), "growing", column.size, num_keys=num_keys))
        elif column.is_categorical:
            fields.append(Field(name_feature(name), (name,), _kind(column), column.size))
        elif column.date:
            for part in column.date:
                end = "_bucketized" if part == "year" else ""
                key = f"{name_feature(f'{name}_{part}')}{end}"
                fields.append(Field(key, (name,), "date", DATE_IDS[part], part))
        else:
            if "wide" in column.use and column.buckets:
                size = len(column.buckets) + 1
                key = f"{name_feature(name)}_bucketized"
                fields.append(Field(key, (name,), "bucketized", size))
            if "deep" in column.use or not column.buckets:
                numbers.append(name)
            if column.missing_indicator:
                key = name_feature(name_indicator(name))
                fields.append(Field(key, (name,), "missing", 1))
    for cross in schema.crosses:
        fields.append(Field(_name_cross(cross, schema), cross.columns, "cross", cross.hash_buckets))
    return Encoding(tuple(fields), tuple(numbers), schema, statistics)


def unsupported_reason(schema: Schema) -> Optional[str]:
    """Returns why rows of a schema cannot be encoded as one id per field; None if they can.

    Args:
        schema: columns and crosses.
    """
    for name in schema.used_features:
        column = schema.columns[name]
        for kind, value in (
            ("a text", column.text),
            ("an image", column.image),
            ("multivalent", column.separator),
        ):
            if value is not None:
                return f"column {name} is {kind}"
    names = [_name_cross(cross, schema) for cross in schema.crosses]
    twice = [name for name, count in Counter(names).items() if count > 1]
    return f"cross {twice[0]} is there twice" if twice else None


def name_second(name: str) -> str:
    """Returns the name of the field that contains the second hash of a growing column.

    Args:
        name: of the column.
    """
    # A name of a feature column contains no slash.
    return f"{name_feature(name)}/second"


def _kind(column: Column) -> str:
    if column.vocabulary is not None:
        return "vocabulary"
    return "identity" if column.identities else "hash"


def _name_cross(cross: Cross, schema: Schema) -> str:
    parts = [
        name_feature(name) + ("" if schema.columns[name].is_categorical else "_bucketized")
        for name in cross.columns
    ]
    return "_X_".join(sorted(parts))


def _list_inputs(field: Field) -> tuple[str, ...]:
    """Returns the features from which a field is computed, including derived ones."""
    if field.kind == "missing":
        return (name_indicator(field.columns[0]),)
    return (f"{field.columns[0]}_{field.part}",) if field.part else field.columns


def _bucketize(values: Any, boundaries: Sequence[float]) -> Any:
    """Returns the bucket of each number, int32 [batch]."""
    return tf.raw_ops.Bucketize(
        input=tf.cast(values, tf.float32), boundaries=[float(each) for each in boundaries]
    )


def _look_up(values: Any, columns: Sequence[Column]) -> Any:
    """Returns the ids of categories, int64 [batch, columns].

    As in feature columns, "" and -1 are missing values; their id is NO_VALUE.

    Args:
        values: string or int64 [batch, columns].
        columns: of one type and one kind; of one number of oov_buckets.
    """
    first = columns[0]
    dropped = _is_missing(values, first)
    if first.type == "int":
        values = tf.cast(values, tf.int64)
    if first.identities:
        ends = tf.constant([column.identities for column in columns], tf.int64)
        known = tf.logical_and(values >= 0, values < ends)
        ids = tf.where(known, values, tf.zeros_like(values))
    else:
        texts = values if first.type == "string" else tf.strings.as_string(values)
        if first.vocabulary is not None:
            ids = _look_up_words(texts, columns)
        else:
            ids = _hash_words(texts, columns)
    return tf.where(dropped, tf.constant(NO_VALUE, ids.dtype), ids)


def _is_missing(values: Any, column: Column) -> Any:
    return tf.equal(values, "" if column.type == "string" else -1)


def _hash(values: Any, column: Column, size: int) -> Any:
    """Returns hashes of categories, int64 of the same shape; NO_VALUE for a missing value."""
    texts = values if column.type == "string" else tf.strings.as_string(values)
    ids = tf.strings.to_hash_bucket_fast(texts, size)
    return tf.where(_is_missing(values, column), tf.constant(NO_VALUE, ids.dtype), ids)


def _hash_texts(texts: Any, columns: Sequence[Column]) -> Any:
    """Returns the hashes of texts, int32 [batch, columns]; NO_VALUE for an empty text."""
    # 0, or -1, of which all bits are set. A comparison and a `where` take three times as long.
    missing = tf.minimum(tf.strings.length(texts), 1) - 1
    return tf.bitwise.bitwise_or(tf.cast(_hash_words(texts, columns), tf.int32), missing)


def _hash_words(texts: Any, columns: Sequence[Column]) -> Any:
    """Returns the hashes of words, int64 [batch, columns], of all numbers of buckets at once."""
    sizes = [column.hash_buckets or 1 for column in columns]
    multiples = _find_multiples(sizes)

    def compute(places: list[int]) -> Any:
        chosen = texts if len(places) == len(sizes) else tf.gather(texts, places, axis=1)
        multiple = multiples[places[0]]
        found = tf.strings.to_hash_bucket_fast(chosen, multiple)
        some = [sizes[place] for place in places]
        # The remainder of a remainder by a multiple is that of the hash itself.
        return found if {*some} == {multiple} else found % tf.constant(some, tf.int64)

    return _compute_together(multiples, compute)


def _find_multiples(sizes: Sequence[int]) -> list[int]:
    """Returns a multiple of each number that is below 2**63; few are different."""
    multiples: list[int] = []
    for size in sorted(set(sizes)):
        for place, multiple in enumerate(multiples):
            if (common := math.lcm(multiple, size)) < 2**63:
                multiples[place] = common
                break
        else:
            multiples.append(size)
    return [next(each for each in multiples if not each % size) for size in sizes]


def _look_up_words(texts: Any, columns: Sequence[Column]) -> Any:
    """Returns the ids of words of vocabularies, int64 [batch, columns]; all are in one table."""
    vocabularies = [[str(word) for word in column.vocabulary or ()] for column in columns]
    prefixes = [f"{number}:" for number in range(len(columns))] if len(columns) > 1 else [""]
    keys = [prefix + word for prefix, words in zip(prefixes, vocabularies) for word in words]
    ids = [id_ for words in vocabularies for id_ in range(len(words))]
    # Unlike tf.strings.join, this broadcasts.
    words = tf.raw_ops.Add(x=tf.constant(prefixes), y=texts) if len(columns) > 1 else texts
    table = tf.lookup.StaticHashTable(
        tf.lookup.KeyValueTensorInitializer(tf.constant(keys), tf.constant(ids, tf.int64)),
        NO_VALUE,
    )
    found = table.lookup(words)
    if not columns[0].oov_buckets:
        return found
    sizes = tf.constant([len(words) for words in vocabularies], tf.int64)
    unknown = sizes + tf.strings.to_hash_bucket_fast(texts, columns[0].oov_buckets)
    return tf.where(tf.equal(found, NO_VALUE), unknown, found)


def _compute_together(groups: Sequence[Hashable], compute: Callable[[list[int]], Any]) -> Any:
    """Computes columns group by group, so that few operations serve hundreds of columns.

    Args:
        groups: the group of each column.
        compute: from the places of the columns of a group to its result [batch, places].

    Returns:
        A tensor [batch, columns]; None without columns.
    """
    members: dict[Hashable, list[int]] = {}
    for place, group in enumerate(groups):
        members.setdefault(group, []).append(place)
    if not members:
        return None
    parts = [compute(places) for places in members.values()]
    joined = tf.concat(parts, axis=1) if len(parts) > 1 else parts[0]
    order = [place for places in members.values() for place in places]
    if order == sorted(order):
        return joined
    return tf.gather(joined, sorted(range(len(order)), key=order.__getitem__), axis=1)
