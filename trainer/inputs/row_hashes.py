"""Hashes rows, the same in every process and for every file format."""

import hashlib
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from trainer.inputs.hashing import hash_strings, mix

# Hash of a missing value.
_MISSING = np.uint64(0x9E3779B97F4A7C15)
# `hash_strings` needs some 40 bytes of memory per byte of text. It gets no longer texts than this,
# and no more text than a block at once.
LONG_BYTES, BLOCK_BYTES = 4096, 1 << 20


def hash_rows(columns: pa.RecordBatch, names: Sequence[str]) -> np.ndarray:
    """Returns a 64-bit hash of each row, uint64 [rows]; the order of the columns has no effect.

    Args:
        columns: rows in the Arrow types of a schema; null for a missing value.
        names: the columns that count.
    """
    # Multilinear hashing, see `hash_strings`: each column has an odd factor of its own.
    factors = hash_strings(pa.array([name.encode() for name in names], pa.binary())) | np.uint64(1)
    total = np.zeros(columns.num_rows, np.uint64)
    with np.errstate(over="ignore"):
        for name, factor in zip(names, factors):
            total += hash_values(columns.column(name)) * factor
    return mix(total)


def hash_values(column: pa.Array) -> np.ndarray:
    """Returns a hash of each value of a column, uint64 [rows]; not mixed for numbers.

    Args:
        column: in one of the Arrow types of a schema; null for a missing value.
    """
    if pa.types.is_dictionary(column.type):
        words = hash_words(column.dictionary.cast(pa.binary()))
        indices = column.indices.fill_null(len(words)).to_numpy()
        hashes: np.ndarray = np.append(words, _MISSING)[indices]
        return hashes
    present = np.asarray(column.is_valid())
    values = column.fill_null(0).to_numpy(zero_copy_only=False)
    # 0.0 and -0.0 are equal, but have different bits.
    bits = (values + 0.0).astype(np.float32).view(np.uint32) if values.dtype.kind == "f" else values
    numbers: np.ndarray = np.where(present, bits.astype(np.uint64), _MISSING)
    return numbers


def hash_words(words: pa.Array) -> np.ndarray:
    """Returns a hash of each text, uint64 [words].

    Args:
        words: of binary type.
    """
    lengths = pc.binary_length(words).to_numpy(zero_copy_only=False)
    is_long = lengths > LONG_BYTES
    hashes = np.zeros(len(words), np.uint64)
    if is_long.any():
        texts = words.filter(pa.array(is_long)).to_pylist()
        digests = b"".join(hashlib.blake2b(text, digest_size=8).digest() for text in texts)
        hashes[is_long] = np.frombuffer(digests, "<u8")
        words, lengths = words.filter(pa.array(~is_long)), lengths[~is_long]
    blocks = np.cumsum(lengths) // BLOCK_BYTES
    starts = np.flatnonzero(np.diff(blocks, prepend=-1))
    parts = [
        hash_strings(words.slice(start, end - start))
        for start, end in zip(starts, [*starts[1:], len(words)])
    ]
    hashes[~is_long] = np.concatenate(parts) if parts else np.zeros(0, np.uint64)
    return hashes
