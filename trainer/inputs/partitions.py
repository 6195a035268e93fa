"""Reads the columns of Hive partitions: their values are in the names of folders."""

from collections.abc import Iterator, Sequence
from typing import Callable, Optional

import numpy as np
import pyarrow as pa

from trainer.errors import UserError
from trainer.inputs.cell_text import quote_cell
from trainer.inputs.raw_batches import RawBatch, ReadRequest, cast_array, target_schema
from trainer.storage.partition_names import parse_partitions


def read_partitioned(
    request: ReadRequest,
    read: Callable[[ReadRequest], Iterator[RawBatch]],
    list_columns: Callable[[ReadRequest], Sequence[str]],
) -> Iterator[RawBatch]:
    """Yields the rows of a file, with the columns that only the names of its folders have.

    Args:
        request: what to read.
        read: the reader of the file's format.
        list_columns: returns the columns of the file itself; a column there hides its folder.

    Raises:
        UserError: the file cannot be read, or the name of a folder does not fit the schema.
    """
    partitions = parse_partitions(request.file.path)
    given = [name for name in request.names if name in partitions]
    if given:
        own = set(list_columns(request))
        given = [name for name in given if name not in own]
    if not given:
        yield from read(request)
        return
    values = {name: _parse(request, name, partitions[name]) for name in given}
    in_file = request._replace(names=[name for name in request.names if name not in values])
    for batch in read(in_file):
        rows = batch.columns.num_rows
        arrays = [
            _repeat(values[name], rows) if name in values else batch.columns.column(name)
            for name in request.names
        ]
        kinds = [pa.field(name, array.type) for name, array in zip(request.names, arrays)]
        yield batch._replace(columns=pa.RecordBatch.from_arrays(arrays, schema=pa.schema(kinds)))


def _repeat(value: pa.Array, rows: int) -> pa.Array:
    return value.take(pa.array(np.zeros(rows, np.int32)))


def _parse(request: ReadRequest, name: str, value: Optional[str]) -> pa.Array:
    """Returns the value of a folder in the type of its column, one row."""
    try:
        return cast_array(pa.array([value], pa.string()), target_schema(request).field(name).type)
    except pa.ArrowException as error:
        raise UserError(
            f"{request.file.path}: the folder's {name}={quote_cell(value, request.schema, name)} "
            f"is not {request.schema.columns[name].type}; fix the schema, or rename the folder"
        ) from error


def add_partitions(batch: pa.RecordBatch, path: str, names: Sequence[str]) -> pa.RecordBatch:
    """Returns rows of a file without a schema, with partition columns as text.

    Args:
        batch: the rows.
        path: of their file.
        names: the partition columns; a column of the file itself stays.
    """
    partitions = parse_partitions(path)
    for name in names:
        if name not in batch.schema.names:
            value = pa.array([partitions.get(name)], pa.string())
            batch = batch.append_column(name, _repeat(value, batch.num_rows))
    return batch
