"""Finds what parses in Python 3 but fails when it runs, and packages to be installed.

Code for Python 2 that uses no syntax of its own looks sound: `d.iteritems()`, `len(map(f, x))`,
`import cPickle`. What a `try`, or a test of the version, guards is left out, and so are names that
the file binds itself.
"""

import ast
from collections.abc import Iterator
from typing import Any, NamedTuple

from .refs import is_guard_test

__all__ = ["PACKAGES", "Outdated", "find_outdated"]

_METHODS = {
    "iteritems": "items", "itervalues": "values", "iterkeys": "keys",
    "viewitems": "items", "viewvalues": "values", "viewkeys": "keys",
}  # fmt: skip
_NAMES = {
    "xrange": "range", "unicode": "str", "basestring": "str", "raw_input": "input", "long": "int",
    "unichr": "chr", "reduce": "functools.reduce", "execfile": "exec(open(...).read())",
}  # fmt: skip
_MODULES = {
    "cPickle": "pickle", "cStringIO": "io", "StringIO": "io", "ConfigParser": "configparser",
    "Queue": "queue", "urllib2": "urllib.request", "urlparse": "urllib.parse",
    "httplib": "http.client", "__builtin__": "builtins", "commands": "subprocess",
}  # fmt: skip
# In Python 2 these return lists.
_ITERATORS = {"map", "filter", "zip"}
_VIEWS = {"keys", "values", "items"}
# Packages beside TensorFlow whose installation needs a word → that word.
PACKAGES = {
    "tensorflow_addons": "tensorflow-addons, which has no release for Python 3.12 and later",
    "tensorflow_gan": "tensorflow-gan (`pip install tensorflow-gan tensorflow-probability "
    "tensorflow-hub tf-keras`)",
    "tensorflow_hub": "tensorflow-hub below 0.16 for hub.Module and its columns (`pip install "
    "'tensorflow-hub<0.16'`)",
    "tensorflow_ranking": "tensorflow-ranking, whose requirements exclude TensorFlow 2.16 and "
    "later (`pip install --no-deps tensorflow-ranking`)",
    "tensorflow_transform": "tensorflow-transform, whose releases need one TensorFlow each: 1.21 "
    "needs 2.21",
    "tf_slim": "tf-slim (`pip install tf-slim`)",
}


class Outdated(NamedTuple):
    """What was found in a file.

    Attributes:
      stops: (line, what fails and what to write) of each place.
      packages: keys of PACKAGES that it imports.
    """

    stops: tuple[tuple[int, str], ...]
    packages: tuple[str, ...]


def find_outdated(tree: ast.Module) -> Outdated:
    """Returns what fails in Python 3, and the packages, of a parsed file.

    Args:
      tree: its syntax tree.
    """
    nodes = list(_unguarded(tree))
    bound = set(_bound(tree))
    stops: dict[tuple[int, str], None] = {}
    packages: dict[str, None] = {}
    has_pandas = False
    for node in nodes:
        for module in _imported(node):
            has_pandas = has_pandas or module == "pandas"
            if module in PACKAGES:
                packages[module] = None
            elif module in _MODULES:
                text = f"Python 2: there is no module {module}; import {_MODULES[module]}"
                stops[node.lineno, text] = None
    for node in nodes:
        text = _describe(node, bound, has_pandas)
        if text:
            stops[node.lineno, f"Python 2: {text}"] = None
    return Outdated(tuple(sorted(stops)), tuple(packages))


def _unguarded(tree: ast.AST) -> Iterator[Any]:
    """Yields the nodes that no `try` and no test of a version guards."""
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        yield node
        if isinstance(node, ast.Try) and node.handlers:
            waiting += node.finalbody
        elif isinstance(node, (ast.If, ast.IfExp)) and _tests_version(node.test):
            waiting.append(node.test)
        else:
            waiting += ast.iter_child_nodes(node)


def _tests_version(test: ast.expr) -> bool:
    text = ast.unparse(test)
    return is_guard_test(test) or "version" in text or "PY2" in text or "PY3" in text


def _bound(tree: ast.Module) -> Iterator[str]:
    """Yields the names that a file binds anywhere; all of Python 2 if it imports `*`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            yield node.id
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            yield node.name
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            for alias in node.names:
                yield alias.asname or alias.name.split(".")[0]
                if alias.name == "*":
                    yield from _NAMES


def _imported(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name.split(".")[0] for alias in node.names)
    elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
        yield node.module.split(".")[0]


def _describe(node: ast.AST, bound: set[str], has_pandas: bool) -> str:
    """Returns what fails at a node, and what to write; "" if nothing does."""
    if isinstance(node, ast.Name):
        found = isinstance(node.ctx, ast.Load) and node.id in _NAMES and node.id not in bound
        return f"there is no {node.id}; write {_NAMES[node.id]}" if found else ""
    if isinstance(node, ast.Call):
        return _describe_call(node, bound)
    if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Call):
        call = _list_of_python_2(node.value, bound)
        if call and not (has_pandas and call.startswith(".")):
            return f"{call} has no index; write list(...) around it"
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        sides = [_is_range(side) for side in (node.left, node.right)]
        lists = [isinstance(side, ast.List) for side in (node.left, node.right)]
        if all(sides) or (any(sides) and any(lists)):
            return "a range cannot be added; write list(range(...))"
    return ""


def _describe_call(node: ast.Call, bound: set[str]) -> str:
    function = node.func
    if isinstance(function, ast.Attribute):
        name = function.attr
        if name in _METHODS and name not in bound and not node.args and not node.keywords:
            return f"dictionaries have no .{name}(); write .{_METHODS[name]}()"
        if name == "sort" and isinstance(function.value, ast.Call):
            call = _list_of_python_2(function.value, bound)
            return f"{call} has no sort(); write sorted(...)" if call else ""
    if isinstance(function, ast.Name) and function.id == "len" and len(node.args) == 1:
        argument = node.args[0]
        call = _list_of_python_2(argument, bound) if isinstance(argument, ast.Call) else ""
        return f"{call} has no len(); write list(...) around it" if call[:1].isalpha() else ""
    return ""


def _list_of_python_2(call: ast.Call, bound: set[str]) -> str:
    """Returns "map(...)" or ".keys()" for a call whose result is no list any more, or ""."""
    if isinstance(call.func, ast.Name) and call.func.id in _ITERATORS - bound:
        return f"{call.func.id}(...)"
    if isinstance(call.func, ast.Attribute) and call.func.attr in _VIEWS and not call.args:
        return f".{call.func.attr}()"
    return ""


def _is_range(node: ast.expr) -> bool:
    return (
        isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "range"
    )
