"""Estimates the number of rows of files from their first bytes, to tell how long reading takes."""

import zlib
from collections.abc import Sequence
from typing import Optional

from trainer import storage
from trainer.errors import UserError
from trainer.inputs.files import DataFile
from trainer.inputs.parquet_files import count_rows

# Bytes at the begin of a file in which rows are counted.
HEAD_BYTES = 1 << 18
# Of more files than this, some are examined; the others are assumed to be like them.
MAX_FILES = 16
# A TFRecord has its length, a checksum of that, its content, and a checksum of that.
_LENGTH_BYTES, _OTHER_BYTES = 8, 16


def estimate_rows(files: Sequence[DataFile]) -> Optional[float]:
    """Returns about how many rows some files have; None if it cannot be told.

    Args:
        files: local or gs://; of the latter, only the first bytes are fetched.
    """
    examined = files[:: -(-len(files) // MAX_FILES)]
    try:
        sizes = [file.find_size() for file in files]
        rows = sum(_estimate(file, file.find_size()) for file in examined)
        return rows * sum(sizes) / sum(file.find_size() for file in examined)
    except (OSError, UserError, ZeroDivisionError):
        # A file that cannot be read is reported by its reader.
        return None


def _estimate(file: DataFile, size: int) -> float:
    if file.format == "parquet":
        return count_rows(file)
    head = storage.read_head(file.path, HEAD_BYTES)
    share = size / len(head)
    if file.gzipped:
        head = zlib.decompressobj(zlib.MAX_WBITS | 16).decompress(head)
    return share * (_count_records(head) if file.format == "tfrecord" else head.count(b"\n"))


def _count_records(head: bytes) -> float:
    """Returns the number of records; the last one counts by the share of it that is there."""
    start = count = 0
    while start + _LENGTH_BYTES <= len(head):
        length = int.from_bytes(head[start : start + _LENGTH_BYTES], "little") + _OTHER_BYTES
        if start + length > len(head):
            return count + (len(head) - start) / length
        start += length
        count += 1
    return count
