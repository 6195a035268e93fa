"""A lock of one key of the cache, for processes of one machine, or of several that share a disk."""

import fcntl
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
        stream = self._path.open("w")
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            stream.close()
            return False
        self._stream = stream
        return True

    def release(self) -> None:
        """Releases the lock, if this object holds it."""
        if self._stream is not None:
            # A process that has opened this file already and a process that opens it later lock
            # different files. Both may then write the entry; the entry finished first is kept.
            self._path.unlink(missing_ok=True)
            self._stream.close()
            self._stream = None
