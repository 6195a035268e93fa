"""Reads the code of notebooks."""

import json
import re
from typing import Any, NamedTuple, Optional

__all__ = ["SUFFIX", "Cell", "read"]

SUFFIX = ".ipynb"
# Magics of a whole cell that is Python nevertheless.
_PYTHON_CELLS = ("%%time", "%%timeit", "%%capture", "%%prun")
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
        if first.startswith("%%") and first.split()[0] not in _PYTHON_CELLS:
            return ""
        return "\n".join(map(_without_ipython, self.text.split("\n")))


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
    metadata = notebook.get("metadata")
    kernel = metadata.get("kernelspec") if isinstance(metadata, dict) else None
    language = kernel.get("language", "python") if isinstance(kernel, dict) else "python"
    if str(language).lower() not in _LANGUAGES:
        return []
    return [cell for cell in read_cells if cell is not None]


def _read_cell(number: int, cell: dict[str, Any]) -> Optional[Cell]:
    if cell.get("cell_type") != "code":
        return None
    source = cell.get("source", cell.get("input", ""))
    text = source if isinstance(source, str) else "".join(source)
    metadata = cell.get("metadata")
    tags = metadata.get("tags") if isinstance(metadata, dict) else None
    return Cell(number, text, isinstance(tags, list) and "raises-exception" in tags)


def _without_ipython(line: str) -> str:
    bare = line.strip()
    if bare.startswith(("%", "!", "?")) or (bare.endswith("?") and not bare.startswith("#")):
        # With `pass`, a block that consists only of this line remains valid.
        return line[: len(line) - len(line.lstrip())] + "pass"
    # x = !ls and x = %magic
    return re.sub(r"^(\s*\w+\s*=)\s*[!%].*$", r"\1 None", line)
