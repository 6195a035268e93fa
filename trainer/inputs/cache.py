"""A cache of encoded rows: a folder of bounded size, shared by jobs and runs.

Each entry contains the rows of one source. An entry is a folder whose name is a key computed from
everything that the rows depend on. The folder contains one file with the rows, and an index of
where the rows of each data file begin, with a checksum of each READ_ROWS rows of a file. A writer
renames the folder when the entry is complete. If a writer is killed, the next writer removes the
incomplete folder.
"""

import fcntl
import json
import os
import shutil
import weakref
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Callable, Optional

import numpy as np

from trainer.storage.files import make_private_folder, write_text

ROWS, INDEX, LOCK, BUILDING = "rows", "index.json", ".lock", ".building-"
NOTE, MAX_NOTES = ".note.json", 200
# Number of rows that are read at once.
READ_ROWS = 65_536
# Bytes of disk space that the cache leaves free.
RESERVE_BYTES = 256 << 20


class Damaged(Exception):
    """Cached rows cannot be read, or are not those that were written."""


class Entry:
    """The cached rows of one source.

    The rows are read rather than mapped into memory, so that the memory of the process does not
    grow. An entry that is deleted while it is open stays readable.

    Args:
        path: folder of the entry.
        dtype: structured type of a row.
        num_files: number of data files of the source.

    Attributes:
        num_bytes: size of the rows.

    Raises:
        OSError, ValueError, KeyError: the entry does not exist, is incomplete, or has another
            layout.
    """

    def __init__(self, path: Path, dtype: "np.dtype[Any]", num_files: int):
        index = json.loads((path / INDEX).read_text(encoding="utf-8"))
        if index["dtype"] != str(dtype.descr) or index["num_files"] != num_files:
            raise ValueError("another layout")
        self._path = path
        self._dtype = dtype
        self._starts = {int(file): (start, rows) for file, (start, rows) in index["files"].items()}
        self._checksums = {int(file): sums for file, sums in index["checksums"].items()}
        self._descriptor = os.open(path / ROWS, os.O_RDONLY)
        # Closed when no pass reads it any more. Not at the end of the process, when a thread may.
        weakref.finalize(self, os.close, self._descriptor).atexit = False
        self.num_bytes = os.fstat(self._descriptor).st_size
        if self.num_bytes != index["num_rows"] * dtype.itemsize:
            raise ValueError("incomplete")
        # Mark the entry as used: the least recently used entries are deleted first.
        os.utime(path / INDEX)

    def read(self, file: int) -> Iterator[np.ndarray]:
        """Yields the rows of a data file in order, at most READ_ROWS at a time.

        Args:
            file: index of the data file.

        Raises:
            Damaged: the rows cannot be read, or their checksum is wrong.
        """
        start, rows = self._starts.get(file, (0, 0))
        sums = self._checksums.get(file, [])
        for block, first in enumerate(range(start, start + rows, READ_ROWS)):
            wanted = min(READ_ROWS, start + rows - first) * self._dtype.itemsize
            try:
                content = os.pread(self._descriptor, wanted, first * self._dtype.itemsize)
            except OSError as error:
                raise Damaged(f"{self._path}: {error.strerror}") from error
            if len(content) != wanted or sums[block : block + 1] != [zlib.crc32(content)]:
                raise Damaged(f"{self._path}: its rows do not have their checksum")
            yield np.frombuffer(content, self._dtype)


