"""Compares what two versions of TensorFlow say about an operation, for one node."""

from collections.abc import Iterator
from typing import Any, NamedTuple, Optional

__all__ = ["Comparison", "compare"]

# Attributes that do not change the result of the operation, whatever their value: names for
# messages and profiles, what Python's gradient functions read when they build a graph, which
# operand of a product is a gradient (it matters for 8-bit floating-point numbers only), and whether
# an assignment of another shape is an error.
_WITHOUT_EFFECT = {
    ("VarHandleOp", "debug_name"),
    ("AssignVariableOp", "validate_shape"),
    ("MatMul", "grad_a"),
    ("MatMul", "grad_b"),
    *((f"BatchMatMul{end}", name) for end in ("", "V2", "V3") for name in ("grad_x", "grad_y")),
    *((f"SparseSegment{kind}{end}", "sparse_gradient")
      for kind in ("Sum", "Mean", "SqrtN") for end in ("", "WithNumSegments")),
}  # fmt: skip
# Inputs that older versions take as int32 only: rows of a batch, whose number fits.
_CAST_INPUTS = {"segment_ids"}
# Versions whose operations on segments have no such attribute have no kernel for rows of a table
# as int64 either, though their definitions allow it.
_SEGMENTS, _ROWS, _ROWS_INPUT = "Tsegmentids", "Tidx", 1
_INT32, _INT64 = 3, 9


class Comparison(NamedTuple):
    """What must change so that the older version accepts a node with the same meaning.

    Attributes:
      remove: names of attributes to remove.
      add: attributes to add, whose default value has changed: name → AttrValue.
      cast: inputs, by number, that must be cast from int64 to int32.
      problems: what cannot be expressed in the older version, in words.
    """

    remove: list[str]
    add: dict[str, Any]
    cast: list[int]
    problems: list[str]


def compare(node: Any, new: Optional[Any], old: Any) -> Comparison:
    """Compares a node with the definitions of its operation.

    Args:
      node: a NodeDef.
      new: the OpDef of the version that wrote the node, or None if it is not known.
      old: the OpDef of the older version.

    Returns:
      The changes and the problems.
    """
    result = Comparison([], {}, [], [])
    new_attrs = {attr.name: attr for attr in new.attr} if new else {}
    old_attrs = {attr.name: attr for attr in old.attr}
    for name in sorted(node.attr):
        if name.startswith("_"):
            continue
        if name in old_attrs:
            result.problems.extend(_value_problems(old_attrs[name], node.attr[name]))
        elif _removable(node, name, new_attrs.get(name), old, new):
            result.remove.append(name)
        else:
            result.problems.append(f"attribute {name}={_text(node.attr[name])}")
    _add_changed_defaults(node, new_attrs, old_attrs, result)
    if new is not None:
        _compare_args(node, new, old, result)
        if _SEGMENTS in new_attrs and _SEGMENTS not in old_attrs:
            _cast_rows(node, new, result)
    return result


def _cast_rows(node: Any, new: Any, result: Comparison) -> None:
    """Casts the numbers of rows to int32 if they are int64; they fit, as rows of a tensor."""
    written = _value(node, new, _ROWS)
    if written is not None and written.type == _INT64 and len(node.input) > _ROWS_INPUT:
        result.cast.append(_ROWS_INPUT)
        result.add[_ROWS] = type(written)(type=_INT32)


def _text(value: Any) -> str:
    from google.protobuf import text_format

    text = text_format.MessageToString(value, as_one_line=True)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _same(one: Any, other: Any) -> bool:
    equal: bool = one.SerializeToString(deterministic=True) == other.SerializeToString(
        deterministic=True
    )
    return equal


