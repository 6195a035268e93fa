"""A quicker import of TensorFlow and Keras: what is loaded with them, and how."""

import contextlib
import gc
import importlib
import importlib.abc
import importlib.machinery
import sys
import threading
import types
from collections.abc import Iterator
from typing import Any

__all__ = ["hidden", "quickly"]

# Packages of which Keras asks for no part by name.
_PLAIN = ("pandas", "h5py", "requests")
# Of SciPy it asks for these.
_PARTS = ("linalg", "ndimage", "sparse")

_lock = threading.RLock()
_depth = 0


@contextlib.contextmanager
def quickly() -> Iterator[None]:
    """Within it modules are imported, which takes less time than outside.

    TensorFlow's modules are some 300,000 objects. While they come to be, the garbage collector
    would look through them again and again, and after that at every full collection of the run:
    it is off meanwhile, and then told to leave them alone.

    TensorFlow's Keras loads h5py and requests, and pandas and SciPy wherever they are installed
    (1.3 s of 7 and 120 MiB on the machine where this was measured), for a few functions that hardly
    any program calls; its Estimator loads pandas too. They are given stands in for these, which
    import the package when something of it is asked for. Nothing else sees one: after this,
    `import pandas` imports pandas.
    """
    global _depth
    with _lock:
        _depth += 1
        was_on = gc.isenabled()
        gc.disable()
        if _depth == 1:
            for package in _PLAIN:
                _defer(package, None)
            _defer_scipy()
    try:
        yield
    finally:
        with _lock:
            _depth -= 1
            if _depth == 0:
                for package in (*_PLAIN, "scipy"):
                    _remove(package)
                gc.freeze()
            if was_on:
                gc.enable()


@contextlib.contextmanager
def hidden(package: str) -> Iterator[bool]:
    """Within it a top-level package cannot be imported; gives False where it has been already."""
    with _lock:
        held = sys.modules.get(package)
        if held is not None and not isinstance(held, _Deferred):
            yield False
            return
        sys.modules.pop(package, None)
        wall = _Wall(package)
        sys.meta_path.insert(0, wall)
        try:
            yield True
        finally:
            sys.meta_path.remove(wall)
            if held is not None:
                sys.modules[package] = held


class _Wall(importlib.abc.MetaPathFinder):
    def __init__(self, package: str):
        self._package = package

    def find_spec(self, fullname, path=None, target=None):
        if fullname == self._package:
            raise ModuleNotFoundError(f"No module named {fullname!r}", name=fullname)
        return None


def _defer_scipy() -> None:
    """Keras asks for `linalg` and `ndimage`, and for one function of `sparse`."""
    scipy = _defer("scipy", None)
    if scipy is None:
        return
    # Whoever imports another part of it gets that part.
    scipy.__path__ = scipy.__spec__.submodule_search_locations
    parts = {name: _defer(f"scipy.{name}", scipy.__path__) for name in _PARTS}
    if None in parts.values():
        # Not the SciPy that is meant here: let Keras see for itself.
        _remove("scipy")
        return
    vars(scipy).update(parts)
    scipy.sparse.__path__ = scipy.sparse.__spec__.submodule_search_locations
    scipy.sparse.issparse = _issparse


def _issparse(value: Any) -> bool:
    return importlib.import_module("scipy.sparse").issparse(value)


def _defer(name: str, path: Any) -> Any:
    """Puts a stand in for a module that can be imported and has not been, and returns it."""
    spec = None if name in sys.modules else importlib.machinery.PathFinder.find_spec(name, path)
    if spec is None:
        return None
    sys.modules[name] = _Deferred(spec)
    return sys.modules[name]


def _remove(package: str) -> None:
    """Takes the stands in for a package and its parts out of what is imported."""
    for name, module in list(sys.modules.items()):
        if isinstance(module, _Deferred) and name.partition(".")[0] == package:
            del sys.modules[name]


class _Deferred(types.ModuleType):
    """A module that is imported when something of it is asked for.

    importlib's own LazyLoader imports it at the next `import` already, from Python 3.12 on.
    """

    def __init__(self, spec: Any):
        super().__init__(spec.name)
        self.__spec__ = spec
        self.__file__ = spec.origin

    def __getattr__(self, attribute: str) -> Any:
        # Called for what is not there, and so for nearly all that the module has.
        with _lock:
            _remove(self.__name__.partition(".")[0])
        return getattr(importlib.import_module(self.__name__), attribute)
