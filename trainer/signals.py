"""Converts SIGTERM, SIGINT and SIGHUP to an exception, after the current training step."""

import os
import signal
import threading
from contextlib import ExitStack
from typing import Any, Optional

from estimator_bridge.command_line.signals import SignalReceived, handle_signals


def end_at_sigterm() -> None:
    """Makes SIGTERM end this process at once with status 143 if it is the first of a container.

    Linux ignores a signal without a handler for process 1. So without this, SIGTERM is lost while
    the modules of a program are being imported. While Python itself starts, nothing can handle it:
    the image starts it with SIGTERM blocked, so that it arrives here.
    """
    in_main_thread = threading.current_thread() is threading.main_thread()
    is_unhandled = signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
    if os.getpid() == 1 and in_main_thread and is_unhandled:
        signal.signal(signal.SIGTERM, lambda number, frame: os._exit(128 + number))
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})


class Interrupted(SignalReceived):
    """A signal ends training.

    Args:
        number: number of the signal.
        step: global step of the checkpoint that was saved because of it; None: none was saved.

    Attributes:
        step: the global step.
    """

    def __init__(self, number: int, step: Optional[int] = None):
        super().__init__(number)
        self.step = step

    @property
    def saved(self) -> str:
        """ "; checkpoint saved at step 7", or "" if none was saved."""
        return f"; checkpoint saved at step {self.step:,}" if self.step else ""


class SignalWatch:
    """Raises Interrupted for SIGTERM, SIGINT and SIGHUP while a `with` statement runs.

    Only the main thread of a process receives signals; in other threads nothing is raised.

    During training, the first signal is only recorded. After the current step, InterruptHook saves
    a checkpoint and raises Interrupted. Outside training, and for a second signal, Interrupted is
    raised immediately.

    Attributes:
        pending: number of the recorded signal; None: none.
        in_session: whether training runs.
        saves: whether a checkpoint is saved when a signal ends training.
    """

    def __init__(self) -> None:
        self.pending: Optional[int] = None
        self.in_session = False
        self.saves = True
        self._handled = ExitStack()

    def __enter__(self) -> "SignalWatch":
        self._handled.enter_context(handle_signals(self._note))
        return self

    def __exit__(self, *exception: Any) -> None:
        self._handled.close()

    def request_stop(self) -> None:
        """Sends SIGTERM to this process, unless a signal is pending; callable from any thread."""
        if self.pending is None:
            os.kill(os.getpid(), signal.SIGTERM)

    def discard(self) -> None:
        """Ends this process as a signal does, but saves nothing; callable from any thread."""
        self.saves = False
        os.kill(os.getpid(), signal.SIGTERM)

    def _note(self, number: int, frame: Any) -> None:
        if self.in_session and (self.pending is None or not self.saves):
            self.pending = number
        else:
            # A second signal ends training at once, without a checkpoint.
            self.saves = self.saves and not self.in_session
            raise Interrupted(number)
