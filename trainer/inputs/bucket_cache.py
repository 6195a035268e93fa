"""A cache of encoded rows in Cloud Storage: `trainer.prepare` writes it, jobs read it."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Callable, Optional, Union

import numpy as np

from trainer import storage
from trainer.errors import TemporaryError
from trainer.inputs.cache import NOTE, CacheFolder, Stage, Writer, dump_note, parse_note
from trainer.inputs.cache_entry import INDEX, Entry, Part, dump_index

_OPTION = "data.cache"


class BucketCache:
    """The entries and notes of a folder in a bucket. Nothing is ever deleted there.

    Args:
        path: the folder, gs://.
        log: called with a line of text.
        is_writable: whether this process may write; jobs only read.
    """

    def __init__(self, path: str, log: Callable[[str], None], *, is_writable: bool = False):
        self._path = path.rstrip("/")
        self._log = log
        self._is_writable = is_writable

    def open(self, key: str, dtype: "np.dtype[Any]", num_files: int) -> Optional[Entry]:
        """Returns the entry with a key, or None if there is none.

        Args:
            key: key of the entry.
            dtype: structured type of a row.
            num_files: number of data files of the source.

        Raises:
            TemporaryError: the bucket cannot be reached.
        """
        try:
            return Entry(f"{self._path}/{key}", dtype, num_files)
        except TemporaryError:
            raise
        except (OSError, ValueError, KeyError):
            return None

    def discard(self, key: str, reason: str) -> None:
        """Logs that an entry is damaged.

        Args:
            key: key of the entry.
            reason: what is wrong.
        """
        self._log(f"cache: {reason}; reading the files; write {key} again with trainer.prepare")

    def require_writable(self) -> None:
        """Raises unless there is such a bucket.

        Raises:
            UserError: there is none, or it cannot be reached.
        """
        storage.find_data(self._path, _OPTION)

    def begin(self, key: str, num_bytes: int) -> Optional[Writer]:
        """Returns None: the processes of jobs do not write into a bucket.

        Args:
            key: key of the entry.
            num_bytes: approximate size of the rows.
        """

    def stage(self, key: str, num_bytes: int) -> Optional["BucketStage"]:
        """Returns the folder for the files of an entry.

        Args:
            key: key of the entry.
            num_bytes: approximate size of the rows.
        """
        return BucketStage(f"{self._path}/{key}")

    def read_note(self, key: str) -> Optional[Any]:
        """Returns the small JSON value that is stored under a key, or None if there is none.

        Args:
            key: key of the value.

        Raises:
            TemporaryError: the bucket cannot be reached.
        """
        try:
            path = storage.fetch_data(f"{self._path}/{key}{NOTE}")
            return parse_note(Path(path).read_text(encoding="utf-8"))
        except TemporaryError:
            raise
        except (OSError, ValueError):
            return None

    def write_note(self, key: str, value: Any) -> None:
        """Stores a small JSON value, if this process may write.

        Args:
            key: key of the value.
            value: an object that can be written as JSON.

        Raises:
            UserError: it cannot be stored.
        """
        if self._is_writable:
            _store(f"{self._path}/{key}{NOTE}", dump_note(value))


class BucketStage:
    """The files of an entry in a bucket, which counts when it has an index.

    Args:
        folder: of the entry, gs://.

    Attributes:
        folder: the same.
    """

    def __init__(self, folder: str):
        self.folder = folder

    def publish(self, parts: Sequence[Part], dtype: "np.dtype[Any]", num_files: int) -> None:
        """Makes the complete entry available to readers.

        Args:
            parts: its files of rows.
            dtype: structured type of a row.
            num_files: number of data files of the source.

        Raises:
            UserError: the index cannot be stored.
        """
        _store(f"{self.folder}/{INDEX}", dump_index(parts, dtype, num_files))

    def __enter__(self) -> "BucketStage":
        return self

    def __exit__(self, *_: Any) -> None:
        pass


Cache = Union[CacheFolder, BucketCache]
AnyStage = Union[Stage, BucketStage]


def _store(path: str, text: str) -> None:
    with storage.open_copies(storage.current_settings()) as copies:
        local = copies.open_output(path, _OPTION, is_file=True)
        local.parent.mkdir(parents=True, exist_ok=True)
        local.write_text(text, encoding="utf-8")
        copies.store_output(local)
