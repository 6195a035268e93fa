"""A bounded folder of encoded rows, shared by jobs and runs.

What is kept of one source is an entry: a folder named after a key that says all that the rows
depend on, with the rows in one file and an index that says where those of each data file begin. An
entry appears whole, by the renaming of a folder; what a killed process leaves behind is removed by
the next one that builds.
"""

import fcntl
import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Callable, Optional

import numpy as np

from trainer.errors import UserError
from trainer.storage import write_text

ROWS, INDEX, LOCK, BUILDING = "rows", "index.json", ".lock", ".building-"
NOTE, MAX_NOTES = ".note.json", 200
# Rows read at once.
READ_ROWS = 65_536
# Bytes of a disk that are left to others.
RESERVE_BYTES = 256 << 20


class Entry:
    """Encoded rows that are kept.

    They are read rather than mapped into memory, so that a process is no larger for them; what is
    deleted while it is open stays readable.

    Args:
        path: folder of the entry.
        dtype: structured type of a row.
        num_files: data files that the rows are of.

    Attributes:
        num_bytes: of the rows.

    Raises:
        OSError, ValueError, KeyError: it is not there, not whole, or of something else.
    """

    def __init__(self, path: Path, dtype: np.dtype, num_files: int):
        index = json.loads((path / INDEX).read_text(encoding="utf-8"))
        if index["dtype"] != str(dtype.descr) or index["num_files"] != num_files:
            raise ValueError("another layout")
        self._path = path
        self._dtype = dtype
        self._starts = {int(file): (start, rows) for file, (start, rows) in index["files"].items()}
        self._stream = (path / ROWS).open("rb", buffering=0)
        self.num_bytes = os.fstat(self._stream.fileno()).st_size
        if self.num_bytes != index["num_rows"] * dtype.itemsize:
            raise ValueError("not whole")
        # The time of its last use, by which entries are evicted.
        os.utime(path / INDEX)

    def read(self, file: int) -> Iterator[np.ndarray]:
        """Yields the rows of a data file in order, READ_ROWS at a time.

        Raises:
            UserError: the disk does not give them.
        """
        start, rows = self._starts.get(file, (0, 0))
        for first in range(start, start + rows, READ_ROWS):
            wanted = min(READ_ROWS, start + rows - first) * self._dtype.itemsize
            try:
                piece = os.pread(self._stream.fileno(), wanted, first * self._dtype.itemsize)
            except OSError as error:
                raise UserError(f"{self._path}: {error.strerror}; remove this folder") from error
            if len(piece) != wanted:
                raise UserError(f"{self._path}: damaged; remove this folder")
            yield np.frombuffer(piece, self._dtype)


