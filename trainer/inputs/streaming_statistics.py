"""Computes statistics of a stream of Arrow columns in bounded memory."""

from collections.abc import Sequence
from typing import Any, Optional

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from trainer.schema import Bins, Categories, Range
from trainer.schema.statistics import MAX_CATEGORIES

# Maximum number of distinct values to count in a column; of more, the most frequent are kept.
MAX_COUNTED = 20_000
# Number of counts to collect before merging them. Each merge groups all counts, so merges should be
# rare.
MERGE_SIZE = 100_000
# Number of rows in the sample for histograms and quantiles. A share that is estimated from the
# sample has a standard error below 0.2 percentage points.
SAMPLE_ROWS = 65_536
# Smallest share of the values in a bin of a histogram; the bins are deciles, unless values repeat.
BIN_SHARE = 0.1
# Number of hashes that a distinct count keeps; its standard error is 1/sqrt(this), 1.6 %.
MIN_HASHES = 4096


class RunningMoments:
    """Moments of one numeric column, in float64.

    Attributes:
        count: number of values.
        missing: number of rows without a value.
        mean: mean of the values.
        squares: sum of squared differences from the mean.
        low: smallest value.
        high: largest value.
    """

    def __init__(self) -> None:
        self.count, self.missing = 0, 0
        self.mean, self.squares = 0.0, 0.0
        self.low, self.high = np.inf, -np.inf

    def add(self, column: pa.Array) -> None:
        """Adds values.

        Args:
            column: numbers [rows]; null for a missing value.
        """
        self.missing += column.null_count
        values = column.drop_null().to_numpy(zero_copy_only=False).astype(np.float64)
        if not len(values):
            return
        # The pairwise update of Chan, Golub and LeVeque (1979), because a sum of squares would lose
        # precision.
        mean, total = values.mean(), self.count + len(values)
        delta = mean - self.mean
        self.squares += ((values - mean) ** 2).sum() + delta**2 * self.count * len(values) / total
        self.mean += delta * len(values) / total
        self.count = total
        self.low, self.high = min(self.low, values.min()), max(self.high, values.max())

    def to_range(self, bins: Optional[Bins] = None) -> Range:
        """Returns the statistics of the added values.

        Args:
            bins: histogram of the column; None if there is none.
        """
        return Range(
            count=self.count,
            missing=self.missing,
            mean=self.mean,
            std=float(np.sqrt(self.squares / self.count)) if self.count else 0.0,
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
        self._dropped = False
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
        grouped = pa.concat_tables(tables).group_by("value").aggregate([("rows", "sum")])
        grouped = grouped.rename_columns(
            ["rows" if name == "rows_sum" else name for name in grouped.column_names]
        ).select(["value", "rows"])
        grouped = grouped.sort_by([("rows", "descending"), ("value", "ascending")])
        if grouped.num_rows > MAX_COUNTED:
            self._dropped = True
            grouped = grouped.slice(0, MAX_COUNTED)
        self._merged = grouped

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
        self._merge()
        return not self._dropped

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


class RowSample:
    """A uniform sample of the rows of a stream; all rows if the stream is short.

    Each row is kept with the same probability. Whenever the sample exceeds twice SAMPLE_ROWS, the
    probability is halved and about half of the sample is dropped. The sample of a given stream is
    always the same.

    Args:
        names: the columns, all numeric.
    """

    def __init__(self, names: Sequence[str]):
        self._rng = np.random.default_rng(0)
        self._probability = 1.0
        self._held: dict[str, list[np.ndarray]] = {name: [] for name in names}
        self._rows = 0

    def add(self, batch: pa.RecordBatch) -> None:
        """Adds rows.

        Args:
            batch: rows with at least the sample's columns.
        """
        rows = np.arange(batch.num_rows)
        if self._probability < 1:
            rows = rows[self._rng.random(len(rows)) < self._probability]
        for name, held in self._held.items():
            held.append(_to_float64(batch.column(name).take(pa.array(rows))))
        self._rows += len(rows)
        while self._rows > 2 * SAMPLE_ROWS:
            self._thin()

    def _thin(self) -> None:
        keep = self._rng.random(self._rows) < 0.5
        self._held = {name: [np.concatenate(held)[keep]] for name, held in self._held.items()}
        self._rows = int(keep.sum())
        self._probability /= 2

    def get(self, name: str) -> np.ndarray:
        """Returns the sampled values of a column without missing values, float64 [values].

        Args:
            name: the column.
        """
        held = self._held[name]
        values = np.concatenate(held) if held else np.zeros(0)
        return values[~np.isnan(values)]


def _to_float64(column: pa.Array) -> np.ndarray:
    values: np.ndarray = column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    return values


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
        rows = np.ones(len(hashes), np.int64) if rows is None else rows
        if len(self._smallest) == MIN_HASHES:
            kept = hashes <= self._smallest[-1]
            hashes, rows = hashes[kept], rows[kept]
        if len(hashes):
            both = np.concatenate([self._smallest, hashes])
            smallest, index = np.unique(both, return_inverse=True)
            counts = np.bincount(index, np.concatenate([self._rows, rows])).astype(np.int64)
            self._smallest, self._rows = smallest[:MIN_HASHES], counts[:MIN_HASHES]

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


def hash_strings(values: pa.Array) -> np.ndarray:
    """Returns a 64-bit hash of each value, uint64 [values]; the same in every process.

    Each byte is multiplied by a random factor for its position, and the products are added up
    (multilinear hashing; Lemire and Kaser, "Strongly universal string hashing is fast", 2014). The
    sum is then mixed.

    Args:
        values: binary, integers or floats [values], without nulls.
    """
    if not pa.types.is_binary(values.type):
        return mix(values.to_numpy(zero_copy_only=False).astype(np.float64).view(np.uint64))
    if not len(values):
        return np.zeros(0, np.uint64)
    offsets = np.frombuffer(values.buffers()[1], np.int32)[
        values.offset : values.offset + len(values) + 1
    ].astype(np.int64)
    data = np.frombuffer(values.buffers()[2] or b"", np.uint8)[offsets[0] : offsets[-1]]
    offsets = offsets - offsets[0]
    lengths = np.diff(offsets)
    place = np.arange(len(data)) - np.repeat(offsets[:-1], lengths)
    # The factors repeat after 256 positions. The number of the block of 256 positions is added to
    # make them different.
    factors = np.random.default_rng(1).integers(1, 2**64 - 1, 256, np.uint64) | np.uint64(1)
    with np.errstate(over="ignore"):
        terms = (data.astype(np.uint64) + np.uint64(1)) * (
            factors[place % 256] + (place // 256).astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        )
        sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(terms, dtype=np.uint64)])
        return mix(sums[offsets[1:]] - sums[offsets[:-1]] + lengths.astype(np.uint64))


def mix(hashes: np.ndarray) -> np.ndarray:
    """Applies the finaliser of SplitMix64 (Steele, Lea and Flood, 2014).

    Args:
        hashes: uint64, of any shape.
    """
    with np.errstate(over="ignore"):
        hashes = (hashes ^ (hashes >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        hashes = (hashes ^ (hashes >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        mixed: np.ndarray = hashes ^ (hashes >> np.uint64(31))
    return mixed