def _removable(node: Any, name: str, attr: Any, old: Any, new: Any) -> bool:
    """Returns whether an attribute that the older version lacks can be removed."""
    if (node.op, name) in _WITHOUT_EFFECT or (name == "metadata" and "Dataset" in node.op):
        # The metadata of a dataset is its name, for profiles.
        return True
    if (node.op, name) == ("TPUReplicateMetadata", "use_spmd_for_xla_partitioning"):
        # How to divide a model among the cores of a replica; with one core there is nothing to do.
        cores = _value(node, old, "num_cores_per_replica")
        return cores is not None and bool(cores.i == 1)
    if attr is None or new is None:
        return False
    if attr.HasField("default_value") and _same(attr.default_value, node.attr[name]):
        return True
    # The older version has a fixed type there: `_compare_args` compares it.
    return attr.type == "type" and any(
        arg.type_attr == name for arg in (*new.input_arg, *new.output_arg)
    )


def _value_problems(attr: Any, value: Any) -> Iterator[str]:
    """Yields what is wrong with the value of an attribute that the older version has."""
    if value.WhichOneof("value") == "placeholder":
        return
    allowed = attr.allowed_values.list
    types = [value.type] if attr.type == "type" else []
    types = list(value.list.type) if attr.type == "list(type)" else types
    strings = [value.s] if attr.type == "string" else []
    strings = list(value.list.s) if attr.type == "list(string)" else strings
    wrong = (allowed.type and set(types) - set(allowed.type)) or (
        allowed.s and set(strings) - set(allowed.s)
    )
    if attr.has_minimum and attr.type == "int":
        wrong = wrong or value.i < attr.minimum
    if wrong:
        yield f"attribute {attr.name}={_text(value)}"


def _add_changed_defaults(
    node: Any, new: dict[str, Any], old: dict[str, Any], result: Comparison
) -> None:
    """Writes down a default that the node relies on and the older version does not have."""
    for name, attr in old.items():
        if name in node.attr:
            continue
        there = new.get(name)
        written = there.default_value if there and there.HasField("default_value") else None
        if attr.HasField("default_value") and (
            written is None or _same(attr.default_value, written)
        ):
            continue
        if written is None:
            result.problems.append(f"no attribute {name}")
            continue
        result.add[name] = written
        result.problems.extend(_value_problems(attr, written))


def _compare_args(node: Any, new: Any, old: Any, result: Comparison) -> None:
    """Compares the inputs and the outputs of the two definitions."""
    for side, is_input in (("input", True), ("output", False)):
        new_args, old_args = getattr(new, f"{side}_arg"), getattr(old, f"{side}_arg")
        if len(new_args) != len(old_args):
            result.problems.append(f"{len(new_args)} {side}s instead of {len(old_args)}")
            continue
        for number, (there, here) in enumerate(zip(new_args, old_args)):
            actual = _type(node, new, there)
            if not _same_number(node, new, there, here):
                result.problems.append(f"another number of {side} {there.name}")
            elif here.type and actual != here.type:
                castable = is_input and there.name in _CAST_INPUTS and number < len(node.input)
                if castable and actual == _INT64:
                    result.cast.append(number)
                else:
                    result.problems.append(f"the type of {side} {there.name}")
            elif not here.type and here.type_attr != there.type_attr:
                result.problems.append(f"the type of {side} {there.name}")


def _value(node: Any, definition: Any, name: str) -> Any:
    """Returns the value of an attribute of a node, or its default, or None."""
    if name in node.attr:
        return node.attr[name]
    return next((attr.default_value for attr in definition.attr if attr.name == name), None)


def _type(node: Any, definition: Any, arg: Any) -> int:
    """Returns the number of the type of an input or output; 0 if it is not known."""
    value = _value(node, definition, arg.type_attr) if arg.type_attr else None
    return int(value.type if value is not None else arg.type)


def _same_number(node: Any, new: Any, there: Any, here: Any) -> bool:
    """Returns whether an input or output is the same number of tensors in both definitions."""
    if there.type_list_attr != here.type_list_attr:
        return False
    if there.number_attr and not here.number_attr:
        value = _value(node, new, there.number_attr)
        return value is not None and value.i == 1
    return bool(there.number_attr == here.number_attr)
