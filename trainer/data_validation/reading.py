"""Reads files without a schema: the names and raw values of their columns."""

import itertools
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet

from trainer import config as config_lib
from trainer.data_validation.lists import are_numbers
from trainer.errors import UserError
from trainer.inputs.cell_text import HIDDEN_DETAIL, describe_width, hides
from trainer.inputs.csv_files import (
    LONG_ROW,
    LONG_ROW_FAULT,
    CsvLayout,
    find_start,
    iterate_fields,
    open_reader,
    read_first_fields,
)
from trainer.inputs.files import DataFile
from trainer.inputs.json_files import iterate_json_lines, select_columns
from trainer.inputs.parquet_files import check_sizes, check_values, iterate_runs, open_content
from trainer.passes.contract import Piece, Rows

# Number of TFRecord records from which the features and their types are inferred.
FIRST_RECORDS = 1_000
# Rows of a CSV file among which the header is sought if the first row is another.
FIRST_ROWS = 50


class CsvStyle(NamedTuple):
    """How CSV files are written, as the user says or as it was detected.

    Attributes:
        delimiter: text between fields.
        encoding: of the text.
        header: whether there is a header line: auto, yes or no.
        columns: names for files without a header; empty: column_1, column_2, ...
        label: name of the label; a line that contains it is a header.
        limits: limits of the sizes of rows and columns.
    """

    delimiter: str
    encoding: str
    header: str
    columns: Sequence[str]
    label: str
    limits: config_lib.DataConfig = config_lib.DataConfig()


def name_csv(file: DataFile, style: CsvStyle) -> CsvLayout:
    """Returns the layout of a CSV file with the names of the columns.

    The name of a column is empty if the header has none for it. Such a column is not read: often it
    is the index of a pandas table, or nothing after a delimiter at the end of each line.

    Args:
        file: the file.
        style: as the user says or as it was detected.

    Raises:
        UserError: the names do not fit the file.
    """
    fields, lines = read_first_fields(
        file, style.delimiter, style.encoding, style.limits.max_row_mib << 20
    )
    fields = [field.strip() for field in fields]
    if style.header != "no" and not style.columns and style.label not in fields:
        _refuse_late_header(file, style)
    has_header = style.header == "yes" or (
        style.header == "auto"
        and (
            style.label in fields
            or list(style.columns) == fields
            or _looks_like_names(file, fields, style)
        )
    )
    names = list(style.columns)
    if names and len(names) != len(fields):
        raise UserError(
            f"--columns: {len(names)} names, and {file.path} has {len(fields)} fields; "
            f"name each, and check --delimiter (now {style.delimiter!r})"
        )
    if names and has_header and names != fields:
        # Training would look for these names in the header.
        found = ", ".join(filter(None, fields))
        raise UserError(
            f"--columns: {file.path} has a header line, with the names {found:.200}; "
            "write other names into this line, or give --header=no if it is a row"
        )
    if not names:
        names = fields if has_header else [f"column_{n + 1}" for n in range(len(fields))]
    twice = [name for name in names if name and names.count(name) > 1]
    if twice:
        where = "in the header line" if has_header else "in --columns"
        raise UserError(f"{file.path}: column name {twice[0]!r} appears twice; rename one {where}")
    return _lay_out(names, lines if has_header else 0, style)


def _refuse_late_header(file: DataFile, style: CsvStyle) -> None:
    """Raises if one of the rows after the first one names the label: lines precede the header."""
    rows = iterate_fields(file, style.delimiter, style.encoding, style.limits.max_row_mib << 20)
    for fields, line in itertools.islice(rows, 1, FIRST_ROWS):
        if len(fields) > 1 and style.label in [field.strip() for field in fields]:
            raise UserError(
                f"{file.path}: the header, which names {style.label}, is line {line}; remove the "
                "lines before it"
            )


def _lay_out(names: list[str], skip_lines: int, style: CsvStyle) -> CsvLayout:
    block_bytes = style.limits.max_row_mib << 20
    return CsvLayout(names, skip_lines, style.delimiter, style.encoding, block_bytes)


def _looks_like_names(file: DataFile, fields: list[str], style: CsvStyle) -> bool:
    """Returns whether the first line has words only and the second has a number."""
    has_number = any(are_numbers([field]) for field in fields)
    if has_number or not all(fields) or len(set(fields)) < len(fields):
        return False
    names = [str(index) for index in range(len(fields))]
    layout = _lay_out(names, 0, style)
    # The first rows may be in another share.
    first = next(read_csv(file.choose_begin(), layout), None)
    if first is None or first.num_rows < 2:
        return False
    return any(are_numbers([first.column(name)[1].as_py() or ""]) for name in names)


