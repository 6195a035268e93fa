"""Reports whether a job's files are being stored: on the console, and in a small local file."""

import contextlib
import time
from collections.abc import Callable
from pathlib import Path
from typing import Optional

from trainer.storage.files import write_json

# Beside the local folder of the job, so that it is not stored in the bucket.
HEALTH = "health.json"
# Seconds after which the file is written again although nothing has changed.
WRITE_SECS = 10.0


class Health:
    """The state of the thread that stores and fetches a job's files.

    The file is a JSON object. `time`: when it was written, in seconds since 1970. `step`: the
    global step of the newest checkpoint that is stored; null before the first one. `behind_secs`:
    the age of the local state that the bucket has, in seconds, at `time`; 0 when all is stored.
    `error`: why the last attempt failed, one line; null if it succeeded.

    Args:
        path: the file.
        log: called with a line of text when storing begins to fail, and when it succeeds again.
    """

    def __init__(self, path: Path, log: Callable[[str], None]):
        self._path = path
        self._log = log
        self._stored_at = time.time()
        self._step: Optional[int] = None
        self._error: Optional[str] = None
        self._written_at = 0.0

    def note_success(self, started: float, step: Optional[int]) -> None:
        """Records that all files have been stored and fetched.

        Args:
            started: when that began, in seconds since 1970.
            step: the global step of the newest stored checkpoint; None without one.
        """
        if self._error is not None:
            late = started - self._stored_at
            self._log(f"storage: files are stored and fetched again, after {late:.0f} s")
        is_same = self._error is None and step == self._step
        self._stored_at, self._step, self._error = started, step, None
        if not is_same or time.time() - self._written_at > WRITE_SECS:
            self.write()

    def note_failure(self, message: str, goes_on: bool = True) -> None:
        """Records that files could not be stored or fetched.

        Args:
            message: the reason, one line.
            goes_on: whether it is tried again; if not, the job ends with the message.
        """
        if self._error is None and goes_on:
            self._log(f"warning: {message}; the job goes on, and storing is tried again")
        self._error = message
        self.write()

    def write(self) -> None:
        """Writes the file; does nothing if the disk is full."""
        now = self._written_at = time.time()
        behind = 0.0 if self._error is None else now - self._stored_at
        status = {
            "time": round(now, 1),
            "step": self._step,
            "behind_secs": round(behind, 1),
            "error": self._error,
        }
        with contextlib.suppress(OSError):
            write_json(self._path, status)
