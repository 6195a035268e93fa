"""Writes messages to standard error and results to standard output, for people to read.

Both may contain values of the data. They are escaped here, so that they cannot control a terminal.
"""

import copy
import shutil
import sys
import time
from typing import Any, Callable, Optional, TextIO

from estimator_bridge.terminal import escape, escape_lines

# Seconds between two progress lines where the output is not a terminal.
PLAIN_SECS = 10.0
# Seconds between two drawings of the live line on a terminal.
LIVE_SECS = 0.25
# The same in a notebook, where each drawing is a message to the browser.
NOTEBOOK_SECS = 0.5


def show(text: str) -> None:
    """Prints a result to standard output, with unprintable characters escaped.

    Args:
        text: the result, one or more lines, without the last line end.
    """
    print(escape_lines(text), flush=True)


def find_notebook() -> Optional[Any]:
    """Returns IPython's module of displays if this process is the kernel of a notebook."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    if getattr(shell, "kernel", None) is None:
        return None
    import IPython.display

    return IPython.display


class Console:
    """Writes lines, and one live line that is redrawn on a terminal and in a notebook.

    Args:
        stream: where to write; None: standard error, in a notebook standard output.
        quiet: whether only warnings are written.
        clock: returns the time in seconds.
        display_path: replaces local paths in a line by the paths that the user gave. For example,
            the run uses a local folder in place of a gs:// job_dir.
    """

    def __init__(
        self,
        stream: Optional[TextIO] = None,
        quiet: bool = False,
        clock: Callable[[], float] = time.monotonic,
        display_path: Callable[[str], str] = str,
    ):
        self._display_path = display_path
        self._notebook = find_notebook() if stream is None else None
        if stream is None:
            # A notebook marks what is on standard error as a failure.
            stream = sys.stderr if self._notebook is None else sys.stdout
        self._stream = stream
        self._quiet = quiet
        self._clock = clock
        self._is_terminal = stream.isatty()
        self._display: Optional[Any] = None
        self._live_width = 0
        self._next = clock()
        self._observe: Callable[[], None] = lambda: None

    def observed(self, observe: Callable[[], None]) -> "Console":
        """Returns a console that writes to the same place and reports each line.

        Args:
            observe: called before each line, even if the console is quiet.
        """
        console = copy.copy(self)
        console._observe = observe
        return console

    def log(self, line: str) -> None:
        """Writes a line, unless the console is quiet.

        Args:
            line: the text, without a line end.
        """
        self._observe()
        if not self._quiet:
            self.warn(line)

    def warn(self, line: str) -> None:
        """Writes a line, even if the console is quiet.

        Args:
            line: the text, without a line end.
        """
        self._clear()
        print(escape_lines(self._display_path(line)), file=self._stream, flush=True)

    def is_due(self) -> bool:
        """Returns whether to show progress now; cheap enough to call at every step."""
        return not self._quiet and self._clock() >= self._next

    def progress(self, line: str) -> None:
        """Redraws the live line on a terminal; writes an ordinary line elsewhere.

        Args:
            line: how far the run is, without a line end.
        """
        line = escape(self._display_path(line))
        if self._is_terminal:
            self._next = self._clock() + LIVE_SECS
            # A line that wraps cannot be redrawn.
            line = line[: shutil.get_terminal_size().columns - 1]
            self._stream.write("\r" + line.ljust(self._live_width))
            self._stream.flush()
            self._live_width = len(line)
        elif self._notebook is not None:
            self._next = self._clock() + NOTEBOOK_SECS
            shown = {"text/plain": line}
            if self._display is None:
                self._display = self._notebook.display(shown, raw=True, display_id=True)
            else:
                self._display.update(shown, raw=True)
        else:
            self._next = self._clock() + PLAIN_SECS
            print(line, file=self._stream, flush=True)

    def _clear(self) -> None:
        if self._live_width:
            self._stream.write("\r" + " " * self._live_width + "\r")
            self._live_width = 0
