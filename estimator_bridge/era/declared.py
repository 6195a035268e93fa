"""Finds the TensorFlow that a project declares: in requirements, packaging and container files.

A notebook declares its own, with a magic of Colab or a shell command.
"""

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple, Optional

from ..user_files import notebook_cells
from . import NEWEST, OLDEST, TF1, optimizers

__all__ = ["MAGIC", "Declaration", "asks_for", "find", "find_in_cells"]

# With this magic, notebooks of Colab chose a TensorFlow.
MAGIC = "tensorflow_version"

_FILES = (
    "requirements*.txt",
    "requirements/*.txt",
    "constraints*.txt",
    "setup.py",
    "setup.cfg",
    "pyproject.toml",
    "Pipfile",
    "environment.y*ml",
    "Dockerfile*",
    "cloudbuild.y*ml",
    "config.y*ml",
)
# Where none of these says anything, the versions that a lock file chose, or that commands name.
_LOCKS = ("Pipfile.lock", "pdm.lock", "poetry.lock", "uv.lock")
_SCRIPTS = ("Makefile", "*.sh")
_MAX_BYTES = 1 << 20
_SHELLS = ("%%bash", "%%sh", "%%shell")
# How many folders above the program are searched.
_MAX_PARENTS = 3

# `tensorflow-gpu[extra]>=2.4,<2.9`, also with quotes as in setup.py, Pipfile and pyproject.toml.
_REQUIREMENT = re.compile(
    r"(?<![\w./-])tensorflow(?:[-_](?:cpu|gpu|intel|macos))?(?:\[[\w, -]*\])?[\"']?"
    r"(?P<specifiers>(?:[ \t]*,?[ \t]*(?:[=~<>!]=?=?|=)[ \t]*[\"']?[\^~]?=*v?[\d.]+(?:\.\*)?)+)"
)
_SPECIFIER = re.compile(r"([=~<>!]+)[ \t]*[\"']?(\^|~|==)?v?(\d+)(?:\.(\d+))?(\.[\d*]+)?")
_LOCKED = re.compile(
    r"name = \"tensorflow(?:-cpu|-gpu)?\"\s+version = \"(\d)\.(\d+)"
    r"|\"tensorflow(?:-cpu|-gpu)?\": \{[^}]*\"version\": \"==(\d)\.(\d+)"
)
# Images and services name the version in other forms.
_IMAGES = (
    re.compile(r"tensorflow/tensorflow:(\d)\.(\d+)"),
    re.compile(r"\btf2?-(?:cpu|gpu|tpu)\.(\d)-(\d+)"),
    re.compile(r"runtime[-_]?[vV]ersion[\"']?[ \t]*[:= ][ \t]*[\"']?(\d)\.(\d+)"),
)
# Notebooks of Google's courses set it for their shell commands.
_COURSE = re.compile(r"\bTFVERSION[\"']?\]?[ \t]*=[ \t]*[\"']?(\d)\.(\d+)")


class Declaration(NamedTuple):
    """What a project says of its TensorFlow.

    Attributes:
      version: (major, minor); (1, 15) for every 1.x; None where the files disagree.
      where: the file and what it says, for a message.
    """

    version: Optional[tuple[int, int]]
    where: str


def find(program: str) -> Optional[Declaration]:
    """Returns what the project of a program declares, or None if it declares no single version.

    Versions that show a program the same interface count as equal.

    Args:
      program: the path of a script or folder.
    """
    folder = Path(os.path.realpath(program))
    if not folder.is_dir():
        folder = folder.parent
    for parent in [folder, *folder.parents][: _MAX_PARENTS + 1]:
        found = list(_find_in(parent, _FILES)) or list(_find_locked(parent))
        found = found or list(_find_in(parent, _SCRIPTS))
        if found:
            return _agree(found)
        if (parent / ".git").exists() or parent == Path.home():
            return None
    return None