class CacheFolder:
    """The folder; whatever goes wrong with it is told once, and things go on without it.

    Args:
        path: the folder; it is made when something is to be kept.
        max_bytes: that all entries may have together.
        log: takes a line.
    """

    def __init__(self, path: str, max_bytes: float, log: Callable[[str], None]):
        self._path = Path(path).expanduser()
        self._max_bytes = max_bytes
        self._log = log
        self._has_said = False

    def open(self, key: str, dtype: np.dtype, num_files: int) -> Optional[Entry]:
        """The entry of a key; None where there is none."""
        try:
            return Entry(self._path / key, dtype, num_files)
        except (OSError, ValueError, KeyError):
            return None

    def begin(self, key: str, dtype: np.dtype, num_bytes: int) -> Optional["Writer"]:
        """Begins an entry.

        Args:
            key, dtype: of the entry.
            num_bytes: about how large it will be.

        Returns:
            a writer; None where there is no room, or another process is at it.
        """
        if num_bytes > self._max_bytes:
            self.warn_once(
                f"the rows take {num_bytes / 1e9:.1f} GB, more than data.cache_max_gb allows"
            )
            return None
        try:
            self._path.mkdir(parents=True, exist_ok=True)
            lock = _Lock(self._path / f"{key}{LOCK}")
            if not lock.take():
                return None
            try:
                self._sweep(key)
                self.make_room(num_bytes)
                free = shutil.disk_usage(self._path).free
                if free < num_bytes + RESERVE_BYTES:
                    lock.release()
                    self.warn_once(f"{self._path}: {free / 1e9:.1f} GB are free, too little")
                    return None
                return Writer(self, self._path, key, dtype, lock)
            except OSError:
                lock.release()
                raise
        except OSError as error:
            self.warn_once(f"{self._path}: {error.strerror}")
            return None

    def read_note(self, key: str) -> Optional[Any]:
        """A small value, as JSON holds it, that was kept under a key; None where there is none."""
        path = self._path / f"{key}{NOTE}"
        try:
            value = json.loads(path.read_text(encoding="utf-8"))
            os.utime(path)
        except (OSError, ValueError):
            return None
        return value

    def write_note(self, key: str, value: Any) -> None:
        """Keeps a small value; of too many those not used for longest go."""
        try:
            self._path.mkdir(parents=True, exist_ok=True)
            write_text(self._path / f"{key}{NOTE}", json.dumps(value))
            notes = [(path.stat().st_mtime_ns, path) for path in self._path.glob(f"*{NOTE}")]
            for _, path in sorted(notes)[:-MAX_NOTES]:
                path.unlink(missing_ok=True)
        except OSError as error:
            self.warn_once(f"{self._path}: {error.strerror}")

    def warn_once(self, why: str) -> None:
        """Says once why encoded rows are not kept."""
        if not self._has_said:
            self._has_said = True
            self._log(
                f"cache: {why}; going on without (--data.cache=FOLDER names another, off none)"
            )

    def make_room(self, num_bytes: int) -> None:
        """Deletes the entries not used for longest, until so many more bytes have room."""
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
        """Removes what processes that no longer live had begun; the key's lock is held."""
        for folder in self._path.glob(f"*{BUILDING}*"):
            owner = folder.name.partition(BUILDING)[0]
            lock = _Lock(self._path / f"{owner}{LOCK}")
            if owner == key:
                shutil.rmtree(folder, ignore_errors=True)
            elif lock.take():
                shutil.rmtree(folder, ignore_errors=True)
                lock.release()


class _Lock:
    """A file that one process holds at a time; the system lets go of it when the process ends."""

    def __init__(self, path: Path):
        self._path = path
        self._stream: Any = None

    def take(self) -> bool:
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
            # Whoever has opened it before now holds another file than who opens it next: they may
            # both build, and the first to finish has built.
            self._path.unlink(missing_ok=True)
            self._stream.close()
            self._stream = None


class Writer:
    """Writes an entry; a context that removes what was not finished."""

    def __init__(self, folder: CacheFolder, path: Path, key: str, dtype: np.dtype, lock: _Lock):
        self._folder = folder
        self._final = path / key
        self._path = path / f"{key}{BUILDING}{os.getpid()}"
        self._dtype = dtype
        self._lock = lock
        self._files: dict[int, tuple[int, int]] = {}
        self._num_rows = 0
        self._path.mkdir()
        self._stream: Any = (self._path / ROWS).open("wb")

    def add(self, file: int, records: np.ndarray) -> None:
        """Appends rows of a data file; those of one file come one after the other."""
        if self._stream is None:
            return
        try:
            self._stream.write(records.data)
        except OSError as error:
            self._give_up(f"{self._path.parent}: {error.strerror}")
            return
        start, rows = self._files.get(file, (self._num_rows, 0))
        self._files[file] = (start, rows + len(records))
        self._num_rows += len(records)

    def finish(self, is_valid: bool, num_files: int) -> None:
        """Puts the entry into its place, unless what it is of has changed meanwhile."""
        if self._stream is None or not is_valid:
            return
        index = {
            "dtype": str(self._dtype.descr),
            "num_files": num_files,
            "num_rows": self._num_rows,
            "files": self._files,
        }
        try:
            self._stream.flush()
            os.fsync(self._stream.fileno())
            (self._path / INDEX).write_text(json.dumps(index), encoding="utf-8")
            self._folder.make_room(self._num_rows * self._dtype.itemsize)
            # Where there is one that is not whole, or of another layout.
            shutil.rmtree(self._final, ignore_errors=True)
            os.rename(self._path, self._final)
        except OSError as error:
            self._give_up(f"{self._path.parent}: {error.strerror}")

    def _give_up(self, why: str) -> None:
        self._folder.warn_once(why)
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
            # A full disk has what is still in the buffer refused once more.
            self._folder.warn_once(f"{self._path.parent}: cannot be written")
        shutil.rmtree(self._path, ignore_errors=True)
        self._lock.release()
