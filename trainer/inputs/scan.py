"""Reads all data once before training: counts rows, computes statistics, finds bad rows."""

import functools
from collections.abc import Iterator, Sequence
from typing import Callable, NamedTuple, Optional

import numpy as np
import pyarrow as pa

from trainer import config as config_lib
from trainer.console import Console, Progress
from trainer.errors import UserError
from trainer.inputs.bad_rows import BadRows, require_good_rows
from trainer.inputs.files import DataFile
from trainer.inputs.leakage import LeakSample, RowHashes, list_unused_times
from trainer.inputs.multivalent import split_column, split_numbers
from trainer.inputs.raw_batches import ReadDetails
from trainer.inputs.row_estimate import estimate_rows
from trainer.inputs.row_sample import RowSample, place_rows
from trainer.inputs.streaming_statistics import RunningMoments, ValueCounts, build_bins
from trainer.inputs.tables import Batch, read_batches
from trainer.schema import Bins, Schema, Statistics, hide_private

# Formats whose rows name their values: a wrong column name looks like a value that is always
# missing.
KEYED = ("tfrecord", "jsonl")


class Scan(NamedTuple):
    """The result of one pass over some files.

    Attributes:
        statistics: number of rows, range of each numeric column, counts of each categorical one.
        rows: path → number of rows in that file, without bad rows.
        absent: columns without a value in any row; found only if the formats of all files are
            KEYED, and among data.added_columns.
        num_bad_rows: number of rows that were dropped because data.max_bad_rows allows it.
        bad_rows: descriptions of the first dropped rows.
        hashes: of a sample of the rows, to find the rows that two data sets have in common.
        leaks: sentences about columns that may give the label away.
    """

    statistics: Statistics
    rows: dict[str, int]
    absent: list[str]
    num_bad_rows: int = 0
    bad_rows: tuple[str, ...] = ()
    hashes: RowHashes = RowHashes((), 0)
    leaks: tuple[str, ...] = ()


class Scanned:
    """What a scan has found in some files; results of different files can be merged.

    Args:
        schema: columns and types.
        data: delimiter and header of CSV files, and the number of bad rows tolerated.
        times: dates that are no features, to read as well: of list_unused_times.
        is_keyed: whether the formats of all files are KEYED.
    """

    def __init__(
        self,
        schema: Schema,
        data: config_lib.DataConfig,
        times: Sequence[str],
        is_keyed: bool,
    ):
        self._schema, self._data = schema, data
        self._names = schema.input_columns
        self._details = ReadDetails(unchecked=times)
        self._streaming = StreamingStatistics(schema, self._names)
        self._sample = LeakSample(schema, self._names, times)
        self._bad = BadRows(data.max_bad_rows)
        self._rows: dict[str, int] = {}
        # A column that no file has is a wrong name.
        self._absent = set(self._names) if is_keyed else {*data.added_columns} & {*self._names}

    def read(self, order: int, file: DataFile) -> Iterator[Batch]:
        """Yields the rows of a file that fit the schema.

        Args:
            order: higher for later files.
            file: the file.

        Raises:
            UserError: a file or a value does not fit the schema.
        """
        self._bad.file = order
        self._rows.setdefault(file.path, 0)
        bad = self._bad if self._bad.limit else None
        for batch in read_batches(file, self._schema, self._names, self._data, bad, self._details):
            if bad is None:
                place = file.path, batch.numbers
                require_good_rows(*place, batch.columns, self._schema, self._names)
            yield batch

    def add(self, index: int, path: str, columns: pa.RecordBatch, numbers: np.ndarray) -> None:
        """Adds rows of a file.

        Args:
            index: of the file in the data.
            path: of the file.
            columns: the rows.
            numbers: of the rows in the file, int64 [rows].
        """
        self._streaming.add(columns, place_rows(index, numbers))
        self._sample.add(columns)
        self._absent -= {
            name for name in self._absent if columns.column(name).null_count < len(columns)
        }
        self._rows[path] += columns.num_rows

    def merge(self, other: "Scanned") -> None:
        """Adds what was found in other files.

        Args:
            other: of other files.

        Raises:
            UserError: both together have more bad rows than are tolerated.
        """
        self._streaming.merge(other._streaming)
        self._sample.merge(other._sample)
        self._bad.merge(other._bad)
        self._bad.drop(0)
        for path, rows in other._rows.items():
            self._rows[path] = self._rows.get(path, 0) + rows
        self._absent &= other._absent

    def finish(self) -> Scan:
        """Returns the result.

        Raises:
            UserError: no row fits the schema.
        """
        bad, num_rows = self._bad, sum(self._rows.values())
        if bad.examples and not num_rows:
            raise UserError(
                f"no row of {len(self._rows)} file(s) fits the schema; the first: {bad.examples[0]}"
            )
        return Scan(
            self._streaming.to_statistics(num_rows),
            self._rows,
            sorted(self._absent),
            bad.count,
            tuple(bad.examples),
            self._sample.get_hashes(),
            tuple(self._sample.find_leaks(self._streaming.counts)),
        )


