"""Reads the table in a checkpoint's file *.index, without TensorFlow."""

import struct
from collections.abc import Iterator
from typing import Union

__all__ = ["read_entries", "read_number"]

# The index is a LevelDB table. Its footer has this many bytes and ends with this number.
FOOTER_BYTES = 48
MAGIC = 0xDB4775248B80FB57


def read_entries(table: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Yields the keys and contents of a table; the first key is empty.

    Args:
      table: content of the file.

    Raises:
      ValueError: the file is not an index that TensorFlow writes.
    """
    if len(table) < FOOTER_BYTES or struct.unpack("<Q", table[-8:])[0] != MAGIC:
        raise ValueError("its index is incomplete")
    try:
        # The footer names a block of metadata and the block that names all others.
        _, place = _read_handle(table, len(table) - FOOTER_BYTES)
        blocks, _ = _read_handle(table, place)
        for _, handle in _read_block(table, blocks):
            yield from _read_block(table, _read_handle(handle, 0)[0])
    except (IndexError, struct.error) as error:
        raise ValueError("its index is corrupt") from error


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
        shared, place = read_number(table, place)
        own, place = read_number(table, place)
        length, place = read_number(table, place)
        key = key[:shared] + table[place : place + own]
        place += own
        yield key, table[place : place + length]
        place += length


def _read_handle(data: bytes, place: int) -> tuple[tuple[int, int], int]:
    """Returns the position and size of a block, and the position after them."""
    start, place = read_number(data, place)
    size, place = read_number(data, place)
    return (start, size), place


def read_number(data: Union[bytes, memoryview], place: int) -> tuple[int, int]:
    """Returns a variable-length number, as in protocol buffers, and the position after it.

    Args:
      data: bytes.
      place: position of the number.

    Raises:
      IndexError: the bytes end before the number does.
    """
    number = shift = 0
    while True:
        byte = data[place]
        number |= (byte & 127) << shift
        place, shift = place + 1, shift + 7
        if byte < 128:
            return number, place
