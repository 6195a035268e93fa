"""Decides whether a generator may be read ahead: whether nothing outside of it can tell.

A generator that is read ahead runs earlier than the program expects. This changes nothing if its
code changes only what belongs to it. The source of the generator's function, and of the functions
of the program that it calls by name, is searched for what others could notice: assignments to
globals, to variables of outer functions, and to attributes or items of objects that come from
outside; methods that change such objects; iterators and queues from outside, which lose the
elements that are read and not used; and numbers drawn from a random generator that the process
shares. Where the source cannot be read, the answer is no.
"""

import ast
import contextlib
import functools
import inspect
import itertools
import os
import sys
import sysconfig
import textwrap
import types
from collections.abc import Callable, Iterator
from typing import Any, Optional

__all__ = ["begin", "has_effect"]

# Methods by which the containers, locks and pipes of Python and NumPy change.
_CHANGING = frozenset(
    [
        *("acquire", "add", "append", "appendleft", "clear", "discard", "extend"),
        *("extendleft", "fill", "get_nowait", "insert", "intersection_update", "notify", "pop"),
        *("popitem", "popleft", "put", "put_nowait", "read", "readinto", "readline"),
        *("readlines", "recv", "release", "remove", "reverse", "rotate", "seed"),
        *("seek", "send", "set", "setdefault", "shuffle", "sort", "subtract"),
        *("task_done", "update", "write", "writelines", "__next__", "__setitem__", "__delitem__"),
        *("__setattr__"),
    ]
)
# Iterators over a collection, which run no code of the program and can be made anew.
_COLLECTIONS: tuple = ([], (), range(1), range(1 << 70), {}, {}.values(), {}.items(), "", b"")
_OVER_COLLECTIONS = tuple(type(iter(one)) for one in _COLLECTIONS)
_LIBRARIES = tuple(
    os.path.realpath(sysconfig.get_path(name)) + os.sep for name in ("stdlib", "purelib", "platlib")
)
_UNKNOWN = object()
# Names of what ends an iteration.
_ENDING = frozenset(["next", "StopIteration", "OutOfRangeError"])


def begin(generator: Callable[[], Any]) -> tuple[Iterator, bool]:
    """Returns a new iterator, and whether nothing outside of it can tell when it is read.

    Args:
      generator: the program's function, which returns an iterable.
    """
    source = generator()
    iterator = iter(source)
    shared = _count_references(source, iterator) > _references_of_one_owner()
    return iterator, not shared and _may_read_ahead(source, iterator)


def has_effect(function: Callable[..., Any], within: Callable[..., Any]) -> bool:
    """Returns whether others may notice when and how often a function is called.

    Args:
      function: a function of the program. One that may end a dataset, by StopIteration, has an
        effect.
      within: the function that hands it to TensorFlow. If autograph has converted both, the source
        of the inner one is found here.
    """
    inner, outside = _unwrap(function), _unwrap(within)
    if inner is None or outside is None or _is_of_library(inner.__code__.co_filename):
        return True
    scope = _scope_of(function, inner)
    if _is_generated(inner.__code__):
        codes = [one for one in _list_codes(outside.__code__) if one.co_name == inner.__name__]
        if len(codes) != 1:
            return True
        scope = _Scope(codes[0], outside.__globals__, _find_outer(codes[0], inner))
    seen: set[types.CodeType] = set()
    if _find_effect(scope, seen, True) is not None:
        return True
    return any(not _ENDING.isdisjoint(code.co_names) for code in seen)


def _is_generated(code: types.CodeType) -> bool:
    return os.path.basename(code.co_filename).startswith("__autograph_generated_file")


def _list_codes(code: types.CodeType) -> Iterator[types.CodeType]:
    """Yields the code of the functions that a function defines."""
    for one in code.co_consts:
        if isinstance(one, types.CodeType):
            yield one
            yield from _list_codes(one)


def _count_references(source: Any, iterator: Iterator) -> int:
    return sys.getrefcount(iterator)


@functools.cache
def _references_of_one_owner() -> int:
    """Returns what `_count_references` returns in `begin` if the program keeps no reference."""
    source: Any = (one for one in [0])
    iterator = iter(source)
    return _count_references(source, iterator)