def asks_for(text: str, major: int) -> bool:
    """Returns whether Colab's magic asks for a TensorFlow of this major version.

    Args:
      text: of a cell.
      major: 1 or 2.
    """
    return re.search(rf"^[ \t]*%{MAGIC}[ \t]+{major}\b", text, re.M) is not None


def find_in_cells(cells: Iterable[notebook_cells.Cell]) -> Optional[Declaration]:
    """Returns what the cells of a notebook declare, or None.

    Colab's magic counts before a version that shell commands install; for 2.x it tells nothing.

    Args:
      cells: of code.
    """
    magics, commands = [], []
    for cell in cells:
        for number, line in enumerate(cell.text.split("\n"), 1):
            line = line.partition("#")[0]
            place = f"cell {cell.number}, line {number}, "
            version = _read_command(cell, line)
            if asks_for(line, 1):
                magics.append((TF1, f"{place}has %{MAGIC} 1.x"))
            elif version is not None:
                commands.append((version, f"{place}says {_quote(line)}"))
    found = magics or commands
    return _agree(found) if found else None


def _agree(found: list[tuple[tuple[int, int], str]]) -> Declaration:
    first, where = found[0]
    for version, other in found[1:]:
        if _effect_of(version) != _effect_of(first):
            return Declaration(None, f"{where}, but {other}")
    return Declaration(first, where)


def _effect_of(version: tuple[int, int]) -> str:
    if version == TF1:
        return "1.x"
    return "old optimizers" if version < optimizers.REPLACED_IN else "new optimizers"


def _quote(line: str) -> str:
    """Returns the part of a line that a message shows."""
    return line.strip().rstrip(",")[:80]


def _find_in(folder: Path, patterns: tuple[str, ...]) -> Iterator[tuple[tuple[int, int], str]]:
    """Yields (version, what is said where) of the files of one folder."""
    for name, text in _read_files(folder, patterns):
        for line in text.splitlines():
            line = line.partition("#")[0]
            version = _read(line)
            if version is not None:
                yield version, f"{name} says {_quote(line)}"


def _find_locked(folder: Path) -> Iterator[tuple[tuple[int, int], str]]:
    for name, text in _read_files(folder, _LOCKS):
        for found in _LOCKED.finditer(text):
            major, minor = filter(None, found.groups())
            version = _known(int(major), int(minor))
            if version is not None:
                yield version, f"{name} has tensorflow {major}.{minor}"


def _read_command(cell: notebook_cells.Cell, line: str) -> Optional[tuple[int, int]]:
    course = _COURSE.search(line)
    if course:
        return _known(int(course.group(1)), int(course.group(2)))
    is_command = line.lstrip().startswith(("!", "%")) or cell.text.lstrip().startswith(_SHELLS)
    return _read(line) if is_command else None


def _read_files(folder: Path, patterns: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    for pattern in patterns:
        for path in sorted(folder.glob(pattern)):
            try:
                if path.is_file() and path.stat().st_size <= _MAX_BYTES:
                    yield path.name, path.read_text(encoding="utf-8", errors="replace")
            except OSError:
                continue


def _read(line: str) -> Optional[tuple[int, int]]:
    for pattern in _IMAGES:
        image = pattern.search(line)
        if image:
            return _known(int(image.group(1)), int(image.group(2)))
    requirement = _REQUIREMENT.search(line)
    if requirement is None:
        return None
    for sign, inner, major, minor, patch in _SPECIFIER.findall(requirement["specifiers"]):
        number = (int(major), int(minor or 0))
        if sign == "~=" and not patch or inner in ("^", "~") and not patch or inner == "^":
            # A lower bound, with every later minor version.
            continue
        if sign in ("==", "===", "~=", "=", "<="):
            return _known(*number)
        if sign == "<" and number[1] > 0:
            return _known(number[0], number[1] - 1)
        if sign == "<" and number == (2, 0):
            return TF1
    return None


def _known(major: int, minor: int) -> Optional[tuple[int, int]]:
    if major == 1:
        return TF1
    return (major, minor) if OLDEST <= (major, minor) <= NEWEST else None
