"""Writes messages to standard error and results to standard output, for people to read.

Both may contain values of the data. They are escaped here, so that they cannot control a terminal.
"""

import copy
import sys
import threading
import time
import weakref
from types import TracebackType
from typing import Any, Callable, Optional, TextIO, Union

from estimator_bridge.output.terminal import (
    describe_progress,
    escape,
    escape_lines,
    find_width,
    fit,
    fit_live,
    format_secs,
    paint_status,
    tolerate_closed_output,
    write_message,
)

# Seconds between two progress lines where the output is not a terminal.
PLAIN_SECS = 10.0
# Seconds between two drawings of the live line on a terminal.
LIVE_SECS = 0.25
# The same in a notebook, where each drawing is a message to the browser.
NOTEBOOK_SECS = 0.5
# The unit of a Progress that counts bytes.
BYTES = "bytes"
# Stream → length of the live line on it. It belongs to the terminal: whoever writes next clears it.
_live_widths: "weakref.WeakKeyDictionary[TextIO, int]" = weakref.WeakKeyDictionary()


def show(text: str) -> None:
    """Prints a result to standard output, with unprintable characters escaped.

    On a terminal, long lines continue at the end of a word, and a status has a color.

    Args:
        text: the result, one or more lines, without the last line end.
    """
    _clear(sys.stderr)
    with tolerate_closed_output():
        print(_format(escape_lines(text), sys.stdout), flush=True)


def show_error(text: str) -> None:
    """Prints an error to standard error, on one line if it is no terminal.

    Args:
        text: what is wrong, and the remedy.
    """
    _clear(sys.stderr)
    _log(f"error: {escape_lines(text)}", sys.stderr)


def _format(text: str, stream: TextIO) -> str:
    return paint_status(fit(text, find_width(stream)), stream)


def _log(text: str, stream: TextIO) -> None:
    write_message(_format(text, stream) + "\n", stream)


def _clear(stream: TextIO) -> None:
    width = _live_widths.pop(stream, 0)
    if width:
        write_message("\r" + " " * width + "\r", stream)


class Cell:
    """The live line under a notebook's cell; all consoles that the cell makes share it.

    Args:
        show: IPython's function `display`.
    """

    def __init__(self, show: Callable[..., Any]):
        self._show = show
        self._display: Optional[Any] = None
        # What the line shows when a Progress has ended; "": what that showed.
        self._lasting = ""

    def progress(self, line: str, is_passing: bool) -> None:
        """Shows a line in place of the one before.

        Args:
            line: how far the work is.
            is_passing: whether the line is shown only until `end_progress`.
        """
        if not is_passing:
            self._lasting = line
        if self._display is None:
            self._display = self._show({"text/plain": line}, raw=True, display_id=True)
        else:
            self._display.update({"text/plain": line}, raw=True)

    def end_progress(self) -> None:
        """Shows the last line that was not passing, if there was one."""
        if self._display is not None and self._lasting:
            self._display.update({"text/plain": self._lasting}, raw=True)


# Number of the notebook's running cell → its live line.
_cells: dict[int, Cell] = {}


def find_cell() -> Optional[Cell]:
    """Returns the live line of the running cell if this process is the kernel of a notebook."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    if shell is None or getattr(shell, "kernel", None) is None:
        return None
    from IPython.display import display

    number = shell.execution_count
    if number not in _cells:
        _cells.clear()
        _cells[number] = Cell(display)
    return _cells[number]


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
        self._cell = find_cell() if stream is None else None
        if stream is None:
            # A notebook marks what is on standard error as a failure.
            stream = sys.stderr if self._cell is None else sys.stdout
        self._stream = stream
        self._quiet = quiet
        self._clock = clock
        self._next = clock()
        self._observe: Callable[[], None] = lambda: None

    def observed(self, observe: Callable[[], None]) -> "Console":
        """Returns a console that writes to the same place and reports that work goes on.

        Args:
            observe: called for each line and each step of progress, even if the console is quiet.
        """
        console = copy.copy(self)
        console._observe = observe
        return console

    @property
    def interval(self) -> float:
        """Seconds between two progress lines."""
        if self._stream.isatty():
            return LIVE_SECS
        return PLAIN_SECS if self._cell is None else NOTEBOOK_SECS

    @property
    def width(self) -> Optional[int]:
        """Columns of the terminal; None if the output is none."""
        return find_width(self._stream)

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
        _clear(self._stream)
        _log(escape_lines(self._display_path(line)), self._stream)

    def is_due(self) -> bool:
        """Returns whether to show progress now; cheap enough to call at every step."""
        self._observe()
        return not self._quiet and self._clock() >= self._next

    def progress(self, line: str, is_passing: bool = False) -> None:
        """Redraws the live line on a terminal; writes an ordinary line elsewhere.

        Args:
            line: how far the run is, without a line end.
            is_passing: whether a notebook shows the line only until `end_progress`, and then the
                last one that is not passing.
        """
        line = escape(self._display_path(line))
        self._next = self._clock() + self.interval
        width = self.width
        if width is not None:
            line = fit_live(line, width)
            write_message("\r" + line.ljust(_live_widths.get(self._stream, 0)), self._stream)
            _live_widths[self._stream] = len(line)
        elif self._cell is not None:
            self._cell.progress(line, is_passing)
        else:
            write_message(f"{line}\n", self._stream)

    def end_progress(self) -> None:
        """Removes the live line of a terminal, and the passing line of a notebook."""
        _clear(self._stream)
        if self._cell is not None:
            self._cell.end_progress()


class Progress:
    """Shows how far a long piece of work is: amount, time left and rate.

    Work that is shorter than the interval of the console shows nothing. Several threads may count.

    Args:
        console: shows it.
        what: the work, for instance "reading the data".
        unit: plural of what is counted, or BYTES.
        total: the whole amount, or a function that finds it when it is first shown; None: unknown.
        is_estimate: whether the total is not exact.
        clock: returns seconds.
    """

    def __init__(
        self,
        console: Console,
        what: str,
        unit: str,
        total: Union[None, float, Callable[[], Optional[float]]] = None,
        *,
        is_estimate: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ):
        self._console = console
        self._what = what
        self._unit = unit
        self._total = total
        self._about = "about " if is_estimate else ""
        self._clock = clock
        self._lock = threading.Lock()
        self._started = clock()
        self._done = 0.0

    def add(self, amount: float) -> None:
        """Counts more work, and shows how far it is if that is due.

        Args:
            amount: what has been done since the last call, in `unit`.
        """
        with self._lock:
            self._done += amount
            secs = self._clock() - self._started
            if self._console.is_due() and secs >= self._console.interval:
                self._console.progress(self._describe(secs), is_passing=True)

    def _describe(self, secs: float) -> str:
        if callable(self._total):
            self._total = self._total()
        if not self._done:
            return f"{self._what}: {format_secs(secs)}"
        scale, unit = (1e-6, "MB") if self._unit is BYTES else (1.0, self._unit)
        total = self._total and self._total * scale
        return describe_progress(self._what, self._done * scale, total, unit, secs, self._about)

    def end(self) -> None:
        """Removes the live line of a terminal, or of a notebook."""
        self._console.end_progress()

    def __enter__(self) -> "Progress":
        return self

    def __exit__(
        self,
        kind: Optional[type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        self.end()
