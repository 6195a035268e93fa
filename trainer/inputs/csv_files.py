"""Reads CSV files, plain or gzipped, with or without a header."""

import csv
import io
import re
import sys
import zlib
from collections.abc import Iterator, Sequence
from typing import Any, Callable, NamedTuple, Optional

import numpy as np
import pyarrow as pa
import pyarrow.csv

from estimator_bridge import BridgeError
from estimator_bridge.user_files.limits import limit_lines
from trainer import config as config_lib
from trainer import storage
from trainer.errors import UserError
from trainer.inputs.bad_rows import BadRows, Fault
from trainer.inputs.cell_text import HIDDEN_DETAIL, describe_width, hides, quote_cell
from trainer.inputs.files import DataFile
from trainer.inputs.raw_batches import (
    TYPE_NAMES,
    RawBatch,
    ReadRequest,
    cast_batch,
    require_columns,
    target_schema,
)
from trainer.inputs.stretches import StretchReader, open_bytes
from trainer.schema import Schema
from trainer.storage.partition_names import parse_partitions

# Bytes of text that are parsed at once, by default. Arrow reads 32 blocks of this size ahead. With
# blocks of twice this size, a scan is a tenth faster but needs 60 MiB more memory.
BLOCK_BYTES = 1 << 20
# Arrow's message for a row that is longer than two of these blocks.
LONG_ROW = "straddling object straddles two block boundaries"
_LONG_ROW_REMEDY = "write the file again, or raise --data.max_row_mib"
LONG_ROW_FAULT = f"a row is longer than a block; {_LONG_ROW_REMEDY}"


class CsvLayout(NamedTuple):
    """The layout of a CSV file.

    Attributes:
        columns: the columns of the file in their order.
        skip_lines: lines before the first row.
        delimiter: text between fields.
        encoding: of the text.
        block_bytes: bytes of text that are parsed at once; no row is longer.
    """

    columns: Sequence[str]
    skip_lines: int
    delimiter: str
    encoding: str
    block_bytes: int = BLOCK_BYTES


def read_first_fields(
    file: DataFile, delimiter: str, encoding: str, block_bytes: int = BLOCK_BYTES
) -> tuple[list[str], int]:
    """Returns the fields of the first nonblank row, and the number of lines up to its end.

    Args:
        file: what to read.
        delimiter: text between fields.
        encoding: of the text.
        block_bytes: longest line, in characters.

    Raises:
        UserError: the file cannot be read.
    """
    return next(iterate_fields(file, delimiter, encoding, block_bytes), ([], 0))


def iterate_fields(
    file: DataFile, delimiter: str, encoding: str, block_bytes: int = BLOCK_BYTES
) -> Iterator[tuple[list[str], int]]:
    """Yields the fields of the first nonblank rows, each with the number of lines up to its end.

    Args:
        file: what to read.
        delimiter: text between fields.
        encoding: of the text.
        block_bytes: longest line, and longest field, in characters.

    Raises:
        UserError: the file cannot be read.
    """
    # Python's limit of 131,072 characters is far below that of Arrow, a block.
    csv.field_size_limit(max(csv.field_size_limit(), block_bytes))
    try:
        # Replace bytes that cannot be decoded: Arrow will find them later and report their row.
        known = "utf-8-sig" if encoding == "utf-8" else encoding
        with (
            open_bytes(file) as content,
            io.TextIOWrapper(content, encoding=known, errors="replace", newline="") as stream,
        ):
            reader = csv.reader(limit_lines(stream, block_bytes), delimiter=delimiter)
            for fields in reader:
                if fields:
                    yield fields, reader.line_num
    except (BridgeError, csv.Error) as error:
        # Python's only error with these options is that of a field that is too long.
        raise UserError(f"{file.path}: {error}; {_LONG_ROW_REMEDY}") from error
    except (OSError, EOFError, zlib.error) as error:
        raise UserError(f"{file.path}: damaged: {error}; write the file again") from error


def _has_header(names: list[str], schema: Schema, data: config_lib.DataConfig) -> bool:
    if data.header != "auto":
        return data.header == "yes"
    return 2 * sum(name in schema.columns for name in names) > len(names)


def _match_column(field: str, schema: Schema) -> str:
    """Returns the column that a header field names; strips blanks unless the schema has them."""
    return field if field in schema.columns else field.strip()


