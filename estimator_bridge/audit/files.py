"""Reads the files of a code base, and parses as few of them as possible.

Parsing takes most of the time. The audit therefore parses only two kinds of files: those that
mention TensorFlow, and those that use a name which a file of the first kind re-exports. A text
search of the other files finds their imports and whether they are programs. In a small code base
all files are parsed, so that broken files are found too.
"""

import gc
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Callable, NamedTuple, Optional

from ..command_line.signals import block_interrupts
from ..user_files import notebook_cells
from . import sources
from .resolve import CodeBase
from .scan import ModuleFacts, scan

__all__ = ["Reading", "read"]

# Files that do not mention TensorFlow are parsed too if they have at most this many bytes in total.
_PARSE_ANYWAY_BYTES = 4_000_000
# Below this number of bytes a second process takes more time than it saves.
_PARALLEL_BYTES = 6_000_000

_TENSORFLOW = ("tensorflow", "tensorflow_estimator", "tensorflow_core", "estimator_bridge")
_OUTSIDE = frozenset((*_TENSORFLOW, "absl", "importlib"))
# Takes linear time: each part begins with a character that the part before it cannot contain, and
# the names in parentheses end at the next parenthesis.
_IMPORT = re.compile(
    rb"^[ \t]*(?:from[ \t]+([\w.]+)[ \t]+import[ \t]*(?:\(((?:[^()#]|#[^\n]*)*)\)|([^\n#]*))"
    rb"|import[ \t]+([^\n#]*))",
    re.M,
)
_NAME = re.compile(rb"[\w.]+|\*")
_MAIN = re.compile(rb"^if[ \t(]+__name__[ \t]*==", re.M)
# Finds code that may be Python 2. A file that matches is parsed; Python 3 fails to parse Python 2.
_MAYBE_PYTHON_2 = re.compile(
    rb"^[ \t]*(?:print[ \t]+[\"'\w%]|except[ \t]+[\w.]+,|exec[ \t]+[\"'])", re.M
)


# Path, text and relevant first components of a file to parse.
_Work = tuple[str, bytes, frozenset[str]]
_Result = tuple[str, sources.Parsed, Optional[ModuleFacts]]


class Reading(NamedTuple):
    """The content of a code base.

    Attributes:
      root: the audited folder.
      paths: paths of all files, relative to `root`.
      code_base: the modules by name.
      facts: path -> content of the file; only the imports if it was not parsed.
      num_parsed: number of parsed files.
      places: path -> the parsed notebook, to convert lines to cells.
      problems: (path, problem) of skipped files and cells.
      size: size of all files in bytes.
    """

    root: str
    paths: list[str]
    code_base: CodeBase
    facts: dict[str, ModuleFacts]
    num_parsed: int
    places: dict[str, sources.Parsed]
    problems: list[tuple[str, sources.Problem]]
    size: int


def read(path: str, progress: Callable[[str, int, int], None], processes: int = 1) -> Reading:
    """Reads a folder, or one file.

    Args:
      path: existing folder or file.
      progress: called repeatedly with the current work, the files done and the number of files.
      processes: number of processes that parse.
    """
    with _without_collection():
        return _Reader(path, progress, processes).read()