def read_csv(file: DataFile, layout: CsvLayout) -> Iterator[pa.RecordBatch]:
    """Yields the rows of a CSV file; every column is text.

    Args:
        file: the file.
        layout: of the file.

    Raises:
        UserError: the file cannot be read.
    """
    types = pa.schema([(name, pa.string()) for name in layout.columns if name])
    _, before = find_start(file, layout)
    try:
        for batch in open_reader(file, layout, types):
            if layout.skip_lines:
                _refuse_header(file, layout, batch, 1 + before)
            before += batch.num_rows
            yield batch
    except (pa.ArrowException, OSError, EOFError, UnicodeError) as error:
        if LONG_ROW in str(error):
            raise UserError(f"{file.path}: {LONG_ROW_FAULT}") from error
        detail = describe_width(str(error), None) or " ".join(str(error).split())[:200]
        detail = HIDDEN_DETAIL if hides(None) else detail
        raise UserError(
            f"{file.path}: cannot be read as CSV: {detail}; correct it, or check --delimiter "
            f"(now {layout.delimiter!r}) and --encoding (now {layout.encoding})"
        ) from error


def _refuse_header(file: DataFile, layout: CsvLayout, batch: pa.RecordBatch, first: int) -> None:
    """Raises if one of the rows, the first of which has a number, is the header."""
    rows = np.arange(batch.num_rows)
    for name, column in zip(batch.schema.names, batch.columns):
        if not len(rows):
            return
        # A file that was appended may begin with a byte order mark.
        words = pc.utf8_trim(column.take(pa.array(rows)), " \ufeff")
        rows = rows[np.asarray(pc.equal(words, name).fill_null(False))]
    if len(rows) and batch.num_columns > 1:
        raise UserError(f"{file.path}: row {first + rows[0]} is the header again; remove it")


# Key of the objects of JSON lines → where it appears first.
JsonNames = dict[str, tuple[int, int]]


class JsonNamesPass(NamedTuple):
    """Lists the keys of all objects of JSON lines.

    Attributes:
        limits: longest line.
    """

    limits: config_lib.DataConfig

    def create(self) -> JsonNames:
        """Returns the keys of no rows."""
        return {}

    def read(self, piece: Piece, partial: JsonNames) -> Iterator[Rows]:
        """Yields the rows of a file.

        Args:
            piece: the file.
            partial: is not read.

        Raises:
            UserError: the file cannot be read.
        """
        for batch in iterate_json_lines(piece.file, self.limits.max_row_mib << 20):
            yield Rows(batch, np.arange(batch.num_rows), piece)

    def add(self, partial: JsonNames, rows: Rows) -> None:
        """Adds the keys of rows.

        Args:
            partial: changed in place.
            rows: the rows.
        """
        for name in rows.columns.schema.names:
            partial.setdefault(name, (rows.piece.order, len(partial)))

    def merge(self, partial: JsonNames, other: JsonNames) -> None:
        """Adds the keys of other files.

        Args:
            partial: changed in place.
            other: of other files.
        """
        for name, place in other.items():
            partial[name] = min(place, partial.get(name, place))


def read_untyped(
    file: DataFile, json_names: Sequence[str], limits: config_lib.DataConfig
) -> Iterator[pa.RecordBatch]:
    """Yields the rows of a file that names its columns itself.

    Args:
        file: a Parquet, TFRecord or JSON lines file.
        json_names: columns of JSON lines.
        limits: limits of the sizes of rows and columns.

    Raises:
        UserError: the file cannot be read.
    """
    if file.format == "parquet":
        return _read_parquet(file, limits)
    if file.format == "jsonl":
        return _read_json(file, json_names, limits)
    return _read_tfrecord(file)


def _read_json(
    file: DataFile, names: Sequence[str], limits: config_lib.DataConfig
) -> Iterator[pa.RecordBatch]:
    """Yields the rows with scalars as text, because their types differ from block to block."""
    for batch in iterate_json_lines(file, limits.max_row_mib << 20):
        columns = select_columns(batch, names)
        arrays = [
            column if pa.types.is_nested(column.type) else column.cast(pa.string())
            for column in columns.columns
        ]
        yield pa.RecordBatch.from_arrays(arrays, names=list(names))


def _read_parquet(file: DataFile, limits: config_lib.DataConfig) -> Iterator[pa.RecordBatch]:
    try:
        with pa.parquet.ParquetFile(open_content(file)) as parquet:
            names = parquet.schema_arrow.names
            check_sizes(file, parquet.metadata, names, limits)
            for batch in iterate_runs(parquet, file):
                check_values(file, batch)
                yield batch
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        words = " ".join(str(error).split())
        raise UserError(f"{file.path}: damaged: {words}; write the file again") from error


def _read_tfrecord(file: DataFile) -> Iterator[pa.RecordBatch]:
    from trainer.inputs.tfrecord_files import iterate_columns

    yield from iterate_columns(file, FIRST_RECORDS)
