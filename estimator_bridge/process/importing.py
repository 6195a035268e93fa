"""Ways into Python's imports: to act around one, and to supply modules that are missing.

Nothing here knows TensorFlow.
"""

import contextlib
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import os
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Optional

__all__ = ["ModuleSupplier", "around_import", "call_when_imported", "prefer_folders"]


class _ImportWatch(importlib.abc.MetaPathFinder):
    """Runs a module's import inside a context manager, once."""

    def __init__(self, fullname: str, context: Callable[[], AbstractContextManager]):
        self._fullname = fullname
        self._context = context
        self._searching = threading.local()

    def find_spec(self, fullname, path=None, target=None):
        if fullname != self._fullname or getattr(self._searching, "now", False):
            return None
        # The other finders are asked as if this one were not there.
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

        # Set on the instance, so that the loader stays of the type that inspect and pkgutil expect.
        loader.exec_module = exec_module
        return spec


def around_import(fullname: str, context: Callable[[], AbstractContextManager]) -> None:
    """Has the top-level module `fullname`, not imported yet, executed within `context()`."""
    sys.meta_path.insert(0, _ImportWatch(fullname, context))


def call_when_imported(fullname: str, callback: Callable[[], None]) -> None:
    """Calls `callback()` once the top-level module `fullname` has been executed.

    If it has been imported already, the call happens now. An error in the callback is an error of
    the import.
    """

    @contextlib.contextmanager
    def then_call():
        yield
        callback()

    if fullname in sys.modules:
        # Another thread may be in the middle of that import: this waits for its end.
        importlib.import_module(fullname)
        callback()
    else:
        around_import(fullname, then_call)


class _AliasLoader(importlib.abc.Loader):
    """Gives out another module, already executed, under a second name."""

    def __init__(self, source: str):
        self._source = source
        self._own_spec = None

    def create_module(self, spec):
        module = importlib.import_module(self._source)
        # The import system stamps the alias' spec on what it is given: put back below.
        self._own_spec = module.__spec__
        return module

    def exec_module(self, module):
        module.__spec__ = self._own_spec


class ModuleSupplier(importlib.abc.MetaPathFinder):
    """Supplies modules under names that the installed packages lack.

    It has to stand first in `sys.meta_path`: a package under two names has one folder, and the
    path finder would load each of its modules a second time from there. The tables therefore name
    only what is truly missing.
    """

    def __init__(self):
        self._modules: dict[str, str] = {}
        self._trees: dict[str, str] = {}

    def supply(self, fullname: str, source: str) -> None:
        """Lets `import fullname` give the module `source`."""
        self._modules[fullname] = source

    def supply_tree(self, prefix: str, source: str) -> None:
        """Lets `prefix`, and each module below it, give its namesake below `source`."""
        self._trees[prefix] = source

    def source_of(self, fullname: str) -> Optional[str]:
        """Returns the module that stands in for `fullname`, or None."""
        if fullname in self._modules:
            return self._modules[fullname]
        for prefix, source in self._trees.items():
            if fullname == prefix or fullname.startswith(prefix + "."):
                return source + fullname[len(prefix) :]
        return None

    def find_spec(self, fullname, path=None, target=None):
        source = self.source_of(fullname)
        if source is None:
            return None
        if source not in sys.modules and importlib.util.find_spec(source) is None:
            return None
        return importlib.machinery.ModuleSpec(fullname, _AliasLoader(source))


class _FolderFirst(importlib.abc.MetaPathFinder):
    """Finds a package without `__init__.py` before an installed one of its name.

    Python searches the whole path for a package that has the file before it takes a folder that has
    not, even if the folder is the program's own.
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
    """Lets a program's folder of one of these names be its package, whatever is installed."""
    sys.meta_path.insert(0, _FolderFirst(names))