class CacheFolder:
    """The cache. The first failure is logged, and training continues without the cache.

    Args:
        path: the folder; it is created when something is written.
        max_bytes: maximum total size of all entries.
        log: called with a line of text.
        is_private: whether the folder is used only if it is no link, and belongs to this user.
            Other users may not enter it. A folder that the user has named may be shared.
    """

    def __init__(
        self,
        path: str,
        max_bytes: float,
        log: Callable[[str], None],
        *,
        is_private: bool = False,
    ):
        self._path = Path(path).expanduser()
        self._is_private = is_private
        self._max_bytes = max_bytes
        self._log = log
        self._has_warned = False

    def open(self, key: str, dtype: "np.dtype[Any]", num_files: int) -> Optional[Entry]:
        """Returns the entry with a key, or None if there is none.

        Args:
            key: key of the entry.
            dtype: structured type of a row.
            num_files: number of data files of the source.
        """
        try:
            if not self._path.exists():
                return None
            self._make_folder()
            return Entry(self._path / key, dtype, num_files)
        except (OSError, ValueError, KeyError):
            return None

    def discard(self, key: str, reason: str) -> None:
        """Logs that an entry is damaged, and deletes it, so that it is written again.

        Args:
            key: key of the entry.
            reason: what is wrong.
        """
        self._log(f"cache: {reason}; reading the files, and writing the entry again")
        shutil.rmtree(self._path / key, ignore_errors=True)

    def _make_folder(self) -> None:
        """Creates the folder, or checks it."""
        if self._is_private:
            make_private_folder(self._path)
        else:
            self._path.mkdir(mode=0o700, parents=True, exist_ok=True)

    def begin(self, key: str, dtype: "np.dtype[Any]", num_bytes: int) -> Optional["Writer"]:
        """Begins to write an entry.

        Args:
            key: key of the entry.
            dtype: structured type of a row.
            num_bytes: approximate size of the rows.

        Returns:
            a writer; None if there is no space, or if another process is writing this entry.
        """
        if num_bytes > self._max_bytes:
            self.warn_once(
                f"the rows take {num_bytes / 1e9:.1f} GB, more than data.cache_max_gb allows"
            )
            return None
        try:
            self._make_folder()
            lock = _Lock(self._path / f"{key}{LOCK}")
            if not lock.acquire():
                return None
            try:
                self._sweep(key)
                self.make_room(num_bytes)
                free = shutil.disk_usage(self._path).free
                if free < num_bytes + RESERVE_BYTES:
                    lock.release()
                    self.warn_once(f"{self._path}: only {free / 1e9:.1f} GB are free")
                    return None
                return Writer(self, self._path, key, dtype, lock)
            except OSError:
                lock.release()
                raise
        except OSError as error:
            self.warn_once(f"{self._path}: {error.strerror}")
            return None

    def read_note(self, key: str) -> Optional[Any]:
        """Returns the small JSON value that is stored under a key, or None if there is none.

        Args:
            key: key of the value.
        """
        path = self._path / f"{key}{NOTE}"
        try:
            if not path.exists():
                return None
            self._make_folder()
            # The first line is the checksum of the second.
            checksum, _, text = path.read_text(encoding="utf-8").partition("\n")
            os.utime(path)
            if checksum != str(zlib.crc32(text.encode())):
                raise ValueError("its checksum is wrong")
            return json.loads(text)
        except OSError:
            return None
        except ValueError:
            self._log(f"cache: {path}: damaged; reading the files, and writing it again")
            return None

    def write_note(self, key: str, value: Any) -> None:
        """Stores a small JSON value; keeps only the MAX_NOTES most recently used values.

        Args:
            key: key of the value.
            value: an object that can be written as JSON.
        """
        try:
            self._make_folder()
            text = json.dumps(value)
            write_text(self._path / f"{key}{NOTE}", f"{zlib.crc32(text.encode())}\n{text}")
            notes = [(path.stat().st_mtime_ns, path) for path in self._path.glob(f"*{NOTE}")]
            for _, path in sorted(notes)[:-MAX_NOTES]:
                path.unlink(missing_ok=True)
        except OSError as error:
            self.warn_once(f"{self._path}: {error.strerror}")

    def warn_once(self, reason: str) -> None:
        """Logs why encoded rows are not cached; only the first call logs.

        Args:
            reason: why they are not cached.
        """
        if not self._has_warned:
            self._has_warned = True
            self._log(
                f"cache: {reason}; going on without it (--data.cache=FOLDER sets another folder, "
                "--data.cache=off turns it off)"
            )

    def make_room(self, num_bytes: int) -> None:
        """Deletes the least recently used entries until a new entry fits.

        Args:
            num_bytes: size of the new entry.
        """
        entries = []
        for index in self._path.glob(f"*/{INDEX}"):
            if BUILDING not in index.parent.name:
                size = sum(child.stat().st_size for child in index.parent.iterdir())
                entries.append((index.stat().st_mtime_ns, size, index.parent))
        total = sum(size for _, size, _ in entries)
        for _, size, folder in sorted(entries):
            if total + num_bytes <= self._max_bytes:
                return
            shutil.rmtree(folder, ignore_errors=True)
            total -= size

    def _sweep(self, key: str) -> None:
        """Removes incomplete entries of ended processes; this process must hold the key's lock."""
        for folder in self._path.glob(f"*{BUILDING}*"):
            owner = folder.name.partition(BUILDING)[0]
            lock = _Lock(self._path / f"{owner}{LOCK}")
            if owner == key:
                shutil.rmtree(folder, ignore_errors=True)
            elif lock.acquire():
                shutil.rmtree(folder, ignore_errors=True)
                lock.release()


