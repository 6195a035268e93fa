"""Makes the import of TensorFlow and Keras faster: without garbage collection, pandas and SciPy."""

import contextlib
import gc
import importlib
import importlib.abc
import importlib.machinery
import sys
import threading
import types
from collections.abc import Iterator
from typing import Any, Optional

__all__ = ["block_import", "fast_imports"]

# Packages that Keras imports as a whole.
_WHOLE = ("pandas", "h5py", "requests")
# The parts of SciPy that Keras imports by name.
_SCIPY_PARTS = ("linalg", "ndimage", "sparse")

_lock = threading.RLock()
_depth = 0


@contextlib.contextmanager
def fast_imports() -> Iterator[None]:
    """Makes imports in the body of the `with` statement faster.

    TensorFlow's modules create about 300,000 objects. The garbage collector would scan them again
    and again during the import, and at every full collection of the run. It is off meanwhile, and
    ignores these objects afterwards.

    TensorFlow's Keras imports h5py and requests, and pandas and SciPy wherever they are installed
    (1.3 s of 7 and 120 MiB on the machine where this was measured), for a few functions that hardly
    any program calls; its Estimator imports pandas too. They get lazy modules instead, which import
    the package when one of its attributes is read. No other code sees a lazy module: after this,
    `import pandas` imports pandas.
    """
    global _depth
    with _lock:
        _depth += 1
        was_enabled = gc.isenabled()
        gc.disable()
        if _depth == 1:
            for package in _WHOLE:
                _defer(package, None)
            _defer_scipy()
    try:
        yield
    finally:
        with _lock:
            _depth -= 1
            if _depth == 0:
                for package in (*_WHOLE, "scipy"):
                    _remove(package)
                gc.freeze()
            if was_enabled:
                gc.enable()


@contextlib.contextmanager
def block_import(package: str) -> Iterator[bool]:
    """Makes importing a top-level package fail in the body of the `with` statement.

    Args:
      package: name of the package.

    Yields:
      Whether it is blocked; False if it has been imported already.
    """
    with _lock:
        held = sys.modules.get(package)
        if held is not None and not isinstance(held, _LazyModule):
            yield False
            return
        sys.modules.pop(package, None)
        blocker = _ImportBlocker(package)
        sys.meta_path.insert(0, blocker)
        try:
            yield True
        finally:
            sys.meta_path.remove(blocker)
            if held is not None:
                sys.modules[package] = held


class _ImportBlocker(importlib.abc.MetaPathFinder):
    def __init__(self, package: str):
        self._package = package

    def find_spec(self, fullname, path=None, target=None):
        if fullname == self._package:
            raise ModuleNotFoundError(f"No module named {fullname!r}", name=fullname)
        return None


def _defer_scipy() -> None:
    """Defers SciPy: Keras imports `linalg` and `ndimage`, and one function of `sparse`."""
    scipy = _defer("scipy", None)
    if scipy is None:
        return
    # Other parts of SciPy are found in its folder.
    scipy.__path__ = scipy.__spec__.submodule_search_locations
    parts = {name: _defer(f"scipy.{name}", scipy.__path__) for name in _SCIPY_PARTS}
    if None in parts.values():
        # Another package of this name: Keras imports it as it is.
        _remove("scipy")
        return
    vars(scipy).update(parts)
    scipy.sparse.__path__ = scipy.sparse.__spec__.submodule_search_locations
    scipy.sparse.issparse = _issparse


def _issparse(value: Any) -> bool:
    return importlib.import_module("scipy.sparse").issparse(value)


def _defer(name: str, path: Optional[list[str]]) -> Any:
    """Puts a lazy module in place of one that can be imported and has not been; returns it."""
    spec = None if name in sys.modules else importlib.machinery.PathFinder.find_spec(name, path)
    if spec is None:
        return None
    sys.modules[name] = _LazyModule(spec)
    return sys.modules[name]


def _remove(package: str) -> None:
    """Removes the lazy modules of a package and its parts from `sys.modules`."""
    for name, module in list(sys.modules.items()):
        if isinstance(module, _LazyModule) and name.partition(".")[0] == package:
            del sys.modules[name]


class _LazyModule(types.ModuleType):
    """A module that is imported when one of its attributes is read.

    importlib's own LazyLoader imports it at the next `import` already, from Python 3.12 on.
    """

    def __init__(self, spec: Any):
        super().__init__(spec.name)
        self.__spec__ = spec
        self.__file__ = spec.origin

    def __getattr__(self, attribute: str) -> Any:
        # Called only for attributes that are not set here: nearly all of the real module's.
        with _lock:
            _remove(self.__name__.partition(".")[0])
        return getattr(importlib.import_module(self.__name__), attribute)
