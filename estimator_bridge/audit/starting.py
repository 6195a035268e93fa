"""Finds the command that starts a program of a code base, from what its files import."""

import functools
import importlib.machinery
import os
import sys
import sysconfig
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, Optional

from ..output.terminal import quote_command
from .files import Reading

__all__ = ["Start", "command", "find_start", "homes_of"]

# A package or module of this name on the path hides the library that every program here needs.
_LIBRARIES = ("tensorflow", "tensorflow_estimator", "keras", "absl")

# Components of the path of a folder, relative to the audited one.
_Folder = tuple[str, ...]


class Start(NamedTuple):
    """How a program is started.

    Attributes:
      folder: folder to start in, relative to the audited one; "" for that one.
      module: name for `-m`; None for a script.
      path: further folders for PYTHONPATH, relative to `folder`.
      problem: why no command starts it, or "".
    """

    folder: str = ""
    module: Optional[str] = None
    path: tuple[str, ...] = ()
    problem: str = ""


def find_start(path: str, files: Sequence[str], reading: Reading) -> Start:
    """Returns how a program is started so that all of its imports are found.

    Python searches first in the folder of a script, or in the current folder with `-m`. Files may
    import modules of their own folder by a bare name, of a package by its name, and relatively; the
    last needs `-m`.

    Args:
      path: path of the program.
      files: the program and all files of the code base that it imports.
      reading: the code base.
    """
    parts = path[:-3].split("/")
    own = tuple(parts[:-1])
    homes = _homes(files, reading)
    level = max((_level(ref) for ref in reading.facts[path].imports), default=0)
    # Components that `-m` cannot name: the library's own name, and names with a dot.
    barrier = max((n + 1 for n, part in enumerate(own) if _is_barrier(part)), default=0)
    base = len(own)
    while base > barrier and "/".join((*own[:base], "__init__.py")) in reading.facts:
        base -= 1
    inside = [len(home) for home in homes if own[: len(home)] == home]
    base = min([base, len(own) - level, *(length for length in inside if length >= barrier)])
    if base < barrier:
        why = "its relative imports lead out of the audited folder; audit the one above"
        if base >= 0:
            why = f"rename its folder {own[barrier - 1]}, which cannot be imported by this name"
        return Start(problem=why)
    start = own[:base]
    as_script = not level and (base == len(own) or own in homes or _hides(start, reading))
    first = own if as_script else start
    hidden = next((home for home in (first, *homes) if _hides(home, reading)), None)
    if hidden is not None:
        return Start(problem=f"{_hides(hidden, reading)} hides the library; rename it")
    folder = () if as_script else start
    more = tuple(_relative(home, folder) for home in homes if home != first)
    if as_script:
        return Start("", None, more)
    names = parts[base:-1] if parts[-1] == "__main__" else parts[base:]
    return Start("/".join(start), ".".join(names), more)


def command(path: str, words: Sequence[str], start: Start) -> str:
    """Returns the line for a shell in the audited folder.

    Args:
      path: path of the program.
      words: the command that runs a program, without the program.
      start: how it is started.
    """
    # Without the folder, a name such as -c.py would be an option.
    program = ["-m", start.module] if start.module else [f"./{path}" if path[0] == "-" else path]
    line = quote_command(*words, *program)
    if start.path:
        line = f"PYTHONPATH={quote_command(os.pathsep.join(start.path))} {line}"
    if start.folder:
        folder = f"./{start.folder}" if start.folder[0] == "-" else start.folder
        line = f"{quote_command('cd', folder)} && {line}"
    return line


def _homes(files: Iterable[str], reading: Reading) -> list[_Folder]:
    """Returns the folders in which Python must search for modules of the code base."""
    return list(dict.fromkeys(home for path in files for _, home in homes_of(path, reading)))


def homes_of(path: str, reading: Reading) -> Iterator[tuple[str, _Folder]]:
    """Yields (reference, folder in which Python must search) of each import of a file by name.

    Args:
      path: path of the file.
      reading: the code base.
    """
    facts = reading.facts.get(path)
    for ref in facts.imports if facts else ():
        # A file of the same name as a module of the standard library is not meant.
        if ref.startswith(".") or _is_standard(ref.split(".")[0]):
            continue
        module, left, _ = reading.code_base.locate(ref, path)
        if module is None:
            continue
        parts = module[:-3].split("/")
        parts = parts[:-1] if parts[-1] == "__init__" else parts
        length = len(parts) - (ref.count(".") + 1 - len(left))
        if length >= 0:
            yield ref, tuple(parts[:length])


def _level(ref: str) -> int:
    return len(ref) - len(ref.lstrip("."))


def _is_barrier(part: str) -> bool:
    return "." in part or part in _LIBRARIES


def _hides(folder: _Folder, reading: Reading) -> str:
    """Returns the path of a module in a folder that hides a library, or ""."""
    for name in _LIBRARIES:
        for path in ("/".join((*folder, name, "__init__.py")), "/".join((*folder, f"{name}.py"))):
            if path in reading.facts:
                return path
    return ""


def _relative(folder: _Folder, start: _Folder) -> str:
    return os.path.relpath("/".join(folder) or ".", "/".join(start) or ".")


@functools.cache
def _is_standard(name: str) -> bool:
    library = sysconfig.get_path("stdlib")
    folders = [library, os.path.join(library, "lib-dynload")]
    return (
        name in sys.builtin_module_names
        or importlib.machinery.PathFinder.find_spec(name, folders) is not None
    )
