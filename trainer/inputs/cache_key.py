"""Computes the keys of cached rows: sources with equal keys have equal rows."""

import hashlib
import json
import os
import zlib
from pathlib import Path
from typing import Any

from trainer import storage
from trainer.errors import UserError
from trainer.features.numpy_encoder import Encoder
from trainer.inputs.dataset import RowSource
from trainer.inputs.files import DataFile
from trainer.schema import Schema, Statistics, dump_statistics
from trainer.storage.files import checksum_files

# Options that change how files are read.
READING = {"delimiter", "encoding", "header", "max_bad_rows"}
# Bytes at each end of a file that are part of its checksum. An edit that changes neither size nor
# times is most often a row that was appended in place of a removed one.
END_BYTES = 65_536
# Packages of `trainer` whose code determines what is read from a file and how it is encoded.
CODE = ("inputs", "features", "schema")


def build_key(source: RowSource, schema: Schema, encoder: Encoder) -> str:
    """Returns the key of a source's encoded rows, 40 hexadecimal digits.

    Args:
        source: the rows.
        schema: labels and weight.
        encoder: encodes the rows.

    Raises:
        UserError: a file does not exist any more.
    """
    encoding = encoder.encoding
    parts = {
        "files": [identify_file(file) for file in source.files],
        "reading": source.data.model_dump(mode="json", include=READING),
        "shard": source.shard,
        "defaults": source.defaults,
        "schema": schema.model_dump(mode="json"),
        "fields": [list(field) for field in encoding.fields],
        "numbers": list(encoding.numbers),
        "statistics": _list_statistics(encoding.statistics, encoding.numbers),
        "encoder": encoder.fingerprint,
        "code": checksum_code(),
    }
    text = json.dumps(parts, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:40]


def checksum_code() -> str:
    """Returns a checksum of the code that determines what is read and how it is encoded."""
    root = Path(__file__).resolve().parent.parent
    return checksum_files(path for name in CODE for path in (root / name).glob("*.py"))


def identify_file(file: DataFile) -> list[Any]:
    """Returns values that differ for two files, or for two contents of a file.

    They are path, format, size, times and a checksum of both ends. For a file in Cloud Storage,
    which is not fetched for this, they are address, format, generation, size and checksum.

    Args:
        file: the file.

    Raises:
        UserError: the file does not exist any more, or cannot be looked up.
    """
    if storage.is_remote(file.path):
        return [*storage.identify_data(file.path), file.format, file.gzipped]
    try:
        with open(file.path, "rb") as stream:
            status = os.fstat(stream.fileno())
            checksum = zlib.crc32(stream.read(END_BYTES))
            if status.st_size > END_BYTES:
                stream.seek(max(END_BYTES, status.st_size - END_BYTES))
                checksum = zlib.crc32(stream.read(END_BYTES), checksum)
    except OSError as error:
        raise UserError(f"{file.path}: {error.strerror}; check the path") from error
    # st_ctime_ns is the time of the last change of the inode. Programs cannot set it back.
    times = [status.st_mtime_ns, status.st_ctime_ns]
    return [os.path.abspath(file.path), file.format, file.gzipped, status.st_size, times, checksum]


def _list_statistics(statistics: Statistics, numbers: tuple[str, ...]) -> dict[str, Any]:
    return {
        name: seen
        for name, seen in dump_statistics(statistics)["columns"].items()
        if name in numbers
    }