class _Lock:
    """A file lock; the operating system releases it when the process ends."""

    def __init__(self, path: Path):
        self._path = path
        self._stream: Any = None

    def acquire(self) -> bool:
        """Acquires the lock; returns False if another process holds it."""
        stream = self._path.open("w")
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            stream.close()
            return False
        self._stream = stream
        return True

    def release(self) -> None:
        if self._stream is not None:
            # A process that has opened this file already and a process that opens it later lock
            # different files. Both may then write the entry; the entry finished first is kept.
            self._path.unlink(missing_ok=True)
            self._stream.close()
            self._stream = None


class Writer:
    """Writes an entry; a context manager that removes an unfinished entry at its end.

    Args:
        folder: the cache, which frees space and logs warnings.
        path: the cache's folder.
        key: key of the entry.
        dtype: structured type of a row.
        lock: lock of the key, which the writer releases.
    """

    def __init__(
        self, folder: CacheFolder, path: Path, key: str, dtype: "np.dtype[Any]", lock: _Lock
    ):
        self._folder = folder
        self._final = path / key
        self._path = path / f"{key}{BUILDING}{os.getpid()}"
        self._dtype = dtype
        self._lock = lock
        self._files: dict[int, tuple[int, int]] = {}
        self._checksums: dict[int, list[int]] = {}
        self._num_rows = 0
        self._path.mkdir()
        self._stream: Any = (self._path / ROWS).open("wb")

    def add(self, file: int, records: np.ndarray) -> None:
        """Appends rows of a data file; the rows of one file must be consecutive.

        Args:
            file: index of the data file.
            records: rows of the entry's type, [rows].
        """
        if self._stream is None:
            return
        try:
            self._stream.write(records.data)
        except OSError as error:
            self._give_up(f"{self._path.parent}: {error.strerror}")
            return
        start, rows = self._files.get(file, (self._num_rows, 0))
        self._add_checksums(file, records, rows)
        self._files[file] = (start, rows + len(records))
        self._num_rows += len(records)

    def _add_checksums(self, file: int, records: np.ndarray, before: int) -> None:
        """Extends the checksums of a file, of which `before` rows have been written."""
        sums = self._checksums.setdefault(file, [])
        while len(records):
            room = READ_ROWS - before % READ_ROWS
            if room == READ_ROWS:
                sums.append(0)
            sums[-1] = zlib.crc32(records[:room].data, sums[-1])
            before += min(room, len(records))
            records = records[room:]

    def finish(self, is_valid: bool, num_files: int) -> None:
        """Makes the complete entry available to readers.

        Args:
            is_valid: whether the source is unchanged; if False, the entry is not made available.
            num_files: number of data files of the source.
        """
        if self._stream is None or not is_valid:
            return
        index = {
            "dtype": str(self._dtype.descr),
            "num_files": num_files,
            "num_rows": self._num_rows,
            "files": self._files,
            "checksums": self._checksums,
        }
        try:
            self._stream.flush()
            os.fsync(self._stream.fileno())
            (self._path / INDEX).write_text(json.dumps(index), encoding="utf-8")
            self._folder.make_room(self._num_rows * self._dtype.itemsize)
            # An entry that is incomplete or has another layout may exist.
            shutil.rmtree(self._final, ignore_errors=True)
            os.rename(self._path, self._final)
        except OSError as error:
            self._give_up(f"{self._path.parent}: {error.strerror}")

    def _give_up(self, reason: str) -> None:
        self._folder.warn_once(reason)
        self.__exit__()

    def __enter__(self) -> "Writer":
        return self

    def __exit__(self, *_: Any) -> None:
        stream, self._stream = self._stream, None
        if stream is None:
            return
        try:
            stream.close()
        except OSError:
            # close() tries to write the buffer again, which fails if the disk is full.
            self._folder.warn_once(f"{self._path.parent}: cannot be written")
        shutil.rmtree(self._path, ignore_errors=True)
        self._lock.release()
