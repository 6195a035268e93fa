"""SIGTERM and Ctrl-C, turned into an exception at a moment when nothing is lost."""

import os
import signal
from typing import Any, Optional

SIGNALS = (signal.SIGTERM, signal.SIGINT)


class Interrupted(BaseException):
    """A signal asked the process to end; nothing below may catch it as an error.

    Attributes:
        signal: which.
        step: the global step of the checkpoint that was saved for it; None if none had to be.
    """

    def __init__(self, number: int, step: Optional[int] = None):
        super().__init__(number, step)
        self.signal = signal.Signals(number)
        self.step = step

    @property
    def saved(self) -> str:
        """ "; checkpoint saved at step 7", or nothing where none was."""
        return f"; checkpoint saved at step {self.step:,}" if self.step else ""


class SignalWatch:
    """Turns SIGTERM and SIGINT into Interrupted, at a moment when a checkpoint can be saved.

    Used as a context manager, from the main thread. While training runs, a signal is only noted,
    for InterruptHook to act on after the step; at any other time, and for a second signal, it is
    raised at once.
    """

    def __init__(self) -> None:
        self.pending: Optional[int] = None
        self.in_session = False
        self._before: dict[int, Any] = {}

    def __enter__(self) -> "SignalWatch":
        self._before = {number: signal.signal(number, self._note) for number in SIGNALS}
        return self

    def __exit__(self, *exception: Any) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def ask(self) -> None:
        """Has this process end as by SIGTERM, unless a signal is pending; from any thread."""
        if self.pending is None:
            os.kill(os.getpid(), signal.SIGTERM)

    def _note(self, number: int, frame: Any) -> None:
        if self.in_session and self.pending is None:
            self.pending = number
        else:
            raise Interrupted(number)
