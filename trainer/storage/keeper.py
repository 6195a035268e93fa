"""Keeps a job's local folder and its folder in a bucket synchronised while the job runs."""

import threading
import time
from collections.abc import Callable
from typing import Optional

from trainer.errors import TemporaryError, UserError
from trainer.storage.disk import is_full_disk
from trainer.storage.health import HEALTH, Health
from trainer.storage.mirror import Mirror


class Keeper:
    """Stores and fetches a job's files every few seconds, in a thread.

    Args:
        mirror: the job's local folder and its folder in the bucket.
        pushes: whether this process stores files.
        pulls: whether this process fetches files that other processes have stored.
        log: called with a line of text.
        stop: called once if the job must end because the bucket cannot be written or another writer
            uses the folder in the bucket.
        secs: seconds between two synchronisations.

    Attributes:
        mirror: the same.
        error: the error that ended the thread; None if there was none.
    """

    def __init__(
        self,
        mirror: Mirror,
        *,
        pushes: bool,
        pulls: bool,
        log: Callable[[str], None],
        stop: Callable[[], None],
        secs: float = 2.0,
    ):
        self.mirror = mirror
        self.error: Optional[UserError] = None
        self._pushes, self._pulls = pushes, pulls
        self._stop, self._secs = stop, secs
        self._health = Health(mirror.folder.parent / HEALTH, log)
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="mirror", daemon=True)
        self._more: list[Mirror] = []

    def add(self, mirror: Mirror) -> None:
        """Makes `synchronize` store another mirror too.

        Args:
            mirror: mirrors the same local folder to another folder in a bucket.
        """
        self._more.append(mirror)

    def start(self) -> None:
        """Starts the thread."""
        self._thread.start()

    def _run(self) -> None:
        self._health.write()
        while not self._ended.wait(self._secs):
            started = time.time()
            try:
                self.synchronize()
            except Exception as error:
                if isinstance(error, UserError) and not isinstance(error, TemporaryError):
                    self.error = error
                    self._health.note_failure(str(error), goes_on=False)
                    self._stop()
                    return
                # For example a bucket that is away, or a full disk for a moment. The thread must
                # not end: nothing would be stored and fetched from then on.
                self._health.note_failure(_describe(error))
            else:
                self._health.note_success(started, self.mirror.stored_step)

    def synchronize(self) -> None:
        """Stores and fetches files now.

        Raises:
            UserError: the bucket cannot be read or written.
        """
        if self._pushes:
            for mirror in [self.mirror, *self._more]:
                mirror.push()
        if self._pulls:
            self.mirror.pull()

    def end(self) -> None:
        """Ends the thread and stores what has not been stored yet.

        Raises:
            UserError: a file cannot be stored; the message names the local folder that contains it.
        """
        self._ended.set()
        if self._thread.is_alive():
            self._thread.join()
        if self.error is None and self._pushes:
            started = time.time()
            try:
                for mirror in [self.mirror, *self._more]:
                    mirror.push()
                self.mirror.check_stored()
                self._health.note_success(started, self.mirror.stored_step)
            except UserError as error:
                self.error = error
            except Exception as error:
                kind = UserError if is_full_disk(error) else TemporaryError
                self.error = kind(f"{self.mirror.address}: {_describe(error)}")
        if self.error is not None:
            self._health.note_failure(str(self.error), goes_on=False)
            raise type(self.error)(
                f"{self.error}; what is not stored there is in {self.mirror.folder}"
            ) from self.error


def _describe(error: Exception) -> str:
    if isinstance(error, UserError):
        return str(error)
    return f"storing failed with {type(error).__name__}: {' '.join(str(error).split())[:160]}"
