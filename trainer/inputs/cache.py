"""A cache of encoded rows: a folder of bounded size, shared by jobs and runs.

Each entry contains the rows of one source. An entry is a folder whose name is a key computed from
everything that the rows depend on. The folder contains the rows, in one file or in several that
workers of an engine have written, and an index of where the rows of each data file are
(`cache_entry`). A writer renames the folder when the entry is complete. If a writer is killed, the
next writer removes the incomplete folder.
"""

import contextlib
import json
import os
import shutil
import tempfile
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Callable, Optional

import numpy as np

from trainer.errors import UserError
from trainer.inputs.cache_entry import INDEX, Entry, Part, PartWriter, dump_index
from trainer.inputs.cache_lock import KeyLock
from trainer.storage.files import make_private_folder, write_text

ROWS, LOCK, BUILDING = "rows", ".lock", ".building-"
NOTE, MAX_NOTES = ".note.json", 200
# Another process may remove what is listed.
_GONE = contextlib.suppress(FileNotFoundError)
# Bytes of disk space that the cache leaves free.
RESERVE_BYTES = 256 << 20


def dump_note(value: Any) -> str:
    """Returns the content of a note.

    Args:
        value: an object that can be written as JSON.
    """
    text = json.dumps(value)
    # The first line is the checksum of the second.
    return f"{zlib.crc32(text.encode())}\n{text}"


def parse_note(content: str) -> Any:
    """Returns the value of a note.

    Args:
        content: of the note.

    Raises:
        ValueError: it is damaged.
    """
    checksum, _, text = content.partition("\n")
    if checksum != str(zlib.crc32(text.encode())):
        raise ValueError("its checksum is wrong")
    return json.loads(text)


class CacheFolder:
    """The cache. The first failure is logged, and training continues without the cache.

    Args:
        path: the folder; it is created when something is written.
        max_bytes: maximum total size of all entries.
        log: called with a line of text.
        is_private: whether the folder is used only if it is no link, and belongs to this user.
            Other users may not enter it. A folder that the user has named may be shared.
        is_required: whether a failure is an error.
    """

    def __init__(
        self,
        path: str,
        max_bytes: float,
        log: Callable[[str], None],
        *,
        is_private: bool = False,
        is_required: bool = False,
    ):
        self._path = Path(path).expanduser()
        self._is_private = is_private
        self._is_required = is_required
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
            return Entry(str(self._path / key), dtype, num_files)
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

    def require_writable(self) -> None:
        """Raises unless the folder can be written; the cache must be required.

        Raises:
            UserError: it cannot.
        """
        try:
            self._make_folder()
            with tempfile.TemporaryFile(dir=self._path):
                pass
        except OSError as error:
            self.warn_once(f"{self._path}: {error.strerror}")

    def begin(self, key: str, num_bytes: int) -> Optional["Writer"]:
        """Begins to write an entry in this process.

        Args:
            key: key of the entry.
            num_bytes: approximate size of the rows.

        Returns:
            a writer; None if there is no space, or if another process is writing this entry.
        """
        stage = self.stage(key, num_bytes)
        if stage is None:
            return None
        try:
            return Writer(stage)
        except OSError as error:
            stage.__exit__()
            self.warn_once(f"{self._path}: {error.strerror}")
            return None

    def stage(self, key: str, num_bytes: int) -> Optional["Stage"]:
        """Makes a folder for the files of an entry.

        Args:
            key: key of the entry.
            num_bytes: approximate size of the rows.

        Returns:
            the folder; None if there is no space, or if another process is writing this entry.
        """
        if num_bytes > self._max_bytes:
            self.warn_once(
                f"the rows take {num_bytes / 1e9:.1f} GB, more than data.cache_max_gb allows"
            )
            return None
        try:
            self._make_folder()
            lock = KeyLock(self._path / f"{key}{LOCK}")
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
                return Stage(self, self._path, key, lock)
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
            text = path.read_text(encoding="utf-8")
            os.utime(path)
            return parse_note(text)
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
            write_text(self._path / f"{key}{NOTE}", dump_note(value))
            notes = []
            for path in self._path.glob(f"*{NOTE}"):
                with _GONE:
                    notes.append((path.stat().st_mtime_ns, path))
            for _, path in sorted(notes)[:-MAX_NOTES]:
                path.unlink(missing_ok=True)
        except OSError as error:
            self.warn_once(f"{self._path}: {error.strerror}")

    def warn_once(self, reason: str) -> None:
        """Logs why encoded rows are not cached; only the first call logs.

        Args:
            reason: why they are not cached.

        Raises:
            UserError: the cache is required.
        """
        if self._is_required:
            raise UserError(f"data.cache: {reason}; name another folder in --data.cache")
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
            if BUILDING in index.parent.name:
                continue
            with _GONE:
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
            lock = KeyLock(self._path / f"{owner}{LOCK}")
            if owner == key:
                shutil.rmtree(folder, ignore_errors=True)
            elif lock.acquire():
                shutil.rmtree(folder, ignore_errors=True)
                lock.release()


