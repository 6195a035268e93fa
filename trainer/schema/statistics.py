"""What the training data say of themselves, in a size that does not grow with them."""

from typing import Any, NamedTuple, Optional

from trainer.schema.columns import Node
from trainer.schema.types import Schema

# Categories of a column that are kept with their counts; the rest are counted together.
MAX_CATEGORIES = 1000


class Bins(Node):
    """A histogram: share of the rows in each bin.

    Bin i holds edges[i-1] <= x < edges[i]; the first is open below, the last above.
    """

    edges: tuple[float, ...]
    shares: tuple[float, ...]


class Range(Node):
    """Statistics of a numeric column over the training data, missing values left out."""

    count: int
    missing: int
    mean: float
    std: float
    min: float
    max: float
    bins: Optional[Bins] = None


class Categories(Node):
    """Counts of a categorical column over the training data.

    Attributes:
        count: rows with a value.
        missing: rows without.
        counts: value (as text) → rows, the most frequent first, at most MAX_CATEGORIES.
        complete: whether counts holds every value there was, with its exact count.
    """

    count: int
    missing: int
    counts: dict[str, int]
    complete: bool


class Statistics(NamedTuple):
    """What the training data say of themselves.

    Attributes:
        num_rows: rows read.
        columns: name → Range of each numeric column.
        categories: name → Categories of each categorical column, the label of a classifier
            included and the key left out.
    """

    num_rows: int
    columns: dict[str, Range]
    categories: dict[str, Categories] = {}


def dump_statistics(statistics: Statistics) -> dict[str, Any]:
    """Statistics as JSON holds them."""
    parts = {"columns": statistics.columns, "categories": statistics.categories}
    dumped = {
        part: {name: seen.model_dump(mode="json") for name, seen in columns.items()}
        for part, columns in parts.items()
    }
    return {"num_rows": statistics.num_rows, **dumped}


def parse_statistics(stored: dict[str, Any]) -> Statistics:
    """The reverse of dump_statistics; a file written before there were categories has none."""
    return Statistics(
        stored["num_rows"],
        {name: Range(**values) for name, values in stored["columns"].items()},
        {name: Categories(**values) for name, values in stored.get("categories", {}).items()},
    )


def resolve_defaults(schema: Schema, statistics: Statistics) -> dict[str, Any]:
    """Column name → the value that stands for a missing one; None: a missing one is an error."""
    defaults: dict[str, Any] = {}
    for name, column in schema.columns.items():
        default = column.default
        if default == "mean":
            default = statistics.columns[name].mean if name in statistics.columns else None
        if default is None and column.raw_type == "string" and name not in schema.label_columns:
            # The feature columns take the empty string as no value.
            default = ""
        defaults[name] = default
    return defaults
