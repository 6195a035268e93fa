"""Limits for files of others, checked from headers and lengths before anything is allocated.

A few bytes of a file can claim or unpack to any size. The checks read no data that the reader after
them does not read anyway.
"""

import struct
from collections.abc import Iterable, Iterator
from typing import Any, Callable, TextIO

import yaml

from ..errors import BridgeError

__all__ = ["YAML_CHARACTERS", "check_column_sizes", "limit_lines", "load_yaml", "read_checked"]

# A column that is packed less than this is not an attack, whatever its size.
_PACKED = 200
# Bytes that a TFRecord file adds to each record: 12 before it, of which the first 8 are the length
# of the record, and 4 after it.
_FRAME_BYTES = 16
_LENGTH = struct.Struct("<Q")
_CHUNK_BYTES = 1 << 20
# Number of records whose lengths are checked ahead of TensorFlow, which reads a few batches ahead.
_AHEAD_RECORDS = 1 << 17
# Characters of a YAML file, and nodes that its aliases may add to those that are written down.
YAML_CHARACTERS = 64 << 20
_YAML_ALIASED = 1_000_000


class _RecordLengths:
    """The lengths of the records of an uncompressed TFRecord file.

    TensorFlow allocates as many bytes as a length says; a length of 2^40 ends the process.

    Args:
      path: the file.
    """

    def __init__(self, path: str):
        self._stream = open(path, "rb")  # noqa: SIM115
        self._size = self._stream.seek(0, 2)
        self._chunk = b""
        self._start = 0
        self._next = 0
        self._records = 0

    def check(self, records: int) -> None:
        """Checks the next lengths; stops at the end of the file.

        Args:
          records: number of records.

        Raises:
          BridgeError: a record would be longer than the file; the message has no path.
        """
        size, unpack = self._size, _LENGTH.unpack_from
        count, last = self._records, self._records + records
        chunk, offset = self._chunk, self._next - self._start
        while count < last:
            if offset > len(chunk) - 8:
                self._start = self._stream.seek(self._start + offset)
                chunk, offset = self._stream.read(_CHUNK_BYTES), 0
                if len(chunk) < 8:
                    break
            length = unpack(chunk, offset)[0]
            if length > size:
                raise BridgeError(
                    f"damaged after row {count}: the next record claims {length:,} bytes, and the "
                    f"file has {size:,}"
                )
            count += 1
            offset += length + _FRAME_BYTES
        self._records, self._chunk, self._next = count, chunk, self._start + offset

    def close(self) -> None:
        """Closes the file."""
        self._stream.close()


def read_checked(
    path: str, elements: Callable[[], Iterable[Any]], records_each: int
) -> Iterator[Any]:
    """Yields the elements of a dataset; checks the lengths of records before TensorFlow reads them.

    Args:
      path: an uncompressed TFRecord file.
      elements: starts to read the file; returns an iterable.
      records_each: number of records of an element, at most 8192.

    Raises:
      BridgeError: a record would be longer than the file; the message has no path.
    """
    lengths = _RecordLengths(path)
    try:
        lengths.check(_AHEAD_RECORDS)
        for element in elements():
            yield element
            lengths.check(records_each)
    finally:
        lengths.close()


def check_column_sizes(metadata: Any, names: Iterable[str], max_bytes: int) -> None:
    """Checks the sizes of the columns of a Parquet file, which its footer contains.

    Args:
      metadata: the footer, a pyarrow.parquet.FileMetaData.
      names: the columns that will be read.
      max_bytes: size from which a column of a row group must not be packed extremely.

    Raises:
      BridgeError: a column unpacks to more than that; the message has no path.
    """
    read = set(names)
    for group in range(metadata.num_row_groups):
        row_group = metadata.row_group(group)
        if row_group.total_byte_size <= max_bytes:
            continue
        for index in range(row_group.num_columns):
            column = row_group.column(index)
            size = column.total_uncompressed_size
            packed = max(column.total_compressed_size, 1)
            name = column.path_in_schema.partition(".")[0]
            if name in read and size > max_bytes and size > _PACKED * packed:
                raise BridgeError(
                    f"column {name!r} of row group {group} unpacks from {packed:,} to {size:,} "
                    f"bytes, and the limit is {max_bytes:,}"
                )


def limit_lines(stream: TextIO, max_characters: int) -> Iterator[str]:
    """Yields the lines of a text file.

    Args:
      stream: the file.
      max_characters: length of the longest line.

    Raises:
      BridgeError: a line is longer; the message has no path.
    """
    number = 0
    while line := stream.readline(max_characters + 1):
        number += 1
        if len(line) > max_characters:
            raise BridgeError(f"line {number} is longer than {max_characters:,} characters")
        yield line


def load_yaml(text: str, loader: Any = yaml.SafeLoader) -> Any:
    """Returns the values of a YAML text, unless it is too large or its aliases multiply it.

    Args:
      text: the text.
      loader: class of the loader.

    Raises:
      yaml.YAMLError: the text is not YAML, or a limit is exceeded.
    """
    if len(text) > YAML_CHARACTERS:
        raise yaml.MarkedYAMLError(
            problem=f"it has more characters than the limit of {YAML_CHARACTERS:,}; put long lists "
            "into vocabulary files"
        )
    opened = loader(text)
    try:
        node = opened.get_single_node()
        if node is None:
            return None
        sizes: dict[int, int] = {}
        if _count(node, sizes, set()) > len(sizes) + _YAML_ALIASED:
            raise yaml.MarkedYAMLError(
                problem="its aliases multiply it to more than "
                f"{_YAML_ALIASED:,} values; write it without aliases"
            )
        return opened.construct_document(node)
    finally:
        opened.dispose()


def _count(node: Any, sizes: dict[int, int], above: set[int]) -> int:
    """Returns the number of nodes that a node stands for with all aliases written out."""
    key = id(node)
    if key in above:
        raise yaml.MarkedYAMLError(
            problem="an alias within its own anchor", problem_mark=node.start_mark
        )
    if key not in sizes:
        parts: list[Any] = []
        if isinstance(node, yaml.SequenceNode):
            parts = node.value
        elif isinstance(node, yaml.MappingNode):
            parts = [part for pair in node.value for part in pair]
        above.add(key)
        sizes[key] = 1 + sum(_count(part, sizes, above) for part in parts)
        above.discard(key)
    return sizes[key]
