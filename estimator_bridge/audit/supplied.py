"""Lists what the bridge supplies, without importing TensorFlow.

For tf.contrib these are the names in symbols/supplied.json, which tools/record_tf1_names.py writes,
and the names bound in the source of the bridge's tf.contrib, which may be newer than the file.
"""

import ast
import os
from typing import Optional

from estimator_bridge import shims
from estimator_bridge.tf1 import contrib, moved, private_keras

from .symbol import data

__all__ = ["FORWARDED", "Supplied"]

# Packages of tf.contrib that --tf1 passes on -> the package that must be installed.
FORWARDED = {"gan": "tensorflow_gan"}


class Supplied:
    """The names that the bridge supplies and TensorFlow lacks."""

    def __init__(self) -> None:
        self._folder = os.path.dirname(contrib.__file__)
        self._recorded = data("supplied")
        self._names: dict[str, set[str]] = {}
        self._modules: set[str] = set()
        self._trees: set[str] = set()
        for shim in shims.ALL:
            self._modules.update(shim.modules)
            self._trees.update(shim.trees)

    def private_module(self, name: str, tf1: bool) -> bool:
        """Returns whether the bridge supplies a private module that TensorFlow has removed.

        Args:
          name: dotted name of the module.
          tf1: whether the program runs with --tf1.
        """
        modules = self._modules | (moved.MODULES.keys() | private_keras.MODULES if tf1 else set())
        trees = self._trees | set(moved.TREES if tf1 else ())
        return name in modules or any(name == tree or name.startswith(tree + ".") for tree in trees)

    def private_name(self, module: str, name: str) -> bool:
        """Returns whether --tf1 restores a name in a private module.

        Args:
          module: dotted name of the module.
          name: name in it.
        """
        return any(name in home.NAMES.get(module, ()) for home in (moved, private_keras))

    def examples(self) -> bool:
        """Returns whether --tf1 supplies `tf.examples`."""
        return self._source(os.path.dirname(self._folder), "examples") is not None

    def contrib(self, package: str, name: Optional[str]) -> bool:
        """Returns whether --tf1 supplies a name of `tf.contrib.<package>`.

        Args:
          package: name of the package.
          name: name in it; None for the package itself.
        """
        if package in FORWARDED:
            return True
        if name is None:
            return package in self._recorded or bool(self.contrib_names(package))
        return name in self.contrib_names(package)

    def contrib_names(self, package: str) -> set[str]:
        """Returns the names that the bridge's `tf.contrib.<package>` binds.

        Args:
          package: name of the package.
        """
        if package not in self._names:
            offered = package in getattr(contrib, "_SUPPORTED", ())
            path = self._source(self._folder, package) if offered else None
            bound = _bound(path) if path is not None else set()
            self._names[package] = bound.union(self._recorded.get(package, ()))
        return self._names[package]

    @staticmethod
    def _source(folder: str, name: str) -> Optional[str]:
        for path in (f"{name}.py", os.path.join(name, "__init__.py")):
            full = os.path.join(folder, path)
            if os.path.exists(full):
                return full
        return None


def _bound(path: str) -> set[str]:
    """Returns the public names that a module of the bridge binds at its top level."""
    with open(path, encoding="utf-8") as source:
        tree = ast.parse(source.read())
    names: set[str] = set()
    for node in tree.body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            names.add(node.name)
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                if alias.name == "*":
                    names.update(_bound_by_star(node, path))
                else:
                    names.add(alias.asname or alias.name)
        elif isinstance(node, ast.Assign) and not _is_none(node.value):
            for target in node.targets:
                names.update(part.id for part in ast.walk(target) if isinstance(part, ast.Name))
    return {name for name in names if not name.startswith("_")}


def _bound_by_star(node: ast.ImportFrom, path: str) -> set[str]:
    prefix = "estimator_bridge.tf1."
    module = node.module or ""
    if not module.startswith(prefix):
        return set()
    root = os.path.dirname(os.path.dirname(contrib.__file__))
    folder, _, name = os.path.join(root, *module[len(prefix) :].split(".")).rpartition(os.sep)
    found = Supplied._source(folder, name)
    return _bound(found) if found is not None and found != path else set()


def _is_none(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and node.value is None
