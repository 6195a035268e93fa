"""Gives a program the names of Python 2 that Python 3 has under another name.

What the program, or a library, asks for (`try: unicode`, `try: import cPickle`) stays missing, so
that it takes its alternative for Python 3.
"""

import builtins
import csv
import functools
import importlib
import importlib.abc
import importlib.machinery
import io
import itertools
import os
import re
import string
import sys
import sysconfig
import threading
import types
import urllib
from collections.abc import Iterable
from typing import Any, Optional

from estimator_bridge.old_packages.missing import set_missing
from estimator_bridge.old_packages.special_methods import add_method
from estimator_bridge.process.importing import AliasLoader
from estimator_bridge.tf1 import guarded
from estimator_bridge.user_files import python_2

__all__ = ["LAST", "complete", "describe", "describe_syntax", "install", "read_source"]

# The last TensorFlow for Python 2.
LAST = (2, 1)

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_LIBRARIES = (
    "<frozen ",
    *(os.path.join(folder, "") for folder in {sysconfig.get_path("stdlib"), _PACKAGE}),
)
_INSTALLED = (f"{os.sep}site-packages{os.sep}", f"{os.sep}dist-packages{os.sep}")


def _reload(module: types.ModuleType) -> types.ModuleType:
    # Python 2 had to load sys again before sys.setdefaultencoding.
    return module if module is sys else importlib.reload(module)


def _resolve(path: str) -> Any:
    """Returns what `itertools.zip_longest`, `str.maketrans` or `zip` names."""
    owner, _, name = path.rpartition(".")
    if owner in ("", "str"):
        return getattr(str if owner else builtins, name)
    return getattr(importlib.import_module(owner), name)


_NAMES = {
    # removed_names supplies xrange.
    **{
        name: _resolve(now)
        for name, now in python_2.NAMES.items()
        if name not in ("cmp", "reload", "xrange")
    },
    "cmp": lambda a, b: (a > b) - (a < b),
    "reload": _reload,
}
# Modules with attributes of Python 2.
_OWNERS = (itertools, os, string, sys, urllib)


@functools.cache
def install() -> None:
    """Gives these names to the modules of the program that are imported from now on."""
    for owner in _OWNERS:
        set_missing(owner, __getattr__=functools.partial(_find_attribute, owner.__name__))
    for name, now in python_2.DICT_METHODS.items():
        add_method(dict, name, _as_iterator(now) if name.startswith("iter") else getattr(dict, now))
    add_method(dict, "has_key", dict.__contains__)
    for kind in (types.GeneratorType, type(csv.reader([])), csv.DictReader, io.TextIOWrapper):
        add_method(kind, "next", kind.__next__)
    loader: Any = importlib.machinery.SourceFileLoader
    loader.create_module = _create_module
    finder = _Finder()
    # The last one finds what no other finder has.
    sys.meta_path.insert(0, _First(finder))
    sys.meta_path.append(finder)


def complete(module: types.ModuleType, sources: Iterable[str]) -> bool:
    """Gives a module, before it is executed, the built-in names of Python 2 that it uses.

    Args:
      module: the module.
      sources: its source, or those of the cells of a notebook.

    Returns:
      Whether it uses any.
    """
    names = {name for source in sources for name in python_2.find_names(source)}
    given = {name: _NAMES[name] for name in names if name in _NAMES}
    vars(module).update(given)
    return bool(given)


def _create_module(self: Any, spec: Any) -> Optional[types.ModuleType]:
    module = types.ModuleType(spec.name)
    # Python makes the module if this returns None.
    is_of_program = _is_of_program(self.path)
    return module if is_of_program and complete(module, [read_source(self.path)]) else None


def read_source(path: str) -> str:
    """Returns the text of a file of the program; "" if it cannot be read.

    Args:
      path: the file.
    """
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except (OSError, ValueError):
        return ""


def _is_of_program(path: str) -> bool:
    return not path.startswith(_LIBRARIES) and not any(part in path for part in _INSTALLED)


def _find_attribute(owner: str, name: str) -> Any:
    replacement = python_2.ATTRIBUTES.get(f"{owner}.{name}")
    frame = _asking_frame() if replacement else None
    if replacement is None or not _gets(frame):
        raise AttributeError(f"module {owner!r} has no attribute {name!r}")
    if replacement == "pass":
        return lambda *arguments: None
    return _resolve(replacement)


def _as_iterator(name: str) -> Any:
    def iterate(self: Any) -> Any:
        return iter(getattr(self, name)())

    # AutoGraph calls it as it is.
    iterate.autograph_info__ = {}  # type: ignore[attr-defined]
    return iterate


class _Loader(AliasLoader):
    """Loads a module in place of one of Python 2, which is forgotten after the statement."""

    def __init__(self, finder: "_Finder", name: str, source: str):
        super().__init__(source)
        self._finder, self._name = finder, name

    def create_module(self, spec):
        # What the module itself imports in this way is forgotten before.
        kept, self._finder.found = self._finder.found, {}
        try:
            return super().create_module(spec)
        finally:
            self._finder.forget()
            self._finder.found = kept

    def exec_module(self, module: types.ModuleType) -> None:
        super().exec_module(module)
        self._finder.found[self._name] = self.source


