"""What a person watching the run sees."""

import sys
import time
from typing import Callable, Optional, TextIO

# Seconds between two progress lines where the terminal cannot redraw one.
PLAIN_SECS = 10.0
# Seconds between two drawings of the live line.
LIVE_SECS = 0.25


class Console:
    """Lines, and one live line that redraws itself on a terminal.

    Args:
        stream: where to write; None: standard error.
        quiet: whether to write nothing but errors.
        clock: gives seconds; a test hands in its own.
        shown: what people are shown for a line, where that is another: job_dir by the user's name.
    """

    def __init__(
        self,
        stream: Optional[TextIO] = None,
        quiet: bool = False,
        clock: Callable[[], float] = time.monotonic,
        shown: Callable[[str], str] = str,
    ):
        self._shown = shown
        self._stream = stream = sys.stderr if stream is None else stream
        self._quiet = quiet
        self._clock = clock
        self._is_terminal = stream.isatty()
        self._drawn = 0
        self._next = clock()

    def log(self, line: str) -> None:
        """Writes a line of its own."""
        if not self._quiet:
            self._clear()
            print(self._shown(line), file=self._stream, flush=True)

    def warn(self, line: str) -> None:
        """Writes a line that is shown even where all else is quiet."""
        self._clear()
        print(self._shown(line), file=self._stream, flush=True)

    def is_due(self) -> bool:
        """Whether progress should be shown now; cheap, so that it can be asked at each step."""
        return not self._quiet and self._clock() >= self._next

    def progress(self, line: str) -> None:
        """Shows how far it is: redraws the live line, or writes a plain one."""
        line = self._shown(line)
        self._next = self._clock() + (LIVE_SECS if self._is_terminal else PLAIN_SECS)
        if self._is_terminal:
            self._stream.write("\r" + line.ljust(self._drawn))
            self._stream.flush()
            self._drawn = len(line)
        else:
            print(self._shown(line), file=self._stream, flush=True)

    def _clear(self) -> None:
        if self._drawn:
            self._stream.write("\r" + " " * self._drawn + "\r")
            self._drawn = 0
