"""Reads where a checkpoint's files contain each variable, and verifies the contents block by block.

TensorFlow's reader returns whole variables only. A variable can be larger than the memory of the
process that checks it, for example one that is divided among parameter servers.
"""

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple, Optional

import google_crc32c
import numpy as np
from google.protobuf.message import DecodeError

from . import install
from .private_tf import tensor_bundle_pb2

install()

import tensorflow as tf  # noqa: E402

# The index is a LevelDB table. Its footer has this many bytes and ends with this number.
FOOTER_BYTES = 48
MAGIC = 0xDB4775248B80FB57
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


def read_values(index: Path) -> list[Value]:
    """Returns what the data files of a checkpoint contain.

    Args:
        index: the checkpoint's file that ends with .index.

    Raises:
        ValueError: the file is not an index that TensorFlow writes.
    """
    table = index.read_bytes()
    if len(table) < FOOTER_BYTES or struct.unpack("<Q", table[-8:])[0] != MAGIC:
        raise ValueError("its index is incomplete")
    values: list[Value] = []
    try:
        # The footer names a block of metadata and the block that names all others.
        _, place = _read_handle(table, len(table) - FOOTER_BYTES)
        blocks, _ = _read_handle(table, place)
        for _, handle in _read_block(table, blocks):
            for key, content in _read_block(table, _read_handle(handle, 0)[0]):
                # The entry without a name describes the whole checkpoint.
                values += _parse_entry(key, content) if key else ()
    except (IndexError, struct.error, DecodeError, TypeError) as error:
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


def _read_block(table: bytes, handle: tuple[int, int]) -> Iterator[tuple[bytes, bytes]]:
    """Yields the keys and contents of a block of a LevelDB table.

    Each key omits the bytes that it shares with the key before it. The block ends with positions at
    which whole keys are, and their number.
    """
    place, size = handle
    end = place + size
    if table[end]:
        raise ValueError("its index is compressed, which TensorFlow does not write")
    (num_restarts,) = struct.unpack("<I", table[end - 4 : end])
    key = b""
    while place < end - 4 * (num_restarts + 1):
        shared, place = _read_number(table, place)
        own, place = _read_number(table, place)
        length, place = _read_number(table, place)
        key = key[:shared] + table[place : place + own]
        place += own
        yield key, table[place : place + length]
        place += length


def _read_handle(data: bytes, place: int) -> tuple[tuple[int, int], int]:
    """Returns the position and size of a block, and the position after them."""
    start, place = _read_number(data, place)
    size, place = _read_number(data, place)
    return (start, size), place


def _read_number(data: bytes, place: int) -> tuple[int, int]:
    """Returns a variable-length number and the position after it."""
    number = shift = 0
    while True:
        byte = data[place]
        number |= (byte & 127) << shift
        place, shift = place + 1, shift + 7
        if byte < 128:
            return number, place
