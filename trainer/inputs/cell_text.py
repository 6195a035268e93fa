"""How messages show a value of the data, or what they show instead."""

import re
from typing import Any, Optional

from trainer.errors import redacts_data
from trainer.schema import Schema

# What replaces a message about data that may quote values.
HIDDEN_DETAIL = "the details are hidden, because they may contain values of the data"


def hides(schema: Optional[Schema], name: str = "") -> bool:
    """Returns whether messages must not contain the values of a column.

    Args:
        schema: its private columns are always hidden; None if there is none.
        name: of the column; "" for whole rows.
    """
    return redacts_data() or (schema is not None and schema.hides(name))


def quote_cell(value: Any, schema: Optional[Schema], name: str) -> str:
    """Returns a value quoted for messages, or its type in angle brackets if it is hidden.

    Args:
        value: a number, text, bytes or None; at most 80 characters of a text are shown.
        schema: of the data; None if it is not known.
        name: column of the value; "" if the value is a whole row.
    """
    if hides(schema, name):
        return f"<{_name_type(value)}>"
    if isinstance(value, bytes):
        value = value.decode(errors="backslashreplace")
    return str(value) if isinstance(value, float) else repr(value)[:80]


def describe_width(message: str, schema: Optional[Schema]) -> str:
    """Returns which row has too many or too few fields, if an error message of Arrow says so.

    Args:
        message: of the error.
        schema: columns whose values may be hidden; None: there is none.

    Returns:
        A clause; "" for another error.
    """
    found = re.match(
        r"CSV parse error: Row #(\d+): Expected (\d+) columns, got (\d+): (.*)", message, re.S
    )
    if not found:
        return ""
    row, expected, got, text = found.groups()
    return (
        f"row {row} has {got} fields instead of {expected}: {quote_cell(text.strip(), schema, '')}"
    )


def _name_type(value: Any) -> str:
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, (str, bytes)):
        return "text"
    if isinstance(value, (int, float)):
        return "number"
    return {list: "list", dict: "object", type(None): "nothing"}.get(type(value), "value")
