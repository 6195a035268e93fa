"""Hooks into Python's imports: run code around an import, and supply missing modules.

Independent of TensorFlow.
"""

import contextlib
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import os
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from types import ModuleType
from typing import Any, Optional

__all__ = [
    "AliasLoader",
    "ModuleSupplier",
    "around_import",
    "call_when_imported",
    "prefer_folders",
]


class _ImportWatch(importlib.abc.MetaPathFinder):
    """Runs a module's import inside a context manager, once."""

    def __init__(self, fullname: str, context: Callable[[], AbstractContextManager[Any]]):
        self._fullname = fullname
        self._context = context
        self._searching = threading.local()

    def find_spec(self, fullname, path=None, target=None):
        if fullname != self._fullname or getattr(self._searching, "now", False):
            return None
        # Finds the module with the other finders.
        self._searching.now = True
        try:
            spec = importlib.util.find_spec(fullname)
        finally:
            self._searching.now = False
        if spec is None or spec.loader is None:
            return spec
        loader, execute = spec.loader, spec.loader.exec_module

        def exec_module(module):
            with self._context():
                execute(module)
            if self in sys.meta_path:
                sys.meta_path.remove(self)

        # Set on the instance, so that the loader keeps the type that inspect and pkgutil expect.
        loader.exec_module = exec_module
        return spec


def around_import(fullname: str, context: Callable[[], AbstractContextManager[Any]]) -> None:
    """Makes Python execute a module inside a context manager when it is imported.

    Args:
      fullname: name of a top-level module that has not been imported.
      context: returns the context manager.
    """
    sys.meta_path.insert(0, _ImportWatch(fullname, context))


def call_when_imported(fullname: str, callback: Callable[[], None]) -> None:
    """Calls a function after a module is imported; at once if it has been imported already.

    If the function raises an error, the import raises it.

    Args:
      fullname: name of the module.
      callback: the function.
    """

    @contextlib.contextmanager
    def then_call() -> Iterator[None]:
        yield
        callback()

    if fullname in sys.modules:
        # Another thread may still be importing it; this waits until that is done.
        importlib.import_module(fullname)
        callback()
    else:
        around_import(fullname, then_call)


class AliasLoader(importlib.abc.Loader):
    """Loads another module under a second name.

    Args:
      source: name of the module that is loaded.
    """

    def __init__(self, source: str):
        self.source = source
        self._own_spec: Any = None

    def create_module(self, spec):
        """Imports the module and returns it (see importlib.abc.Loader).

        Args:
          spec: not used.
        """
        module = importlib.import_module(self.source)
        # The import system sets the spec of the alias on the module; exec_module restores its own.
        self._own_spec = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Gives the module its own spec again (see importlib.abc.Loader).

        Args:
          module: the module.
        """
        module.__spec__ = self._own_spec


class ModuleSupplier(importlib.abc.MetaPathFinder):
    """Supplies modules under names that the installed packages lack.

    It must be the first finder in `sys.meta_path`. A package under two names has one folder, from
    which the path finder would load each module a second time. Because it comes first, its tables
    must contain only names that are missing.
    """

    def __init__(self) -> None:
        self._modules: dict[str, str] = {}
        self._trees: dict[str, str] = {}

    def supply(self, fullname: str, source: str) -> None:
        """Supplies one module.

        Args:
          fullname: the missing name.
          source: the module that is imported in its place.
        """
        self._modules[fullname] = source

    def supply_tree(self, prefix: str, source: str) -> None:
        """Supplies a package and all modules below it.

        Args:
          prefix: the missing package.
          source: the package whose modules are imported in its place.
        """
        self._trees[prefix] = source

    def source_of(self, fullname: str) -> Optional[str]:
        """Returns the module that is imported in place of a missing name, or None.

        Args:
          fullname: the imported name.
        """
        if fullname in self._modules:
            return self._modules[fullname]
        for prefix, source in self._trees.items():
            if fullname == prefix or fullname.startswith(prefix + "."):
                return source + fullname[len(prefix) :]
        return None

    def find_spec(self, fullname, path=None, target=None):
        """Returns the spec of a supplied module, or None (see importlib.abc.MetaPathFinder).

        Args:
          fullname: the imported name.
          path: not used.
          target: not used.
        """
        source = self.source_of(fullname)
        if source is None:
            return None
        if source not in sys.modules and importlib.util.find_spec(source) is None:
            return None
        return importlib.machinery.ModuleSpec(fullname, AliasLoader(source))


class _FolderFirst(importlib.abc.MetaPathFinder):
    """Finds a folder without `__init__.py` before an installed package of the same name.

    By default, Python prefers a package with `__init__.py`, anywhere on the path, to a folder
    without this file, even if the folder is the program's own.
    """

    def __init__(self, names: Sequence[str]):
        self._names = names

    def find_spec(self, fullname, path=None, target=None):
        if fullname not in self._names:
            return None
        for entry in sys.path:
            folder = os.path.join(entry or os.getcwd(), fullname)
            if importlib.machinery.PathFinder.find_spec(fullname, [entry]) is None:
                continue
            if os.path.isfile(os.path.join(folder, "__init__.py")) or not os.path.isdir(folder):
                return None
            spec = importlib.machinery.ModuleSpec(fullname, None, is_package=True)
            spec.submodule_search_locations.append(folder)
            return spec
        return None


def prefer_folders(names: Sequence[str]) -> None:
    """Makes the program's own folder take precedence over an installed package of its name.

    Args:
      names: top-level package names.
    """
    sys.meta_path.insert(0, _FolderFirst(names))
