"""Finds the files of a code base and parses them.

The cells of a notebook are parsed as one module.
"""

import ast
import bisect
import codecs
import errno
import io
import os
import re
import stat
import tokenize
import warnings
from collections.abc import Iterator
from typing import NamedTuple, Optional

from ..user_files import notebook_cells, python_2

__all__ = ["Parsed", "Problem", "find", "parse", "read"]

_SUFFIXES = (".py", notebook_cells.SUFFIX)
# Largest file that is read, in bytes. The syntax tree of a source takes a hundred times its size.
_MAX_BYTES = {".py": 4 << 20, notebook_cells.SUFFIX: notebook_cells.MAX_BYTES}
_MAX_SOURCE = 4 << 20
_DECLARES = re.compile(rb"^[ \t\f]*#.*coding[:=]", re.M)
# Folders without code of the audited project.
_SKIPPED = frozenset(
    [
        ".git",
        ".hg",
        ".svn",
        ".tox",
        ".nox",
        ".venv",
        "venv",
        ".env",
        "__pycache__",
        "node_modules",
        "site-packages",
        "dist-packages",
        ".ipynb_checkpoints",
        ".mypy_cache",
        ".pytest_cache",
        ".ruff_cache",
        ".eggs",
    ]
)


class Problem(NamedTuple):
    """Why a file, or one cell of a notebook, was skipped.

    Attributes:
      what: the problem.
      line: line of the problem, from 1; 0 if unknown.
    """

    what: str
    line: int = 0


class Parsed(NamedTuple):
    """A parsed file.

    Attributes:
      tree: syntax tree of the module; None if the file could not be parsed.
      problems: problems of the file, or of single cells.
      cells: for a notebook, (first line in `tree`, number of the cell from 1) by line; else empty.
    """

    tree: Optional[ast.Module]
    problems: list[Problem]
    cells: list[tuple[int, int]]

    def place(self, line: int) -> tuple[int, int]:
        """Returns (cell, line in the cell); the cell is 0 in a Python file.

        Args:
          line: line in `tree`.
        """
        if not self.cells:
            return 0, line
        index = bisect.bisect_right(self.cells, (line, 1 << 30)) - 1
        first, cell = self.cells[index]
        return cell, line - first + 1


def find(root: str) -> Iterator[str]:
    """Yields the paths of the Python files and notebooks below a folder, relative to it, with `/`.

    Links to folders are not followed. A folder that cannot be read is yielded with a final `/`.

    Args:
      root: the folder.
    """
    pending = [""]
    while pending:
        folder = pending.pop()
        try:
            entries = sorted(os.scandir(os.path.join(root, folder)), key=lambda entry: entry.name)
        except OSError:
            yield folder + "/"
            continue
        folders = []
        for entry in entries:
            path = f"{folder}/{entry.name}" if folder else entry.name
            if entry.is_dir(follow_symlinks=False):
                if entry.name not in _SKIPPED and not _is_environment(entry.path):
                    folders.append(path)
            elif entry.name.endswith(_SUFFIXES):
                yield path
        pending.extend(reversed(folders))


def _is_environment(folder: str) -> bool:
    """Returns whether a folder is a virtual environment of any name."""
    return os.path.exists(os.path.join(folder, "pyvenv.cfg"))


def read(root: str, name: str, inside: bool) -> bytes:
    """Returns the content of a file.

    Args:
      root: the audited folder.
      name: path of the file, relative to it.
      inside: whether the file must be in the folder, also if it is a link.

    Raises:
      OSError: the file cannot be read, is too large, is not a regular file, or not in the folder.
    """
    path = os.path.join(root, name)
    limit = _MAX_BYTES.get(os.path.splitext(name)[1], _MAX_SOURCE)
    if inside:
        top, real = os.path.realpath(root), os.path.realpath(path)
        if os.path.commonpath([top, real]) != top:
            raise OSError(errno.EPERM, "it is a link to a file outside the folder")
    # Without O_NONBLOCK, a named pipe would wait for a writer.
    with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb") as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise OSError(errno.EINVAL, "it is not a regular file")
        data = file.read(limit + 1)
    if len(data) > limit:
        raise OSError(errno.EFBIG, f"it is larger than {limit >> 20} MiB")
    return data


def parse(path: str, data: bytes) -> Parsed:
    """Parses the content of a file; returns the problems of invalid content.

    Args:
      path: path of the file, whose suffix distinguishes notebooks from scripts.
      data: content of the file.
    """
    if path.endswith(notebook_cells.SUFFIX):
        return _parse_notebook(data)
    text, problem = _decode(data)
    if problem is not None:
        return Parsed(None, [problem], [])
    tree, problem = _parse_source(text)
    return Parsed(tree, [problem] if problem else [], [])


def _decode(data: bytes) -> tuple[str, Optional[Problem]]:
    encoding = "utf-8"
    try:
        if _DECLARES.search(data[:1000]) or data.startswith(codecs.BOM_UTF8):
            encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        return data.decode(encoding), None
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        return "", Problem(f"not valid {error.encoding}: byte 0x{data[error.start]:02x}", line)
    except (SyntaxError, LookupError) as error:
        return "", Problem(f"unknown encoding: {error}")


def _parse_source(text: str) -> tuple[Optional[ast.Module], Optional[Problem]]:
    try:
        with warnings.catch_warnings():
            # Python warns about the audited code, for example about an invalid escape in a string.
            warnings.simplefilter("ignore")
            return ast.parse(text), None
    except SyntaxError as error:
        return None, _syntax_problem(text, error)
    except ValueError as error:
        return None, Problem(f"cannot be parsed: {error}")
    except (RecursionError, MemoryError):
        return None, Problem("cannot be parsed: nested too deeply")


def _syntax_problem(text: str, error: SyntaxError) -> Problem:
    what = python_2.describe_syntax(text, error)
    divisions = python_2.find_divisions(text) if what else []
    if divisions:
        what += f". {python_2.DIVISION.format(python_2.format_lines(divisions))}"
    return Problem(what or f"cannot be parsed: {error.msg}", error.lineno or 0)


def _parse_notebook(data: bytes) -> Parsed:
    try:
        cells = notebook_cells.read(data)
        if sum(len(cell.text) for cell in cells) > _MAX_SOURCE:
            raise ValueError(f"not a notebook: its code is larger than {_MAX_SOURCE >> 20} MiB")
    except ValueError as error:
        return Parsed(None, [Problem(str(error))], [])
    body: list[ast.stmt] = []
    places: list[tuple[int, int]] = []
    problems: list[Problem] = []
    offset = 0
    for cell in cells:
        source = cell.source
        if not source:
            continue
        places.append((offset + 1, cell.number))
        tree, problem = _parse_source(source)
        if problem is not None:
            problems.append(Problem(f"cell {cell.number}: {problem.what}", problem.line))
        if tree is not None:
            body.extend(ast.increment_lineno(tree, offset).body)
        offset += source.count("\n") + 1
    return Parsed(ast.Module(body=body, type_ignores=[]), problems, places)
