"""Reads JSON lines, plain or gzipped: one object per line; an absent key is a missing value."""

import io
import json
import zlib
from collections.abc import Iterator, Sequence
from typing import Any, Optional

import numpy as np
import pyarrow as pa
import pyarrow.json

from trainer.errors import UserError
from trainer.inputs.bad_rows import BadRows, Fault
from trainer.inputs.files import DataFile
from trainer.inputs.raw_batches import RawBatch, ReadRequest, cast_batch
from trainer.inputs.stretches import BYTE_ORDER_MARK, StretchReader, find_stretch, open_bytes

# Bytes of text that are parsed at once.
BLOCK_BYTES = 1 << 20
_REMEDY = "write one object per line"


def read_json_lines(request: ReadRequest) -> Iterator[RawBatch]:
    """Yields the rows of a file.

    Args:
        request: what to read.

    Raises:
        UserError: a line is not an object, a value cannot be converted, or the file is damaged. If
            the request has `bad_rows`, such lines are recorded and left out.
    """
    max_row_bytes = request.data.max_row_mib << 20
    for batch, rows in _iterate(request.file, max_row_bytes, request.bad_rows):
        first_row = int(rows[0]) if len(rows) else 1
        yield cast_batch(request, first_row, select_columns(batch, request.names), rows)


def select_columns(batch: pa.RecordBatch, names: Sequence[str]) -> pa.RecordBatch:
    """Returns some columns; those that the rows do not have are null.

    Args:
        batch: the rows.
        names: the columns.
    """
    arrays = [
        batch.column(name) if name in batch.schema.names else pa.nulls(batch.num_rows)
        for name in names
    ]
    return pa.RecordBatch.from_arrays(arrays, names=list(names))


def iterate_json_lines(file: DataFile, max_row_bytes: int) -> Iterator[pa.RecordBatch]:
    """Yields the rows of a file with the columns and types that each block of rows has.

    Text is text: Arrow's conversion of dates is undone. A column of several types is text.

    Args:
        file: the file.
        max_row_bytes: longest line, in bytes.

    Raises:
        UserError: a line is not an object or too long, or the file is damaged.
    """
    for batch, _ in _iterate(file, max_row_bytes, None):
        yield batch


def _iterate(
    file: DataFile, max_row_bytes: int, bad_rows: Optional[BadRows]
) -> Iterator[tuple[pa.RecordBatch, np.ndarray]]:
    """Yields the rows, and their numbers in the file, int64 [rows]; blank lines do not count.

    Without `bad_rows`, a line that is no object is an error.
    """
    stretch, dates = find_stretch(file), pa.schema([])
    first_row = 1 + stretch.rows
    for block in _read_blocks(file, max_row_bytes):
        batch = _parse(block, dates)
        if batch is not None and (found := _find_dates(batch.schema)):
            dates = pa.unify_schemas([dates, found])
            batch = _parse(block, dates)
        if batch is not None:
            yield batch, np.arange(first_row, first_row + batch.num_rows)
            first_row += batch.num_rows
            continue
        rows, faults = _parse_lines(block, first_row)
        for number, what in faults.items():
            if bad_rows is None:
                raise UserError(f"{file.path}: row {number}: {what}; {_REMEDY}")
            bad_rows.add(file.path, number, Fault("", "not JSON", what, _REMEDY))
        if bad_rows is not None and faults:
            bad_rows.drop(len(faults))
        yield _to_batch(list(rows.values())), np.array(list(rows), np.int64)
        first_row += len(rows) + len(faults)


