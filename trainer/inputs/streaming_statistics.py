"""Computes statistics of a stream of Arrow columns in bounded memory.

Each has `add` for the next values and `merge` for the statistics of other values. What is exact is
the same whatever the order of the values and however they are divided.
"""

from typing import Any, Optional

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from trainer.inputs.exact_sums import divide, find_deviation, sum_exactly, sum_squares_exactly
from trainer.inputs.hashing import hash_strings
from trainer.schema import Bins, Categories, Range
from trainer.schema.statistics import MAX_CATEGORIES

# Maximum number of distinct values to count in a column; of more, the most frequent are kept.
MAX_COUNTED = 20_000
# Number of counts to collect before merging them. Each merge groups all counts, so merges should be
# rare.
MERGE_SIZE = 100_000
# Smallest share of the values in a bin of a histogram; the bins are deciles, unless values repeat.
BIN_SHARE = 0.1
# Number of hashes that a distinct count keeps; its standard error is 1/sqrt(this), 1.6 %.
MIN_HASHES = 4096


class RunningMoments:
    """Moments of one numeric column; mean and deviation are those of exact sums, rounded once.

    Attributes:
        count: number of values.
        missing: number of rows without a value.
        low: smallest value.
        high: largest value.
    """

    def __init__(self) -> None:
        self.count, self.missing = 0, 0
        self.low, self.high = np.inf, -np.inf
        self._total = self._squares = 0
        self._is_finite = True

    def add(self, column: pa.Array) -> None:
        """Adds values.

        Args:
            column: numbers [rows]; null for a missing value.
        """
        self.missing += column.null_count
        values = column.drop_null().to_numpy(zero_copy_only=False)
        if not len(values):
            return
        # Of 0.0 and -0.0, the minimum would be the one that came first.
        low, high = float(values.min()) + 0.0, float(values.max()) + 0.0
        self.count += len(values)
        self.low, self.high = min(self.low, low), max(self.high, high)
        if np.isfinite(low) and np.isfinite(high):
            self._total += sum_exactly(values)
            self._squares += sum_squares_exactly(values)
        else:
            self._is_finite = False

    def merge(self, other: "RunningMoments") -> None:
        """Adds the values of other moments.

        Args:
            other: of other rows.
        """
        self.count += other.count
        self.missing += other.missing
        self.low, self.high = min(self.low, other.low), max(self.high, other.high)
        self._total += other._total
        self._squares += other._squares
        self._is_finite = self._is_finite and other._is_finite

    @property
    def mean(self) -> float:
        """Mean of the values; 0 without values, NaN if one is not finite."""
        if not self._is_finite:
            return float("nan")
        return divide(self._total, self.count) if self.count else 0.0

    @property
    def std(self) -> float:
        """Standard deviation of the values; 0 without values, NaN if one is not finite."""
        if not self._is_finite:
            return float("nan")
        return find_deviation(self._total, self._squares, self.count) if self.count else 0.0

    def to_range(self, bins: Optional[Bins] = None) -> Range:
        """Returns the statistics of the added values.

        Args:
            bins: histogram of the column; None if there is none.
        """
        return Range(
            count=self.count,
            missing=self.missing,
            mean=self.mean,
            std=self.std,
            min=float(self.low) if self.count else 0.0,
            max=float(self.high) if self.count else 0.0,
            bins=bins,
        )


