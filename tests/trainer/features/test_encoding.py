"""trainer.features.encoding: the ids and numbers that feature columns compute."""

import numpy as np
import pytest

from estimator_bridge import tf
from trainer.features.columns import build_feature_columns
from trainer.features.encoding import NO_VALUE, build_encoding, unsupported_reason
from trainer.features.parts import derive_features
from trainer.schema import Range, Schema, Statistics

SEEN = Range(count=4, missing=0, mean=10.0, std=4.0, min=2.0, max=22.0)
WORDS = ["a", "ö", "", "z", "other", "a", "-1"]
WHOLE = [7, 2013, -1, 0, 10**12, -5, 3]
GAPS = [float("nan"), 0.0, 0.1, 10.0, float("nan"), -1.0, 22.0]
REAL = [-1.5, 0.0, 0.1, 10.0, 9.999999, 1e30, 22.0]
DATES = ["2020-12-31", "1949-01-01", "2050-06-07 08:09", "", "soon", "1999-02-28", "2000-02-29T23"]
COLUMNS = {
    "words": {"type": "string", "vocabulary": ["a", "ö"]},
    "buckets": {"type": "string", "vocabulary": ["a", "ö"], "oov_buckets": 3},
    "hashed": {"type": "string", "hash_buckets": 40},
    "years": {"type": "int", "vocabulary": [2013, 7]},
    "others": {"type": "int", "vocabulary": [2013, 7], "oov_buckets": 2},
    "numbers": {"type": "int", "hash_buckets": 9, "embedding": 3},
    "levels": {"type": "int", "identities": 8, "use": ["deep"]},
    "size": {"type": "float", "buckets": [0, 0.1, 10]},
    "count": {"type": "int", "buckets": [0, 7], "normalize": "log"},
    "plain": {"type": "int", "normalize": "minmax", "use": ["wide"]},
    "gaps": {"type": "float", "default": 0.1, "missing_indicator": True, "buckets": [0, 10]},
    # More columns of the same kinds, which are encoded together.
    "more_words": {"type": "string", "vocabulary": ["1:a", "z", "a"]},
    "more_buckets": {"type": "string", "vocabulary": ["z", "other", "a"], "oov_buckets": 3},
    "more_hashed": {"type": "string", "hash_buckets": 40},
    "more_years": {"type": "int", "vocabulary": [10**12, 7, 0]},
    "more_others": {"type": "int", "vocabulary": [3, -5, 7], "oov_buckets": 2},
    "more_levels": {"type": "int", "identities": 4},
    "width": {"type": "float", "normalize": {"mean": 0.1, "std": 3.0}},
    "depth": {"type": "float", "normalize": {"mean": 1.5, "std": 0.7}},
    "far": {"type": "float", "normalize": {"mean": 0.3, "std": 0.9, "log": True}},
    "asis": {"type": "float", "normalize": "none", "use": ["deep"]},
    "born": {"type": "string", "date": ["year", "month", "day", "weekday", "hour"]},
    "hidden": {"type": "string", "hash_buckets": 5, "use": []},
    "unused": {"type": "float", "use": []},
}
CROSSES = [
    {"columns": ["words", "hidden"], "hash_buckets": 1000},
    {"columns": ["years", "size", "hashed"], "hash_buckets": 77, "embedding": 2},
    {"columns": ["gaps", "hashed"], "hash_buckets": 500},
    {"columns": ["count", "levels"], "hash_buckets": 1_000_003},
]


def _schema(columns, crosses=()):
    return Schema.model_validate(
        {
            "columns": {**columns, "y": {"type": "float"}},
            "label": {"column": "y"},
            "crosses": list(crosses),
        }
    )


def _values(name):
    column = COLUMNS[name]
    kind = {"string": WORDS, "int": WHOLE, "float": REAL}[column["type"]]
    return {"born": DATES, "gaps": GAPS}.get(name, kind)


def _encode(schema, features):
    statistics = Statistics(4, {name: SEEN for name in COLUMNS})
    encoding = build_encoding(schema, statistics)
    columns = build_feature_columns(schema, statistics)
    return encoding, columns, encoding.encode(derive_features(features, schema, statistics))


def _tensor(name):
    types = {"string": tf.string, "int": tf.int64, "float": tf.float32}
    return tf.constant(_values(name), types[COLUMNS[name]["type"]])


def _read_indicator(column, features):
    """Returns the id of the one category that a feature column has in each row."""
    rows = tf.keras.layers.DenseFeatures([tf.feature_column.indicator_column(column)])(features)
    assert (rows.numpy().sum(axis=1) <= 1).all()
    return np.where(rows.numpy().any(axis=1), rows.numpy().argmax(axis=1), NO_VALUE)