# Scans files; its argument are the columns that `Scanned` takes as times.
Scanner = Callable[[Sequence[str]], Scanned]


def scan_files(
    files: Sequence[DataFile],
    schema: Schema,
    data: config_lib.DataConfig,
    console: Console,
    scan: Optional[Scanner] = None,
) -> Scan:
    """Reads every row once; returns row counts and statistics.

    Args:
        files: what to read.
        schema: columns and types.
        data: delimiter and header of CSV files, and the number of bad rows tolerated.
        console: shows progress.
        scan: reads the files elsewhere; None: this process reads them.

    Raises:
        UserError: a file or a value does not fit the schema.
    """
    scan = scan or functools.partial(_scan, files, schema, data, console)
    times = list_unused_times(schema)
    if times:
        try:
            return scan(times).finish()
        except UserError:
            # Columns that are not used may be absent, or damaged.
            pass
    return scan([]).finish()


def is_keyed(files: Sequence[DataFile]) -> bool:
    """Returns whether the formats of all files are KEYED.

    Args:
        files: the files.
    """
    return all(file.format in KEYED for file in files)


def _scan(
    files: Sequence[DataFile],
    schema: Schema,
    data: config_lib.DataConfig,
    console: Console,
    times: Sequence[str],
) -> Scanned:
    found = Scanned(schema, data, times, is_keyed(files))
    total = functools.partial(estimate_rows, files)
    with Progress(console, "reading the data", "rows", total, is_estimate=True) as progress:
        for index, file in enumerate(files):
            position = 0
            for batch in found.read(index, file):
                found.add(index, file.path, batch.columns, batch.numbers)
                # The numbers also count rows of the other part of the data, which are read too.
                before, position = position, int(batch.numbers[-1])
                progress.add(position - before)
    # Without this call, Arrow would keep the freed memory for later use.
    pa.default_memory_pool().release_unused()
    return found


class StreamingStatistics:
    """Statistics of the columns of a stream of rows.

    Args:
        schema: types and labels.
        names: the columns.

    Attributes:
        moments: name → moments of each numeric column.
        counts: name → counts of each categorical column.
        sample: sample of the numeric columns that are not multivalent.
    """

    def __init__(self, schema: Schema, names: Sequence[str]):
        numeric = [name for name in names if schema.columns[name].raw_type != "string"]
        multivalent = [name for name in names if schema.columns[name].is_multivalent_numeric]
        self._schema = schema
        self.moments = {name: RunningMoments() for name in (*numeric, *multivalent)}
        self.sample = RowSample(numeric)
        self.counts = {
            name: ValueCounts()
            for name in names
            if name != schema.key and _has_categories(name, schema)
        }
        self._separators = {name: schema.columns[name].separator for name in names}

    def add(self, columns: pa.RecordBatch, places: np.ndarray) -> None:
        """Adds rows that fit the schema.

        Args:
            columns: the rows, in the Arrow types of the schema.
            places: a number for each row that no other row has, see place_rows; uint64 [rows].
        """
        for name, moments in self.moments.items():
            column, separator = columns.column(name), self._separators[name]
            if separator is not None:
                moments.missing += column.null_count
                column = split_numbers(column, separator)
            moments.add(column)
        for name, counts in self.counts.items():
            column, separator = columns.column(name), self._separators[name]
            if separator is None:
                counts.add(column)
            else:
                counts.missing += column.null_count
                counts.add(split_column(column, separator).dictionary_encode())
        self.sample.add(columns, places)

    def merge(self, other: "StreamingStatistics") -> None:
        """Adds the rows of other statistics of the same columns.

        Args:
            other: of other rows.
        """
        for name, moments in self.moments.items():
            moments.merge(other.moments[name])
        for name, counts in self.counts.items():
            counts.merge(other.counts[name])
        self.sample.merge(other.sample)

    def to_statistics(self, num_rows: int) -> Statistics:
        """Returns the statistics of the added rows.

        Args:
            num_rows: number of added rows.
        """
        ranges = {name: moments.to_range(self._bin(name)) for name, moments in self.moments.items()}
        categories = {name: counts.to_categories() for name, counts in self.counts.items()}
        return hide_private(Statistics(num_rows, ranges, categories), self._schema)

    def _bin(self, name: str) -> Optional[Bins]:
        # The sample does not contain multivalent columns.
        return build_bins(self.sample.get(name)) if self._separators[name] is None else None


def _has_categories(name: str, schema: Schema) -> bool:
    column = schema.columns[name]
    is_class = any(name == label.column and label.classes for label in schema.labels)
    if column.text is not None or column.image is not None:
        # Almost all values are distinct.
        return False
    is_text = column.type == "string" and not column.date
    return is_text or column.is_categorical or is_class
