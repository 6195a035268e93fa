"""Encodes many rows at once in NumPy, exactly as trainer.features.encoding does in a graph.

The TensorFlow operations of the encoding compute the fields that depend on a single categorical
column. They run once per distinct value of a chunk, not once per row. A cross is a hash of several
columns: TensorFlow computes the hashes of the distinct values, and NumPy combines them.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple, Optional

import numpy as np
import pyarrow as pa

from estimator_bridge import tf
from trainer.features.encoding import IDS, NUMBERS, Encoding, Field
from trainer.features.parts import derive_features
from trainer.schema import Column
from trainer.storage.files import checksum_files

# A 64-bit hash is computed from its remainders modulo these two numbers. The quotient of the hash
# and the first number is at most 2, and the second remainder determines this quotient.
REMAINDERS = (2**63 - 1, 2**62)
# The initial key of tf.sparse.cross_hashed (TensorFlow's sparse_ops.py), and the factor and shift
# of its FingerprintCat64 (TensorFlow's fingerprint.h).
CROSS_KEY = 0xDECAFCAFFE
CROSS_FACTOR = np.uint64(0xC6A4A7935BD1E995)
SHIFT = np.uint64(47)
# Words whose hashes are part of the fingerprint. The hashes change if TensorFlow's hashing changes.
PROBE = ("", "a", "Adm-clerical", "\u00e4\u4e2d" * 40)


class _Part(NamedTuple):
    """One column of a cross.

    Attributes:
        name: name of the raw column.
        kind: text, int or bucketized.
    """

    name: str
    kind: str


class Encoder:
    """Encodes rows that have been read.

    Args:
        encoding: how to encode them.

    Attributes:
        encoding: how rows are encoded.
        names: the raw columns that the encoding needs.
        fingerprint: text that changes whenever the encoding of the same rows may change. It
            contains the hashes of a few words and a checksum of the code.
    """

    def __init__(self, encoding: Encoding):
        self.encoding = encoding
        schema = encoding.schema
        used = [name for field in encoding.fields for name in field.columns]
        self.names = list(dict.fromkeys([*encoding.numbers, *used]))
        self._texts = [name for name in self.names if schema.columns[name].type == "string"]
        self._ints = [
            name
            for name in self.names
            if schema.columns[name].type == "int" and schema.columns[name].is_categorical
        ]
        # Column indices in the ids: those of the fields of each categorical column, those of the
        # fields that are computed per row, and those of the crosses.
        self._by_column: dict[str, list[int]] = {}
        self._by_row: list[int] = []
        self._crosses: dict[int, list[_Part]] = {}
        for place, field in enumerate(encoding.fields):
            if field.kind == "cross":
                self._crosses[place] = self._list_parts(field)
            elif field.columns[0] in (*self._texts, *self._ints):
                self._by_column.setdefault(field.columns[0], []).append(place)
            else:
                self._by_row.append(place)
        self._graph = tf.Graph()
        with self._graph.as_default():
            self._build()
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
        # As in crossed_column, buckets are sparse, and sparse parts are hashed before dense parts.
        return sorted(found, key=lambda part: part.kind != "bucketized")

    def _build(self) -> None:
        """Builds the graph that computes ids and hashes of the distinct values of a chunk."""
        encoding, columns = self.encoding, self.encoding.schema.columns
        fields = encoding.fields
        crossed = {part for cross in self._crosses.values() for part in cross}
        kinds = {"string": tf.string, "int": tf.int64, "float": tf.float32}
        self._fed: dict[str, Any] = {
            name: tf.compat.v1.placeholder(kinds[columns[name].type], [None]) for name in self.names
        }
        self._fetches: dict[str, Any] = {"columns": {}, "hashes": {}, "rows": {}}
        for name, places in self._by_column.items():
            by_column = encoding._replace(
                fields=tuple(fields[place] for place in places), numbers=()
            )
            words = derive_features({name: self._fed[name]}, encoding.schema, encoding.statistics)
            self._fetches["columns"][name] = by_column.encode(words)[IDS]
        for part in crossed:
            if part.kind == "text":
                self._fetches["hashes"][part.name] = _hash(self._fed[part.name])
        bucketized = sorted(part.name for part in crossed if part.kind == "bucketized")
        # Column → the index of its buckets in the ids that are computed per row.
        self._buckets = {name: place for place, name in enumerate(bucketized, len(self._by_row))}
        buckets = [
            Field(name, (name,), "bucketized", _count_buckets(columns[name])) for name in bucketized
        ]
        row_fields = [fields[place] for place in self._by_row] + buckets
        if row_fields or encoding.numbers:
            by_row = encoding._replace(fields=tuple(row_fields))
            numbers = {name: self._fed[name] for name in self.names if name not in self._texts}
            self._fetches["rows"] = by_row.encode(
                derive_features(numbers, encoding.schema, encoding.statistics)
            )
        probe = tf.constant(list(PROBE))
        self._probe = [
            tf.strings.to_hash_bucket_fast(probe, 1_000_003),
            tf.sparse.cross_hashed(
                [probe[:, None], tf.range(len(PROBE), dtype=tf.int64)[:, None]], 1_000_003
            ).values,
        ]
        self._initial = tf.compat.v1.tables_initializer()

    def _identify(self) -> str:
        hashes = np.concatenate(self._session.run(self._probe)).tolist()
        return f"{checksum_files(Path(__file__).parent.glob('*.py'))} {hashes}"

    def encode(
        self, chunk: Mapping[str, np.ndarray], words: Mapping[str, np.ndarray]
    ) -> tuple[np.ndarray, np.ndarray]:
        """Encodes rows.

        Args:
            chunk: column → values [rows]: float32, int64, or int32 indices into `words` for text.
            words: text column → distinct values, bytes as objects [words].

        Returns:
            The same ids and numbers as Encoding.encode: int32 [rows, fields] and float32 [rows,
            numbers].
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
            # In NumPy, division by a scalar is faster than the remainder operation.
            ids[:, place] = mixed - mixed // size * size
        numbers = of_rows[NUMBERS] if of_rows else np.zeros([num_rows, 0], np.float32)
        return ids, numbers

    def _hash(
        self,
        part: _Part,
        found: dict[str, Any],
        chunk: Mapping[str, np.ndarray],
        places: dict[str, np.ndarray],
    ) -> np.ndarray:
        """Returns the mixed hashes of one column of a cross, uint64 [rows]."""
        if part.kind == "int":
            return _mix(chunk[part.name].astype(np.uint64))
        if part.kind == "text":
            mixed = _mix(_join_remainders(found["hashes"][part.name]))
            result: np.ndarray = np.take(mixed, places[part.name])
            return result
        size = _count_buckets(self.encoding.schema.columns[part.name])
        bucket = found["rows"][IDS][:, self._buckets[part.name]]
        result = np.take(_mix(np.arange(size, dtype=np.uint64)), bucket)
        return result

    def close(self) -> None:
        """Closes the session."""
        self._session.close()


