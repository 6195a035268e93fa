"""Finds implicit relative imports: modules of the own package by a bare name, as in Python 2.

Python 3 finds them only if the folder of the package is on the path, which the printed command sees
to. It cannot do that for two modules of the same name in different packages.
"""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from .files import Reading
from .starting import Start, homes_of

__all__ = ["Implicit", "find_implicit"]


class Implicit(NamedTuple):
    """An implicit relative import.

    Attributes:
      path: path of the file, relative to the audited folder.
      line: line of the import, from 1.
      module: the bare name of the module.
      is_ambiguous: whether another module of the program has this name, so that no path lets both
        be found.
    """

    path: str
    line: int
    module: str
    is_ambiguous: bool

    @property
    def text(self) -> str:
        """What it is, and what to write."""
        why = "; another module of the program has this name" if self.is_ambiguous else ""
        return (
            f"implicit relative import of {self.module}{why}: write from . import {self.module}, "
            f"or from .{self.module} import ..."
        )


def find_implicit(
    path: str, files: Iterable[str], start: Start, reading: Reading
) -> list[Implicit]:
    """Returns the implicit relative imports of a program, one for each module and file.

    Args:
      path: path of the program.
      files: the program and all files of the code base that it imports.
      start: how it is started. What it imports from the folder that is first on its path then is
        no relative import.
      reading: the code base.
    """
    folder = path.rpartition("/")[0] if start.module is None else start.folder
    first = tuple(folder.split("/")) if folder else ()
    found: dict[tuple[str, str], None] = {}
    means: dict[str, set[tuple[str, ...]]] = {}
    for name in files:
        for ref, home in homes_of(name, reading):
            head = ref.split(".")[0]
            means.setdefault(head, set()).add(home)
            own = tuple(name.split("/")[:-1])
            if home == own != first and "/".join((*own, "__init__.py")) in reading.facts:
                found[name, head] = None
    result = []
    for name, head in found:
        # The folder in which the program starts comes before the others.
        hidden = any("/".join((*first, *end)) in reading.facts for end in _files_of(head))
        line = _find_line(Path(reading.root, name), head)
        result.append(Implicit(name, line, head, hidden or len(means[head]) > 1))
    return result


def _files_of(module: str) -> Iterator[tuple[str, ...]]:
    yield (f"{module}.py",)
    yield module, "__init__.py"


def _find_line(path: Path, module: str) -> int:
    """Returns the line of the first statement that imports a module by its bare name, or 1."""
    pattern = re.compile(
        rb"^[ \t]*(?:from[ \t]+%s\b|import[ \t].*\b%s\b)" % ((module.encode(),) * 2), re.MULTILINE
    )
    text = path.read_bytes()
    match = pattern.search(text)
    return text.count(b"\n", 0, match.start()) + 1 if match else 1
