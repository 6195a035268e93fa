"""Files as Arrow record batches of the schema's types; errors name file, row and column."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple, Optional

import numpy as np
import pyarrow as pa

from trainer import config as config_lib
from trainer.errors import UserError
from trainer.inputs.bad_rows import MAX_EXAMPLES, BadRows, find_faults, show
from trainer.inputs.csv_files import read_csv
from trainer.inputs.files import DataFile
from trainer.inputs.parquet_files import count_rows, read_parquet
from trainer.inputs.raw_batches import ARROW_TYPES, RawBatch, unparsed_fault
from trainer.inputs.tfrecord_files import read_tfrecord
from trainer.schema import Schema

__all__ = ["ARROW_TYPES", "Batch", "count_rows", "read_batches"]

READERS = {"csv": read_csv, "parquet": read_parquet, "tfrecord": read_tfrecord}


class Batch(NamedTuple):
    """Consecutive rows of one file.

    Attributes:
        file: where they are from.
        first_row: number of the first one in the file, counted from 1; a CSV header counts too.
        columns: Arrow record batch, one column of type ARROW_TYPES for each name asked for.
    """

    file: DataFile
    first_row: int
    columns: pa.RecordBatch


def read_batches(
    file: DataFile,
    schema: Schema,
    names: Sequence[str],
    data: config_lib.DataConfig,
    bad: Optional[BadRows] = None,
    layouts: Sequence[Sequence[str]] = (),
) -> Iterator[Batch]:
    """Yields the rows of one file in order.

    Args:
        file: the file.
        schema: types of the columns.
        names: the columns wanted.
        data: delimiter and header of CSV files.
        bad: takes the rows that do not fit, which are then left out; None: the first of those
            that cannot be read is an error.
        layouts: columns that a CSV file without a header may have, besides all of the schema's.

    Raises:
        UserError: a column is missing, a value does not parse, the file is damaged, there are more
            bad rows than tolerated.
    """
    rows = 0
    dropped = bad.count if bad is not None else 0
    for piece in READERS[file.format](file, schema, list(names), data, bad, layouts):
        columns = piece.columns if bad is None else _drop_faulty(piece, file, schema, names, bad)
        rows += columns.num_rows
        if columns.num_rows:
            yield Batch(file, piece.number(0), columns)
    if not rows and (bad is None or bad.count == dropped):
        raise UserError(f"{file.path}: holds no rows; remove it or write it again")


def _drop_faulty(
    piece: RawBatch, file: DataFile, schema: Schema, names: Sequence[str], bad: BadRows
) -> pa.RecordBatch:
    """The rows of a piece that fit; notes and counts the others."""
    columns, numbers = piece.columns, None
    unparsed = np.zeros(columns.num_rows, bool)
    for name, (mask, values) in (piece.unparsed or {}).items():
        mask = np.asarray(mask)
        fault = unparsed_fault(name, schema.columns[name].raw_type)
        _note(bad, file, fault, np.flatnonzero(mask), piece.number, values)
        unparsed |= mask
    if unparsed.any():
        bad.drop(int(unparsed.sum()))
        numbers = np.flatnonzero(~unparsed)
        columns = columns.filter(pa.array(~unparsed))
    faulty = np.zeros(columns.num_rows, bool)
    for fault, mask in find_faults(columns, schema, names):
        mask = np.asarray(mask)
        where = np.flatnonzero(mask)
        _note(
            bad,
            file,
            fault,
            where,
            lambda index: piece.number(index if numbers is None else int(numbers[index])),
            columns.column(fault.column),
        )
        faulty |= mask
    if faulty.any():
        bad.drop(int(faulty.sum()))
        columns = columns.filter(pa.array(~faulty))
    return columns


def _note(bad, file, fault, where, number, values) -> None:
    for place, index in enumerate(where[:MAX_EXAMPLES].tolist()):
        # The last one listed stands for all that follow it.
        rows = len(where) - place if place == MAX_EXAMPLES - 1 else 1
        bad.add(file.path, number(index), fault, show(values[index].as_py()), rows)
