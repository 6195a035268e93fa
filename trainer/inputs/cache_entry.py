"""The rows of one entry of the cache: files of rows, and an index of where each data file's are."""

import json
import os
import weakref
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from trainer import storage
from trainer.errors import TemporaryError, UserError

INDEX = "index.json"
# Number of rows that are read at once.
READ_ROWS = 65_536
# Files of rows that stay open; the others are opened when they are read.
MAX_OPEN = 64


class Damaged(Exception):
    """Cached rows cannot be read, or are not those that were written."""


class Part(NamedTuple):
    """The contents of one file of rows.

    Attributes:
        name: of the file.
        num_rows: number of its rows.
        files: index of a data file → its first row here, and the number of its rows here.
        checksums: index of a data file → CRC-32 of each READ_ROWS of these rows.
    """

    name: str
    num_rows: int
    files: dict[int, tuple[int, int]]
    checksums: dict[int, list[int]]


class PartWriter:
    """Writes a file of rows.

    Args:
        path: the file.

    Raises:
        OSError: it cannot be written.
    """

    def __init__(self, path: Path):
        self._part = Part(path.name, 0, {}, {})
        self._stream: Any = path.open("wb")

    def add(self, file: int, records: np.ndarray) -> None:
        """Appends rows of a data file; the rows of one file must be consecutive.

        Args:
            file: index of the data file.
            records: rows of the entry's type, [rows].

        Raises:
            OSError: they cannot be written.
        """
        self._stream.write(records.data)
        part = self._part
        start, rows = part.files.get(file, (part.num_rows, 0))
        self._add_checksums(file, records, rows)
        part.files[file] = (start, rows + len(records))
        self._part = part._replace(num_rows=part.num_rows + len(records))

    def _add_checksums(self, file: int, records: np.ndarray, before: int) -> None:
        """Extends the checksums of a file, of which `before` rows have been written."""
        sums = self._part.checksums.setdefault(file, [])
        while len(records):
            room = READ_ROWS - before % READ_ROWS
            if room == READ_ROWS:
                sums.append(0)
            sums[-1] = zlib.crc32(records[:room].data, sums[-1])
            before += min(room, len(records))
            records = records[room:]

    def finish(self) -> Part:
        """Writes the file through to the disk, and returns what it contains.

        Raises:
            OSError: it cannot be written.
        """
        self._stream.flush()
        os.fsync(self._stream.fileno())
        return self._part

    def close(self) -> None:
        """Closes the file.

        Raises:
            OSError: what was in the buffer cannot be written.
        """
        self._stream.close()


def dump_index(parts: Sequence[Part], dtype: "np.dtype[Any]", num_files: int) -> str:
    """Returns the index of an entry as text.

    Args:
        parts: its files of rows. If several have rows of one data file, in the order of the rows.
        dtype: structured type of a row.
        num_files: number of data files of the source.
    """
    listed = [part._asdict() for part in parts]
    return json.dumps({"dtype": str(dtype.descr), "num_files": num_files, "parts": listed})


class Entry:
    """The cached rows of one source.

    The rows are read rather than mapped into memory, so that the memory of the process does not
    grow. An entry that is deleted while it is open stays readable, unless it has more than MAX_OPEN
    files of rows.

    Args:
        path: folder of the entry, on this machine or gs://.
        dtype: structured type of a row.
        num_files: number of data files of the source.

    Attributes:
        num_bytes: size of the rows.

    Raises:
        OSError, ValueError, KeyError: the entry does not exist, is incomplete, or has another
            layout.
        UserError: an entry in a bucket does not exist.
    """

    def __init__(self, path: str, dtype: "np.dtype[Any]", num_files: int):
        index_path = storage.fetch_data(f"{path}/{INDEX}")
        index = json.loads(Path(index_path).read_text(encoding="utf-8"))
        if index["dtype"] != str(dtype.descr) or index["num_files"] != num_files:
            raise ValueError("another layout")
        self._path = path
        self._dtype = dtype
        self._parts: dict[int, list[Part]] = {}
        self._descriptors: dict[str, int] = {}
        # Closed when no pass reads it any more. Not at the end of the process, when a thread may.
        weakref.finalize(self, _close, self._descriptors).atexit = False
        self.num_bytes = 0
        for listed in index["parts"]:
            part = _load_part(listed)
            for file in part.files:
                self._parts.setdefault(file, []).append(part)
            num_bytes = part.num_rows * dtype.itemsize
            if not storage.is_remote(path) and self._keep_open(part.name) != num_bytes:
                raise ValueError("incomplete")
            self.num_bytes += num_bytes
        if not storage.is_remote(path):
            # Mark the entry as used: the least recently used entries are deleted first.
            os.utime(index_path)

    def _keep_open(self, name: str) -> int:
        """Opens a file of rows, unless there are many; returns its size."""
        path = f"{self._path}/{name}"
        if len(self._descriptors) < MAX_OPEN:
            self._descriptors[name] = os.open(path, os.O_RDONLY)
        return os.stat(path).st_size

    @contextmanager
    def _open(self, name: str) -> Iterator[int]:
        """Opens a file of rows, unless it is open; yields its descriptor."""
        if name in self._descriptors:
            yield self._descriptors[name]
            return
        try:
            descriptor = os.open(storage.fetch_data(f"{self._path}/{name}"), os.O_RDONLY)
        except TemporaryError:
            raise
        except (OSError, UserError) as error:
            raise Damaged(f"{self._path}: {name} cannot be read") from error
        try:
            yield descriptor
        finally:
            os.close(descriptor)

    def read(self, file: int) -> Iterator[np.ndarray]:
        """Yields the rows of a data file in order, at most READ_ROWS at a time.

        Args:
            file: index of the data file.

        Raises:
            Damaged: the rows cannot be read, or their checksum is wrong.
            TemporaryError: the bucket cannot be reached.
        """
        for part in self._parts.get(file, []):
            with self._open(part.name) as descriptor:
                yield from self._read_part(descriptor, part, file)

    def _read_part(self, descriptor: int, part: Part, file: int) -> Iterator[np.ndarray]:
        start, rows = part.files[file]
        sums = part.checksums.get(file, [])
        for block, first in enumerate(range(start, start + rows, READ_ROWS)):
            wanted = min(READ_ROWS, start + rows - first) * self._dtype.itemsize
            try:
                content = os.pread(descriptor, wanted, first * self._dtype.itemsize)
            except OSError as error:
                raise Damaged(f"{self._path}: {error.strerror}") from error
            if len(content) != wanted or sums[block : block + 1] != [zlib.crc32(content)]:
                raise Damaged(f"{self._path}: its rows do not have their checksum")
            yield np.frombuffer(content, self._dtype)


def _load_part(listed: dict[str, Any]) -> Part:
    files = {int(file): (start, rows) for file, (start, rows) in listed["files"].items()}
    checksums = {int(file): sums for file, sums in listed["checksums"].items()}
    return Part(listed["name"], listed["num_rows"], files, checksums)


def _close(descriptors: dict[str, int]) -> None:
    for descriptor in descriptors.values():
        os.close(descriptor)