@contextmanager
def _without_collection() -> Iterator[None]:
    """Disables the cyclic garbage collector: scanning syntax trees takes two thirds of the time."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


class _Reader:
    """Reads a code base.

    Args:
      path: folder or file.
      progress: see `read`.
      processes: number of processes that parse.
    """

    def __init__(self, path: str, progress: Callable[[str, int, int], None], processes: int):
        self._is_folder = os.path.isdir(path)
        if self._is_folder:
            self._root, self._paths = path, list(sources.find(path))
        else:
            self._root, self._paths = os.path.dirname(path) or ".", [os.path.basename(path)]
        self._progress = progress
        self._processes = processes
        self._texts: dict[str, bytes] = {}
        self._facts: dict[str, ModuleFacts] = {}
        self._places: dict[str, sources.Parsed] = {}
        self._problems: list[tuple[str, sources.Problem]] = []
        self._tried: set[str] = set()
        self._code_base = CodeBase(self._root, self._paths)
        self._heads = self._code_base.heads() | _OUTSIDE

    def read(self) -> Reading:
        """Returns the content of the code base."""
        for number, name in enumerate(self._paths):
            if number % 500 == 0:
                self._progress("reading", number, len(self._paths))
            self._load(name)
        chosen = [name for name, text in self._texts.items() if _mentions(text)]
        size = sum(map(len, self._texts.values()))
        if size - sum(len(self._texts[name]) for name in chosen) <= _PARSE_ANYWAY_BYTES:
            self._parse(list(self._texts))
        else:
            self._parse(chosen)
            self._search_others()
        self._problems.sort(key=lambda problem: (problem[0], problem[1].line))
        return Reading(
            self._root,
            self._paths,
            self._code_base,
            self._facts,
            len(self._tried),
            self._places,
            self._problems,
            size,
        )

    def _load(self, name: str) -> None:
        if name.endswith("/"):
            problem = sources.Problem("the folder cannot be read: no permission")
            self._problems.append((name, problem))
            return
        try:
            self._texts[name] = sources.read(self._root, name, self._is_folder)
        except OSError as error:
            problem = sources.Problem(f"cannot be read: {error.strerror}")
            self._problems.append((name, problem))

    def _parse(self, names: list[str]) -> None:
        self._tried.update(names)
        work = [(name, self._texts[name], self._heads) for name in names]
        amount = sum(len(text) for _, text, _ in work)
        is_parallel = self._processes > 1 and amount > _PARALLEL_BYTES
        results = _in_processes(work, self._processes) if is_parallel else map(_parse_one, work)
        for number, (name, parsed, found) in enumerate(results):
            if number % 100 == 0:
                self._progress("parsing", number, len(work))
            self._problems.extend((name, problem) for problem in parsed.problems)
            if found is not None:
                self._facts[name] = found
            if parsed.cells:
                self._places[name] = parsed

    def _search_others(self) -> None:
        """Searches the files that were not parsed for imports and entry points."""
        importers: dict[str, list[str]] = {}
        doubtful = []
        for number, (name, text) in enumerate(self._texts.items()):
            if number % 500 == 0:
                self._progress("following imports", number, len(self._texts))
            if not name.endswith(".py"):
                continue
            imports = _imports(text, self._heads)
            if name not in self._tried:
                entry = "__main__" if b"__main__" in text and _MAIN.search(text) else ""
                self._facts[name] = ModuleFacts({}, (), imports, [], [], entry)
                if _MAYBE_PYTHON_2.search(text) or not _decodes(text):
                    doubtful.append(name)
            for ref in imports:
                target = self._code_base.locate(ref, name)[0]
                if target is not None and target != name:
                    importers.setdefault(target, []).append(name)
        for name in doubtful:
            del self._facts[name]
        self._parse(doubtful)
        self._follow_names(importers)

    def _follow_names(self, importers: dict[str, list[str]]) -> None:
        """Parses the files that use a name of TensorFlow which another file re-exports."""
        pending = [name for name in self._facts if name in self._tried]
        while pending:
            name = pending.pop()
            exports = self._tensorflow_exports(name)
            if not exports:
                continue
            used = re.compile(rb"\b(?:" + b"|".join(map(re.escape, exports)) + rb")\b|\*")
            users = [
                user
                for user in dict.fromkeys(importers.get(name, ()))
                if user not in self._tried and used.search(self._texts[user])
            ]
            for user in users:
                self._facts.pop(user, None)
            self._parse(users)
            pending.extend(user for user in users if user in self._facts)

    def _tensorflow_exports(self, name: str) -> list[bytes]:
        """Returns the names of a module that refer to names of TensorFlow."""
        found = []
        for export, refs in self._facts[name].exports.items():
            for ref in refs:
                targets = self._code_base.targets(ref, self._facts, name)
                if any(target.startswith(_TENSORFLOW) for target in targets):
                    found.append(export.encode())
                    break
        return found


def _parse_one(work: _Work) -> _Result:
    """Parses one file; returns its path, the result without the tree, and its content."""
    name, text, heads = work
    parsed = sources.parse(name, text)
    if parsed.tree is None:
        return name, parsed, None
    try:
        found = scan(parsed.tree, heads)
    except RecursionError:
        problem = sources.Problem("cannot be parsed: nested too deeply")
        return name, parsed._replace(tree=None, problems=[problem]), None
    if name.endswith(notebook_cells.SUFFIX):
        found = found._replace(entry="notebook")
    return name, parsed._replace(tree=None), found


def _in_processes(work: list[_Work], processes: int) -> Iterator[_Result]:
    import multiprocessing

    # Processes are not forked, because the caller may have threads. They import only this module.
    context = multiprocessing.get_context("spawn")
    with block_interrupts():
        started = context.Pool(processes, initializer=gc.disable)
    with started as pool:
        yield from pool.imap(_parse_one, work, chunksize=64)


def _mentions(text: bytes) -> bool:
    # Two plain searches are ten times as fast as one regular expression.
    return b"tensorflow" in text or b"estimator_bridge" in text


def _decodes(text: bytes) -> bool:
    if text.isascii():
        return True
    try:
        text.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _imports(text: bytes, heads: frozenset[str]) -> tuple[str, ...]:
    """Returns the references in the import statements of a file, found by a text search."""
    found: dict[str, None] = {}
    for base, in_parentheses, one_line, plain in _IMPORT.findall(text):
        prefix = base.decode("ascii", "replace")
        if base and not prefix.startswith(".") and prefix.split(".")[0] not in heads:
            continue
        separator = "" if not base or prefix.endswith(".") else "."
        for word in _NAME.findall(in_parentheses or one_line or plain):
            ref = prefix if word == b"*" else prefix + separator + word.decode("ascii", "replace")
            if ref.startswith(".") or ref.split(".")[0] in heads:
                found[ref] = None
    return tuple(found)
