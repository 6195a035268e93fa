"""Encodes many rows at once, in NumPy, exactly as trainer.features.encoding does within a graph.

Whatever depends on a single column of categories is computed by the encoding's own operations, but
once for each word of a chunk rather than for each row. Crosses are hashes of several columns: those
of the words are TensorFlow's too, their combination is done here.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple, Optional

import numpy as np
import pyarrow as pa

from estimator_bridge import tf
from trainer.features import columns as features
from trainer.features import encoding, parts
from trainer.features.encoding import IDS, NUMBERS, Encoding, Field
from trainer.storage.files import checksum_files

# A hash is known from its remainders by these two: the second tells how often the first goes in.
REMAINDERS = (2**63 - 1, 2**62)
# The key with which tf.sparse.cross_hashed begins, and the factor of its FingerprintCat64, in
# TensorFlow's sparse_ops.py and fingerprint.h.
CROSS_KEY = 0xDECAFCAFFE
CROSS_FACTOR = np.uint64(0xC6A4A7935BD1E995)
SHIFT = np.uint64(47)
# Words whose encoding tells whether TensorFlow still hashes as it did.
PROBE = ("", "a", "Adm-clerical", "\u00e4\u4e2d" * 40)


class _Part(NamedTuple):
    """One column of a cross.

    Attributes:
        name: of the raw column.
        kind: text, int or bucketized.
    """

    name: str
    kind: str


class Encoder:
    """Encodes rows that have been read.

    Args:
        how: the encoding.

    Attributes:
        encoding: the same.
        names: the raw columns that it needs.
        fingerprint: another one means that the same rows may be encoded otherwise: it has hashes
            of a few words, and a checksum of the code.
    """

    def __init__(self, how: Encoding):
        self.encoding = how
        schema = how.schema
        self.names = list(
            dict.fromkeys([*how.numbers, *(name for field in how.fields for name in field.columns)])
        )
        self._texts = [name for name in self.names if schema.columns[name].type == "string"]
        self._ints = [
            name
            for name in self.names
            if schema.columns[name].type == "int" and schema.columns[name].is_categorical
        ]
        self._by_column: dict[str, list[int]] = {}
        self._by_row: list[int] = []
        self._crosses: dict[int, list[_Part]] = {}
        for place, field in enumerate(how.fields):
            if field.kind == "cross":
                self._crosses[place] = self._list_parts(field)
            elif field.columns[0] in (*self._texts, *self._ints):
                self._by_column.setdefault(field.columns[0], []).append(place)
            else:
                self._by_row.append(place)
        self._graph = tf.Graph()
        with self._graph.as_default():
            self._build()
        # A session of one graph: the words of a chunk in, all that is known of them out.
        self._session = tf.compat.v1.Session(graph=self._graph)
        self._session.run(self._initial)
        self.fingerprint = self._identify()

    def _list_parts(self, field: Field) -> list[_Part]:
        columns = self.encoding.schema.columns
        found = []
        for name in field.columns:
            kind = "bucketized"
            if columns[name].is_categorical:
                kind = "text" if columns[name].type == "string" else "int"
            found.append(_Part(name, kind))
        # TensorFlow hashes sparse parts before dense ones, and buckets are sparse to it.
        return sorted(found, key=lambda part: part.kind != "bucketized")

    def _build(self) -> None:
        how, schema = self.encoding, self.encoding.schema
        fields = how.fields
        crossed = {part for cross in self._crosses.values() for part in cross}
        self._fed: dict[str, Any] = {}
        self._fetches: dict[str, Any] = {"columns": {}, "hashes": {}, "rows": {}}
        for name in self.names:
            kinds = {"string": tf.string, "int": tf.int64, "float": tf.float32}
            self._fed[name] = tf.compat.v1.placeholder(kinds[schema.columns[name].type], [None])
        for name, places in self._by_column.items():
            of_one = how._replace(fields=tuple(fields[place] for place in places), numbers=())
            words = parts.derive_features({name: self._fed[name]}, schema)
            self._fetches["columns"][name] = of_one.encode(words)[IDS]
        for part in crossed:
            if part.kind == "text":
                self._fetches["hashes"][part.name] = _hash(self._fed[part.name])
        bucketized = sorted(part.name for part in crossed if part.kind == "bucketized")
        self._buckets = {name: place for place, name in enumerate(bucketized, len(self._by_row))}
        buckets = [
            Field(name, (name,), "bucketized", len(schema.columns[name].buckets) + 1)
            for name in bucketized
        ]
        of_rows = [fields[place] for place in self._by_row] + buckets
        if of_rows or how.numbers:
            by_row = how._replace(fields=tuple(of_rows))
            self._fetches["rows"] = by_row.encode(self._fed)
        probe = tf.constant(list(PROBE))
        self._probe = [
            tf.strings.to_hash_bucket_fast(probe, 1_000_003),
            tf.sparse.cross_hashed(
                [probe[:, None], tf.range(len(PROBE), dtype=tf.int64)[:, None]], 1_000_003
            ).values,
        ]
        self._initial = tf.compat.v1.tables_initializer()

    def _identify(self) -> str:
        modules = (encoding, features, parts)
        paths = [Path(__file__), *(Path(module.__file__) for module in modules)]
        hashes = np.concatenate(self._session.run(self._probe)).tolist()
        return f"{checksum_files(paths)} {hashes}"

    def encode(
        self, chunk: Mapping[str, np.ndarray], words: Mapping[str, np.ndarray]
    ) -> tuple[np.ndarray, np.ndarray]:
        """Encodes rows.

        Args:
            chunk: name → [rows]: float32, int64, or of text the place in `words` of each value.
            words: name → the words of a column of text, bytes as objects.

        Returns:
            ids, int32 [rows, fields], and numbers, float32 [rows, numbers], as of
            Encoding.encode.
        """
        num_rows = len(chunk[self.names[0]]) if self.names else 0
        places, fed = {}, {}
        for name in self.names:
            if name in self._texts:
                places[name], values = chunk[name], words[name]
            elif name in self._ints:
                coded = pa.array(chunk[name]).dictionary_encode()
                places[name], values = coded.indices.to_numpy(), coded.dictionary.to_numpy()
            else:
                values = chunk[name]
            fed[self._fed[name]] = values
        found = self._session.run(self._fetches, fed)
        ids = np.empty([num_rows, len(self.encoding.fields)], np.int32)
        for name, of_words in found["columns"].items():
            for column, place in enumerate(self._by_column[name]):
                ids[:, place] = np.take(np.ascontiguousarray(of_words[:, column]), places[name])
        of_rows = found["rows"]
        for column, place in enumerate(self._by_row):
            ids[:, place] = of_rows[IDS][:, column]
        for place, cross in self._crosses.items():
            mixed: Optional[np.ndarray] = None
            for part in cross:
                hashes = self._hash(part, found, chunk, places)
                mixed = _concatenate(np.uint64(CROSS_KEY) if mixed is None else mixed, hashes)
            size = np.uint64(self.encoding.fields[place].size)
            # A division by one number is quicker than its remainder.
            ids[:, place] = mixed - mixed // size * size
        numbers = of_rows[NUMBERS] if of_rows else np.zeros([num_rows, 0], np.float32)
        return ids, numbers

    def _hash(self, part: _Part, found, chunk, places) -> np.ndarray:
        """What a column brings into a cross, uint64 [rows]."""
        if part.kind == "text":
            hashes = _join_remainders(found["hashes"][part.name])
            return np.take(_mix(hashes), places[part.name])
        if part.kind == "int":
            return _mix(chunk[part.name].astype(np.uint64))
        size = len(self.encoding.schema.columns[part.name].buckets) + 1
        bucket = found["rows"][IDS][:, self._buckets[part.name]]
        return np.take(_mix(np.arange(size, dtype=np.uint64)), bucket)

    def close(self) -> None:
        """Closes the session."""
        self._session.close()


def _hash(words: Any) -> Any:
    """The remainders of the 64-bit fingerprints of words, int64 [2, words]."""
    return tf.stack([tf.strings.to_hash_bucket_fast(words, number) for number in REMAINDERS])


def _join_remainders(remainders: np.ndarray) -> np.ndarray:
    """Remainders by REMAINDERS, int64 [2, n], to the numbers below 2**64 that have them."""
    by, low = remainders.astype(np.uint64)
    large, mask = np.uint64(REMAINDERS[0]), np.uint64(REMAINDERS[1] - 1)
    # Each time that the first goes in takes one off the low bits.
    return by + ((by - low) & mask) * large


def _mix(hashes: np.ndarray) -> np.ndarray:
    """The second argument's part in FingerprintCat64."""
    hashes = hashes * CROSS_FACTOR
    return (hashes ^ (hashes >> SHIFT)) * CROSS_FACTOR


def _concatenate(first: Any, mixed: np.ndarray) -> np.ndarray:
    """FingerprintCat64 of hashes and of others of which `_mix` has been taken; uint64."""
    result = ((first ^ CROSS_FACTOR) ^ mixed) * CROSS_FACTOR
    result ^= result >> SHIFT
    result *= CROSS_FACTOR
    result ^= result >> SHIFT
    return result
