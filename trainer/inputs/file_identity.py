"""Tells whether two files, or two contents of a file, are the same. It needs no TensorFlow."""

import json
import os
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from trainer import storage
from trainer.errors import UserError
from trainer.inputs.files import DataFile
from trainer.storage.files import checksum_files

# Options that change how files are read.
READING = {"added_columns", "delimiter", "encoding", "header", "max_bad_rows"}
# Bytes at each end of a file that are part of its checksum. An edit that changes neither size nor
# times is most often a row that was appended in place of a removed one.
END_BYTES = 65_536
# Packages of `trainer` whose code determines what is read from a file and how it is encoded.
CODE = ("inputs", "features", "schema")


def checksum_code() -> str:
    """Returns a checksum of the code that determines what is read and how it is encoded."""
    root = Path(__file__).resolve().parent.parent
    return checksum_files(path for name in CODE for path in (root / name).glob("*.py"))


def find_place(path: str) -> str:
    """Returns the place of a file, with which `identify_file` begins.

    Args:
        path: on this machine or gs://.
    """
    return path if storage.is_remote(path) else os.path.abspath(path)


def identify_file(file: DataFile) -> list[Any]:
    """Returns values that differ for two files, or for two contents of a file.

    They are path, format, size, times and a checksum of both ends. For a file in Cloud Storage,
    which is not fetched for this, they are address, format, generation, size and checksum. If only
    a part of the rows is read, the split is added.

    Args:
        file: the file.

    Raises:
        UserError: the file does not exist any more, or cannot be looked up.
    """
    part = [] if file.split is None else [list(file.split)]
    if storage.is_remote(file.path):
        return [*storage.identify_data(file.path), file.format, file.gzipped, *part]
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
    return [
        find_place(file.path),
        file.format,
        file.gzipped,
        status.st_size,
        times,
        checksum,
        *part,
    ]


def checksum_data(files: Iterable[DataFile]) -> int:
    """Returns a number that differs for two sets of data; for moved or touched files it does not.

    Args:
        files: the data.

    Raises:
        UserError: a file does not exist any more, or cannot be looked up.
    """
    # Of a local file, all but its place and its times.
    found = [
        identity if storage.is_remote(file.path) else [*identity[1:4], *identity[5:]]
        for file in files
        for identity in [identify_file(file)]
    ]
    return zlib.crc32(json.dumps(sorted(found, key=repr)).encode())