def _may_read_ahead(source: Any, iterator: Iterator) -> bool:
    if type(iterator) in _OVER_COLLECTIONS:
        return iterator is not source
    if not isinstance(iterator, types.GeneratorType):
        return False
    if inspect.getgeneratorstate(iterator) != inspect.GEN_CREATED:
        return False
    frame: Any = iterator.gi_frame
    # What a generator expression goes over was computed outside of it.
    first = frame.f_locals.get(".0")
    if first is not None and type(first) not in _OVER_COLLECTIONS:
        return False
    scope = _Scope(frame.f_code, frame.f_globals, dict(frame.f_locals))
    return _find_effect(scope, set(), False) is None


class _Scope:
    """The code of a function, and the values of the names that come from outside of it."""

    def __init__(self, code: types.CodeType, global_names: dict, outer: dict):
        self.code, self._globals, self._outer = code, global_names, outer
        self._shared: set[str] = set()
        self.own = (set(code.co_varnames) | set(code.co_cellvars)) - set(outer)

    def find(self, node: ast.expr) -> Any:
        """Returns the value of `a` or `a.b.c`, without running code; or _UNKNOWN."""
        if isinstance(node, ast.Attribute):
            value = self.find(node.value)
            return _UNKNOWN if value is _UNKNOWN else _read(value, node.attr)
        if not isinstance(node, ast.Name) or node.id in self.own:
            return _UNKNOWN
        builtins = vars(sys.modules["builtins"])
        for names in (self._outer, self._globals, builtins):
            if node.id in names:
                return names[node.id]
        return _UNKNOWN

    def disown(self, body: ast.AST) -> None:
        """Takes note of variables that are other names of objects from outside.

        Args:
          body: the syntax tree of the function.
        """
        for _ in range(2):  # a name of a name
            for node in ast.walk(body):
                if isinstance(node, (ast.Assign, ast.For)):
                    value = node.value if isinstance(node, ast.Assign) else node.iter
                    named = isinstance(value, (ast.Name, ast.Attribute, ast.Subscript))
                    if named and not self.is_own(value):
                        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                        parts = [part for target in targets for part in ast.walk(target)]
                        self._shared |= {one.id for one in parts if isinstance(one, ast.Name)}

    def is_own(self, node: ast.expr) -> bool:
        """Returns whether the function made an object, as far as its name shows.

        Args:
          node: the expression that names it.
        """
        while isinstance(node, (ast.Subscript, ast.Attribute)):
            node = node.value
        return isinstance(node, ast.Name) and node.id in self.own - self._shared


def _read(value: Any, name: str) -> Any:
    found = inspect.getattr_static(value, name, _UNKNOWN)
    if isinstance(found, (staticmethod, classmethod)):
        return found.__func__
    if isinstance(found, types.FunctionType) and not isinstance(value, (type, types.ModuleType)):
        return types.MethodType(found, value)
    return found


def _find_effect(scope: _Scope, seen: set, repeated: bool) -> Optional[str]:
    """Returns what in a function others could notice, or None.

    Args:
      scope: the function.
      seen: code objects that have been searched.
      repeated: whether the function is called in a loop.
    """
    if scope.code in seen:
        return None
    seen.add(scope.code)
    body = _parse(scope.code)
    if body is None:
        return f"the source of {scope.code.co_name} cannot be read"
    scope.disown(body)
    loops = [one for one in ast.walk(body) if isinstance(one, (ast.For, ast.While))]
    in_loops = {id(part) for loop in loops for part in ast.walk(loop)}
    for node in ast.walk(body):
        effect = _find_in_node(node, scope, seen, repeated or id(node) in in_loops)
        if effect:
            return effect
    return None


@functools.lru_cache(maxsize=256)
def _parse(code: types.CodeType) -> Optional[ast.AST]:
    """Returns the syntax tree of the function or generator expression of a code object."""
    if _is_generated(code):
        # There, methods are called by functions of autograph.
        return None
    try:
        text = textwrap.dedent(inspect.getsource(code))
        tree = ast.parse(text)
    except (OSError, TypeError, SyntaxError, ValueError):
        return None
    kinds = {"<genexpr>": (ast.GeneratorExp,), "<lambda>": (ast.Lambda,)}
    wanted = kinds.get(code.co_name, (ast.FunctionDef,))
    found = [one for one in ast.walk(tree) if isinstance(one, wanted)]
    if wanted == (ast.FunctionDef,):
        found = [one for one in found if one.name == code.co_name]  # type: ignore[attr-defined]
    # Two lambdas in one line cannot be told apart.
    return found[0] if len(found) == 1 else None