class ValueCounts:
    """Counts of the values of one column, exact up to MAX_COUNTED distinct values.

    If there are more, the rarest values are dropped, as in Misra and Gries, "Finding repeated
    elements" (1982). Frequent values are kept, but their counts may be too low.

    Attributes:
        count: number of rows with a value.
        missing: number of rows without a value.
    """

    def __init__(self) -> None:
        self.count, self.missing = 0, 0
        self._max_error = 0
        self._merged: Optional[pa.Table] = None
        self._pending: list[pa.Table] = []
        self._pending_size = 0

    def add(self, column: pa.Array) -> None:
        """Adds values.

        Args:
            column: dictionary, integers or strings [rows]; null for a missing value.
        """
        self.missing += column.null_count
        self.count += len(column) - column.null_count
        if pa.types.is_dictionary(column.type):
            indices = column.indices.drop_null().to_numpy()
            counts = np.bincount(indices, minlength=len(column.dictionary))
            seen = np.flatnonzero(counts)
            values, counts = column.dictionary.take(pa.array(seen)), pa.array(counts[seen])
        else:
            pairs = pc.value_counts(column.drop_null())
            values, counts = pairs.field(0), pairs.field(1)
        self._pending.append(pa.table({"value": values, "rows": counts.cast(pa.int64())}))
        self._pending_size += len(values)
        if self._pending_size > MERGE_SIZE:
            self._merge()

    def _merge(self) -> None:
        tables = self._pending if self._merged is None else [self._merged, *self._pending]
        self._pending, self._pending_size = [], 0
        if not tables:
            return
        grouped = pa.concat_tables(_unify(tables)).group_by("value").aggregate([("rows", "sum")])
        grouped = grouped.rename_columns(
            ["rows" if name == "rows_sum" else name for name in grouped.column_names]
        ).select(["value", "rows"])
        grouped = grouped.sort_by([("rows", "descending"), ("value", "ascending")])
        if grouped.num_rows > MAX_COUNTED:
            self._max_error += grouped["rows"][MAX_COUNTED].as_py()
            grouped = grouped.take(pa.array(np.arange(MAX_COUNTED)))
        self._merged = grouped

    def merge(self, other: "ValueCounts") -> None:
        """Adds the values of other counts.

        Args:
            other: of other rows.
        """
        self.count += other.count
        self.missing += other.missing
        self._max_error += other.max_error
        self._pending += other._pending if other._merged is None else [other._merged]
        self._merge()

    def list_counts(self, most: Optional[int] = None) -> list[tuple[Any, int]]:
        """Returns (value, number of rows) pairs, the most frequent values first.

        Args:
            most: maximum number of pairs; None: all.
        """
        self._merge()
        if self._merged is None:
            return []
        table = self._merged if most is None else self._merged.slice(0, most)
        return list(zip(table["value"].to_pylist(), table["rows"].to_pylist()))

    @property
    def complete(self) -> bool:
        """Whether no value was dropped, so that all counts are exact."""
        return not self.max_error

    @property
    def max_error(self) -> int:
        """Number of rows by which the count of a value may be too low; 0 if no value was dropped.

        A value without a count occurs in at most this many rows.
        """
        self._merge()
        return self._max_error

    @property
    def num_values(self) -> int:
        """Number of counted distinct values; the exact number of distinct values if `complete`."""
        self._merge()
        return 0 if self._merged is None else self._merged.num_rows

    def to_categories(self) -> Categories:
        """Returns the counts; if there are too many values, only those of the most frequent."""
        counts = {str(value): rows for value, rows in self.list_counts(MAX_CATEGORIES)}
        complete = self.complete and self.num_values <= MAX_CATEGORIES
        return Categories(count=self.count, missing=self.missing, counts=counts, complete=complete)


def _unify(tables: list[pa.Table]) -> list[pa.Table]:
    """Returns tables of counts with values of one type; that of a column may differ by file."""
    kinds = {table.schema.field("value").type for table in tables}
    if len(kinds) == 1:
        return tables
    are_numbers = all(pa.types.is_integer(kind) or pa.types.is_floating(kind) for kind in kinds)
    kind = pa.float64() if are_numbers else pa.string()
    return [table.set_column(0, "value", table["value"].cast(kind, safe=False)) for table in tables]


