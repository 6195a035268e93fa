"""The types of a graph's operations, and what their arguments need."""

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Optional

import tensorflow as tf

from ..private_tf import attr_value_pb2, op_def_library, op_def_registry, ops

__all__ = ["Arguments", "Kind", "describe", "read"]

# Added to the number of a type, this gives that of a reference to a variable.
_REFERENCE = 100
_INT32 = tf.int32.as_datatype_enum
_FLOATS = frozenset(
    each.as_datatype_enum for each in (tf.float16, tf.bfloat16, tf.float32, tf.float64)
)
# Number of a type → the Python types whose values become a constant of it without an error.
_TAKEN_BY = {
    **dict.fromkeys(_FLOATS, (float, int)),
    _INT32: (int,),
    tf.int64.as_datatype_enum: (int,),
    tf.bool.as_datatype_enum: (bool,),
}
# Integers up to this size, and their negatives, fit each of these types.
_LARGEST_INT = 1 << 10
# Longest list of numbers that becomes a constant here.
_MOST_NUMBERS = 8
# How many messages of integer attributes are kept.
_KEPT_MESSAGES = 10_000


class _Input(NamedTuple):
    """An input of a type of operations.

    Attributes:
      name: of the argument.
      number: name of the attribute that counts the tensors of a list; "" for one tensor.
      fewest: least length of a list.
      dtype: number of its type; 0 if an attribute has it.
      attribute: name of the attribute that has its type; "" for a fixed type.
      allowed: numbers of the types that the attribute allows; None for all.
      is_int32: whether integers have the type int32 if nothing else determines it.
    """

    name: str
    number: str
    fewest: int
    dtype: int
    attribute: str
    allowed: Optional[frozenset[int]]
    is_int32: bool


class _Attribute(NamedTuple):
    """An attribute that does not follow from the inputs.

    Attributes:
      name: of the argument.
      read: returns the message of a value, None for a value that TensorFlow must check.
      default: the message for None; None if None is not allowed.
    """

    name: str
    read: Callable[[Any], Any]
    default: Any


class Kind(NamedTuple):
    """A type of operations.

    Attributes:
      definition: an OpDef.
      inputs: its inputs.
      attributes: those that do not follow from the inputs.
      num_arguments: how many arguments an operation has.
      outputs: None for each output.
    """

    definition: Any
    inputs: Sequence[_Input]
    attributes: Sequence[_Attribute]
    num_arguments: int
    outputs: Sequence[None]


class Arguments(NamedTuple):
    """The arguments of an operation.

    Attributes:
      groups: the inputs; a list for an input that is a list.
      attributes: name → AttrValue.
      numbers: (name, number of its type) of each input that is not a tensor yet, by its place;
        without a number if the value tells the type.
    """

    groups: list[Any]
    attributes: dict[str, Any]
    numbers: dict[int, tuple[str, Optional[int]]]


def read(kind: Kind, graph: Any, keywords: Mapping[str, Any]) -> Optional[Arguments]:
    """Returns the arguments of an operation; None if TensorFlow must check or convert one.

    Args:
      kind: of the operation.
      graph: that of all tensors.
      keywords: name → value, as many as the operation has.
    """
    arguments = Arguments([], {}, {})
    # Name of an attribute → number of the type, or length of the list, that the inputs tell.
    told: dict[str, int] = {}
    for one in kind.inputs:
        value = keywords.get(one.name)
        if not (_read_list if one.number else _read_one)(one, value, graph, told, arguments):
            return None
        if one.attribute:
            number = told[one.attribute]
            if one.allowed is not None and number not in one.allowed:
                return None
            arguments.attributes[one.attribute] = _make_type(number)
    for attribute in kind.attributes:
        # The attribute itself stands for an argument that is missing; nothing reads it.
        value = keywords.get(attribute.name, attribute)
        message = attribute.default if value is None else attribute.read(value)
        if message is None:
            return None
        arguments.attributes[attribute.name] = message
    return arguments


def _read_one(
    one: _Input, value: Any, graph: Any, told: dict[str, int], arguments: Arguments
) -> bool:
    """Adds an input that is not a list to the arguments; returns whether that is possible."""
    if type(value) is ops.SymbolicTensor:
        number = value.dtype.as_datatype_enum % _REFERENCE
        expected = one.dtype or told.setdefault(one.attribute, number)
        if value.graph is not graph or number != expected:
            return False
    else:
        expected = one.dtype or told.get(one.attribute, _INT32 if one.is_int32 else 0)
        if not _becomes_constant(value, expected):
            return False
        # As TensorFlow does, which looks for a type that the attribute allows.
        is_known = one.dtype or one.attribute in told
        arguments.numbers[len(arguments.groups)] = one.name, expected if is_known else None
        if one.attribute:
            told[one.attribute] = expected
    arguments.groups.append(value)
    return True


