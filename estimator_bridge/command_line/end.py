"""Ends a program without taking its modules apart."""

import atexit
import contextlib
import os
import sys
import threading
from collections.abc import Iterator
from typing import NoReturn

__all__ = ["leave", "staying"]

# Of Python, where the output could not be written.
_OUTPUT_LOST = 120
# Whether this process goes on after the program.
_stays = False


@contextlib.contextmanager
def staying() -> Iterator[None]:
    """Lets programs that this process runs inside itself end with SystemExit."""
    global _stays
    before, _stays = _stays, True
    try:
        yield
    finally:
        _stays = before


def leave(status: int) -> NoReturn:
    """Ends this process as Python does, but leaves its modules and objects to the system.

    Python takes each module apart. With TensorFlow loaded, this takes a quarter of a second, and in
    a forked process it copies memory that was shared. Before the end, threads are joined, exit
    handlers are called and the output is flushed.

    Args:
        status: the exit status.

    Raises:
        SystemExit: a debugger, a profiler or a block `staying`, which goes on afterwards, runs the
        program.
    """
    if _stays or _is_watched():
        sys.exit(status)
    # Waits for threads that are not daemons, as Python does first of all.
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None and not stream.closed:
                stream.flush()
        except OSError:
            status = _OUTPUT_LOST
    os._exit(status)


def _is_watched() -> bool:
    if sys.flags.inspect or sys.gettrace() or sys.getprofile():
        return True
    # Since Python 3.12, profilers and debuggers are tools of sys.monitoring.
    monitoring = getattr(sys, "monitoring", None)
    return monitoring is not None and any(map(monitoring.get_tool, range(6)))