class Stage:
    """The files of an entry before it appears; a context manager that removes an unfinished entry.

    Args:
        folder: the cache, which frees space and logs warnings.
        path: the cache's folder.
        key: key of the entry.
        lock: lock of the key, which this object releases.

    Raises:
        OSError: the folder cannot be made.
    """

    def __init__(self, folder: CacheFolder, path: Path, key: str, lock: KeyLock):
        self._folder = folder
        self._final = path / key
        # Workers of an engine may write here from another folder.
        self._path = (path / f"{key}{BUILDING}{os.getpid()}").absolute()
        self._lock = lock
        self._path.mkdir()

    @property
    def folder(self) -> str:
        """Where the files are written."""
        return str(self._path)

    def publish(self, parts: Sequence[Part], dtype: "np.dtype[Any]", num_files: int) -> None:
        """Makes the complete entry available to readers.

        Args:
            parts: its files of rows; others are removed.
            dtype: structured type of a row.
            num_files: number of data files of the source.
        """
        try:
            wanted = {part.name for part in parts}
            for path in self._path.iterdir():
                if path.name not in wanted:
                    path.unlink()
            (self._path / INDEX).write_text(dump_index(parts, dtype, num_files), encoding="utf-8")
            self._folder.make_room(sum(part.num_rows for part in parts) * dtype.itemsize)
            # An entry that is incomplete or has another layout may exist.
            shutil.rmtree(self._final, ignore_errors=True)
            os.rename(self._path, self._final)
        except OSError as error:
            self.give_up(error)

    def give_up(self, error: OSError) -> None:
        """Logs why the entry is not written, and removes it.

        Args:
            error: the reason.
        """
        self._folder.warn_once(f"{self._path.parent}: {error.strerror or 'cannot be written'}")
        self.__exit__()

    def __enter__(self) -> "Stage":
        return self

    def __exit__(self, *_: Any) -> None:
        shutil.rmtree(self._path, ignore_errors=True)
        self._lock.release()


class Writer:
    """Writes an entry in one file; a context manager that removes an unfinished entry at its end.

    Args:
        stage: the folder, which the writer removes.

    Raises:
        OSError: the file cannot be made.
    """

    def __init__(self, stage: Stage):
        self._stage = stage
        self._rows: Optional[PartWriter] = PartWriter(Path(stage.folder, ROWS))

    def add(self, file: int, records: np.ndarray) -> None:
        """Appends rows of a data file; the rows of one file must be consecutive.

        Args:
            file: index of the data file.
            records: rows of the entry's type, [rows].
        """
        if self._rows is not None:
            try:
                self._rows.add(file, records)
            except OSError as error:
                self._give_up(error)

    def finish(self, dtype: "np.dtype[Any]", num_files: int) -> None:
        """Makes the complete entry available to readers.

        Args:
            dtype: structured type of a row.
            num_files: number of data files of the source.
        """
        if self._rows is not None:
            try:
                self._stage.publish([self._rows.finish()], dtype, num_files)
            except OSError as error:
                self._give_up(error)

    def _give_up(self, error: OSError) -> None:
        self._close()
        self._stage.give_up(error)

    def _close(self) -> None:
        rows, self._rows = self._rows, None
        if rows is not None:
            # close() tries to write the buffer again, which fails if the disk is full.
            with contextlib.suppress(OSError):
                rows.close()

    def __enter__(self) -> "Writer":
        return self

    def __exit__(self, *_: Any) -> None:
        self._close()
        self._stage.__exit__()