def _read_list(
    one: _Input, values: Any, graph: Any, told: dict[str, int], arguments: Arguments
) -> bool:
    """Adds an input that is a list of tensors to the arguments; returns whether it is possible."""
    if type(values) is not list or len(values) < one.fewest:
        return False
    for value in values:
        if type(value) is not ops.SymbolicTensor or value.graph is not graph:
            return False
        number = value.dtype.as_datatype_enum % _REFERENCE
        if number != (one.dtype or told.setdefault(one.attribute, number)):
            return False
    if told.setdefault(one.number, len(values)) != len(values):
        return False
    arguments.attributes[one.number] = _make_int(len(values))
    arguments.groups.append(list(values))
    return True


def _becomes_constant(value: Any, dtype: int) -> bool:
    """Returns whether a few numbers become a constant of a type without an error."""
    kinds = _TAKEN_BY.get(dtype, ())
    if type(value) in (list, tuple):
        values = value
        if not 0 < len(values) <= _MOST_NUMBERS or len({type(each) for each in values}) != 1:
            return False
    else:
        values = [value]
    return type(values[0]) in kinds and all(
        type(each) is not int or abs(each) <= _LARGEST_INT for each in values
    )


@functools.lru_cache(None)
def describe(name: str) -> Optional[Kind]:
    """Returns a type of operations; None if its operations take TensorFlow's own way.

    Args:
      name: of the type.
    """
    definition = op_def_registry.get(name)
    if definition is None or definition.deprecation.version:
        return None
    if any(each.type_list_attr or each.number_attr for each in definition.output_arg):
        return None
    known = {each.name: each for each in definition.attr}
    inferred = set()
    inputs = []
    for each in definition.input_arg:
        if each.type_list_attr or each.is_ref:
            return None
        inputs.append(_describe_input(each, known))
        inferred |= {each.type_attr, each.number_attr}
    attributes = []
    for each in definition.attr:
        if each.name not in inferred:
            default = each.default_value if each.HasField("default_value") else None
            attributes.append(_Attribute(each.name, _make_reader(each), default))
    number = len(inputs) + len(attributes)
    return Kind(definition, inputs, attributes, number, [None] * len(definition.output_arg))


def _describe_input(argument: Any, known: Mapping[str, Any]) -> _Input:
    """Returns an input.

    Args:
      argument: an OpDef.ArgDef.
      known: name → OpDef.AttrDef of the type of operations.
    """
    allowed, is_int32 = None, False
    if argument.type_attr:
        attribute = known[argument.type_attr]
        allowed = _list_allowed(attribute)
        # Integers become int32, unless a default prefers another type.
        default = attribute.default_value.type if attribute.HasField("default_value") else _INT32
        is_int32 = _INT32 in allowed if allowed is not None else default == _INT32
    fewest = max(1, known[argument.number_attr].minimum) if argument.number_attr else 1
    return _Input(
        argument.name,
        argument.number_attr,
        fewest,
        argument.type,
        argument.type_attr,
        allowed,
        is_int32,
    )


def _list_allowed(attribute: Any) -> Optional[frozenset[int]]:
    """Returns the numbers of the types that an attribute allows; None for all."""
    if not attribute.HasField("allowed_values"):
        return None
    return frozenset(attribute.allowed_values.list.type)


def _make_reader(attribute: Any) -> Callable[[Any], Any]:
    """Returns the function that makes the message of an attribute's value.

    Args:
      attribute: an OpDef.AttrDef.
    """
    if attribute.type == "type":
        allowed = _list_allowed(attribute)

        def read_type(value: Any) -> Any:
            number = value.as_datatype_enum if type(value) is tf.DType else value
            if type(number) is not int or not 0 < number < _REFERENCE:
                return None
            return _make_type(number) if allowed is None or number in allowed else None

        return read_type
    if attribute.type == "int":
        lowest = attribute.minimum if attribute.has_minimum else None

        def read_int(value: Any) -> Any:
            is_valid = type(value) is int and (lowest is None or value >= lowest)
            return _make_int(value) if is_valid else None

        return read_int
    if attribute.type == "bool":
        return _read_bool
    is_free = not attribute.has_minimum and not attribute.HasField("allowed_values")
    if attribute.type == "string" and is_free:
        return _read_text
    kind, name = attribute.type, attribute.name

    def read_other(value: Any) -> Any:
        try:
            return op_def_library.value_to_attr_value(value, kind, name) if is_free else None
        except (TypeError, ValueError):
            return None

    return read_other


@functools.lru_cache(None)
def _make_type(number: int) -> Any:
    return attr_value_pb2.AttrValue(type=number)


@functools.lru_cache(_KEPT_MESSAGES)
def _make_int(value: int) -> Any:
    return attr_value_pb2.AttrValue(i=value) if abs(value) < 1 << 63 else None


def _read_bool(value: Any) -> Any:
    return _make_bool(value) if type(value) is bool else None


@functools.lru_cache(None)
def _make_bool(value: bool) -> Any:
    return attr_value_pb2.AttrValue(b=value)


def _read_text(value: Any) -> Any:
    if type(value) is str:
        value = value.encode()
    return attr_value_pb2.AttrValue(s=value) if type(value) is bytes else None