def _find_layout(request: ReadRequest) -> CsvLayout:
    schema, data, file = request.schema, request.data, request.file
    style = (data.delimiter, data.encoding, data.max_row_mib << 20)
    fields, lines = read_first_fields(file, *style)
    text = "".join(fields)
    if 3 * text.count("\0") > len(text):
        raise UserError(
            f"{file.path}: its text is UTF-16, not {data.encoding}; write the file in "
            f"{data.encoding}, or give --data.encoding=utf-16 if all files are"
        )
    names = [_match_column(each, schema) for each in fields]
    if _has_header(names, schema, data):
        return CsvLayout(names, lines, *style)
    columns = list(schema.columns)
    partitions = parse_partitions(file.path)
    # The names of folders may have some of the columns.
    in_file = [name for name in columns if name not in partitions]
    for layout in [columns, *request.details.layouts, in_file]:
        if len(layout) == len(fields):
            return CsvLayout(list(layout), 0, *style)
    needed = {*(schema.used_features or schema.input_columns)}
    if data.header == "auto" and 2 * len(needed.intersection(names)) > len(needed):
        # A header with more other columns than those of the schema.
        return CsvLayout(names, lines, *style)
    raise UserError(
        f"{file.path}: row 1 has {len(fields)} fields and the schema names {len(columns)} "
        f"columns; check the schema and --data.delimiter (now {data.delimiter!r})"
    )


def list_csv_columns(request: ReadRequest) -> list[str]:
    """Returns the columns of a file.

    Args:
        request: names the file and its schema.

    Raises:
        UserError: the file cannot be read, or does not fit the schema.
    """
    return list(_find_layout(request).columns)


def read_csv(request: ReadRequest) -> Iterator[RawBatch]:
    """Yields the rows of a file.

    Args:
        request: what to read.

    Raises:
        UserError: a column is missing, a value cannot be parsed, or the file is damaged.
    """
    file, schema, bad_rows = request.file, request.schema, request.bad_rows
    layout = _find_layout(request)
    require_columns(request, layout.columns)
    skip_lines, before = find_start(file, layout)
    first_row = 1 + before
    # Arrow counts from the begin of a stretch.
    offset = before - skip_lines
    skipped = None if bad_rows is None else _SkippedRows(file, bad_rows, schema, offset)
    if skipped is not None:
        _capture_undecodable_rows()
    try:
        batches = open_reader(
            file,
            layout,
            _list_types(request),
            nulls=list(schema.missing_values),
            skip=None if skipped is None else skipped.skip,
        )
        for batch in batches:
            if skipped is None:
                yield RawBatch(first_row, batch)
                first_row += batch.num_rows
            else:
                rows = skipped.number(first_row, batch.num_rows)
                yield cast_batch(request, first_row, batch, rows)
                first_row = int(rows[-1]) + 1 if len(rows) else first_row
                skipped.count()
    except (pa.ArrowException, OSError, EOFError, UnicodeError) as error:
        message = _translate(_shift_row(str(error), offset), file, layout.columns, schema)
        if skipped is not None and skipped.has_undecodable:
            message += "; rows that are not UTF-8 text cannot be left out"
        raise UserError(message) from error
    if skipped is not None:
        skipped.count()


def find_start(file: DataFile, layout: CsvLayout) -> tuple[int, int]:
    """Returns the lines to skip in a file, or in a share of it, and the rows before the first one.

    Args:
        file: the file.
        layout: of the file.
    """
    stretch = file.part.stretch if file.part is not None else None
    if stretch is None or not stretch.start:
        return layout.skip_lines, layout.skip_lines
    # Lines before the first row count as rows; of the header, the stretch counts one.
    return 0, layout.skip_lines + stretch.rows - (layout.skip_lines > 0)


def open_reader(
    file: DataFile,
    layout: CsvLayout,
    types: pa.Schema,
    *,
    nulls: Sequence[str] = (),
    skip: Optional[Callable[[Any], str]] = None,
) -> Any:
    """Opens Arrow's streaming reader: an iterable of record batches.

    Args:
        file: what to read.
        layout: columns, delimiter and encoding of the file.
        types: Arrow schema of the columns to read.
        nulls: text that means a missing value.
        skip: called for each row with the wrong number of fields; None: a row with the wrong number
            of fields is an error.
    """
    skip_lines, _ = find_start(file, layout)
    if file.part is None or file.part.stretch is None:
        content = pa.input_stream(file.local_path, compression="gzip" if file.gzipped else None)
    else:
        file.require_version()
        stream = storage.open_data(file.path)
        content = StretchReader(stream, file.part.stretch, layout.block_bytes)
    return pa.csv.open_csv(
        content,
        # Arrow counts rows only if it reads in one thread.
        pa.csv.ReadOptions(
            use_threads=False,
            column_names=list(layout.columns),
            skip_rows=skip_lines,
            block_size=layout.block_bytes,
            encoding=_arrow_encoding(layout.encoding),
        ),
        pa.csv.ParseOptions(
            delimiter=layout.delimiter, newlines_in_values=True, invalid_row_handler=skip
        ),
        pa.csv.ConvertOptions(
            column_types=types,
            include_columns=list(types.names),
            null_values=list(nulls),
            strings_can_be_null=True,
        ),
    )


def _arrow_encoding(encoding: str) -> str:
    # Arrow reads UTF-8 itself, which is faster, only under this name.
    return "utf8" if encoding == "utf-8" else encoding


