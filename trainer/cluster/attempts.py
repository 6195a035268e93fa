"""Attempts to connect to a process that says in job_dir that it listens."""

import math
import time
from collections.abc import Callable

from trainer.errors import JobEnded

# Seconds of failed attempts after which a line says so.
TELL_SECS = 20.0


class Attempts:
    """Says which process cannot be reached, and ends this one if that does not change.

    Args:
        limit_secs: seconds of failed attempts after which this process ends.
        warn: called with a line of text.
    """

    def __init__(
        self, limit_secs: float = math.inf, warn: Callable[[str], None] = lambda line: None
    ):
        self._limit_secs, self._warn = limit_secs, warn
        # Name and secret of a process → when the first attempt to connect to it failed.
        self._began: dict[tuple[str, bytes], float] = {}
        self._told: set[str] = set()

    def start_over(self) -> None:
        """Forgets what has failed: the connections are made anew."""
        self._began.clear()
        self._told.clear()

    def note_failure(self, name: str, secret: bytes, address: str, reason: str) -> None:
        """Notes that an attempt has failed.

        Args:
            name: of the other process.
            secret: that this start of both processes knows.
            address: of the other process.
            reason: why the attempt failed.

        Raises:
            JobEnded: all attempts have failed for too long.
        """
        now = time.monotonic()
        secs = now - self._began.setdefault((name, secret), now)
        line = f"cannot connect to {name} at {address}: {reason}"
        if secs >= self._limit_secs:
            raise JobEnded(
                f"{line}; given up after {self._limit_secs} s; check TF_CONFIG, name resolution, "
                "firewalls, and whether the cluster was started twice"
            )
        if secs >= TELL_SECS and name not in self._told:
            self._told.add(name)
            self._warn(f"{line}; trying again for up to {self._limit_secs} s")
