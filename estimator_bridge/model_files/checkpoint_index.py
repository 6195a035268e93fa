"""Reads where a checkpoint's files contain each variable, and verifies the contents block by block.

TensorFlow's reader returns whole variables only. A variable can be larger than the memory of the
process that checks it, for example one that is divided among parameter servers.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple, Optional

import google_crc32c
import numpy as np
from google.protobuf.message import DecodeError

from .. import install
from ..private_tf import tensor_bundle_pb2
from .index_table import read_entries

install()

import tensorflow as tf  # noqa: E402

# Number of bytes that are read at once; a multiple of every item's size.
BLOCK_BYTES = 8 << 20


class Value(NamedTuple):
    """A variable, or a part of one, in the files of a checkpoint.

    Attributes:
        name: name of the variable.
        dtype: its tf.DType.
        shard: number of the data file.
        offset: first byte in the data file.
        num_bytes: number of bytes.
        crc: CRC-32C of the bytes, masked as in TFRecord files.
    """

    name: str
    dtype: Any
    shard: int
    offset: int
    num_bytes: int
    crc: int


def count_shards(index: Path) -> Optional[int]:
    """Returns the number of data files of a checkpoint; None if its index cannot be read.

    Args:
        index: the checkpoint's file that ends with .index.
    """
    try:
        for key, content in read_entries(index.read_bytes()):
            if not key:
                return int(tensor_bundle_pb2.BundleHeaderProto.FromString(content).num_shards)
    except (DecodeError, OSError, TypeError, ValueError):
        return None
    return None


def read_values(index: Path) -> list[Value]:
    """Returns what the data files of a checkpoint contain.

    Args:
        index: the checkpoint's file that ends with .index.

    Raises:
        ValueError: the file is not an index that TensorFlow writes.
    """
    values: list[Value] = []
    try:
        for key, content in read_entries(index.read_bytes()):
            # The entry without a name describes the whole checkpoint.
            values += _parse_entry(key, content) if key else ()
    except (DecodeError, TypeError) as error:
        raise ValueError("its index is corrupt") from error
    return values


def find_fault(value: Value, data: Path, allow_nan: bool = False) -> Optional[str]:
    """Returns whether the bytes of a value are damaged or contain NaN, as text; None otherwise.

    Args:
        value: the value; its type has a fixed size.
        data: the data file that contains it.
        allow_nan: whether NaN is no fault.
    """
    crc, left, has_nan = 0, value.num_bytes, False
    with data.open("rb") as stream:
        stream.seek(value.offset)
        while left > 0:
            block = stream.read(min(left, BLOCK_BYTES))
            if not block:
                return f"{data.name} ends before {value.name}"
            crc = google_crc32c.extend(crc, block)
            left -= len(block)
            if value.dtype.is_floating and not (has_nan or allow_nan):
                has_nan = bool(np.isnan(np.frombuffer(block, value.dtype.as_numpy_dtype)).any())
    if _mask(crc) != value.crc:
        return f"the checksum of {value.name} is wrong"
    return f"{value.name} is NaN" if has_nan else None


def _mask(crc: int) -> int:
    """Returns a CRC as TensorFlow stores it: rotated, and increased by a constant."""
    return (((crc >> 15) | (crc << 17)) + 0xA282EAD8) & 0xFFFFFFFF


def _parse_entry(key: bytes, content: bytes) -> Iterator[Value]:
    """Yields the value that an entry of the index describes; nothing for one stored in parts."""
    entry = tensor_bundle_pb2.BundleEntryProto.FromString(content)
    if entry.slices:
        return
    # The key of a part: a zero byte, the name, and the place of the part in the variable.
    name = key[1:].split(b"\0\1")[0] if key.startswith(b"\0") else key
    yield Value(
        name.decode(errors="replace"),
        tf.as_dtype(entry.dtype),
        entry.shard_id,
        entry.offset,
        entry.size,
        entry.crc32c,
    )
