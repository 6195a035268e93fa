"""Puts a traced function in the place of a node, in a graph or in one of its functions."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, Optional

from ..downgrade.operations import newest
from . import contrib

__all__ = ["Body", "bodies", "constant", "empty_node", "parse_input", "replace"]

_PREFIX = "estimator_bridge_repair"


class Body(NamedTuple):
    """The nodes of a graph or of one function.

    Attributes:
      graph: the GraphDef, whose library gets the new functions.
      nodes: the NodeDefs.
      function: the FunctionDef; None for the graph itself.
    """

    graph: Any
    nodes: Any
    function: Optional[Any]

    @property
    def where(self) -> str:
        """Where the nodes are, in words to be added to the name of one."""
        return f" of function {self.function.signature.name}" if self.function else ""

    def find(self, name: str) -> Optional[Any]:
        """Returns the node of an input, or None: the input is an argument of the function.

        Args:
          name: an entry of a node's `input`.
        """
        wanted = parse_input(name)[0]
        return next((node for node in self.nodes if node.name == wanted), None)


def bodies(graph: Any) -> Iterator[Body]:
    """Yields the nodes of a graph and of each of its functions.

    Args:
      graph: a GraphDef.
    """
    yield Body(graph, graph.node, None)
    for function in graph.library.function:
        yield Body(graph, function.node_def, function)


def parse_input(name: str) -> tuple[str, int]:
    """Returns the node and the number of the output of an input.

    Args:
      name: "node", "node:1" or, in a function, "node:output:1"; "^node" for one of control.
    """
    node, *rest = name.lstrip("^").split(":")
    return node, int(rest[-1]) if rest else 0


def constant(node: Optional[Any]) -> Optional[Any]:
    """Returns the array of a constant, seen through copies; None if it is none.

    Args:
      node: a NodeDef, or None.
    """
    if node is None or node.op != "Const":
        return None
    from tensorflow import make_ndarray

    return make_ndarray(node.attr["value"].tensor)


def empty_node(node: Any) -> None:
    """Makes a node one that does nothing, and keeps its name and what it waits for.

    Args:
      node: a NodeDef without outputs, or whose outputs nothing reads any more; changed.
    """
    waits = [name if name.startswith("^") else f"^{parse_input(name)[0]}" for name in node.input]
    _become(node, "NoOp", list(dict.fromkeys(waits)))


def replace(body: Body, node: Any, inputs: Sequence[str], compute: Callable[..., Any]) -> Any:
    """Makes a node the call of a function with the same outputs.

    Args:
      body: where the node is; the library of its graph gets the function.
      node: the NodeDef; changed.
      inputs: those of its inputs that the function takes; it keeps the inputs of control.
      compute: a Python function of as many tensors, which returns a list of tensors.

    Returns:
      The concrete function, to try it.
    """
    import tensorflow as tf

    _number_outputs(body, node)
    types = [one for one, name in zip(_input_types(node), node.input) if name in inputs]
    shapes = [tf.TensorSpec(None, tf.as_dtype(one)) for one in types]
    traced = tf.function(compute, autograph=False).get_concrete_function(*shapes)
    name = _add_functions(body.graph, traced)
    _become(node, "PartitionedCall", [*inputs, *(one for one in node.input if one[0] == "^")])
    node.attr["Tin"].list.type.extend(types)
    if not types:
        node.attr["Tin"].list.SetInParent()
    node.attr["Tout"].list.type.extend(one.dtype.as_datatype_enum for one in traced.outputs)
    node.attr["f"].func.name = name
    return traced


def _become(node: Any, op: str, inputs: list[str]) -> None:
    node.op = op
    del node.input[:]
    node.input.extend(inputs)
    for name in [name for name in node.attr if not name.startswith("_")]:
        del node.attr[name]


def _definition(op: str) -> Any:
    return contrib.definition(op) or newest().definition(op)


def _input_types(node: Any) -> list[int]:
    """Returns the numbers of the types of all inputs."""
    types: list[int] = []
    for arg in _definition(node.op).input_arg:
        if arg.type_list_attr:
            types += node.attr[arg.type_list_attr].list.type
        else:
            count = node.attr[arg.number_attr].i if arg.number_attr else 1
            types += [node.attr[arg.type_attr].type if arg.type_attr else arg.type] * count
    return types


def _number_outputs(body: Body, node: Any) -> None:
    """Renames the outputs of a node in a function, as the call of a function has them."""
    if body.function is None:
        return
    first, at = {}, 0
    for arg in _definition(node.op).output_arg:
        first[arg.name] = at
        at += node.attr[arg.number_attr].i if arg.number_attr else 1

    def rename(name: str) -> str:
        parts = name.split(":")
        if parts[0] != node.name or len(parts) != 3:
            return name
        return f"{node.name}:output:{first[parts[1]] + int(parts[2])}"

    for other in body.nodes:
        renamed = [rename(name) for name in other.input]
        if renamed != list(other.input):
            del other.input[:]
            other.input.extend(renamed)
    for key, name in list(body.function.ret.items()):
        body.function.ret[key] = rename(name)


def _add_functions(graph: Any, traced: Any) -> str:
    """Adds a traced function and those that it calls to a graph; returns its name there."""
    taken = {function.signature.name for function in graph.library.function}
    called = list(traced.graph.as_graph_def().library.function)
    new: dict[str, str] = {}
    for function in (traced.function_def, *called):
        number = len(taken)
        while f"{_PREFIX}_{number}" in taken:
            number += 1
        new[function.signature.name] = f"{_PREFIX}_{number}"
        taken.add(f"{_PREFIX}_{number}")
    for function in (traced.function_def, *called):
        added = graph.library.function.add()
        added.CopyFrom(function)
        added.signature.name = new[function.signature.name]
        for node in added.node_def:
            for value in node.attr.values():
                if value.func.name in new:
                    value.func.name = new[value.func.name]
                for one in value.list.func:
                    one.name = new.get(one.name, one.name)
    return new[traced.function_def.signature.name]