def _list_types(request: ReadRequest) -> pa.Schema:
    if request.bad_rows is None:
        return target_schema(request)
    # Read bytes, so that no value stops the reader. cast_batch parses them later.
    text = pa.dictionary(pa.int32(), pa.binary())
    types = {name: request.find_type(name) for name in request.names}
    return pa.schema(
        [
            (name, text if pa.types.is_dictionary(kind) else pa.binary())
            for name, kind in types.items()
        ]
    )


class _UnraisableHook:
    """A sys.unraisablehook that records rows which Arrow cannot decode for _SkippedRows.skip.

    Arrow decodes a row before it calls `skip`. If that fails, Python calls sys.unraisablehook,
    which would print a traceback. All other exceptions are passed to the default hook.
    """

    def __init__(self, default: Callable[[Any], Any]):
        self._default = default

    def __call__(self, unraisable: Any) -> None:
        owner = getattr(unraisable.object, "__self__", None)
        is_undecodable = isinstance(unraisable.exc_value, UnicodeDecodeError)
        if isinstance(owner, _SkippedRows) and is_undecodable:
            owner.has_undecodable = True
        else:
            self._default(unraisable)


def _capture_undecodable_rows() -> None:
    if not isinstance(sys.unraisablehook, _UnraisableHook):
        sys.unraisablehook = _UnraisableHook(sys.unraisablehook)


class _SkippedRows:
    """The rows with the wrong number of fields, which Arrow skips while it reads.

    Attributes:
        has_undecodable: whether one of these rows is not UTF-8 text; reading ends at this row.
    """

    def __init__(self, file: DataFile, bad_rows: BadRows, schema: Schema, offset: int):
        self.has_undecodable = False
        self._file = file
        self._bad_rows = bad_rows
        self._schema = schema
        self._offset = offset
        self._rows: list[int] = []
        self._counted = 0
        self._found = 0

    def skip(self, row: Any) -> str:
        """Records an invalid row; Arrow may call this before it has yielded the rows before."""
        fault = Fault(
            "",
            "fields",
            f"{row.actual_columns} fields instead of {row.expected_columns}: {{value}}",
            "fix the row, or check --data.delimiter",
        )
        text = quote_cell(row.text.strip()[:80], self._schema, "")
        number = row.number + self._offset
        self._bad_rows.add(self._file.path, number, fault, text)
        self._rows.append(number)
        self._found += 1
        return "skip"

    def number(self, first_row: int, num_rows: int) -> np.ndarray:
        """Returns the numbers of the next rows that were not skipped, int64 [num_rows]."""
        numbers = np.arange(first_row, first_row + num_rows + len(self._rows))
        numbers = numbers[~np.isin(numbers, self._rows)][:num_rows]
        if len(numbers):
            self._rows = [row for row in self._rows if row > numbers[-1]]
        return numbers

    def count(self) -> None:
        """Counts the rows skipped since the last call; may raise, which `skip` must not."""
        found, self._counted = self._found - self._counted, self._found
        if found:
            self._bad_rows.drop(found)


def _shift_row(message: str, offset: int) -> str:
    """Returns an error message of Arrow with a row number that is higher by an offset."""
    return re.sub(r"Row #(\d+)", lambda row: f"Row #{int(row[1]) + offset}", message, count=1)


def _translate(message: str, file: DataFile, columns: Sequence[str], schema: Schema) -> str:
    """Returns an error message of Arrow with the row and column of the user's file."""
    found = re.match(
        r"In CSV column #(\d+): Row #(\d+): CSV conversion error to (.*)", message, re.S
    )
    if found:
        name = columns[int(found.group(1))]
        value = re.search(r"invalid value ('.*')", found.group(3), re.S)
        shown = value is not None and not hides(schema, name)
        if value and value.group(1) == f"'{name}'":
            return f"{file.path}: row {found.group(2)} is the header again; remove it"
        remedy = "fix the value, or name it in the schema's missing_values"
        if schema.columns[name].raw_type == "string":
            remedy = "give the encoding of the file, such as --data.encoding=cp1252"
        elif found.group(2) == "1":
            remedy += f"; in a header, write the names of the schema, such as {name}"
        problem = f"{value.group(1)[:80]!s} is not" if value and shown else "the value is not"
        return (
            f"{file.path}: row {found.group(2)}, column {name}: "
            f"{' '.join(problem.split())} {TYPE_NAMES[schema.columns[name].raw_type]}; {remedy}"
        )
    width = describe_width(message, schema)
    if width:
        return f"{file.path}: {width}; fix the row, or check --data.delimiter"
    if LONG_ROW in message:
        return f"{file.path}: {LONG_ROW_FAULT}"
    detail = HIDDEN_DETAIL if hides(schema) else " ".join(message.split())
    return f"{file.path}: damaged: {detail}; write the file again, or check --data.encoding"
