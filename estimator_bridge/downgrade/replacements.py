"""Operations that are removed, or replaced by others with the same result."""

from collections.abc import Iterable
from typing import Any, Optional

from .operations import Operations

__all__ = ["remove_copy_marks", "replace_parsing", "replace_random"]

_COPY_MARK = "DisableCopyOnRead"
_KEY_COUNTER = "StatelessRandomGetKeyCounter"
# Random values from a key and a counter → the same values from the seed that these come from.
_RANDOM = {
    "StatelessRandomUniformV2": "StatelessRandomUniform",
    "StatelessRandomUniformIntV2": "StatelessRandomUniformInt",
    "StatelessRandomUniformFullIntV2": "StatelessRandomUniformFullInt",
    "StatelessRandomNormalV2": "StatelessRandomNormal",
    "StatelessTruncatedNormalV2": "StatelessTruncatedNormal",
}
# Algorithms: Philox, and the choice of the device, which is Philox everywhere but on TPUs.
_PHILOX = ([1], [3])
_STRING = 7


def _producer(name: str) -> str:
    """Returns the name of the node that an input comes from: of "node:0", "node:key:0", "^node"."""
    return name.lstrip("^").partition(":")[0]


def remove_copy_marks(nodes: Any, function: Optional[Any]) -> int:
    """Removes the nodes that tell later versions not to copy a variable on reading.

    They compute nothing. A node that waited for such a node waits for what that node waited for.

    Args:
      nodes: the nodes of a graph or of a function; changed.
      function: the FunctionDef, or None for a graph; changed.

    Returns:
      The number of removed nodes.
    """
    marks = {node.name: node for node in nodes if node.op == _COPY_MARK}
    if not marks:
        return 0
    for node in nodes:
        if any(_producer(name) in marks for name in node.input):
            inputs = list(dict.fromkeys(_without(node.input, marks)))
            del node.input[:]
            node.input.extend(inputs)
    _delete(nodes, marks)
    if function is not None:
        gone = [key for key, name in function.control_ret.items() if name in marks]
        for key in gone:
            del function.control_ret[key]
        kept = [name for name in function.signature.control_output if name not in gone]
        del function.signature.control_output[:]
        function.signature.control_output.extend(kept)
    return len(marks)


def _without(inputs: Iterable[str], marks: dict[str, Any]) -> Iterable[str]:
    """Yields inputs; for a removed node, the control inputs that it had."""
    for name in inputs:
        mark = marks.get(_producer(name))
        if mark is None:
            yield name
        else:
            yield from _without((one for one in mark.input if one.startswith("^")), marks)


def _delete(nodes: Any, names: Iterable[str]) -> None:
    """Removes nodes by name."""
    gone = set(names)
    for number in reversed(range(len(nodes))):
        if nodes[number].name in gone:
            del nodes[number]


def replace_random(nodes: Any, returned: set[str], target: Operations) -> int:
    """Replaces random operations with key and counter by those with a seed, which older ones have.

    Both scramble the seed in the same way, so the values are equal. A node whose key and counter
    come from elsewhere stays as it is.

    Args:
      nodes: the nodes of a graph or of a function; changed.
      returned: names of nodes whose outputs a function returns.
      target: the operations of the older version.

    Returns:
      The number of replaced nodes.
    """
    if target.definition(_KEY_COUNTER) is not None:
        return 0
    by_name = {node.name: node for node in nodes}
    replaced = 0
    for node in nodes:
        if node.op not in _RANDOM or len(node.input) < 4:
            continue
        seeds, algorithm = (by_name.get(_producer(node.input[at])) for at in (1, 3))
        if seeds is None or seeds.op != _KEY_COUNTER or not seeds.input:
            continue
        if _producer(node.input[2]) != seeds.name:
            continue
        if _constant(algorithm) not in _PHILOX:
            continue
        # After the inputs of data come those of control.
        inputs = [node.input[0], seeds.input[0], *node.input[4:], *seeds.input[1:]]
        del node.input[:]
        node.input.extend(dict.fromkeys(inputs))
        node.op = _RANDOM[node.op]
        if "Tshape" in node.attr:
            node.attr["T"].CopyFrom(node.attr["Tshape"])
            del node.attr["Tshape"]
        if "Tseed" in seeds.attr:
            node.attr["Tseed"].CopyFrom(seeds.attr["Tseed"])
        replaced += 1
    used = {_producer(name) for node in nodes for name in node.input} | returned
    _delete(nodes, [n.name for n in nodes if n.op == _KEY_COUNTER and n.name not in used])
    return replaced


def _constant(node: Optional[Any]) -> Optional[list[Any]]:
    """Returns the values of a constant as a list, or None."""
    if node is None or node.op != "Const":
        return None
    from tensorflow import make_ndarray

    try:
        values: list[Any] = make_ndarray(node.attr["value"].tensor).ravel().tolist()
    except (TypeError, ValueError):
        # The constant is damaged.
        return None
    return values


def replace_parsing(nodes: Any, function: Optional[Any], target: Operations) -> int:
    """Replaces the parsing of Examples with keys in a vector by that with a constant for each key.

    Only where the serialized Examples are a vector, and no ragged feature is read: the older
    operation does nothing else.

    Args:
      nodes: the nodes of a graph or of a function; changed.
      function: the FunctionDef, or None for a graph.
      target: the operations of the older version.

    Returns:
      The number of replaced nodes.
    """
    if target.definition("ParseExampleV2") is not None:
        return 0
    by_name = {node.name: node for node in nodes}
    replaced = 0
    for node in [node for node in nodes if node.op == "ParseExampleV2" and len(node.input) > 4]:
        sparse, dense, ragged = (
            _constant(by_name.get(_producer(name))) for name in node.input[2:5]
        )
        if sparse is None or dense is None or ragged != []:
            continue
        if not _is_vector(by_name.get(_producer(node.input[0]))):
            continue
        inputs = [*node.input[:2]]
        for kind, group in (("sparse", sparse), ("dense", dense)):
            for number, key in enumerate(group):
                constant = nodes.add(name=f"{node.name}/{kind}_key_{number}", op="Const")
                constant.device = node.device
                constant.attr["dtype"].type = _STRING
                constant.attr["value"].tensor.dtype = _STRING
                constant.attr["value"].tensor.tensor_shape.SetInParent()
                constant.attr["value"].tensor.string_val.append(key)
                inputs.append(f"{constant.name}:output:0" if function else constant.name)
        inputs += node.input[5:]
        del node.input[:]
        node.input.extend(inputs)
        node.op = "ParseExample"
        node.attr["Nsparse"].i, node.attr["Ndense"].i = len(sparse), len(dense)
        for name in ("num_sparse", "ragged_value_types", "ragged_split_types"):
            if name in node.attr:
                del node.attr[name]
        replaced += 1
    return replaced


def _is_vector(node: Optional[Any]) -> bool:
    """Returns whether a node is a placeholder for a vector."""
    if node is None or node.op not in ("Placeholder", "PlaceholderWithDefault"):
        return False
    shape = node.attr["shape"].shape
    return not shape.unknown_rank and len(shape.dim) == 1
