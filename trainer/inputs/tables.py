"""Reads files as Arrow record batches in the schema's types.

Error messages name the file, the row and the column.
"""

from collections.abc import Iterator, Sequence
from typing import Callable, NamedTuple, Optional

import numpy as np
import pyarrow as pa

from trainer import config as config_lib
from trainer.errors import UserError
from trainer.inputs.bad_rows import BadRows, Fault, find_faults
from trainer.inputs.cell_text import quote_cell
from trainer.inputs.csv_files import list_csv_columns, read_csv
from trainer.inputs.files import DataFile
from trainer.inputs.json_files import read_json_lines
from trainer.inputs.missing import mark_missing
from trainer.inputs.parquet_files import count_rows, list_parquet_columns, read_parquet
from trainer.inputs.partitions import read_partitioned
from trainer.inputs.raw_batches import (
    ARROW_TYPES,
    AS_IN_SCHEMA,
    RawBatch,
    ReadDetails,
    ReadRequest,
    unparsed_fault,
)
from trainer.inputs.split import Split
from trainer.inputs.tfrecord_files import read_tfrecord
from trainer.schema import Schema

__all__ = ["ARROW_TYPES", "Batch", "count_rows", "read_batches"]

READERS: dict[str, Callable[[ReadRequest], Iterator[RawBatch]]] = {
    "csv": read_csv,
    "jsonl": read_json_lines,
    "parquet": read_parquet,
    "tfrecord": read_tfrecord,
}
# What returns the columns of a file itself. The records of other formats may differ in theirs.
LISTERS: dict[str, Callable[[ReadRequest], Sequence[str]]] = {
    "csv": list_csv_columns,
    "parquet": list_parquet_columns,
}


class Batch(NamedTuple):
    """Rows of one file, in its order.

    Attributes:
        file: the file.
        numbers: number of each row in the file, int64 [rows]; counted from 1, and a CSV header
            counts too.
        columns: Arrow record batch, one column in one of ARROW_TYPES for each requested name.
    """

    file: DataFile
    numbers: np.ndarray
    columns: pa.RecordBatch


def read_batches(
    file: DataFile,
    schema: Schema,
    names: Sequence[str],
    data: config_lib.DataConfig,
    bad_rows: Optional[BadRows] = None,
    details: ReadDetails = AS_IN_SCHEMA,
) -> Iterator[Batch]:
    """Yields the rows of one file, or of its part that `file.split` names, in order.

    Args:
        file: the file.
        schema: types of the columns.
        names: the columns to read.
        data: delimiter and header of CSV files.
        bad_rows: collects the rows that do not fit the schema, and these rows are dropped; None:
            the first value that cannot be read is an error.
        details: how the file is read other than the schema says.

    Yields:
        batches with at least one row.

    Raises:
        UserError: a column is missing, a value cannot be parsed, the file is damaged or empty, or
            there are more bad rows than tolerated.
    """
    split = file.split
    kept = list(dict.fromkeys([*names, *details.unchecked]))
    wanted = dict.fromkeys([*kept, *(split.columns if split else ())])
    request = ReadRequest(file, schema, list(wanted), data, bad_rows, details)
    num_rows = 0
    dropped = bad_rows.count if bad_rows is not None else 0
    lister = LISTERS.get(file.format, lambda _: ())
    for raw in read_partitioned(request, READERS[file.format], lister):
        batch = raw._replace(columns=mark_missing(raw.columns, schema))
        num_rows += batch.columns.num_rows
        if split is not None:
            batch = _take_part(batch, split, kept)
        numbers = _number(batch, np.arange(batch.columns.num_rows))
        columns = batch.columns
        if bad_rows is not None:
            good = _drop_faulty(request._replace(names=list(names)), batch, bad_rows)
            if good is not None:
                bad_rows.keep(numbers[~good], columns.filter(pa.array(~good)))
                numbers, columns = numbers[good], columns.filter(pa.array(good))
        if columns.num_rows:
            yield Batch(file, numbers, columns)
    if not num_rows and (bad_rows is None or bad_rows.count == dropped):
        if file.part is not None:
            # The first share of a file may have only the header.
            return
        raise UserError(f"{file.path}: holds no rows; remove it or write it again")


def _take_part(batch: RawBatch, split: Split, names: Sequence[str]) -> RawBatch:
    """Returns the rows of one part, without the columns that only decide about the part."""
    chosen = split.choose(batch.columns)
    mask, numbers = pa.array(chosen), _number(batch, np.flatnonzero(chosen))
    unparsed = {
        name: (nulls.filter(mask), values.filter(mask))
        for name, (nulls, values) in (batch.unparsed or {}).items()
        if name in names
    }
    columns = batch.columns.select(list(names)).filter(mask)
    return RawBatch(batch.first_row, columns, numbers, unparsed)


def _drop_faulty(request: ReadRequest, batch: RawBatch, bad_rows: BadRows) -> Optional[np.ndarray]:
    """Returns which rows of a batch fit the schema, bool [rows]; None if all do.

    The other rows are recorded and counted.
    """
    columns = batch.columns
    kept: Optional[np.ndarray] = None
    unparsed = np.zeros(columns.num_rows, bool)
    for name, (null_mask, values) in (batch.unparsed or {}).items():
        if name not in request.names:
            continue
        mask = np.asarray(null_mask)
        where = np.flatnonzero(mask)
        fault = unparsed_fault(name, request.schema.columns[name].raw_type)
        examples = values.take(pa.array(where[: bad_rows.max_examples]))
        _record(bad_rows, request, fault, _number(batch, where), examples)
        unparsed |= mask
    if unparsed.any():
        bad_rows.drop(int(unparsed.sum()))
        kept = np.flatnonzero(~unparsed)
        columns = columns.filter(pa.array(~unparsed))
    faulty = np.zeros(columns.num_rows, bool)
    for fault, fault_mask in find_faults(columns, request.schema, request.names):
        mask = np.asarray(fault_mask)
        where = np.flatnonzero(mask)
        values = columns.column(fault.column).take(pa.array(where[: bad_rows.max_examples]))
        numbers = _number(batch, where if kept is None else kept[where])
        _record(bad_rows, request, fault, numbers, values)
        faulty |= mask
    good = ~unparsed
    if faulty.any():
        bad_rows.drop(int(faulty.sum()))
        good[good] = ~faulty
    return None if good.all() else good


def _number(batch: RawBatch, places: np.ndarray) -> np.ndarray:
    """Returns the row numbers in the file of rows of a batch, int64 [places]."""
    return places + batch.first_row if batch.rows is None else batch.rows[places]


def _record(
    bad_rows: BadRows, request: ReadRequest, fault: Fault, numbers: np.ndarray, values: pa.Array
) -> None:
    """Records all rows with a fault, and the values of the first rows as examples."""
    last = len(values) - 1
    for place, (number, value) in enumerate(zip(numbers.tolist(), values.to_pylist())):
        # The last example also counts for all later rows with the fault.
        rows = len(numbers) - place if place == last else 1
        shown = quote_cell(value, request.schema, fault.column)
        bad_rows.add(request.file.path, number, fault, shown, rows)