def _find_in_node(node: Any, scope: _Scope, seen: set, repeated: bool) -> Optional[str]:
    if isinstance(node, (ast.Global, ast.Nonlocal)):
        return f"{scope.code.co_name} assigns to {node.names[0]}"
    part = isinstance(node, (ast.Attribute, ast.Subscript)) and not isinstance(node.ctx, ast.Load)
    if part and not scope.is_own(node.value):
        return f"{scope.code.co_name} changes {ast.unparse(node)}"
    if isinstance(node, (ast.Name, ast.Attribute)) and isinstance(node.ctx, ast.Load):
        value = scope.find(node)
        if value is not _UNKNOWN and _gives_each_element_once(value):
            return f"{scope.code.co_name} reads {ast.unparse(node)}"
    if isinstance(node, ast.Call):
        return _find_in_call(node, scope, seen, repeated)
    return None


def _gives_each_element_once(value: Any) -> bool:
    if isinstance(value, (type, types.ModuleType)):
        return False
    has = lambda name: hasattr(type(value), name)  # noqa: E731
    return has("__next__") or has("recv") or (has("get") and has("put")) or has("popleft")


def _find_in_call(node: ast.Call, scope: _Scope, seen: set, repeated: bool) -> Optional[str]:
    function, name = node.func, scope.code.co_name
    called = scope.find(function)
    owner = scope.find(function.value) if isinstance(function, ast.Attribute) else None
    if repeated and (_draws_numbers(owner) or _draws_numbers(called)):
        return f"{name} draws from {ast.unparse(function)}, which others may use"
    if isinstance(function, ast.Attribute) and function.attr in _CHANGING:
        made_here = isinstance(function.value, (ast.Call, ast.Constant, ast.JoinedStr))
        if not (made_here or scope.is_own(function.value) or isinstance(owner, types.ModuleType)):
            return f"{name} calls {ast.unparse(function)}"
    inner = _unwrap(called)
    if inner is None or _is_of_library(inner.__code__.co_filename):
        return None
    return _find_effect(_scope_of(called, inner), seen, repeated)


def _is_of_library(path: str) -> bool:
    # Since 3.11, os.path and others are part of Python itself: "<frozen posixpath>".
    return path.startswith("<frozen ") or os.path.realpath(path).startswith(_LIBRARIES)


def _draws_numbers(value: Any) -> bool:
    """Returns whether a value is a random generator, or a function that draws from a shared one."""
    kinds = {type(value), type(getattr(value, "__self__", None))} - {types.ModuleType}
    return any(
        kind.__module__ == "random" or kind.__module__.startswith("numpy.random") for kind in kinds
    )


def _unwrap(called: Any) -> Optional[types.FunctionType]:
    while isinstance(called, (types.MethodType, functools.partial)):
        called = called.__func__ if isinstance(called, types.MethodType) else called.func
    return called if isinstance(called, types.FunctionType) else None


def _scope_of(called: Any, function: types.FunctionType) -> _Scope:
    """Returns the scope of a function that the program calls; its arguments come from outside."""
    code = function.__code__
    outer = _find_outer(code, function)
    if isinstance(called, types.MethodType) and code.co_varnames:
        outer[code.co_varnames[0]] = called.__self__
    return _Scope(code, function.__globals__, outer)


def _find_outer(code: types.CodeType, function: types.FunctionType) -> dict[str, Any]:
    """Returns the values of names that come from outside of a function, but for globals.

    Args:
      code: that of the function, as the program has it.
      function: has the variables of outer functions.
    """
    outer: dict[str, Any] = dict.fromkeys(code.co_freevars, _UNKNOWN)
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
        # What is not yet assigned stays unknown.
        with contextlib.suppress(ValueError):
            outer[name] = cell.cell_contents
    count = code.co_argcount + code.co_kwonlyargcount
    count += bool(code.co_flags & inspect.CO_VARARGS) + bool(code.co_flags & inspect.CO_VARKEYWORDS)
    outer.update(dict.fromkeys(itertools.islice(code.co_varnames, count), _UNKNOWN))
    return outer