@pytest.mark.parametrize("batched", [False, True])
def test_ids_and_numbers_are_those_of_the_feature_columns(batched):
    schema = _schema(COLUMNS, CROSSES)
    assert unsupported_reason(schema) is None
    features = {name: _tensor(name) for name in schema.used_features}
    if batched:
        features = {
            name: values if schema.columns[name].date else values[:, None]
            for name, values in features.items()
        }
    encoding, columns, encoded = _encode(schema, features)
    assert encoded["ids"].dtype == tf.int32 and encoded["numbers"].dtype == tf.float32
    assert encoded["ids"].shape == (len(WORDS), len(encoding.fields))
    assert encoded["numbers"].shape == (len(WORDS), len(encoding.numbers))
    apart = derive_features(features, schema, encoding.statistics)
    categorical, dense = {}, {}
    for column in [*columns.wide, *columns.deep]:
        inner = getattr(column, "categorical_column", column)
        if hasattr(inner, "num_buckets"):
            categorical[inner.name] = inner
        else:
            dense[inner.name] = inner
    fields = {field.name: number for number, field in enumerate(encoding.fields)}
    assert set(fields) == set(categorical) and set(encoding.numbers) == set(dense)
    for name, column in categorical.items():
        field = encoding.fields[fields[name]]
        assert field.size == column.num_buckets
        wanted = _read_indicator(column, apart)
        assert encoded["ids"].numpy()[:, fields[name]].tolist() == wanted.tolist(), name
    for number, name in enumerate(encoding.numbers):
        wanted = tf.keras.layers.DenseFeatures([dense[name]])(apart).numpy()[:, 0]
        assert encoded["numbers"].numpy()[:, number].tolist() == wanted.tolist(), name


def test_encoding_in_a_graph():
    schema = _schema(COLUMNS, CROSSES)
    _, _, wanted = _encode(schema, {name: _tensor(name) for name in schema.used_features})
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        _, _, encoded = _encode(schema, {name: _tensor(name) for name in schema.used_features})
        session.run(tf.compat.v1.tables_initializer())
        found = session.run(encoded)
    assert found["ids"].tolist() == wanted["ids"].numpy().tolist()
    # Optimised graphs multiply by the reciprocal of a constant.
    np.testing.assert_allclose(found["numbers"], wanted["numbers"], rtol=3e-7, atol=1e-7)


@pytest.mark.parametrize("sizes", [(40, 7, 1000, 40, 1), (2**31 - 1, 2**31 - 19, 2**31 - 61)])
def test_texts_are_hashed_once_for_several_numbers_of_buckets(sizes):
    words = np.array([*WORDS, *(f"word {number}" for number in range(500))])
    columns = {
        f"c{place}": {"type": "string", "hash_buckets": size} for place, size in enumerate(sizes)
    }
    encoding = build_encoding(_schema(columns), Statistics(4, {}))
    with tf.Graph().as_default() as graph, tf.compat.v1.Session() as session:
        features = {name: tf.constant(np.roll(words, len(name))) for name in columns}
        ids = encoding.encode(features)["ids"]
        kinds = [op.type for op in graph.get_operations()]
        hashes = [tf.strings.to_hash_bucket_fast(features[f"c{n}"], s) for n, s in enumerate(sizes)]
        found, wanted = session.run([ids, tf.stack(hashes, axis=1)])
    # The product of three large primes does not fit into 64 bits.
    assert kinds.count("StringToHashBucketFast") == (1 if len(sizes) == 5 else 2)
    missing = (np.roll(words, 2) == "")[:, None]
    assert missing.any()
    np.testing.assert_array_equal(found, np.where(missing, NO_VALUE, wanted))


def test_fields_are_in_the_order_of_the_schema_then_of_the_crosses():
    encoding = build_encoding(_schema(COLUMNS, CROSSES), Statistics(4, {"plain": SEEN}))
    assert [field.name for field in encoding.fields] == [
        "words",
        "buckets",
        "hashed",
        "years",
        "others",
        "numbers",
        "levels",
        "size_bucketized",
        "count_bucketized",
        "gaps_bucketized",
        "gaps_missing",
        "more_words",
        "more_buckets",
        "more_hashed",
        "more_years",
        "more_others",
        "more_levels",
        "born_year_bucketized",
        "born_month",
        "born_day",
        "born_weekday",
        "born_hour",
        "hidden_X_words",
        "hashed_X_size_bucketized_X_years",
        "gaps_bucketized_X_hashed",
        "count_bucketized_X_levels",
    ]
    assert encoding.numbers == (
        "size",
        "count",
        "plain",
        "gaps",
        "width",
        "depth",
        "far",
        "asis",
    )
    assert encoding.fields[-3].columns == ("years", "size", "hashed")


def test_rows_of_only_numbers_or_only_ids():
    for name, widths in (("asis", (0, 1)), ("words", (1, 0))):
        _, _, encoded = _encode(_schema({name: COLUMNS[name]}), {name: _tensor(name)})
        assert (encoded["ids"].shape[1], encoded["numbers"].shape[1]) == widths


@pytest.mark.parametrize(
    ("column", "words"),
    [
        ({"type": "string", "hash_buckets": 9, "separator": "|"}, "column c is multivalent"),
        ({"type": "string", "hash_buckets": 9, "text": {}}, "a text"),
        ({"type": "string", "image": {}}, "an image"),
    ],
)
def test_unsupported_columns(column, words):
    found = unsupported_reason(_schema({"c": column, "x": {"type": "float"}}))
    assert found.startswith("column c") and words in found
    # A column that the model does not use does not matter.
    assert unsupported_reason(_schema({"c": {**column, "use": []}, "x": {"type": "float"}})) is None


def test_two_crosses_of_one_name_are_unsupported():
    cross = {"columns": ["words", "hashed"], "hash_buckets": 10}
    other = {"columns": ["hashed", "words"], "hash_buckets": 20}
    columns = {name: COLUMNS[name] for name in ("words", "hashed")}
    assert "hashed_X_words" in unsupported_reason(_schema(columns, [cross, other]))
