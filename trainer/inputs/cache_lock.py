"""A lock of one key of the cache, for processes of one machine, or of several that share a disk."""

import fcntl
import os
from pathlib import Path
from typing import Any


class KeyLock:
    """A file lock; the operating system releases it when the process ends.

    Args:
        path: the file.
    """

    def __init__(self, path: Path):
        self._path = path
        self._stream: Any = None

    def acquire(self) -> bool:
        """Acquires the lock; returns False if another process holds it.

        Raises:
            OSError: the file cannot be made.
        """
        while True:
            stream = self._path.open("w")
            try:
                fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                stream.close()
                return False
            if self._is_there(stream):
                self._stream = stream
                return True
            # Its last holder has removed it since it was opened here. Another process may lock the
            # file that has its name now.
            stream.close()

    def _is_there(self, stream: Any) -> bool:
        """Returns whether an open file is the one that has the name of the lock."""
        try:
            return os.path.samestat(os.fstat(stream.fileno()), self._path.stat())
        except FileNotFoundError:
            return False

    def release(self) -> None:
        """Releases the lock, if this object holds it."""
        if self._stream is not None:
            self._path.unlink(missing_ok=True)
            self._stream.close()
            self._stream = None
