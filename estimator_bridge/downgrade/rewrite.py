"""Rewrites a graph and its functions with the operations of an older TensorFlow."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Optional

from ..errors import BridgeError
from .definitions import compare
from .operations import Operations, minor, newest
from .replacements import remove_copy_marks, replace_parsing, replace_random

__all__ = ["CannotDowngrade", "rewrite_graph", "rewrite_meta_graph"]

_INT32, _INT64 = 3, 9
# Types of references are those of values plus 100.
_REFERENCE = 100
# From this version on a signature has default values for its inputs.
_SIGNATURE_DEFAULTS = (2, 14)
_SHOWN_PROBLEMS = 3


class CannotDowngrade(BridgeError):
    """The older version cannot express the graph; the message names what, in one line."""


class _Body:
    """The nodes of a graph or of one function, while they are rewritten.

    Args:
      nodes: the NodeDefs.
      function: the FunctionDef; None for a graph.
    """

    def __init__(self, nodes: Any, function: Optional[Any] = None):
        self.nodes = nodes
        self.function = function

    def where(self, name: str) -> str:
        """Returns where a node is, in words."""
        inside = f" of function {self.function.signature.name}" if self.function else ""
        return f"node {name}{inside}"

    def returned(self) -> set[str]:
        """Returns the names of the nodes whose outputs the function returns."""
        if self.function is None:
            return set()
        return {name.partition(":")[0] for name in self.function.ret.values()}

    def add_cast(self, name: str, source: str, device: str) -> str:
        """Adds a node that casts int64 to int32; returns the name of its output."""
        taken = {node.name for node in self.nodes}
        while name in taken:
            name += "_1"
        node = self.nodes.add(name=name, op="Cast", device=device, input=[source])
        node.attr["SrcT"].type = _INT64
        node.attr["DstT"].type = _INT32
        return f"{name}:y:0" if self.function is not None else name


class _Rewriter:
    """Rewrites bodies and collects what was changed and what cannot be.

    Args:
      target: the operations of the older version.
      producer: returns the OpDef of an operation in the version that wrote the graph, or None.
      functions: names of the functions of the graph, which nodes call like operations.
    """

    def __init__(
        self,
        target: Operations,
        producer: Callable[[str], Optional[Any]],
        functions: Iterable[str],
    ):
        self.target = target
        self.producer = producer
        self.functions = set(functions)
        self.changes: Counter[str] = Counter()
        self.problems: dict[str, str] = {}

    def rewrite(self, body: _Body) -> None:
        """Rewrites the nodes of a graph or a function."""
        if self.target.definition("DisableCopyOnRead") is None:
            self._count("DisableCopyOnRead removed", remove_copy_marks(body.nodes, body.function))
        replaced = replace_random(body.nodes, body.returned(), self.target)
        self._count("random operations replaced by their first version", replaced)
        replaced = replace_parsing(body.nodes, body.function, self.target)
        self._count("ParseExampleV2 replaced by ParseExample", replaced)
        for node in list(body.nodes):
            self._rewrite_node(node, body)

    def _count(self, change: str, number: int) -> None:
        if number:
            self.changes[change] += number

    def _rewrite_node(self, node: Any, body: _Body) -> None:
        node.ClearField("experimental_type")
        self._check_types(node, body)
        old = self.target.definition(node.op)
        if old is None:
            if node.op not in self.functions:
                self._problem(f"operation {node.op}", body.where(node.name))
            return
        found = compare(node, self.producer(node.op), old)
        for problem in found.problems:
            self._problem(f"{problem} of {node.op}", body.where(node.name))
        if found.problems:
            return
        for name in found.remove:
            del node.attr[name]
            self.changes[f"{node.op} {name}"] += 1
        for name, value in found.add.items():
            node.attr[name].CopyFrom(value)
            self.changes[f"{node.op} {name} written"] += 1
        for number in found.cast:
            source = node.input[number]
            name = f"{node.name}/input_{number}_as_int32"
            node.input[number] = body.add_cast(name, source, node.device)
            self.changes[f"input {number} of {node.op} cast to int32"] += 1

    def _problem(self, what: str, where: str) -> None:
        self.problems.setdefault(what, where)

    def _check_types(self, node: Any, body: _Body) -> None:
        for value in node.attr.values():
            for number in _types(value):
                if number % _REFERENCE not in self.target.types:
                    self._problem(f"data type {_type_name(number)}", body.where(node.name))

    def check_signature(self, function: Any) -> None:
        """Checks the types of the arguments of a function, and clears what is newer."""
        signature = function.signature
        for arg in (*signature.input_arg, *signature.output_arg):
            arg.ClearField("experimental_full_type")
            arg.ClearField("handle_data")
            if arg.type and arg.type % _REFERENCE not in self.target.types:
                where = f"argument {arg.name} of function {signature.name}"
                self._problem(f"data type {_type_name(arg.type)}", where)

    def refuse_problems(self) -> None:
        """Raises CannotDowngrade if there are any."""
        if not self.problems:
            return
        shown = [f"{what} ({where})" for what, where in self.problems.items()]
        more = len(shown) - _SHOWN_PROBLEMS
        text = ", ".join(shown[:_SHOWN_PROBLEMS]) + (f", and {more} more" if more > 0 else "")
        raise CannotDowngrade(f"TensorFlow {minor(self.target.version)} does not have {text}")


def _types(value: Any) -> Iterator[int]:
    """Yields the numbers of the data types in the value of an attribute."""
    kind = value.WhichOneof("value")
    if kind == "type":
        yield value.type
    elif kind == "tensor":
        yield value.tensor.dtype
    elif kind == "list":
        yield from value.list.type
        yield from (tensor.dtype for tensor in value.list.tensor)


def _type_name(number: int) -> str:
    from tensorflow.core.framework import types_pb2

    known = number in types_pb2.DataType.values()
    return str(types_pb2.DataType.Name(number)) if known else f"number {number}"


def rewrite_graph(
    graph: Any, target: Operations, producer: Optional[dict[str, Any]] = None
) -> Counter[str]:
    """Rewrites a graph and its functions, so that an older version loads them.

    Args:
      graph: a GraphDef; changed, also when it is refused.
      target: the operations of the older version.
      producer: operation → OpDef in the version that wrote the graph; those that it lacks are taken
        from the newest version that the table has.

    Returns:
      What was changed, in words → how many times.

    Raises:
      CannotDowngrade: the older version cannot express it.
    """
    known, last = producer or {}, newest()
    rewriter = _Rewriter(
        target,
        lambda name: known.get(name) or last.definition(name),
        (function.signature.name for function in graph.library.function),
    )
    rewriter.rewrite(_Body(graph.node))
    for function in graph.library.function:
        rewriter.check_signature(function)
        rewriter.rewrite(_Body(function.node_def, function))
    if "debug_info" in graph.DESCRIPTOR.fields_by_name:
        # Source lines of the program; older versions do not have the field.
        graph.ClearField("debug_info")
    rewriter.refuse_problems()
    return rewriter.changes


def rewrite_meta_graph(meta_graph: Any, target: Operations) -> Counter[str]:
    """Rewrites a MetaGraphDef: its graph, and the list of operations that it carries.

    Args:
      meta_graph: the MetaGraphDef; changed, also when it is refused.
      target: the operations of the older version.

    Returns:
      What was changed, in words → how many times.

    Raises:
      CannotDowngrade: the older version cannot express it.
    """
    for name, signature in meta_graph.signature_def.items():
        has_defaults = "defaults" in signature.DESCRIPTOR.fields_by_name and signature.defaults
        if has_defaults and _numbers(target.version) < _SIGNATURE_DEFAULTS:
            raise CannotDowngrade(
                f"TensorFlow {minor(target.version)} does not have default inputs of signatures "
                f"(signature {name})"
            )
    operations = meta_graph.meta_info_def.stripped_op_list.op
    changes = rewrite_graph(meta_graph.graph_def, target, {op.name: op for op in operations})
    graph = meta_graph.graph_def
    nodes = [*graph.node, *(node for one in graph.library.function for node in one.node_def)]
    del operations[:]
    for name in sorted({node.op for node in nodes}):
        definition = target.definition(name)
        if definition is not None:
            operations.append(definition)
    return changes


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, minor(version).split(".")))
