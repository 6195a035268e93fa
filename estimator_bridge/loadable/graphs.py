"""Compares a graph with the operations and kernels of each TensorFlow version."""

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from ..downgrade.operations import Operations, find, known_versions, minor
from .advice import advise

__all__ = ["Obstacle", "find_obstacles", "find_unsupported", "nodes_of"]

_REFERENCE = 100
# Attributes with values of any size that no definition restricts.
_CONTENT = {"value", "shape", "container", "shared_name"}


class Obstacle(NamedTuple):
    """What keeps one version from loading a graph.

    Attributes:
      kind: "operation", "kernel", "attribute" or "type".
      what: the operation, with the attribute where that is the obstacle; or the type.
      op: the operation; "" for a type.
      serving_only: whether only TensorFlow Serving refuses it: Python's loader removes attributes
        that have their default value.
    """

    kind: str
    what: str
    op: str
    serving_only: bool = False


def nodes_of(graph: Any) -> Iterator[tuple[Any, str]]:
    """Yields (node, where it is, in words) of a graph and its functions.

    Args:
      graph: a GraphDef.
    """
    for node in graph.node:
        yield node, ""
    for function in graph.library.function:
        for node in function.node_def:
            yield node, f" of function {function.signature.name}"


def find_obstacles(graph: Any, producer: Iterable[Any] = ()) -> dict[str, list[Obstacle]]:
    """Returns what keeps each version from loading a graph.

    Args:
      graph: a GraphDef.
      producer: the OpDefs of the version that wrote it; none for a graph by itself, whose
        attributes no loader removes.

    Returns:
      Version, oldest first → obstacles; none if it loads the graph.
    """
    written = {op.name: op for op in producer}
    functions = {function.signature.name for function in graph.library.function}
    kinds: dict[tuple[str, bytes], Any] = {}
    for node, _ in nodes_of(graph):
        if node.op not in functions:
            kinds.setdefault((node.op, _attributes(node)), node)
    result = {}
    for version in known_versions():
        target = find(version)
        found: dict[Obstacle, None] = {}
        for node in kinds.values():
            found.update(dict.fromkeys(_compare(node, target, written)))
        result[version] = list(found)
    return result


def _attributes(node: Any) -> bytes:
    """Returns the attributes that decide whether a version takes the node."""
    return b"|".join(
        name.encode() + b"=" + value.SerializeToString(deterministic=True)
        for name, value in sorted(node.attr.items())
        if not name.startswith("_") and name not in _CONTENT
    )


def _compare(node: Any, target: Operations, written: dict[str, Any]) -> Iterator[Obstacle]:
    definition = target.definition(node.op)
    if definition is None:
        yield Obstacle("operation", node.op, node.op)
        return
    if _lacks_kernel(node.op, target):
        yield Obstacle("kernel", node.op, node.op)
    for value in node.attr.values():
        if value.type and value.type % _REFERENCE not in target.types:
            yield Obstacle("type", _type_name(value.type), "")
    known = {attr.name: attr for attr in definition.attr}
    for name, value in node.attr.items():
        if name.startswith("_"):
            continue
        what = f"{node.op} {name}"
        if name not in known:
            yield Obstacle("attribute", what, node.op, _is_default(written, node.op, name, value))
        elif (
            known[name].allowed_values.list.type
            and value.type
            and (value.type not in known[name].allowed_values.list.type)
        ):
            yield Obstacle("attribute", f"{what}={_type_name(value.type)}", node.op)
    for name, attr in known.items():
        if name not in node.attr and not attr.HasField("default_value"):
            yield Obstacle("attribute", f"{node.op} {name}", node.op)


def _is_default(written: dict[str, Any], op: str, name: str, value: Any) -> bool:
    """Returns whether an attribute has the default of the version that wrote it."""
    definition = written.get(op)
    attrs = definition.attr if definition is not None else ()
    return any(
        attr.name == name and attr.HasField("default_value") and attr.default_value == value
        for attr in attrs
    )


def _lacks_kernel(op: str, target: Operations) -> bool:
    """Returns whether a version has no kernel for an operation that another one has."""
    return not target.has_kernel(op) and any(
        find(version).has_kernel(op) for version in known_versions()
    )


def _type_name(number: int) -> str:
    from tensorflow.core.framework import types_pb2

    known = number in types_pb2.DataType.values()
    return str(types_pb2.DataType.Name(number)) if known else f"type number {number}"


def find_unsupported(graph: Any, target: Operations) -> list[str]:
    """Returns the operations that a version does not have or compute: a text for each advice.

    Args:
      graph: a GraphDef.
      target: the version.
    """
    functions = {function.signature.name for function in graph.library.function}
    seen: set[str] = set()
    found: dict[tuple[str, str], list[str]] = {}
    for node, where in nodes_of(graph):
        op = node.op
        if op in functions or op in seen:
            continue
        missing = target.definition(op) is None
        if missing or _lacks_kernel(op, target):
            seen.add(op)
            what = "no operation" if missing else "no kernel for"
            found.setdefault((what, advise(op)), []).append(f"{op} (node {node.name}{where})")
    version = minor(target.version)
    return [
        f"TensorFlow {version} has {what} {', '.join(names)}: {advice}"
        for (what, advice), names in found.items()
    ]
