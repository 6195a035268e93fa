"""Makes the import of TensorFlow and Keras faster: without garbage collection, pandas and SciPy."""

import builtins
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

__all__ = ["block_import", "fast_imports", "import_keras_3"]

# Packages that Keras imports as a whole.
_WHOLE = ("pandas", "h5py", "requests")
# The parts of SciPy that Keras imports by name.
_SCIPY_PARTS = ("linalg", "ndimage", "sparse")
# Only the modules of these packages get lazy modules.
_CALLERS = ("tensorflow", "keras", "tf_keras", "tensorflow_estimator")

_lock = threading.RLock()
_depth = 0
# `depth`: number of fast_imports() that the current thread is in.
_thread = threading.local()


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
    code gets a lazy module, whichever thread it runs in: `sys.modules` contains none.
    """
    global _depth
    with _lock:
        _depth += 1
        was_enabled = gc.isenabled()
        gc.disable()
        if _depth == 1:
            _importer.install()
    _thread.depth = getattr(_thread, "depth", 0) + 1
    try:
        yield
    finally:
        _thread.depth -= 1
        with _lock:
            _depth -= 1
            if _depth == 0:
                _importer.remove()
                gc.freeze()
            if was_enabled:
                gc.enable()


@contextlib.contextmanager
def block_import(package: str) -> Iterator[bool]:
    """Makes importing a top-level package fail in the body of the `with` statement.

    Other threads can import it all the same.

    Args:
      package: name of the package.

    Yields:
      Whether it is blocked; False if it has been imported already.
    """
    if package in sys.modules:
        yield False
        return
    blocker = _ImportBlocker(package)
    sys.meta_path.insert(0, blocker)
    try:
        yield True
    finally:
        sys.meta_path.remove(blocker)


def import_keras_3() -> types.ModuleType:
    """Imports Keras 3 without scikit-learn and Matplotlib, for a process that does not need them.

    Keras imports both where they are installed (1.3 of 3.1 s, with SciPy, on the machine where
    this was measured). Without them, `keras.wrappers` and the plots of
    `keras.visualization` do not work in this process.

    Returns:
      The package `keras`.
    """
    with fast_imports(), block_import("sklearn"), block_import("matplotlib"):
        return importlib.import_module("keras")


class _ImportBlocker(importlib.abc.MetaPathFinder):
    def __init__(self, package: str):
        self._package = package
        self._thread = threading.get_ident()

    def find_spec(self, fullname, path=None, target=None):
        if fullname == self._package and threading.get_ident() == self._thread:
            raise ModuleNotFoundError(f"No module named {fullname!r}", name=fullname)
        return None


class _Importer:
    """The import statement while TensorFlow is imported: gives its modules lazy modules.

    `sys.modules` is the same for all threads, so the lazy modules are kept here.
    """

    def __init__(self) -> None:
        self._replaced: Any = builtins.__import__
        self._found: dict[str, Optional[_LazyModule]] = {}

    def install(self) -> None:
        """Replaces the import statement."""
        self._found = {}
        self._replaced = builtins.__import__
        builtins.__import__ = self

    def remove(self) -> None:
        """Restores the import statement, unless other code has replaced it since."""
        if builtins.__import__ is self:
            builtins.__import__ = self._replaced

    def __call__(self, name, globals=None, locals=None, fromlist=(), level=0):
        caller = (globals or {}).get("__name__") or ""
        if level == 0 and getattr(_thread, "depth", 0) and caller.partition(".")[0] in _CALLERS:
            found = self._find(name, fromlist or ())
            if found is not None:
                return found
        return self._replaced(name, globals, locals, fromlist, level)

    def _find(self, name: str, fromlist: tuple[str, ...]) -> Optional["_LazyModule"]:
        """Returns what the import statement returns, if it is a lazy module; else None."""
        package, _, part = name.partition(".")
        if package in sys.modules or package not in (*_WHOLE, "scipy"):
            return None
        if package not in self._found:
            self._found[package] = _defer_scipy() if package == "scipy" else _defer(package, None)
        lazy = self._found[package]
        if lazy is None or part and part not in vars(lazy):
            return None
        if part and fromlist:
            return vars(lazy)[part]
        # `from scipy import part` needs the package itself for other parts.
        return None if any(each not in vars(lazy) for each in fromlist) else lazy


_importer = _Importer()


def _defer_scipy() -> Optional["_LazyModule"]:
    """Defers SciPy: Keras imports `linalg` and `ndimage`, and one function of `sparse`."""
    scipy = _defer("scipy", None)
    if scipy is None or scipy.__spec__ is None:
        return None
    path = scipy.__spec__.submodule_search_locations
    parts = {name: _defer(f"scipy.{name}", path) for name in _SCIPY_PARTS}
    if None in parts.values():
        # This is another package called scipy. It is not deferred.
        return None
    vars(scipy).update(parts)
    vars(parts["sparse"])["issparse"] = _issparse
    return scipy


def _issparse(value: Any) -> bool:
    return importlib.import_module("scipy.sparse").issparse(value)


def _defer(name: str, path: Any) -> Optional["_LazyModule"]:
    """Returns a lazy module; None if the module is missing."""
    spec = importlib.machinery.PathFinder.find_spec(name, path)
    return None if spec is None else _LazyModule(spec)


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
        return getattr(importlib.import_module(self.__name__), attribute)
