"""Reads the code of notebooks."""

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple, Optional

__all__ = ["MAX_BYTES", "SUFFIX", "Cell", "read"]

SUFFIX = ".ipynb"
# Largest notebook whose code is searched. Most of it is output.
MAX_BYTES = 64 << 20
# Cells that are Python nevertheless: timed ones, those that Python runs as a child, and files.
_PYTHON_CELL = re.compile(
    r"%%(?:(?:capture|debug|prun|python[23]?|time|timeit)\b|(?:write)?file\b.*\.py[\"']?\s*$)"
)
_TIMED = re.compile(r"(\s*)%(?:prun|time|timeit)\s+(?![-\s])(.+)")
# x = !ls and x = %magic
_ASSIGNED = re.compile(r"(\s*[\w., \[\]]+=)\s*[!%].*")
_IN_STRING = re.compile(r"\\.|\"\"\"|\'\'\'")
_OUTSIDE = re.compile(r"\"\"\"|\'\'\'|\"(?:\\.|[^\"\\])*\"|\'(?:\\.|[^\'\\])*\'|[#()\[\]{}]")
_LANGUAGES = ("python", "python2", "python3")


class Cell(NamedTuple):
    """A cell of code.

    Attributes:
      number: of the cell, from 1; all cells count.
      text: as the author wrote it, with IPython's syntax.
      may_fail: whether the cells after it run even if it fails, as its tag says.
    """

    number: int
    text: str
    may_fail: bool

    @property
    def source(self) -> str:
        """Its Python, with `pass` for IPython's syntax; "" if it is in another language.

        Line numbers do not change.
        """
        first = self.text.lstrip().split("\n", 1)[0]
        if first.startswith("%%") and not _PYTHON_CELL.match(first):
            return ""
        return "\n".join(_leave_out_ipython(self.text.split("\n")))


def read(data: bytes) -> list[Cell]:
    """Returns the cells of code of a notebook; none if its language is not Python.

    Args:
      data: content of the file, of version 3 or 4 of the format.

    Raises:
      ValueError: the file is not a notebook.
    """
    try:
        notebook = json.loads(data.decode("utf-8-sig"))
        if not isinstance(notebook, dict):
            raise ValueError("it is not a JSON object")
        # Version 3 of the format has the cells one level deeper.
        sheets = notebook.get("worksheets") or [notebook]
        cells = [cell for sheet in sheets for cell in sheet.get("cells", [])]
        read_cells = [_read_cell(number, cell) for number, cell in enumerate(cells, 1)]
    except (ValueError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError(f"not a notebook: {error}") from None
    if _find_language(notebook.get("metadata")) not in _LANGUAGES:
        return []
    return [cell for cell in read_cells if cell is not None]


def _find_language(metadata: Any) -> str:
    for name, key in (("kernelspec", "language"), ("language_info", "name")):
        said = metadata.get(name) if isinstance(metadata, dict) else None
        if isinstance(said, dict) and key in said:
            return str(said[key]).lower()
    return "python"


def _read_cell(number: int, cell: dict[str, Any]) -> Optional[Cell]:
    if cell.get("cell_type") != "code":
        return None
    source = cell.get("source", cell.get("input", ""))
    text = source if isinstance(source, str) else "".join(source)
    metadata = cell.get("metadata")
    tags = metadata.get("tags") if isinstance(metadata, dict) else None
    return Cell(number, text, isinstance(tags, list) and "raises-exception" in tags)


def _leave_out_ipython(lines: list[str]) -> Iterator[str]:
    quote, depth, is_continued, is_left_out = "", 0, False, False
    for line in lines:
        if is_continued and is_left_out:
            line, ends_with = "", line
        else:
            ends_with = line
            # In a string, in brackets and after a backslash, % is an operator.
            is_statement = not (quote or depth > 0 or is_continued)
            python = _without_ipython(line) if is_statement else line
            is_left_out, line = python != line, python
        is_continued = ends_with.rstrip().endswith("\\")
        quote, depth = _find_open(line, quote, depth)
        yield line


def _find_open(line: str, quote: str, depth: int) -> tuple[str, int]:
    """Returns the triple quote ("" for none) and the number of brackets open after a line."""
    position = 0
    while True:
        found = (_IN_STRING if quote else _OUTSIDE).search(line, position)
        if found is None or found.group() == "#":
            return quote, depth
        text, position = found.group(), found.end()
        if quote:
            quote = "" if text == quote else quote
        elif len(text) == 3 and text in ('"""', "'''"):
            quote = text
        elif len(text) == 1:
            depth += 1 if text in "([{" else -1


def _without_ipython(line: str) -> str:
    bare = line.strip()
    timed = _TIMED.fullmatch(line)
    if timed:
        return timed.group(1) + timed.group(2)
    asks_help = bare.endswith("?") and not any(mark in bare for mark in "#\"'")
    if bare.startswith(("%", "!", "?")) or asks_help:
        # With `pass`, a block that consists only of this line remains valid.
        return line[: len(line) - len(line.lstrip())] + "pass"
    return _ASSIGNED.sub(r"\1 None", line)
