"""Text for a terminal: without characters that control it, and as wide as the terminal.

Also what happens where the reader of the output has closed it.

File names, column names and cell values come from others. A control character among them could
clear the screen, overwrite a line or change the title of the window.
"""

import errno
import os
import re
import shlex
import shutil
import sys
import textwrap
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Optional

__all__ = [
    "SEPARATOR",
    "describe_progress",
    "end_output",
    "escape",
    "escape_lines",
    "find_width",
    "fit",
    "fit_live",
    "format_secs",
    "format_table",
    "has_color",
    "paint_status",
    "quote_command",
    "tolerate_closed_output",
    "write_message",
]

# Text between the parts of a line.
SEPARATOR = " · "
# Number of a color in the escape sequence that selects it.
_RED, _GREEN, _YELLOW = 31, 32, 33
# Color of the word that begins a line.
_STATUS_COLORS = {
    **dict.fromkeys(("error", "fail", "failed", "rejected", "red"), _RED),
    **dict.fromkeys(("warning", "inconclusive", "yellow", "forced"), _YELLOW),
    **dict.fromkeys(("pass", "passed", "blessed", "green"), _GREEN),
}
_STATUS = re.compile(rf"(?m)^(\s*)({'|'.join(_STATUS_COLORS)})(?=:| since )")
# Lines that are to be copied into a shell; with a line end inside, they would be two commands.
_COMMAND = re.compile(r"\bpython3? -m |\b(estimator-trainer|estimator-bridge|tensorboard) ")
# The title of a line, which stands before its text.
_TITLE = re.compile(r" *\S.{0,24}?  +(?=\S)")


def escape(text: str) -> str:
    """Returns text on one line, with unprintable characters as in a Python literal.

    Args:
      text: any text.
    """
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() else repr(each)[1:-1] for each in text)


def escape_lines(text: str) -> str:
    """Returns text with unprintable characters as in a Python literal, except line ends.

    Args:
      text: any text.
    """
    return "\n".join(map(escape, text.split("\n")))


def quote_command(*words: str) -> str:
    """Returns a command that a user can copy into a shell, on one line.

    Names of files come from others: unquoted, a shell would run what they contain.

    Args:
      *words: the program and its arguments, each as the program receives it.
    """
    return escape(shlex.join(words))


def find_width(stream: Any) -> Optional[int]:
    """Returns the number of columns of a terminal; None if the stream is none.

    Args:
      stream: an open text file, for instance sys.stdout.
    """
    return shutil.get_terminal_size().columns if stream.isatty() else None


def fit(text: str, width: Optional[int]) -> str:
    """Returns a text whose long lines continue below, indented, at the end of a word.

    Commands stay whole, so that they can be copied; so do words, for instance paths.

    Args:
      text: one or more lines.
      width: of the terminal, in columns; None: the text stays as it is.
    """
    if width is None:
        return text
    return "\n".join(
        line if len(line) <= width or _COMMAND.search(line) else _wrap(line, width)
        for line in text.split("\n")
    )


def _wrap(line: str, width: int) -> str:
    title = _TITLE.match(line)
    indent = len(line) - len(line.lstrip()) + 2
    if title is not None and title.end() <= width // 2:
        indent = title.end()
    indent = max(min(indent, width - max(map(len, line.split()))), 2)
    return textwrap.fill(
        line,
        width,
        subsequent_indent=" " * indent,
        break_long_words=False,
        break_on_hyphens=False,
        replace_whitespace=False,
    )


def fit_live(line: str, width: int) -> str:
    """Returns a line that is redrawn, without the last parts if it is too long.

    A line that wraps cannot be redrawn.

    Args:
      line: parts with SEPARATOR between them.
      width: of the terminal, in columns.
    """
    # Some terminals wrap a line that has as many characters as columns.
    while len(line) >= width and SEPARATOR in line:
        line = line.rpartition(SEPARATOR)[0]
    return line[: width - 1]


def format_secs(secs: float) -> str:
    """Returns a duration as text: 42 s, 3 min 10 s, 2 h 5 min.

    Args:
      secs: seconds.
    """
    secs = round(secs)
    if secs < 60:
        return f"{secs} s"
    if secs < 3600:
        return f"{secs // 60} min {secs % 60} s"
    return f"{secs // 3600} h {secs % 3600 // 60} min"


