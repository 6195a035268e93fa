"""Sketches of columns: counts by bin, whose size does not depend on the number of rows.

Sketches of two batches can be merged, so a late file only adds to the periods of its rows. A sketch
contains no values of private columns or of columns whose values are hashed.
"""

import math
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple, Optional

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from trainer.inputs.floats import to_floats
from trainer.inputs.hashing import hash_strings
from trainer.inputs.multivalent import split_column
from trainer.inputs.streaming_statistics import fill_bins
from trainer.schema import Bins, Schema, Statistics

# Maximum number of categories that are counted, and of unknown values that are kept as examples.
MAX_COUNTED, MAX_EXAMPLES = 200, 5
HASH_BINS = 20
# Bins of probabilities. They are narrower at both ends, where most scores of rare events are.
PROBABILITIES = (0.001, 0.01, 0.02, 0.05, *(n / 10 for n in range(1, 10)), 0.95, 0.98, 0.99, 0.999)

_LARGEST = float(np.finfo(np.float32).max)

Kind = Literal["number", "category", "hash", "none"]


class Sketch(NamedTuple):
    """Counts of one column over some rows.

    Attributes:
        rows: number of rows.
        missing: rows without a value.
        unreadable: values of another type than the schema's; they count as missing too.
        present: number of values.
        mean: mean of the numbers.
        squares: sum of squared differences of numbers from their mean.
        low: smallest number; None if there are no numbers.
        high: largest number; None if there are no numbers.
        bins: number of values in each bin of numbers or hashes.
        counts: category → number of values.
        unknown: number of values that are not a known category.
        examples: some of the unknown values.
        outside: numbers outside the range of the training data.
    """

    rows: int = 0
    missing: int = 0
    unreadable: int = 0
    present: int = 0
    mean: float = 0.0
    squares: float = 0.0
    low: Optional[float] = None
    high: Optional[float] = None
    bins: Sequence[int] = ()
    counts: dict[str, int] = {}
    unknown: int = 0
    examples: Sequence[str] = ()
    outside: int = 0

    @property
    def std(self) -> float:
        """Standard deviation of the numbers."""
        return math.sqrt(self.squares / self.present) if self.present else 0.0

    def __add__(self, other: Any) -> "Sketch":
        """Returns the sketch of both rows."""
        first, second = self, other
        total = first.present + second.present
        delta = second.mean - first.mean
        weight = second.present / total if total else 0.0
        counts = dict(first.counts)
        for name, rows in second.counts.items():
            counts[name] = counts.get(name, 0) + rows
        lows = [one for one in (first.low, second.low) if one is not None]
        highs = [one for one in (first.high, second.high) if one is not None]
        bins = [a + b for a, b in zip(first.bins, second.bins)]
        return Sketch(
            first.rows + second.rows,
            first.missing + second.missing,
            first.unreadable + second.unreadable,
            total,
            first.mean + delta * weight,
            first.squares + second.squares + delta**2 * first.present * weight,
            min(lows, default=None),
            max(highs, default=None),
            bins or first.bins or second.bins,
            counts,
            first.unknown + second.unknown,
            list(dict.fromkeys([*first.examples, *second.examples]))[:MAX_EXAMPLES],
            first.outside + second.outside,
        )


class Plan(NamedTuple):
    """How a column is sketched.

    Attributes:
        kind: number, category or hash; none: only missing values are counted.
        edges: bounds of the bins of numbers, ascending.
        known: categories that the model knows.
        closed: whether any other category is unknown to the model.
        low: smallest number of the training data; None: not known.
        high: largest number of the training data; None: not known.
        separator: separator of multivalent values.
    """

    kind: Kind
    edges: Sequence[float] = ()
    known: Sequence[str] = ()
    closed: bool = False
    low: Optional[float] = None
    high: Optional[float] = None
    separator: Optional[str] = None


def plan_columns(schema: Schema, statistics: Statistics, names: Sequence[str]) -> dict[str, Plan]:
    """Returns how each column is sketched.

    Args:
        schema: types and vocabularies; which columns are private.
        statistics: statistics of the training data.
        names: the columns.
    """
    return {name: _plan_column(schema, statistics, name) for name in names}


