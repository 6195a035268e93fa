"""A quicker start: what is loaded with TensorFlow, and how."""

import contextlib
import gc
import importlib
import importlib.util
import sys
import threading
import types
from collections.abc import Iterator
from typing import Any

# Packages that TensorFlow's Keras loads wherever they are installed, and hardly ever uses.
SELDOM_USED = ("pandas",)

_lock = threading.Lock()


@contextlib.contextmanager
def quickly() -> Iterator[None]:
    """Within it modules are imported, which takes less time than outside.

    TensorFlow's modules are some 300,000 objects. While they come to be, the garbage collector
    would look through them again and again, and after that at every full collection of the run:
    it is off meanwhile, and then told to leave them alone.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        for name in SELDOM_USED:
            _defer(name)
        yield
    finally:
        gc.freeze()
        if was_on:
            gc.enable()


def _defer(name: str) -> None:
    """Lets `import name` wait with the work until something of the package is asked for."""
    if name not in sys.modules:
        spec = importlib.util.find_spec(name)
        if spec is not None:
            sys.modules[name] = _Deferred(name, spec)


class _Deferred(types.ModuleType):
    """A package that is imported when something of it is asked for.

    importlib's own LazyLoader imports it at the next `import` already, from Python 3.12 on.
    """

    def __init__(self, name: str, spec: Any):
        super().__init__(name)
        self.__spec__ = spec
        # AutoGraph looks for the file of each module that there is.
        self.__file__ = spec.origin

    def __getattr__(self, attribute: str) -> Any:
        # Called for what is not there, and so for all that the package has.
        with _lock:
            if sys.modules.get(self.__name__) is self:
                del sys.modules[self.__name__]
        loaded = importlib.import_module(self.__name__)
        return getattr(loaded, attribute)
