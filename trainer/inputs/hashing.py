"""Hashes values, the same in every process."""

import numpy as np
import pyarrow as pa


def hash_strings(values: pa.Array) -> np.ndarray:
    """Returns a 64-bit hash of each value, uint64 [values]; the same in every process.

    Each byte is multiplied by a random factor for its position, and the products are added up
    (multilinear hashing; Lemire and Kaser, "Strongly universal string hashing is fast", 2014). The
    sum is then mixed.

    Args:
        values: binary, integers or floats [values], without nulls.
    """
    if not pa.types.is_binary(values.type):
        return mix(values.to_numpy(zero_copy_only=False).astype(np.float64).view(np.uint64))
    if not len(values):
        return np.zeros(0, np.uint64)
    offsets = np.frombuffer(values.buffers()[1], np.int32)[
        values.offset : values.offset + len(values) + 1
    ].astype(np.int64)
    data = np.frombuffer(values.buffers()[2] or b"", np.uint8)[offsets[0] : offsets[-1]]
    offsets = offsets - offsets[0]
    lengths = np.diff(offsets)
    place = np.arange(len(data)) - np.repeat(offsets[:-1], lengths)
    # The factors repeat after 256 positions. The number of the block of 256 positions is added to
    # make them different.
    factors = np.random.default_rng(1).integers(1, 2**64 - 1, 256, np.uint64) | np.uint64(1)
    with np.errstate(over="ignore"):
        terms = (data.astype(np.uint64) + np.uint64(1)) * (
            factors[place % 256] + (place // 256).astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        )
        sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(terms, dtype=np.uint64)])
        return mix(sums[offsets[1:]] - sums[offsets[:-1]] + lengths.astype(np.uint64))


def mix(hashes: np.ndarray) -> np.ndarray:
    """Applies the finaliser of SplitMix64 (Steele, Lea and Flood, 2014).

    Args:
        hashes: uint64, of any shape.
    """
    with np.errstate(over="ignore"):
        hashes = (hashes ^ (hashes >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        hashes = (hashes ^ (hashes >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        mixed: np.ndarray = hashes ^ (hashes >> np.uint64(31))
    return mixed