def _plan_column(schema: Schema, statistics: Statistics, name: str) -> Plan:
    column = schema.columns[name]
    is_special = column.text or column.image or column.date or column.is_multivalent_numeric
    if schema.hides(name) or is_special or name == schema.key:
        return Plan("none")
    trained = statistics.categories.get(name)
    classes = next((label.classes for label in schema.labels if label.column == name), ())
    known = [str(one) for one in (column.vocabulary or classes or ())]
    if column.identities is not None and trained is not None:
        known = known or list(trained.counts)
    if known:
        closed = column.identities is None
        return Plan("category", known=known, closed=closed, separator=column.separator)
    if column.raw_type == "string" or column.is_categorical:
        return Plan("hash", separator=column.separator)
    numbers = statistics.columns.get(name)
    if numbers is None or numbers.bins is None:
        return Plan("none")
    return Plan("number", numbers.bins.edges, low=numbers.min, high=numbers.max)


def plan_scores(schema: Schema, statistics: Statistics) -> Plan:
    """Returns how the scores of a model are sketched.

    Args:
        schema: its task.
        statistics: statistics of the training data; bins of the label.
    """
    if schema.task == "multiclass":
        return Plan("category", known=[str(one) for one in schema.label.classes], closed=True)
    if schema.task == "regression":
        label = statistics.columns.get(schema.label.column)
        if label is None or label.bins is None:
            return Plan("none")
        return Plan("number", label.bins.edges)
    return Plan("number", PROBABILITIES)


def sketch(values: pa.Array, plan: Plan, unreadable: int = 0) -> Sketch:
    """Returns the sketch of a column.

    Args:
        values: in one of ARROW_TYPES or float64, [rows]; null for a missing value.
        plan: how the column is sketched.
        unreadable: number of values that became null because of their type.
    """
    found = Sketch(len(values), values.null_count, unreadable)
    if plan.separator is not None:
        values = split_column(values, plan.separator)
    values = values.drop_null()
    found = found._replace(present=len(values))
    if plan.kind == "number":
        return _add_numbers(found, values, plan)
    if plan.kind == "category":
        return _add_categories(found, values, plan)
    if plan.kind == "hash":
        return found._replace(bins=_hash(values))
    return found


def _add_numbers(found: Sketch, values: pa.Array, plan: Plan) -> Sketch:
    numbers = to_floats(values)
    known = numbers[~np.isnan(numbers)]
    found = found._replace(missing=found.missing + len(numbers) - len(known))
    # What is infinite, or was too large for float32, is outside of training.
    numbers = np.clip(known, -_LARGEST, _LARGEST)
    bins = Bins(edges=tuple(plan.edges), shares=(0.0,) * (len(plan.edges) + 1))
    counts = [int(one) for one in fill_bins(bins, numbers)]
    if not len(numbers):
        return found._replace(present=0, bins=counts)
    mean, outside = float(numbers.mean()), 0
    if plan.low is not None and plan.high is not None:
        # The data were float32 in training.
        slack = 1e-6 * max(abs(plan.low), abs(plan.high))
        outside = int(((numbers < plan.low - slack) | (numbers > plan.high + slack)).sum())
    return found._replace(
        present=len(numbers),
        mean=mean,
        squares=float(((numbers - mean) ** 2).sum()),
        low=float(numbers.min()),
        high=float(numbers.max()),
        bins=counts,
        outside=outside,
    )


def _add_categories(found: Sketch, values: pa.Array, plan: Plan) -> Sketch:
    if pa.types.is_dictionary(values.type):
        values = values.dictionary_decode()
    pairs = pc.value_counts(values)
    seen = {
        str(value): int(rows)
        for value, rows in zip(*(pairs.field(place).to_pylist() for place in (0, 1)))
    }
    known = set(plan.known)
    others = {value: rows for value, rows in seen.items() if value not in known}
    counted = set(list(plan.known)[:MAX_COUNTED])
    return found._replace(
        counts={value: rows for value, rows in seen.items() if value in counted},
        unknown=sum(others.values()) if plan.closed else 0,
        examples=sorted(others)[:MAX_EXAMPLES] if plan.closed else [],
    )


def _hash(values: pa.Array) -> list[int]:
    """Counts values by the bin of their hash, which shows changes without storing values."""
    if pa.types.is_dictionary(values.type):
        values = values.dictionary_decode()
    if pa.types.is_string(values.type):
        values = values.cast(pa.binary())
    places = (hash_strings(values) % np.uint64(HASH_BINS)).astype(np.int64)
    return [int(one) for one in np.bincount(places, minlength=HASH_BINS)]
