"""Keeps two tuners out of one study, and waits for the trials of a tuner that was killed."""

import contextlib
import fcntl
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from trainer.cluster.processes import ORPHAN_SECS
from trainer.errors import UserError

# Held by the tuner alone.
TUNER_LOCK = ".lock"
# Held by the tuner and inherited by each of its trials, until the last of them has ended.
TRIALS_LOCK = ".trials.lock"
POLL_SECS = 0.1


@contextmanager
def hold(folder: Path, log: Callable[[str], None]) -> Iterator[int]:
    """Locks a study while a `with` statement runs.

    The trials of a tuner that was killed notice it, save a checkpoint and end by themselves. This
    function waits for them, so that no two processes work on one trial.

    Args:
        folder: of the study.
        log: writes a line.

    Yields:
        A file descriptor that the processes of trials must inherit.

    Raises:
        UserError: another tuner works on the study.
    """
    own = os.open(folder / TUNER_LOCK, os.O_RDWR | os.O_CREAT, 0o644)
    shared = os.open(folder / TRIALS_LOCK, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        try:
            fcntl.lockf(own, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise UserError(
                f"--study_dir={folder}: another trainer.tune works on it; wait for its end, or "
                "name another folder"
            ) from error
        _await(shared, log)
        yield shared
    finally:
        os.close(shared)
        os.close(own)


def _await(shared: int, log: Callable[[str], None]) -> None:
    # A process that user code has forked may hold the lock for ever; the trials end in this time.
    deadline = time.monotonic() + ORPHAN_SECS + POLL_SECS
    is_told = False
    while time.monotonic() < deadline:
        with contextlib.suppress(BlockingIOError):
            fcntl.flock(shared, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        if not is_told:
            log("waiting for the trials of an earlier trainer.tune to save their checkpoints")
            is_told = True
        time.sleep(POLL_SECS)