class _Finder(threading.local, importlib.abc.MetaPathFinder):
    """Finds the modules of Python 2, and modules beside the one that imports them.

    They are not kept in `sys.modules`: a later import, which may be guarded, asks again.

    Attributes:
      found: name -> the module that was imported in its place, until they are forgotten.
    """

    def __init__(self) -> None:
        self.found: dict[str, str] = {}

    def find_spec(self, fullname, path=None, target=None):
        """Returns the spec of a module, or None (see importlib.abc.MetaPathFinder)."""
        source = None if "." in fullname else _find_source(fullname)
        return source and self.build_spec(fullname, source)

    def build_spec(self, fullname: str, source: str) -> importlib.machinery.ModuleSpec:
        """Returns the spec of a module.

        Args:
          fullname: its name in the statement.
          source: the module that is imported in its place.
        """
        return importlib.machinery.ModuleSpec(fullname, _Loader(self, fullname, source))

    def forget(self) -> None:
        """Forgets the modules that were found."""
        if self.found:
            for name in self.found:
                sys.modules.pop(name, None)
            self.found = {}


class _First(importlib.abc.MetaPathFinder):
    """Forgets the modules that a finder has found, before another one is imported.

    Modules below them are the same as below the modules in their place, not copies.
    """

    def __init__(self, finder: _Finder):
        self._finder = finder

    def find_spec(self, fullname, path=None, target=None):
        head, _, rest = fullname.partition(".")
        if rest and head in self._finder.found:
            return self._finder.build_spec(fullname, f"{self._finder.found[head]}.{rest}")
        self._finder.forget()
        return None


def _find_source(name: str) -> Optional[str]:
    frame = _asking_frame()
    if not _gets(frame):
        return None
    return python_2.MODULES.get(name) or _find_beside(frame, name)


def _gets(frame: Optional[types.FrameType]) -> bool:
    """Returns whether the statement of a frame is the program's, and catches no ImportError."""
    return (
        frame is not None
        and _is_of_program(frame.f_code.co_filename)
        and not guarded.expects(frame, module_missing=True)
    )


def _asking_frame() -> Optional[types.FrameType]:
    """Returns the frame of the statement that imports a module, or reads an attribute of one."""
    frame: Optional[types.FrameType] = sys._getframe(1)
    own = os.path.join(_PACKAGE, "")
    while frame is not None:
        file = frame.f_code.co_filename
        if not file.startswith((own, "<frozen importlib")):
            return frame
        frame = frame.f_back
    return None


def _find_beside(frame: Any, name: str) -> Optional[str]:
    """Returns the full name of a module in the package of the module that imports it."""
    package = frame.f_globals.get("__package__")
    if not package:
        return None
    full = f"{package}.{name}"
    folders = getattr(sys.modules.get(package), "__path__", None)
    spec = folders and importlib.machinery.PathFinder.find_spec(full, folders)
    # A folder without __init__.py was no package in Python 2.
    return full if spec and spec.origin else None


# What fails in Python 3 -> what a program for Python 2 must change.
_ADVICE = (
    (
        r"'(?:dict_\w+|map|filter|zip)' object (?:is not subscriptable|has no attribute 'sort')"
        r"|object of type '(?:map|filter|zip)' has no len|elements of <(?:map|filter|zip) object"
        r"|unsupported operand type\(s\) for \+: '(?:range|dict_\w+)'",
        "map, filter, zip, range and the methods of dictionaries gave lists: write list(...) "
        "around them",
    ),
    (
        r"'float' object cannot be interpreted as an integer|slice indices must be integers"
        r"|(?:list|tuple) indices must be integers or slices, not float",
        "/ of two integers gave an integer: write //",
    ),
    (
        r"iterator should return strings, not bytes",
        "the csv module read binary files: open the file as text, not with 'rb'",
    ),
    (
        r"codec can't decode byte",
        "files were read as bytes: write pickle.load(file, encoding='latin1') for a pickle of "
        "Python 2, and open(name, encoding='latin1') for text that is not UTF-8",
    ),
    (
        r"sort\(\) got an unexpected keyword argument 'cmp'|'cmp' is an invalid keyword argument"
        r"|sort\(\) takes no positional|sorted expected 1 argument, got 2",
        "lists were sorted by cmp: write key=functools.cmp_to_key(...)",
    ),
)


def describe_syntax(error: BaseException) -> str:
    """Returns one line for a file of the program in the syntax of Python 2; "" for other errors.

    Args:
      error: what ended the program.
    """
    if not isinstance(error, SyntaxError) or not _is_of_program(error.filename or "<"):
        return ""
    what = python_2.describe_syntax(read_source(error.filename or ""), error)
    path = os.path.relpath(error.filename or "")
    return what and (
        f"{path}, line {error.lineno}: {what.replace('FILE', path)}; `python -m estimator_bridge "
        "audit .` lists all such files"
    )


def describe(error: BaseException, version: Optional[tuple[int, int]]) -> str:
    """Returns one line for an error that Python 2 did not raise; "" for other errors.

    Args:
      error: what ended the program.
      version: the (major, minor) of the TensorFlow that the program gets; None without a choice.
    """
    if version is None or version > LAST:
        name = _find_supplied(error)
        return name and (
            f"estimator_bridge: {name} is a name of Python 2, which `python -m estimator_bridge "
            "run --tf1` gives to programs of its time."
        )
    for pattern, what in _ADVICE:
        if re.search(pattern, str(error)):
            return f"estimator_bridge: if the program was written for Python 2: there, {what}."
    return ""


def _find_supplied(error: BaseException) -> str:
    """Returns the name of Python 2 for want of which a program has failed, or ""."""
    name = str(getattr(error, "name", None) or "")
    if isinstance(error, NameError):
        return name if name in _NAMES else ""
    if isinstance(error, ModuleNotFoundError):
        return name if name in python_2.MODULES else ""
    method = re.match(r"'\w*[dD]ict' object has no attribute '(\w+)'", str(error))
    return method[1] if method and method[1] in (*python_2.DICT_METHODS, "has_key") else ""
