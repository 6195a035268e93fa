"""Statistics of the training data, of a size that does not depend on the number of rows."""

import math
from typing import Any, NamedTuple, Optional

import pydantic

from trainer.errors import UserError
from trainer.schema.columns import Node
from trainer.schema.types import Schema

# The most frequent categories of a column are stored, up to this many.
MAX_CATEGORIES = 1000


class Bins(Node):
    """A histogram.

    Bin i contains the values x with edges[i-1] <= x < edges[i]. The first bin has no lower bound,
    and the last bin has no upper bound.

    Attributes:
        edges: the bounds, ascending.
        shares: share of the rows in each bin; there is one more bin than edges.
    """

    edges: tuple[float, ...]
    shares: tuple[float, ...]


class Range(Node):
    """Statistics of a numeric column over the training data, without missing values.

    Attributes:
        count: number of values.
        missing: number of rows without a value.
        mean: mean of the values.
        std: standard deviation of the values.
        min: the smallest value; None for a private column.
        max: the largest value; None for a private column.
        bins: a histogram; None for a private column and in files of older versions.
    """

    count: int
    missing: int
    mean: float
    std: float
    min: Optional[float]
    max: Optional[float]
    bins: Optional[Bins] = None


class Categories(Node):
    """Counts of a categorical column over the training data.

    Attributes:
        count: number of rows with a value.
        missing: number of rows without a value.
        counts: value as text → number of rows; at most MAX_CATEGORIES, the most frequent first.
        complete: whether counts contains every value, with its exact count.
    """

    count: int
    missing: int
    counts: dict[str, int]
    complete: bool


class Statistics(NamedTuple):
    """Statistics of the training data.

    Attributes:
        num_rows: number of rows.
        columns: name → statistics of a numeric column.
        categories: name → statistics of a categorical column; includes the label of a classifier,
            but not the key.
    """

    num_rows: int
    columns: dict[str, Range]
    categories: dict[str, Categories] = {}


class _Stored(Node):
    num_rows: int
    columns: dict[str, Range]
    categories: dict[str, Categories] = {}


def dump_statistics(statistics: Statistics) -> dict[str, Any]:
    """Returns statistics as values for JSON.

    Args:
        statistics: the statistics.
    """
    columns = statistics.columns.items()
    categories = statistics.categories.items()
    return {
        "num_rows": statistics.num_rows,
        "columns": {name: seen.model_dump(mode="json") for name, seen in columns},
        "categories": {name: seen.model_dump(mode="json") for name, seen in categories},
    }


def hide_private(statistics: Statistics, schema: Schema) -> Statistics:
    """Returns statistics without values of private columns: counts, mean and deviation remain.

    Args:
        statistics: the statistics.
        schema: the columns.
    """
    no_values: dict[str, Any] = {"min": None, "max": None, "bins": None}
    no_counts: dict[str, Any] = {"counts": {}, "complete": False}
    return Statistics(
        statistics.num_rows,
        {
            name: seen.model_copy(update=no_values) if schema.hides(name) else seen
            for name, seen in statistics.columns.items()
        },
        {
            name: seen.model_copy(update=no_counts) if schema.hides(name) else seen
            for name, seen in statistics.categories.items()
        },
    )


def dump_public_statistics(statistics: Statistics, schema: Schema) -> dict[str, Any]:
    """Returns statistics as values for JSON, with only those categories that the model contains.

    Of a column with a vocabulary these are its entries, and of a label its classes. The values of
    other text columns may be private, such as names. Their counts are left out.

    Args:
        statistics: the statistics.
        schema: the columns.
    """
    classes = {label.column: label.classes for label in schema.labels}
    categories = {}
    for name, seen in statistics.categories.items():
        column = schema.columns[name]
        known = {str(value) for value in (*(column.vocabulary or ()), *(classes.get(name) or ()))}
        if column.identities is None:
            kept = {value: rows for value, rows in seen.counts.items() if value in known}
            complete = seen.complete and len(kept) == len(seen.counts)
            seen = seen.model_copy(update={"counts": kept, "complete": complete})
        categories[name] = seen
    return dump_statistics(statistics._replace(categories=categories))


def parse_statistics(stored: dict[str, Any], path: str = "statistics.json") -> Statistics:
    """Converts the result of dump_statistics back to statistics.

    Args:
        stored: values of JSON; those of older versions lack categories.
        path: path of the file, for messages.

    Raises:
        UserError: dump_statistics never returns such values.
    """
    try:
        read = _Stored.model_validate(stored)
    except pydantic.ValidationError as error:
        problem = error.errors(include_url=False)[0]
        field = ".".join(map(str, problem["loc"])) or "content"
        raise UserError(
            f"{path}: {field:.80}: got {problem['input']!r:.60}: {problem['msg']}; "
            "restore the file that the training wrote"
        ) from error
    return Statistics(read.num_rows, read.columns, read.categories)


def resolve_default(name: str, schema: Schema, statistics: Statistics) -> Any:
    """Returns the value that replaces a missing one in the model; None if there is none.

    Args:
        name: the column.
        schema: the columns and their defaults.
        statistics: statistics of the training data, for the default `mean`.
    """
    default = schema.columns[name].default
    if default == "mean":
        return statistics.columns[name].mean if name in statistics.columns else None
    return default


def resolve_defaults(schema: Schema, statistics: Statistics) -> dict[str, Any]:
    """Returns column name → the value that replaces a missing one when rows are read.

    Args:
        schema: the columns and their defaults.
        statistics: statistics of the training data, for the default `mean`.

    Returns:
        A value per column; None if a missing value is an error. It is NaN if the column has a
        missing_indicator: the model itself replaces NaN.
    """
    defaults: dict[str, Any] = {}
    for name, column in schema.columns.items():
        default = (
            math.nan if column.missing_indicator else resolve_default(name, schema, statistics)
        )
        if default is None and column.raw_type == "string" and name not in schema.label_columns:
            # Feature columns treat the empty string as a missing value.
            default = ""
        defaults[name] = default
    return defaults
