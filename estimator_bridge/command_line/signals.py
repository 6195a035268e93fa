"""Ends a command in one line at SIGTERM, SIGINT and SIGHUP."""

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Callable

from ..output.terminal import write_message

__all__ = ["SIGNALS", "SignalReceived", "block_interrupts", "end_command", "handle_signals"]

SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


class SignalReceived(BaseException):
    """A signal ends the process.

    This is a BaseException, so that `except Exception` does not catch it.

    Args:
      number: number of the signal.

    Attributes:
      signal: the signal.
      status: exit status of a process that it ends.
    """

    def __init__(self, number: int):
        super().__init__(number)
        self.signal = signal.Signals(number)
        self.status = 128 + number


def _raise(number: int, frame: Any) -> None:
    raise SignalReceived(number)


@contextmanager
def handle_signals(handler: Callable[[int, Any], None] = _raise) -> Iterator[None]:
    """Handles SIGTERM, SIGINT and SIGHUP, of a closed terminal, while a `with` statement runs.

    Under nohup, SIGHUP stays ignored.

    Only the main thread of a process receives signals; in other threads nothing changes.

    Args:
      handler: as for signal.signal; the default raises SignalReceived.
    """
    before: dict[signal.Signals, Any] = {}
    if threading.current_thread() is threading.main_thread():
        ignored = signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
        handled = [each for each in SIGNALS if each != signal.SIGHUP or not ignored]
        before = {number: signal.signal(number, handler) for number in handled}
        # The image's entry point blocks it; under an init, this is not process 1.
        signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
    try:
        yield
    finally:
        for number, old in before.items():
            signal.signal(number, old)


@contextmanager
def block_interrupts() -> Iterator[None]:
    """Blocks SIGINT while a `with` statement runs, for ever in the processes that it starts.

    Ctrl-C goes to all processes of a terminal. Without this, each of them prints a traceback; their
    parent ends them in any case.
    """
    from multiprocessing import resource_tracker

    # It unblocks the signal after its own start.
    resource_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def end_command(received: SignalReceived, remains: str) -> int:
    """Prints that a signal has ended a command; returns the exit status.

    Args:
      received: the signal.
      remains: what is left, and what to do next.
    """
    write_message(f"stopped by {received.signal.name}; {remains}\n", sys.stderr)
    return received.status
