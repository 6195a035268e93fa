"""Puts names into TensorFlow's public packages, under every name that a package is imported by."""

import functools
import importlib
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any

from ..process.importing import call_when_imported

__all__ = ["add_missing", "publish"]

Build = Callable[[], Any]


def add_missing(owner: Any, name: str, value: Any) -> None:
    """Sets an attribute unless it is there.

    Args:
      owner: a module or class.
      name: of the attribute.
      value: of the attribute.
    """
    if not hasattr(owner, name):
        setattr(owner, name, value)


def publish(
    keras: str, names: dict[str, Build], packages: tuple[str, ...] = (), replaces: bool = False
) -> None:
    """Sets names when the program imports their packages.

    Args:
      keras: the package of Keras 2.
      names: path below `tensorflow` -> function that returns the value; called at most once.
      packages: paths of packages that are missing as a whole, in which some of the names are.
      replaces: whether names that are there are set too.
    """
    owners: dict[str, dict[str, Build]] = {}
    for path, build in names.items():
        owner = path.rpartition(".")[0]
        while owner in packages:
            owner = owner.rpartition(".")[0]
        owners.setdefault(owner, {})[path[len(owner) :].lstrip(".")] = functools.cache(build)
    for owner, entries in owners.items():
        for home in _homes(keras, owner):
            call_when_imported(home, functools.partial(_fill, home, entries, replaces))


def _homes(keras: str, path: str) -> Iterator[str]:
    """Yields the modules that a public package is; `import` executes some files a second time."""
    is_keras, is_v1 = "keras" in path.split("."), path.startswith("compat.v1")
    end = f".{path}" if path else ""
    yield f"tensorflow{end}"
    if is_keras:
        below = path.partition("keras")[2]
        yield f"{keras}.api.{'_v1' if is_v1 else '_v2'}.keras{below}"
    elif path:
        yield f"tensorflow._api.v2{end}"
    if not is_v1:
        yield f"tensorflow.compat.v2{end}"
        if is_keras:
            yield f"{keras}{below}"
        else:
            yield f"tensorflow._api.v2.compat.v2{end}"


def _fill(home: str, entries: dict[str, Build], replaces: bool) -> None:
    for path, build in entries.items():
        owner: Any = sys.modules[home]
        *packages, name = path.split(".")
        for package in packages:
            owner = _enter(owner, package)
        if replaces or not hasattr(owner, name):
            setattr(owner, name, build())


def _enter(owner: types.ModuleType, name: str) -> Any:
    """Returns a package in another one, which is made if it is missing."""
    if not hasattr(owner, name):
        full = f"{owner.__name__}.{name}"
        package = types.ModuleType(full)
        # Imports of modules below it ask for a path.
        package.__path__ = []
        sys.modules[full] = package
        setattr(owner, name, package)
    return importlib.import_module(getattr(owner, name).__name__)
