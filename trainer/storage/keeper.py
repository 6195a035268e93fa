"""A job's folder and its place in a bucket, kept alike while the job runs."""

import threading
from collections.abc import Callable
from typing import Optional

from trainer.errors import UserError
from trainer.storage.bucket import Unavailable
from trainer.storage.mirror import Mirror


class Keeper:
    """Stores and fetches in a thread of its own, every few seconds.

    Args:
        mirror: what to keep alike.
        pushes, pulls: whether this process stores, and fetches.
        log: takes a line for people.
        stop: called once when the job must end: another writer is at work.
        secs: between two looks.
    """

    def __init__(
        self,
        mirror: Mirror,
        pushes: bool,
        pulls: bool,
        log: Callable[[str], None],
        stop: Callable[[], None],
        secs: float = 2.0,
    ):
        self.mirror = mirror
        self.error: Optional[UserError] = None
        self._pushes, self._pulls = pushes, pulls
        self._log, self._stop, self._secs = log, stop, secs
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="mirror", daemon=True)
        self._is_behind = False
        self._followed: list[Mirror] = []

    def follow(self, mirror: Mirror) -> None:
        """Stores another mirror of the same folder too."""
        self._followed.append(mirror)

    def start(self) -> None:
        """Begins."""
        self._thread.start()

    def _run(self) -> None:
        while not self._ended.wait(self._secs):
            try:
                self.synchronize()
                self._is_behind = False
            except Unavailable as error:
                if not self._is_behind:
                    self._log(f"warning: {error}; training goes on, and storing is tried again")
                self._is_behind = True
            except UserError as error:
                self.error = error
                self._stop()
                return

    def synchronize(self) -> None:
        """Stores and fetches now.

        Raises:
            UserError: the bucket cannot be read or written.
        """
        if self._pushes:
            for mirror in [self.mirror, *self._followed]:
                mirror.push()
        if self._pulls:
            self.mirror.pull()

    def end(self) -> None:
        """Ends the thread, and stores what is left.

        Raises:
            UserError: it cannot be stored; says where it is.
        """
        self._ended.set()
        if self._thread.is_alive():
            self._thread.join()
        if self.error is None and self._pushes:
            try:
                for mirror in [self.mirror, *self._followed]:
                    mirror.push()
                if self.mirror.claim is not None:
                    self.mirror.claim.release()
            except UserError as error:
                self.error = error
        if self.error is not None:
            raise UserError(
                f"{self.error}; what is not stored there is in {self.mirror.folder}"
            ) from self.error
