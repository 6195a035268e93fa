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

    TensorFlow's modules create about 300,000 objects. The garbage collector would scan them
    repeatedly during the import, and again at every full collection of the run. It is therefore
    disabled during the import, and ignores these objects afterwards.

    TensorFlow's Keras imports h5py and requests. It also imports pandas and SciPy if they are
    installed (1.3 s of 7 and 120 MiB on the machine where this was measured), for a few functions
    that hardly any program calls. TensorFlow's Estimator imports pandas too. Here both import lazy
    modules instead. A lazy module imports the package when one of its attributes is read. No other
    code gets a lazy module: after the `with` statement, `import pandas` imports pandas.
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
        # This is another package called scipy. It is not deferred.
        _remove("scipy")
        return
    vars(scipy).update(parts)
    scipy.sparse.__path__ = scipy.sparse.__spec__.submodule_search_locations
    scipy.sparse.issparse = _issparse


def _issparse(value: Any) -> bool:
    return importlib.import_module("scipy.sparse").issparse(value)


def _defer(name: str, path: Optional[list[str]]) -> Any:
    """Installs and returns a lazy module; None if the module is missing or already imported."""
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

    From Python 3.12 on, importlib's LazyLoader would import it earlier, at the next `import`.
    """

    def __init__(self, spec: Any):
        super().__init__(spec.name)
        self.__spec__ = spec
        self.__file__ = spec.origin

    def __getattr__(self, attribute: str) -> Any:
        # Python calls this only for attributes that this object lacks: nearly all of the module's.
        with _lock:
            _remove(self.__name__.partition(".")[0])
        return getattr(importlib.import_module(self.__name__), attribute)
