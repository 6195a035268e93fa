"""CSV files, plain or gzipped, with a header or without."""

import csv
import gzip
import re
import sys
import zlib
from collections.abc import Iterator, Sequence
from typing import Optional

import numpy as np
import pyarrow as pa
import pyarrow.csv

from trainer import config as config_lib
from trainer.errors import UserError
from trainer.inputs.bad_rows import BadRows
from trainer.inputs.faults import Fault
from trainer.inputs.files import DataFile
from trainer.inputs.raw_batches import (
    ARROW_TYPES,
    WANTED,
    RawBatch,
    cast_batch,
    require_columns,
    target_schema,
)
from trainer.schema import Schema

# Bytes of text parsed at once. Arrow reads 32 such blocks ahead: with twice as many bytes a scan
# takes a tenth less time and 60 MiB more.
BLOCK_BYTES = 1 << 20


def open_file(file: DataFile):
    """The file's bytes as an Arrow stream, decompressed."""
    return pa.input_stream(file.local_path, compression="gzip" if file.gzipped else None)


def read_first_fields(file: DataFile, delimiter: str) -> tuple[list[str], int]:
    """The fields of the first row that is not blank, and the lines up to its end.

    Raises:
        UserError: the file cannot be read.
    """
    opener = gzip.open if file.gzipped else open
    path = file.local_path
    try:
        # Bytes that are no UTF-8 are Arrow's to find: it tells their row.
        with opener(path, "rt", encoding="utf-8-sig", errors="replace", newline="") as stream:
            reader = csv.reader(stream, delimiter=delimiter)
            return next((fields for fields in reader if fields), []), reader.line_num
    except (OSError, EOFError, zlib.error, csv.Error) as error:
        raise UserError(
            f"{file.path}: row 1 cannot be read as CSV: {error}; write the file again"
        ) from error


def _has_header(fields: list[str], schema: Schema, data: config_lib.DataConfig) -> bool:
    if data.header != "auto":
        return data.header == "yes"
    return 2 * sum(_name(field, schema) in schema.columns for field in fields) > len(fields)


def _name(field: str, schema: Schema) -> str:
    """The column that a field of the header names; blanks around it are most often nobody's."""
    return field if field in schema.columns else field.strip()


def _name_columns(fields, header, schema, data, layouts, file) -> list[str]:
    if header:
        return [_name(field, schema) for field in fields]
    columns = list(schema.columns)
    for layout in [columns, *layouts]:
        if len(layout) == len(fields):
            return list(layout)
    raise UserError(
        f"{file.path}: row 1 has {len(fields)} fields and the schema names {len(columns)} "
        f"columns; check the schema and --data.delimiter (now {data.delimiter!r})"
    )


def read_csv(
    file: DataFile,
    schema: Schema,
    names: Sequence[str],
    data: config_lib.DataConfig,
    bad: Optional[BadRows],
    layouts: Sequence[Sequence[str]],
) -> Iterator[RawBatch]:
    """Yields the rows of a file; see tables.read_batches."""
    fields, lines = read_first_fields(file, data.delimiter)
    header = _has_header(fields, schema, data)
    columns = _name_columns(fields, header, schema, data, layouts, file)
    require_columns(names, columns, file)
    first_row = 1 + (lines if header else 0)
    skipped = _Skipped(file, bad)
    if bad is not None:
        _hear_of_rows_that_are_no_text()
    try:
        reader = open_reader(
            file,
            columns,
            names,
            first_row - 1,
            data.delimiter,
            _types_of(schema, names, bad),
            list(schema.missing_values),
            skipped.skip if bad is not None else None,
        )
        for batch in reader:
            if bad is None:
                yield RawBatch(first_row, batch)
                first_row += batch.num_rows
            else:
                rows = skipped.number(first_row, batch.num_rows)
                yield cast_batch(first_row, batch, schema, names, file, bad, rows)
                first_row = int(rows[-1]) + 1 if len(rows) else first_row
                skipped.count()
    except (pa.ArrowException, OSError, EOFError) as error:
        told = _explain(str(error), file, columns, schema)
        if skipped.has_no_text:
            told += "; rows that are no UTF-8 text are not left out"
        raise UserError(told) from error
    skipped.count()


