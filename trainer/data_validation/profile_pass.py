"""Profiles the columns of files without a schema, in one pass."""

from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple, NoReturn, Optional

import numpy as np
import pyarrow as pa

from trainer.data_validation.profile import Profile, Table, is_supported
from trainer.data_validation.reading import CsvStyle, name_csv, read_csv, read_untyped
from trainer.errors import UserError
from trainer.inputs.csv_files import find_start
from trainer.inputs.files import DataFile
from trainer.inputs.floats import to_floats
from trainer.inputs.parquet_files import count_rows_before
from trainer.inputs.partitions import add_partitions
from trainer.inputs.row_sample import RowSample, place_rows
from trainer.passes.contract import Piece, Rows


class Profiles:
    """The profiles of the columns of some files.

    Attributes:
        num_rows: number of rows.
        columns: name → profile, in the order of the first file.
        sample: of the numbers; None: no rows.
        first: the first file that has rows; None: no rows.
        headers: whether CSV files have a header line, and the index of the last that was read.
        unnamed: most columns of a CSV file without a name; they are not read.
    """

    def __init__(self) -> None:
        self.num_rows = 0
        self.columns: dict[str, Profile] = {}
        self.sample: Optional[RowSample] = None
        self.first: Optional[Piece] = None
        self.headers: Optional[tuple[int, bool]] = None
        self.unnamed = 0

    def start(self, piece: Piece, names: Sequence[str]) -> None:
        """Takes the columns of a file, or checks that they are those of the files before.

        Args:
            piece: the file.
            names: its columns.

        Raises:
            UserError: they differ.
        """
        if self.first is None or self.sample is None:
            self.first = piece
            self.columns = {name: Profile() for name in names}
            self.sample = RowSample(list(names))
        if set(names) != set(self.columns):
            _refuse(self.first, self.columns, piece, names)


class ProfilePass(NamedTuple):
    """Profiles every row of some files.

    Attributes:
        style: of CSV files.
        json_names: columns of JSON lines.
        partitions: columns whose values are in the names of folders.
    """

    style: CsvStyle
    json_names: Sequence[str]
    partitions: Sequence[str] = ()

    def create(self) -> Profiles:
        """Returns the profiles of no rows."""
        return Profiles()

    def read(self, piece: Piece, partial: Profiles) -> Iterator[Rows]:
        """Yields the rows of a file.

        Args:
            piece: the file.
            partial: takes whether a CSV file has a header line.

        Raises:
            UserError: the file cannot be read.
        """
        file = piece.file
        if file.format == "csv":
            layout = name_csv(file, self.style)
            header = (piece.number, layout.skip_lines > 0)
            partial.headers = max(header, partial.headers or header)
            partial.unnamed = max(partial.unnamed, list(layout.columns).count(""))
            batches = read_csv(file, layout)
            # The lines before the first row are not counted.
            before = find_start(file, layout)[1] - layout.skip_lines
        else:
            batches = read_untyped(file, self.json_names, self.style.limits)
            before = count_rows_before(file)
        first = 1 + before
        for own in batches:
            batch = add_partitions(own, file.path, self.partitions)
            yield Rows(batch, np.arange(first, first + batch.num_rows), piece)
            first += batch.num_rows

    def add(self, partial: Profiles, rows: Rows) -> None:
        """Adds rows.

        Args:
            partial: changed in place.
            rows: the rows.

        Raises:
            UserError: the columns are not those of the files before, or a number is too large.
        """
        batch, piece = rows.columns, rows.piece
        own = batch.schema.names
        added = self.style.limits.added_columns if piece.file.format == "parquet" else ()
        partial.start(piece, list(dict.fromkeys([*own, *added])))
        numbers = {}
        for name, profile in partial.columns.items():
            if name not in own:
                profile.add_missing(batch.num_rows)
                numbers[name] = np.full(batch.num_rows, np.nan)
                continue
            column = batch.column(name)
            # A feature may have one value in the first records and several in later ones.
            if not is_supported(column.type):
                profile.note_unsupported(piece.number, _name_type(column.type))
                profile.add_lists(column)
                numbers[name] = np.full(batch.num_rows, np.nan)
                continue
            _require_float32(piece.file, name, column)
            numbers[name] = profile.add(column)
            if piece.file.format == "tfrecord":
                profile.note_stored(column.type)
        if partial.sample is not None:
            places = place_rows(piece.number, rows.numbers)
            partial.sample.add(pa.RecordBatch.from_pydict(numbers), places)
        partial.num_rows += batch.num_rows

    def merge(self, partial: Profiles, other: Profiles) -> None:
        """Adds the profiles of other files.

        Args:
            partial: changed in place.
            other: of other files.

        Raises:
            UserError: the files differ in their columns.
        """
        if other.headers is not None:
            partial.headers = max(other.headers, partial.headers or other.headers)
        partial.unnamed = max(partial.unnamed, other.unnamed)
        if other.first is None or other.sample is None:
            return
        if partial.first is None or partial.sample is None:
            partial.first, partial.columns = other.first, other.columns
            partial.sample, partial.num_rows = other.sample, other.num_rows
            return
        if set(other.columns) != set(partial.columns):
            mine, theirs = (partial.first, partial.columns), (other.first, other.columns)
            if theirs[0].order < mine[0].order:
                mine, theirs = theirs, mine
            _refuse(*mine, *theirs)
        for name, profile in partial.columns.items():
            profile.merge(other.columns[name])
        if other.first.order < partial.first.order:
            partial.first = other.first
            partial.columns = {name: partial.columns[name] for name in other.columns}
        partial.sample.merge(other.sample)
        partial.num_rows += other.num_rows


def finish(
    partial: Profiles, files: Sequence[DataFile], added: Sequence[str] = ()
) -> tuple[Table, RowSample]:
    """Returns the profiles of all files, and a sample of the numbers.

    Args:
        partial: of all files.
        files: the files.
        added: data.added_columns.

    Raises:
        UserError: there are no rows, or a column of `added` has no values.
    """
    if partial.sample is None:
        raise UserError(f"{files[0].path}: has no rows; give files with data")
    for name in added:
        if partial.columns[name].missing == partial.num_rows:
            raise UserError(
                f"data.added_columns: no file has a value in column {name!r}; correct its name"
            )
    header = None if partial.headers is None else partial.headers[1]
    return Table(partial.num_rows, partial.columns, header, partial.unnamed), partial.sample


def _require_float32(file: DataFile, name: str, column: pa.Array) -> None:
    """Raises if a number is infinite, or too large for the type in which models compute."""
    if not pa.types.is_floating(column.type):
        return
    largest = float(np.nanmax(np.abs(to_floats(column)), initial=0.0))
    if largest > float(np.finfo(np.float32).max):
        raise UserError(
            f"{file.path}: column {name}: {largest:.6g} is no finite 32-bit number; correct it, or "
            "leave the column out of the file"
        )


def _refuse(
    first: Piece, expected: Collection[str], piece: Piece, names: Collection[str]
) -> NoReturn:
    differ = sorted(set(names) ^ set(expected))
    raise UserError(
        f"{piece.file.path}: has other columns than {first.file.path} "
        f"({', '.join(differ[:5])}); give files of one kind, or name Parquet columns that were "
        "added later in --data.added_columns"
    )


def _name_type(kind: pa.DataType) -> str:
    return str(kind.value_type if pa.types.is_dictionary(kind) else kind)