def build_bins(values: np.ndarray) -> Optional[Bins]:
    """Returns a histogram of about ten bins of equal share; a frequent value has a separate bin.

    Args:
        values: float64 [values].

    Returns:
        the bins; None if there are no values.
    """
    if not len(values):
        return None
    distinct, counts = np.unique(values, return_counts=True)
    edges: list[float] = []
    shares: list[float] = []
    # Number of values in the current bin.
    held = 0
    for value, count in zip(distinct.tolist(), counts.tolist()):
        # A bin ends when it is full, or before a value that is frequent enough to fill a bin.
        if held and (count >= BIN_SHARE * len(values) or held >= BIN_SHARE * len(values)):
            shares.append(held / len(values))
            edges.append(value)
            held = 0
        held += count
    shares.append(held / len(values))
    return Bins(edges=tuple(edges), shares=tuple(shares))


def fill_bins(bins: Bins, values: np.ndarray) -> np.ndarray:
    """Returns the number of values in each bin, int64 [bins].

    Args:
        bins: the histogram's bins.
        values: float64 [values].
    """
    index = np.searchsorted(np.asarray(bins.edges), values, side="right")
    return np.bincount(index, minlength=len(bins.shares))


class DistinctCount:
    """Estimates the number of distinct values, and of frequent ones, from the k smallest hashes.

    The numbers are exact below MIN_HASHES distinct values. Source: Bar-Yossef et al., "Counting
    distinct elements in a data stream" (2002). The values with the smallest hashes are a sample of
    all distinct values. Their rows are counted exactly, because a value that is in the sample at
    the end was in it from its first row on. So no estimate depends on how the rows are divided.
    """

    def __init__(self) -> None:
        self._smallest = np.zeros(0, np.uint64)
        # Number of rows of each hash.
        self._rows = np.zeros(0, np.int64)

    def add(self, values: pa.Array, rows: Optional[np.ndarray] = None) -> None:
        """Adds values, which may repeat.

        Args:
            values: strings or numbers without nulls.
            rows: number of rows of each value, int64 [values]; None: one each.
        """
        hashes = hash_strings(values.cast(pa.binary()) if _is_text(values) else values)
        self.add_hashes(hashes, np.ones(len(hashes), np.int64) if rows is None else rows)

    def add_hashes(self, hashes: np.ndarray, rows: np.ndarray) -> None:
        """Adds values by their hashes.

        Args:
            hashes: see hash_strings, uint64 [values].
            rows: number of rows of each value, int64 [values].
        """
        if len(self._smallest) == MIN_HASHES:
            kept = hashes <= self._smallest[-1]
            hashes, rows = hashes[kept], rows[kept]
        if len(hashes):
            both = np.concatenate([self._smallest, hashes])
            smallest, index = np.unique(both, return_inverse=True)
            counts = np.bincount(index, np.concatenate([self._rows, rows])).astype(np.int64)
            self._smallest, self._rows = smallest[:MIN_HASHES], counts[:MIN_HASHES]

    def merge(self, other: "DistinctCount") -> None:
        """Adds the values of another estimate.

        Args:
            other: of other rows.
        """
        self.add_hashes(other._smallest, other._rows)

    @property
    def value(self) -> int:
        """The estimate so far."""
        if len(self._smallest) < MIN_HASHES:
            return len(self._smallest)
        return round((MIN_HASHES - 1) / (float(self._smallest[-1]) / 2.0**64))

    def count_frequent(self, least: int) -> int:
        """Returns an estimate of the number of values with at least so many rows.

        Args:
            least: number of rows.
        """
        return round(int((self._rows >= least).sum()) * self._scale)

    def count_rare_rows(self, least: int) -> int:
        """Returns an estimate of the number of rows whose value has fewer rows than this.

        Args:
            least: number of rows.
        """
        return round(int(self._rows[self._rows < least].sum()) * self._scale)

    @property
    def _scale(self) -> float:
        """Number of values for which each value of the sample stands."""
        return self.value / max(1, len(self._smallest))


def _is_text(values: pa.Array) -> bool:
    return bool(pa.types.is_string(values.type) or pa.types.is_large_string(values.type))