def _count_buckets(column: Column) -> int:
    return len(column.buckets or ()) + 1


def _hash(words: Any) -> Any:
    """Returns remainders of the 64-bit fingerprints of strings [words], int64 [2, words]."""
    return tf.stack([tf.strings.to_hash_bucket_fast(words, number) for number in REMAINDERS])


def _join_remainders(remainders: np.ndarray) -> np.ndarray:
    """Returns the numbers, uint64 [words], whose remainders by REMAINDERS are int64 [2, words]."""
    by_large, low_bits = remainders.astype(np.uint64)
    large, mask = np.uint64(REMAINDERS[0]), np.uint64(REMAINDERS[1] - 1)
    # Each subtraction of `large` increases the low bits by one.
    result: np.ndarray = by_large + ((by_large - low_bits) & mask) * large
    return result


def _mix(hashes: np.ndarray) -> np.ndarray:
    """Returns the part of FingerprintCat64 that depends only on its second argument, uint64."""
    hashes = hashes * CROSS_FACTOR
    result: np.ndarray = (hashes ^ (hashes >> SHIFT)) * CROSS_FACTOR
    return result


def _concatenate(first: Any, mixed: np.ndarray) -> np.ndarray:
    """Returns FingerprintCat64 of `first` and the hashes that `_mix` has mixed, uint64 [rows]."""
    result: np.ndarray = ((first ^ CROSS_FACTOR) ^ mixed) * CROSS_FACTOR
    result ^= result >> SHIFT
    result *= CROSS_FACTOR
    result ^= result >> SHIFT
    return result
