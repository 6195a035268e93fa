"""trainer.features.numpy_encoder: exactly what trainer.features.encoding computes."""

import numpy as np
import pytest

from estimator_bridge import tf
from trainer.features.encoding import build_encoding, unsupported_reason
from trainer.features.numpy_encoder import Encoder
from trainer.features.parts import derive_features
from trainer.schema import Range, Schema, Statistics

COLUMNS = {
    "vocabulary": {"type": "string", "vocabulary": ["a", "b", "c"], "oov_buckets": 2},
    "closed": {"type": "string", "vocabulary": ["x y", "\u00e4"]},
    "hashed": {"type": "string", "hash_buckets": 17},
    "number": {"type": "int", "hash_buckets": 11},
    "identity": {"type": "int", "identities": 5},
    "listed": {"type": "int", "vocabulary": [3, 9, 2013]},
    "bucketed": {"type": "float", "buckets": [0, 1.5, 3]},
    "count": {"type": "int", "buckets": [1, 4], "normalize": "log"},
    "ranged": {"type": "float", "normalize": "minmax"},
    "gaps": {"type": "float", "default": "mean", "missing_indicator": True, "buckets": [0]},
    "day": {"type": "string", "date": ["year", "month", "day", "weekday", "hour"]},
    "y": {"type": "float"},
}
CROSSES = [
    {"columns": ["vocabulary", "hashed"], "hash_buckets": 1000},
    {"columns": ["hashed", "bucketed", "number", "count"], "hash_buckets": 99_991},
    {"columns": ["number", "identity"], "hash_buckets": 2**31 - 1},
    {"columns": ["bucketed", "count"], "hash_buckets": 50},
    {"columns": ["closed", "hashed", "vocabulary"], "hash_buckets": 2},
]
ROWS = 3000


def _encoding(columns=COLUMNS, crosses=CROSSES):
    schema = Schema.model_validate(
        {"columns": columns, "crosses": crosses, "label": {"column": "y"}}
    )
    assert unsupported_reason(schema) is None
    seen = Range(count=9, missing=0, mean=0.3, std=1.7, min=-2.0, max=5.0)
    ranges = {name: seen for name, column in columns.items() if column["type"] != "string"}
    return build_encoding(schema, Statistics(9, ranges))


def _rows(seed):
    """Returns random rows with unknown and empty words, and numbers at their limits."""
    rng = np.random.default_rng(seed)
    words = {
        "vocabulary": [b"a", b"b", b"c", b"unknown", b"q" * 300],
        "closed": ["\u00e4".encode(), b"x y", b"x", b" x y"],
        "hashed": [rng.bytes(rng.integers(1, 90)) for _ in range(300)],
        "day": [b"2020-12-31", b"1949-01-02 03:04", b"none", b"2049-07-07T23:59", b" 2000-02-29"],
    }
    words = {name: np.array([*some, b""], object) for name, some in words.items()}
    chunk = {
        name: rng.integers(0, len(some), ROWS).astype(np.int32) for name, some in words.items()
    }
    chunk["number"] = rng.choice([-(2**63), -1, 0, 7, 2**63 - 1, 12_345], ROWS)
    chunk["identity"] = rng.integers(-2, 9, ROWS)
    chunk["listed"] = rng.choice([3, 9, 2013, -1, 0, 2**40], ROWS)
    chunk["bucketed"] = rng.choice([0, 1.5, 3, -7, 2.9, 1e30], ROWS).astype(np.float32)
    chunk["count"] = rng.integers(-3, 9, ROWS)
    chunk["ranged"] = rng.normal(size=ROWS).astype(np.float32)
    chunk["gaps"] = rng.choice([np.nan, -1.0, 0.3, 5.0], ROWS).astype(np.float32)
    return chunk, words


def _encode_in_graph(encoding, names, chunk, words):
    values = {name: words[name][chunk[name]] if name in words else chunk[name] for name in names}
    with tf.Graph().as_default():
        # Fed, as in training: constant folding computes differently.
        raw = {
            name: tf.compat.v1.placeholder(tf.string if name in words else array.dtype, [None])
            for name, array in values.items()
        }
        encoded = encoding.encode(derive_features(raw, encoding.schema, encoding.statistics))
        with tf.compat.v1.Session() as session:
            session.run(tf.compat.v1.tables_initializer())
            return session.run(encoded, {raw[name]: array for name, array in values.items()})


@pytest.mark.parametrize("seed", [1, 2])
def test_ids_and_numbers_are_those_of_the_graph(seed):
    encoder = Encoder(_encoding())
    chunk, words = _rows(seed)
    ids, numbers = encoder.encode(chunk, words)
    wanted = _encode_in_graph(encoder.encoding, encoder.names, chunk, words)
    assert ids.dtype == np.int32 and numbers.dtype == np.float32
    for place, field in enumerate(encoder.encoding.fields):
        np.testing.assert_array_equal(ids[:, place], wanted["ids"][:, place], field.name)
    np.testing.assert_array_equal(numbers, wanted["numbers"])


@pytest.mark.parametrize("names", [["ranged"], ["hashed"], ["bucketed"], ["gaps"], ["day"]])
def test_columns_of_a_single_kind(names):
    columns = {name: COLUMNS[name] for name in [*names, "y"]}
    encoder = Encoder(_encoding(columns, []))
    chunk, words = _rows(3)
    ids, numbers = encoder.encode(chunk, words)
    wanted = _encode_in_graph(encoder.encoding, names, chunk, words)
    np.testing.assert_array_equal(ids, wanted["ids"])
    np.testing.assert_array_equal(numbers, wanted["numbers"])


def test_fingerprints_are_stable():
    assert Encoder(_encoding()).fingerprint == Encoder(_encoding(crosses=[])).fingerprint
    # The hashes of TensorFlow 2.15 and 2.21, which can share a cache.
    assert "[377723, 291400, 609174, 310891, 644345, 245631, 67677, 429622]" in (
        Encoder(_encoding()).fingerprint
    )