def describe_progress(
    what: str, done: float, total: Optional[float], unit: str, secs: float, about: str = ""
) -> str:
    """Returns how far a long piece of work is: amount, time left and rate.

    Args:
      what: the work, for instance "reading the data".
      done: amount until now, above 0.
      total: the whole amount; None: unknown.
      unit: plural of what is counted; "MB" has decimals.
      secs: since the work began.
      about: what is written before the total, for instance if it is an estimate.
    """
    rate, digits = done / secs, 1 if unit == "MB" else 0
    amount, left = f"{done:,.{digits}f}", None
    # An estimate may be too small.
    if total and done <= total:
        amount += f" of {about}{total:,.{digits}f}"
        left = f"{format_secs((total - done) / rate)} left"
    digits = 1 if unit == "MB" or rate < 10 else 0
    parts = (f"{what}: {amount} {unit}", left, f"{rate:,.{digits}f} {unit}/s")
    return SEPARATOR.join(part for part in parts if part is not None)


def format_table(
    rows: Sequence[Sequence[str]],
    *,
    width: Optional[int] = None,
    left: Collection[int] = (0,),
    indent: int = 2,
) -> list[str]:
    """Returns the lines of a table; one that is too wide is divided into several below each other.

    Each of these has the first column, which is shortened if even two columns are too wide.

    Args:
      rows: the cells; the first row is the heading. All rows have the same length.
      width: of the terminal, in columns; None: the table is not divided.
      left: numbers of the columns that are aligned to the left; the others are to the right.
      indent: spaces before each line.
    """
    cells = [[escape(cell) for cell in row] for row in rows]
    widths = [max(len(row[place]) for row in cells) for place in range(len(cells[0]))]
    if width is not None and len(widths) > 1:
        widths[0] = min(widths[0], max(width - indent - 2 - max(widths[1:]), 12))
    lines = []
    for group in _group(widths, None if width is None else width - indent):
        for row in cells:
            aligned = (
                _shorten(row[place], widths[place]).ljust(widths[place])
                if place in left
                else row[place].rjust(widths[place])
                for place in group
            )
            lines.append((" " * indent + "  ".join(aligned)).rstrip())
    return lines


def _group(widths: Sequence[int], width: Optional[int]) -> list[list[int]]:
    """Returns the columns of each part of a table; the first column is in all of them."""
    groups = [[0]]
    used = widths[0]
    for place in range(1, len(widths)):
        if width is not None and len(groups[-1]) > 1 and used + 2 + widths[place] > width:
            groups.append([0])
            used = widths[0]
        groups[-1].append(place)
        used += 2 + widths[place]
    return groups


def _shorten(cell: str, width: int) -> str:
    return cell if len(cell) <= width else cell[: width - 1] + "…"


def paint_status(text: str, stream: Any) -> str:
    """Returns a text for a stream; on a terminal, a word such as `error` and a colon has a color.

    A terminal gets no color if the environment variable NO_COLOR is set (no-color.org), or if it
    cannot show any.

    Args:
      text: one or more lines.
      stream: where it will be written.
    """
    if not has_color(stream):
        return text
    return _STATUS.sub(
        lambda found: f"{found[1]}\x1b[{_STATUS_COLORS[found[2]]}m{found[2]}\x1b[0m", text
    )


def has_color(stream: Any) -> bool:
    """Returns whether a stream is a terminal whose user wants colors.

    Args:
      stream: an open text file, for instance sys.stdout.
    """
    is_plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return bool(stream.isatty() and not is_plain)


@contextmanager
def tolerate_closed_output() -> Iterator[None]:
    """Ends the output, and goes on, if its reader closes it while a `with` statement runs.

    The reader may be `head`, for instance.
    """
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        end_output()


def write_message(text: str, stream: Any) -> None:
    """Writes a message about the work, if that is possible.

    The work must not end because its log cannot be written: the reader of a pipe has ended, the
    terminal was closed, or the disk of the log is full.

    Args:
      text: the message, with its line end.
      stream: standard error, or another open text file.
    """
    try:
        stream.write(text)
        stream.flush()
    except OSError as error:
        if error.errno in (errno.EPIPE, errno.EIO):
            _discard(stream)


def end_output() -> None:
    """Writes what was printed to standard output; if that fails, it goes nowhere.

    Without this, Python reports the error again when it ends, and ends with status 120.
    """
    try:
        sys.stdout.flush()
    except OSError:
        _discard(sys.stdout)


def _discard(stream: Any) -> None:
    """Lets what is written to a stream go nowhere, as what it could not write."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)
