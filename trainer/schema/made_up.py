"""Makes up a row of data, so that nothing that is printed or stored contains a real one."""

from typing import Any

from trainer.schema.statistics import Statistics
from trainer.schema.types import Schema

# A PNG of one pixel, base64.
PIXEL = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5E"
    "rkJggg=="
)


def make_up_value(name: str, schema: Schema, statistics: Statistics) -> Any:
    """Returns a plausible value of a column: int, float or str, as an export expects it.

    It is an entry of the vocabulary, the mean of a number (0 if it is private), or the word
    "example".

    Args:
        name: name of the column.
        schema: describes it.
        statistics: statistics of the training data.
    """
    column = schema.columns[name]
    value: Any = "example"
    if column.vocabulary:
        value = column.vocabulary[0]
    elif column.image is not None:
        value = PIXEL
    elif column.date:
        value = "2020-01-01"
    elif column.identities is not None:
        value = 0
    elif column.private and column.type != "string":
        value = 0 if column.type == "int" else 0.0
    elif column.type != "string":
        mean = statistics.columns[name].mean if name in statistics.columns else 0.0
        value = round(mean) if column.type == "int" else float(f"{mean:.4g}")
    return str(value) if column.raw_type == "string" else value
