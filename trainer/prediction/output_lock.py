"""Keeps two predictions from writing to one output at the same time."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from trainer.errors import TemporaryError
from trainer.storage.claim import HELD_ERRNOS


@contextmanager
def lock_output(path: Path, output: Path) -> Iterator[None]:
    """Holds a lock while a `with` statement runs; a file system without locks has none.

    Args:
        path: file of the lock, which is removed at the end.
        output: what it protects, for the message.

    Raises:
        OSError: the file cannot be made.
        TemporaryError: another process holds the lock.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    while True:
        stream = path.open("a")
        try:
            # Processes that predict for this one do not inherit such a lock.
            fcntl.lockf(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno in HELD_ERRNOS:
                stream.close()
                raise TemporaryError(
                    f"--output={output}: another trainer.predict writes there; wait until it ends"
                ) from error
        # The file may have been removed by its last holder before it was locked here.
        if path.exists() and os.path.samestat(path.stat(), os.fstat(stream.fileno())):
            break
        stream.close()
    with stream:
        try:
            yield
        finally:
            path.unlink(missing_ok=True)
