"""Ends a program without taking its modules apart."""

import atexit
import os
import sys
import threading
import types
from typing import NoReturn

__all__ = ["end_process", "leave"]

# Of Python, where the output could not be written.
_OUTPUT_LOST = 120


def leave(status: int) -> NoReturn:
    """Ends the program of the calling module as fast as it can.

    Args:
        status: the exit status.

    Raises:
        SystemExit: other code goes on after the program: that of a process that has run the program
            within itself, of a debugger or of a profiler.
    """
    if _is_within(sys._getframe(1)) or _is_watched():
        sys.exit(status)
    end_process(status)


def end_process(status: int) -> NoReturn:
    """Ends this process as Python does, but leaves its modules and objects to the system.

    Python takes each module apart. With TensorFlow loaded, this takes a quarter of a second, and in
    a forked process it copies memory that was shared. Before the end, threads are joined, exit
    handlers are called and the output is flushed.

    Args:
        status: the exit status.
    """
    # Waits for threads that are not daemons, as Python does first of all.
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None and not stream.closed:
                stream.flush()
        except OSError:
            # That the log could not be written does not make the work a failure.
            status = _OUTPUT_LOST if stream is sys.stdout else status
    os._exit(status)


def _is_within(frame: types.FrameType) -> bool:
    """Returns whether other code than `python FILE` or `python -m` has run a module."""
    module, outer = frame.f_globals, frame.f_back
    while outer is not None and (
        outer.f_globals is module or outer.f_globals.get("__name__") == "runpy"
    ):
        outer = outer.f_back
    return outer is not None


def _is_watched() -> bool:
    if sys.flags.inspect or sys.gettrace() or sys.getprofile():
        return True
    # Since Python 3.12, profilers and debuggers are tools of sys.monitoring.
    monitoring = getattr(sys, "monitoring", None)
    return monitoring is not None and any(map(monitoring.get_tool, range(6)))