def open_reader(file, columns, names, skip_rows, delimiter, types, nulls, skip):
    """Arrow's streaming reader.

    Args:
        file: what to read.
        columns, names: those that the file has, and those that are wanted.
        skip_rows: lines before the first row.
        delimiter: between fields.
        types: Arrow schema of the wanted columns.
        nulls: text that means no value.
        skip: called for a row with the wrong number of fields; None: such a row is an error.
    """
    return pa.csv.open_csv(
        open_file(file),
        # Arrow counts rows only when one thread reads.
        pa.csv.ReadOptions(
            use_threads=False,
            column_names=list(columns),
            skip_rows=skip_rows,
            block_size=BLOCK_BYTES,
        ),
        pa.csv.ParseOptions(delimiter=delimiter, newlines_in_values=True, invalid_row_handler=skip),
        pa.csv.ConvertOptions(
            column_types=types,
            include_columns=list(names),
            null_values=nulls,
            strings_can_be_null=True,
        ),
    )


def _types_of(schema: Schema, names: Sequence[str], bad: Optional[BadRows]) -> pa.Schema:
    if bad is None:
        return target_schema(schema, names)
    # Bytes, so that no value stops the reader: they are parsed afterwards.
    text = pa.dictionary(pa.int32(), pa.binary())
    return pa.schema(
        [
            (name, text if pa.types.is_dictionary(kind) else pa.binary())
            for name, kind in ((name, ARROW_TYPES[schema.columns[name].raw_type]) for name in names)
        ]
    )


def _hear_of_rows_that_are_no_text() -> None:
    """Has Arrow's failures to hand a row to _Skipped.skip noted, where else they are printed.

    It makes text of the row first, and an error of that ends in the interpreter's own hook.
    """
    printing = sys.unraisablehook
    if getattr(printing, "hears_of_rows", False):
        return

    def hook(unraisable):
        owner = getattr(unraisable.object, "__self__", None)
        if isinstance(owner, _Skipped) and isinstance(unraisable.exc_value, UnicodeDecodeError):
            owner.has_no_text = True
        else:
            printing(unraisable)

    hook.hears_of_rows = True
    sys.unraisablehook = hook


class _Skipped:
    """Rows with the wrong number of fields, which Arrow leaves out as it reads.

    Attributes:
        has_no_text: whether there was such a row that is not UTF-8 text: reading ends there.
    """

    def __init__(self, file: DataFile, bad: Optional[BadRows]):
        self.has_no_text = False
        self._file = file
        self._bad = bad
        self._rows: list[int] = []
        self._counted = 0
        self._found = 0

    def skip(self, row) -> str:
        """Arrow's invalid_row_handler; it may be called ahead of the rows being yielded."""
        fault = Fault(
            "",
            "fields",
            f"{row.actual_columns} fields instead of {row.expected_columns}: {{value}}",
            "mend the row, or check --data.delimiter",
        )
        self._bad.add(self._file.path, row.number, fault, repr(row.text.strip()[:80]))
        self._rows.append(row.number)
        self._found += 1
        return "skip"

    def number(self, first_row: int, num_rows: int) -> np.ndarray:
        """Numbers of the next rows that were not left out, int64 [num_rows]."""
        numbers = np.arange(first_row, first_row + num_rows + len(self._rows))
        numbers = numbers[~np.isin(numbers, self._rows)][:num_rows]
        if len(numbers):
            self._rows = [row for row in self._rows if row > numbers[-1]]
        return numbers

    def count(self) -> None:
        """Counts what was left out since the last call; an exception must not cross Arrow."""
        found, self._counted = self._found - self._counted, self._found
        if found:
            self._bad.drop(found)


def _explain(message: str, file: DataFile, columns: list[str], schema: Schema) -> str:
    bad = re.match(r"In CSV column #(\d+): Row #(\d+): CSV conversion error to (.*)", message, re.S)
    if bad:
        name = columns[int(bad.group(1))]
        value = re.search(r"invalid value ('.*')", bad.group(3), re.S)
        problem = f"{value.group(1)[:80]!s} is not" if value else "the value is not"
        return (
            f"{file.path}: row {bad.group(2)}, column {name}: "
            f"{' '.join(problem.split())} {WANTED[schema.columns[name].raw_type]}; "
            "mend the value, or name it in the schema's missing_values"
        )
    bad = re.match(
        r"CSV parse error: Row #(\d+): Expected (\d+) columns, got (\d+): (.*)", message, re.S
    )
    if bad:
        row, expected, got, text = bad.groups()
        return (
            f"{file.path}: row {row} has {got} fields instead of {expected}: "
            f"{text.strip()[:80]!r}; mend the row, or check --data.delimiter"
        )
    return f"{file.path}: damaged: {' '.join(message.split())}; write the file again"
