"""Arguments of `google.protobuf.json_format` and `text_format` that protobuf 5 to 7 removed."""

import functools
import inspect
from collections.abc import Callable
from typing import Any, Optional

__all__ = ["install_json", "install_text"]

# The order of the arguments behind the message, which programs may use.
_OF_DICT = (
    "including_default_value_fields",
    "preserving_proto_field_name",
    "use_integers_for_enums",
    "descriptor_pool",
    "float_precision",
)
_OF_JSON = (*_OF_DICT[:2], "indent", "sort_keys", *_OF_DICT[2:], "ensure_ascii")
_PRINTING = ("MessageToString", "PrintMessage", "PrintField", "PrintFieldValue")


def install_json() -> None:
    """Restores the arguments of MessageToDict and MessageToJson."""
    from google.protobuf import json_format

    for name, order in (("MessageToDict", _OF_DICT), ("MessageToJson", _OF_JSON)):
        function = getattr(json_format, name)
        if order[0] not in inspect.signature(function).parameters:
            setattr(json_format, name, _convert(function, order))


def install_text() -> None:
    """Makes texts escape what is not ASCII by default, as until protobuf 5."""
    from google.protobuf import text_format

    for name in _PRINTING:
        function = getattr(text_format, name)
        parameters = inspect.signature(function).parameters
        if parameters["as_utf8"].default:
            place = list(parameters).index("as_utf8")
            setattr(text_format, name, _escape(function, place))


def _escape(original: Callable[..., Any], place: int) -> Callable[..., Any]:
    @functools.wraps(original)
    def write(*args: Any, **kwargs: Any) -> Any:
        if len(args) <= place:
            kwargs.setdefault("as_utf8", False)
        return original(*args, **kwargs)

    return write


def _convert(original: Callable[..., Any], order: tuple[str, ...]) -> Callable[..., Any]:
    has_precision = "float_precision" in inspect.signature(original).parameters

    @functools.wraps(original)
    def convert(message: Any, *args: Any, **kwargs: Any) -> Any:
        if len(args) > len(order):
            raise TypeError(f"{original.__name__} takes at most {len(order) + 1} arguments")
        kwargs.update(zip(order, args))
        with_defaults = kwargs.pop(order[0], False)
        precision = None if has_precision else kwargs.pop("float_precision", None)
        if with_defaults:
            kwargs["always_print_fields_with_no_presence"] = True
        if with_defaults or precision:
            copy = type(message)()
            copy.CopyFrom(message)
            _prepare(copy, with_defaults, precision)
            message = copy
        return original(message, **kwargs)

    return convert


def _prepare(message: Any, with_defaults: bool, precision: Optional[int]) -> None:
    """Changes a message such that today's conversion gives the result of the old one.

    Args:
      message: the message.
      with_defaults: whether to set the optional fields of proto2 that have no value, which
        today's argument leaves out.
      precision: digits of numbers of type float; None for all of them.
    """
    for field, value in message.ListFields():
        if field.message_type is not None:
            for part in _list_messages(value):
                _prepare(part, with_defaults, precision)
        elif precision and field.cpp_type == field.CPPTYPE_FLOAT and not field.is_extension:
            if isinstance(value, float):
                setattr(message, field.name, _round(value, precision))
            else:
                value[:] = [_round(one, precision) for one in value]
    if with_defaults:
        for field in message.DESCRIPTOR.fields:
            if field.has_presence and not field.message_type and not field.containing_oneof:
                # Reading gives the default.
                setattr(message, field.name, getattr(message, field.name))


def _list_messages(value: Any) -> list[Any]:
    """Returns the messages of a field: one, several, or those of a map."""
    if hasattr(value, "ListFields"):
        return [value]
    values = value.values() if hasattr(value, "values") else value
    return [one for one in values if hasattr(one, "ListFields")]


def _round(value: float, digits: int) -> float:
    return float(f"{value:.{digits}g}")
