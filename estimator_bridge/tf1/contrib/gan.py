"""`tf.contrib.gan`: passed on to the package tensorflow-gan, which continues it."""

import importlib
from typing import Any

from estimator_bridge.tf1.contrib.package import unsupported_names as _unsupported_names

_INSTALL = (
    "it became the package tensorflow-gan; install it and what it needs: pip install --no-deps "
    "tensorflow-gan tensorflow-hub tensorflow-probability dm-tree cloudpickle decorator"
)
_missing, _advice_for = _unsupported_names(globals(), default_advice=_INSTALL)


def __getattr__(name: str) -> Any:
    if name == "python" or name.startswith("__"):
        return _missing(name)
    try:
        if name in ("namedtuples", "train"):
            return importlib.import_module(f"tensorflow_gan.python.{name}")
        found = importlib.import_module("tensorflow_gan")
    except ImportError:
        return _missing(name)
    return getattr(found, name) if hasattr(found, name) else _missing(name)


def __dir__() -> list[str]:
    return []
