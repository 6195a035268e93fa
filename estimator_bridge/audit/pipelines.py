"""Finds input pipelines that parse rows one by one before they batch them.

`dataset.map(parse).batch(n)` calls `tf.decode_csv`, or `tf.parse_single_example`, for each row. A
call for a whole batch takes hardly longer. Whether the two can be exchanged depends on the rest of
`parse`, so that this is a recommendation. Within a function, or at the top of a module, the first
`batch` must come after the `map`; a parser is a lambda or a function of the same file.
"""

import ast
from collections.abc import Iterator
from typing import Any, NamedTuple, Optional

__all__ = ["Slow", "find_slow"]

# What parses one row → what a batch is parsed with, and how many times as fast that was: 128 rows
# of seven features, processor time on 2.21.
_PARSERS = {
    "decode_csv": ("dataset.batch(n).map(parse)", 8),
    "parse_single_example": ("dataset.batch(n).map(...) with tf.parse_example", 6),
}
_BATCHES = ("batch", "padded_batch", "map_and_batch", "bucket_by_sequence_length")
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


class Slow(NamedTuple):
    """A `map` that parses rows one by one.

    Attributes:
      line: line of the call, from 1.
      parser: key of what it calls for each row.
    """

    line: int
    parser: str

    @property
    def text(self) -> str:
        """What it does, and what to write."""
        instead, times = _PARSERS[self.parser]
        return (
            f"{self.parser} is called for each row, before batch: {instead} is about {times} times "
            "as fast"
        )


def find_slow(tree: ast.Module) -> tuple[Slow, ...]:
    """Returns where a file parses rows one by one and batches them afterwards, by line.

    Args:
      tree: its syntax tree.
    """
    nodes = list(ast.walk(tree))
    if not any(isinstance(node, ast.Call) and _name_of(node.func) in _PARSERS for node in nodes):
        return ()
    functions = [node for node in nodes if isinstance(node, _FUNCTIONS[:2])]
    parsers: dict[str, str] = {}
    for _ in range(2):  # a function that calls a parser is one
        for function in functions:
            parser = _find_parser(function, parsers)
            if parser:
                parsers[function.name] = parser
    found = []
    for scope in nodes:
        if isinstance(scope, (ast.Module, *_FUNCTIONS)):
            found += _search(scope, parsers)
    return tuple(sorted(found))


def _search(scope: ast.AST, parsers: dict[str, str]) -> list[Slow]:
    """Returns the calls of `map` in one function that come before its first `batch`."""
    calls = [node for node in _inside(scope) if isinstance(node, ast.Call)]
    # A call ends where its arguments do: in a chain, in the order of the calls.
    calls.sort(key=lambda call: (call.end_lineno or 0, call.end_col_offset or 0))
    waiting: list[Slow] = []
    for call in calls:
        name = _name_of(call.func)
        is_map = name == "map" and isinstance(call.func, ast.Attribute)
        if call.args and (is_map or name == "map_and_batch"):
            parser = _parser_of(call.args[0], parsers)
            if parser:
                waiting.append(Slow(call.func.end_lineno or call.lineno, parser))
        if name in _BATCHES:
            return waiting
    return []


def _inside(scope: ast.AST) -> Iterator[Any]:
    """Yields the nodes of a scope without those of the functions in it."""
    waiting = list(ast.iter_child_nodes(scope))
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, _FUNCTIONS):
            waiting += ast.iter_child_nodes(node)


def _name_of(function: ast.expr) -> str:
    return getattr(function, "attr", getattr(function, "id", ""))


def _find_parser(function: ast.AST, parsers: dict[str, str]) -> Optional[str]:
    """Returns what a function parses rows with, itself or by another one, or None."""
    names = [_name_of(node.func) for node in ast.walk(function) if isinstance(node, ast.Call)]
    if any(name in _BATCHES or name == "map" for name in names):
        return None  # it makes a dataset
    return next((parsers.get(one, one) for one in names if one in parsers or one in _PARSERS), None)


def _parser_of(argument: ast.expr, parsers: dict[str, str]) -> Optional[str]:
    if isinstance(argument, ast.Lambda):
        return _find_parser(argument, parsers)
    if isinstance(argument, ast.Call) and _name_of(argument.func) == "partial" and argument.args:
        return _parser_of(argument.args[0], parsers)
    return parsers.get(_name_of(argument))
