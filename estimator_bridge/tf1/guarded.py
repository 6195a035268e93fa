"""Finds imports that failed on 1.15, and that a program expects to fail.

    try:
        from tensorflow.contrib.rnn.python.ops.core_rnn_cell_impl import linear
    except ImportError:
        from tensorflow.contrib.layers import linear

A missing name has a stand-in, which fails where it is used. Here the program must get the
ImportError of 1.15 instead, or it would not use its fallback.
"""

import ast
import functools
import linecache
from collections.abc import Iterator
from types import FrameType

__all__ = ["expects"]

# Handlers that catch an ImportError; without a type, a handler catches all.
_CATCH = frozenset(["", "ImportError", "Exception", "BaseException"])
_CATCH_NO_MODULE = _CATCH | {"ModuleNotFoundError"}

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def expects(frame: FrameType, module_missing: bool) -> bool:
    """Returns whether the statement that runs is in a `try` that catches an ImportError.

    False where the source is not known.

    Args:
      frame: of the statement.
      module_missing: whether a module is missing, rather than a name in it.
    """
    file = frame.f_code.co_filename
    text = "".join(linecache.getlines(file, frame.f_globals))
    wanted = _CATCH_NO_MODULE if module_missing else _CATCH
    return any(
        first <= frame.f_lineno <= last and caught & wanted
        for first, last, caught in _guarded(text)
    )


@functools.lru_cache(maxsize=32)
def _guarded(text: str) -> tuple[tuple[int, int, frozenset[str]], ...]:
    """Returns (first line, last line, names of what is caught) of the statements in a `try`."""
    try:
        return tuple(_in_try(ast.parse(text).body, frozenset()))
    except SyntaxError:
        return ()


def _in_try(
    statements: list[ast.stmt], caught: frozenset[str]
) -> Iterator[tuple[int, int, frozenset[str]]]:
    for one in statements:
        blocks = [
            block
            for block in (getattr(one, name, []) for name in ("body", "orelse", "finalbody"))
            if isinstance(block, list)
        ]
        handlers = getattr(one, "handlers", [])
        if not any(blocks) and caught:
            yield one.lineno, one.end_lineno or one.lineno, caught
        if isinstance(one, ast.Try):
            types = [name for handler in handlers for name in _types(handler)]
            yield from _in_try(one.body, caught.union(types))
            blocks = [one.orelse, one.finalbody]
        # What a function does happens when it is called, perhaps elsewhere.
        inner = frozenset() if isinstance(one, _FUNCTIONS) else caught
        for block in [*blocks, *(handler.body for handler in handlers)]:
            yield from _in_try(block, inner)


def _types(handler: ast.ExceptHandler) -> list[str]:
    """Returns the names of what a handler catches; "" for everything."""
    kind = handler.type
    if kind is None:
        return [""]
    kinds = kind.elts if isinstance(kind, ast.Tuple) else [kind]
    return [getattr(one, "attr", getattr(one, "id", "?")) for one in kinds]