def _read_blocks(file: DataFile, max_row_bytes: int) -> Iterator[bytes]:
    """Yields blocks of whole lines that are not all blank."""
    stretch, rest = find_stretch(file), b""
    file.require_version()
    try:
        with StretchReader(open_bytes(file), stretch, BLOCK_BYTES) as stream:
            is_begin = not stretch.start
            while data := stream.read(BLOCK_BYTES):
                text = data.removeprefix(BYTE_ORDER_MARK) if is_begin else rest + data
                is_begin = False
                lines, newline, tail = text.rpartition(b"\n")
                if lines.strip():
                    yield lines + newline
                rest = tail
                if len(rest) > max_row_bytes:
                    raise UserError(
                        f"{file.path}: a line is longer than {max_row_bytes >> 20} MiB; write one "
                        "object per line, or raise --data.max_row_mib"
                    )
    except (OSError, EOFError, zlib.error) as error:
        raise UserError(f"{file.path}: damaged: {error}; write the file again") from error
    if rest.strip():
        yield rest


def _parse(block: bytes, explicit: pa.Schema) -> Optional[pa.RecordBatch]:
    """Returns the rows of a block; None unless each line is an object and each column of one type.

    Args:
        block: whole lines.
        explicit: types of columns that are not to be inferred.
    """
    try:
        table = pyarrow.json.read_json(
            io.BytesIO(block),
            pyarrow.json.ReadOptions(use_threads=False, block_size=len(block) + 1),
            pyarrow.json.ParseOptions(explicit_schema=explicit),
        )
    except pa.ArrowException:
        return None
    # Arrow also reads objects of several lines.
    if table.num_rows != block.count(b"\n") + (not block.endswith(b"\n")):
        return None
    try:
        table.validate(full=True)
    except pa.ArrowException:
        return None
    batch: pa.RecordBatch = table.combine_chunks().to_batches()[0]
    return batch


def _find_dates(schema: pa.Schema) -> Optional[pa.Schema]:
    """Returns the columns that Arrow converted to timestamps, as text; None if there are none."""
    found = []
    for field in schema:
        if pa.types.is_timestamp(field.type):
            found.append((field.name, pa.string()))
        elif pa.types.is_list(field.type) and pa.types.is_timestamp(field.type.value_type):
            found.append((field.name, pa.list_(pa.string())))
    return pa.schema(found) if found else None


def _parse_lines(block: bytes, first_row: int) -> tuple[dict[int, dict[str, Any]], dict[int, str]]:
    """Reads a block line by line.

    Returns:
        row number → object, and row number → what is wrong with a line that is none.
    """
    rows: dict[int, dict[str, Any]] = {}
    faults: dict[int, str] = {}
    lines = (line for line in block.split(b"\n") if line.strip())
    for number, line in enumerate(lines, first_row):
        try:
            row = json.loads(line.decode(), object_pairs_hook=_make_row)
        except (ValueError, RecursionError) as error:
            faults[number] = f"not JSON in one line: {_describe(error)}"
            continue
        if isinstance(row, dict):
            rows[number] = row
        else:
            faults[number] = "not a JSON object"
    return rows, faults


def _to_batch(rows: Sequence[dict[str, Any]]) -> pa.RecordBatch:
    names = dict.fromkeys(name for row in rows for name in row)
    arrays = [_to_array([row.get(name) for row in rows]) for name in names]
    return pa.RecordBatch.from_arrays(arrays, names=list(names))


def _describe(error: Exception) -> str:
    """Returns what is wrong, without the data."""
    if isinstance(error, UnicodeDecodeError):
        return "its text is not UTF-8"
    return "nested too deeply" if isinstance(error, RecursionError) else str(error)


def _make_row(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    row = dict(pairs)
    if len(row) < len(pairs):
        raise ValueError("a name appears twice")
    return row


def _to_array(values: list[Any]) -> pa.Array:
    """Returns a column of the values' type; of text if they have several types."""
    try:
        return pa.array(values)
    except (pa.ArrowException, OverflowError, UnicodeError):
        pass
    texts = [
        value if value is None or isinstance(value, str) else json.dumps(value) for value in values
    ]
    # A lone surrogate cannot be stored as UTF-8.
    return pa.array([None if t is None else t.encode(errors="replace").decode() for t in texts])
