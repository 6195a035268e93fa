"""Finds what parses in Python 3 but fails when it runs, and packages to be installed.

Code for Python 2 that uses no syntax of its own looks sound: `d.iteritems()`, `len(map(f, x))`,
`import cPickle`. What a `try`, or a test of the version, guards is left out, and so are names that
the file binds itself.
"""

import ast
from collections.abc import Iterator
from typing import Any, NamedTuple

from ..user_files import python_2
from .refs import is_guard_test

__all__ = ["PACKAGES", "Outdated", "find_outdated"]

# Built-in names; --tf1 does not supply the last two.
_NAMES = {**python_2.NAMES, "execfile": "exec(open(...).read())", "file": "open"}
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


class Stop(NamedTuple):
    """A place that fails in Python 3.

    Attributes:
      line: its line, from 1.
      what: what fails and what to write.
      is_supplied: whether `run --tf1` supplies what is missing.
    """

    line: int
    what: str
    is_supplied: bool = False


class Outdated(NamedTuple):
    """What was found in a file.

    Attributes:
      stops: the places that fail in Python 3.
      packages: keys of PACKAGES that it imports.
      divisions: lines that divide what may be integers, which Python 2 does without a fraction.
    """

    stops: tuple[Stop, ...]
    packages: tuple[str, ...]
    divisions: tuple[int, ...] = ()


def find_outdated(tree: ast.Module) -> Outdated:
    """Returns what fails in Python 3, and the packages, of a parsed file.

    Args:
      tree: its syntax tree.
    """
    nodes = list(_unguarded(tree))
    every = list(ast.walk(tree))
    bound = set(_bound(every))
    given = python_2.find_names_in(tree)
    stops: set[Stop] = set()
    packages: dict[str, None] = {}
    has_pandas = False
    for node in nodes:
        for module in _imported(node):
            has_pandas = has_pandas or module == "pandas"
            if module in PACKAGES:
                packages[module] = None
            elif module in python_2.MODULES:
                text = f"there is no module {module}; import {python_2.MODULES[module]}"
                stops.add(Stop(node.lineno, text, True))
    for node in nodes:
        for path in _attributes(node):
            text = f"there is no {path}; write {python_2.ATTRIBUTES[path]}"
            stops.add(Stop(node.lineno, text, True))
        text, is_supplied = _describe(node, bound, has_pandas)
        if text:
            is_given = is_supplied or (isinstance(node, ast.Name) and node.id in given)
            stops.add(Stop(node.lineno, text, is_given))
    return Outdated(
        tuple(sorted(stop._replace(what=f"Python 2: {stop.what}") for stop in stops)),
        tuple(packages),
        tuple(_find_divisions(every)),
    )


def _find_divisions(nodes: list[ast.AST]) -> list[int]:
    """Returns the lines that divide by, or divide, what is an integer and no float."""
    lines = set()
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and node.module == "__future__":
            if any(alias.name == "division" for alias in node.names):
                return []
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
            sides = (node.left, node.right)
            if any(map(_is_integer, sides)) and not any(map(_has_float, sides)):
                lines.add(node.lineno)
    return sorted(lines)


def _is_integer(node: ast.expr) -> bool:
    if isinstance(node, ast.Constant):
        return type(node.value) is int
    return isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("int", "len", "sum")


def _has_float(node: ast.expr) -> bool:
    return any(
        (isinstance(part, ast.Constant) and isinstance(part.value, float))
        or getattr(part, "id", "") == "float"
        for part in ast.walk(node)
    )


def _attributes(node: ast.AST) -> Iterator[str]:
    """Yields the keys of python_2.ATTRIBUTES that a node reads or imports."""
    paths = []
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        paths = [f"{node.value.id}.{node.attr}"]
    elif isinstance(node, ast.ImportFrom) and not node.level:
        paths = [f"{node.module}.{alias.name}" for alias in node.names]
    yield from (path for path in paths if path in python_2.ATTRIBUTES)


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


def _bound(nodes: list[ast.AST]) -> Iterator[str]:
    """Yields the names that a file binds anywhere; all of Python 2 if it imports `*`."""
    for node in nodes:
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


def _describe(node: ast.AST, bound: set[str], has_pandas: bool) -> tuple[str, bool]:
    """Returns what fails at a node and what to write, or "", and whether it is a method of then."""
    if isinstance(node, ast.Name):
        found = isinstance(node.ctx, ast.Load) and node.id in _NAMES and node.id not in bound
        return f"there is no {node.id}; write {_NAMES[node.id]}" if found else "", False
    if isinstance(node, ast.Call):
        text = _describe_method(node, bound)
        return (text, True) if text else (_describe_call(node, bound), False)
    if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Call):
        call = _list_of_python_2(node.value, bound)
        if call and not (has_pandas and call.startswith(".")):
            return f"{call} has no index; write list(...) around it", False
    if isinstance(node, ast.BinOp) and _is_print(node):
        return "print is a function; write print(... % ..., file=...)", False
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        sides = [_is_range(side) for side in (node.left, node.right)]
        lists = [isinstance(side, ast.List) for side in (node.left, node.right)]
        if all(sides) or (any(sides) and any(lists)):
            return "a range cannot be added; write list(range(...))", False
    return "", False


def _is_print(node: ast.BinOp) -> bool:
    """Returns whether a node is `print >>file, text` or `print("...") % value`."""
    if isinstance(node.op, ast.RShift):
        return getattr(node.left, "id", "") == "print"
    called = node.left.func if isinstance(node.left, ast.Call) else None
    return isinstance(node.op, ast.Mod) and getattr(called, "id", "") == "print"


def _describe_method(node: ast.Call, bound: set[str]) -> str:
    name = getattr(node.func, "attr", "")
    if name in bound or node.keywords:
        return ""
    if name in python_2.DICT_METHODS and not node.args:
        return f"dictionaries have no .{name}(); write .{python_2.DICT_METHODS[name]}()"
    if name == "has_key" and len(node.args) == 1:
        return "dictionaries have no .has_key(); write key in ..."
    return ""


def _describe_call(node: ast.Call, bound: set[str]) -> str:
    function = node.func
    name = getattr(function, "attr", getattr(function, "id", ""))
    if name in ("sort", "sorted") and any(word.arg == "cmp" for word in node.keywords):
        return f"{name}() has no cmp; write key=functools.cmp_to_key(...)"
    if isinstance(function, ast.Attribute):
        if name == "sort" and isinstance(function.value, ast.Call):
            call = _list_of_python_2(function.value, bound)
            return f"{call} has no sort(); write sorted(...)" if call else ""
        return _describe_binary_csv(node)
    if name == "len" and len(node.args) == 1:
        argument = node.args[0]
        call = _list_of_python_2(argument, bound) if isinstance(argument, ast.Call) else ""
        return f"{call} has no len(); write list(...) around it" if call[:1].isalpha() else ""
    return ""


def _describe_binary_csv(node: ast.Call) -> str:
    if not (ast.unparse(node.func).startswith("csv.") and node.args):
        return ""
    opened = node.args[0]
    if not (isinstance(opened, ast.Call) and getattr(opened.func, "id", "") == "open"):
        return ""
    modes = [one.value for one in opened.args[1:2] if isinstance(one, ast.Constant)]
    is_binary = bool(modes) and isinstance(modes[0], str) and "b" in modes[0]
    return "csv reads and writes text; open the file without b" if is_binary else ""


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
