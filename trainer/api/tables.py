"""Converts between Arrow tables and the tables of the caller: pandas, Polars, Arrow, dicts."""

import hashlib
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Union

import numpy as np
import pyarrow as pa

from trainer import storage
from trainer.errors import UserError

# What the functions of the API accept as rows: a pandas or Polars data frame, an Arrow table or
# record batch, any other object with __arrow_c_stream__, a dict of columns, a list of dicts.
Table = Any
# One or more files: paths, globs, directories.
Files = Union[str, Path, Sequence[Union[str, Path]]]


def is_files(data: Any) -> bool:
    """Returns whether data are given as names of files.

    Args:
        data: a table, or names of files.
    """
    if isinstance(data, (list, tuple)):
        return bool(data) and all(isinstance(each, (str, Path)) for each in data)
    return isinstance(data, (str, Path))


def list_files(data: Files) -> list[str]:
    """Returns names of files as a list of texts.

    Args:
        data: one or more names.
    """
    return [str(data)] if isinstance(data, (str, Path)) else [str(each) for each in data]


def to_arrow(data: Table, name: str) -> pa.Table:
    """Returns rows as an Arrow table.

    Args:
        data: the rows.
        name: of the argument, for messages.

    Raises:
        UserError: the data are no table, have no rows, or a column has values of several types.
    """
    try:
        table = _convert(data)
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        raise UserError(
            f"{name}: {' '.join(str(error).split())[:200]}; give each column values of one type"
        ) from error
    if table is None:
        raise UserError(
            f"{name}: got {type(data).__name__}; give a pandas or Polars data frame, an Arrow "
            "table, a dict of columns, or a list of dicts"
        )
    if not table.num_rows or not table.num_columns:
        raise UserError(f"{name}: has no rows; give at least one")
    return table


def _convert(data: Any) -> Any:
    """Returns rows as an Arrow table; None if they are no table."""
    if isinstance(data, pa.Table):
        return data
    if isinstance(data, pa.RecordBatch):
        return pa.Table.from_batches([data])
    if _is_pandas(data):
        return pa.Table.from_pandas(data, preserve_index=False)
    if _is_polars(data):
        # Arrow cannot read Polars' own form of text everywhere.
        oldest = sys.modules["polars"].CompatLevel.oldest()
        return data.to_arrow(compat_level=oldest)
    if hasattr(data, "__arrow_c_stream__"):
        return pa.table(data)
    if isinstance(data, Mapping):
        columns = {str(name): _to_column(values) for name, values in data.items()}
        return pa.table(columns)
    if isinstance(data, (list, tuple)) and all(isinstance(row, Mapping) for row in data):
        # All names: from_pylist takes those of the first row.
        names = dict.fromkeys(str(name) for row in data for name in row)
        return pa.table({name: pa.array([row.get(name) for row in data]) for name in names})
    return None


def _to_column(values: Any) -> Any:
    if _is_value(values):
        # A single row.
        return pa.array([values])
    return pa.array(values.tolist() if isinstance(values, np.ndarray) else values)


def _is_value(values: Any) -> bool:
    """Returns whether a dict's entry is one value instead of a column."""
    return isinstance(values, (str, bytes)) or not hasattr(values, "__len__")


def convert_like(data: Table, table: pa.Table) -> Table:
    """Returns an Arrow table as a table of the caller's kind.

    Args:
        data: rows that the caller gave; a pandas result has their index.
        table: the result, with the same number of rows.

    Returns:
        The kind of `data`; an Arrow table for any other object with __arrow_c_stream__.
    """
    if _is_pandas(data):
        frame = table.to_pandas()
        frame.index = data.index
        return frame
    if _is_polars(data):
        return sys.modules["polars"].from_arrow(table)
    if isinstance(data, Mapping):
        columns = table.to_pydict()
        single = all(
            isinstance(v, (str, bytes)) or not hasattr(v, "__len__") for v in data.values()
        )
        return {name: values[0] for name, values in columns.items()} if single else columns
    if isinstance(data, (list, tuple)):
        return table.to_pylist()
    return table


def _is_pandas(data: Any) -> bool:
    pandas = sys.modules.get("pandas")
    return pandas is not None and isinstance(data, pandas.DataFrame)


def _is_polars(data: Any) -> bool:
    polars = sys.modules.get("polars")
    return polars is not None and isinstance(data, polars.DataFrame)


@contextmanager
def named_as(name: str, path: Path) -> Iterator[None]:
    """Names an argument, instead of the file that its rows are in, in the messages of errors.

    Args:
        name: of the argument.
        path: of the file.

    Raises:
        UserError: the body of the `with` statement raised one.
    """
    try:
        yield
    except UserError as error:
        if str(path) not in str(error):
            raise
        raise type(error)(str(error).replace(str(path), name)) from error.__cause__


def write_table(table: pa.Table, folder: Path, name: str) -> Path:
    """Writes a table as a Parquet file, whose name depends on the rows; returns its path.

    The same rows give the same file, which is then not written again: a job that is continued
    with the same table finds its data unchanged.

    Args:
        table: the rows.
        folder: of the file; created if need be.
        name: first part of the file's name.

    Raises:
        UserError: the file cannot be written, or cannot have values of such a type.
    """
    # Imported here, because the import takes a fifth of a second.
    import pyarrow.parquet as pq

    buffer = pa.BufferOutputStream()
    try:
        pq.write_table(table, buffer)
    except (pa.ArrowException, OSError) as error:
        column = next(filter(lambda each: not _is_writable(each), table.schema), None)
        if column is None:
            raise
        raise UserError(
            f"{name}: column {column.name}: values of type {str(column.type)[:80]} cannot be "
            "written to a file; convert them to text, or leave the column out"
        ) from error
    content = buffer.getvalue()
    path = folder / f"{name}-{hashlib.sha256(content).hexdigest()[:16]}.parquet"
    try:
        if not path.is_file():
            folder.mkdir(parents=True, exist_ok=True)
            with storage.replaced(path) as new:
                new.write_bytes(content)
    except OSError as error:
        raise UserError(f"{path}: {error.strerror}; choose another --job_dir") from error
    return path


def _is_writable(column: pa.Field) -> bool:
    """Returns whether Parquet files can contain a column; they cannot contain pandas.cut's."""
    import pyarrow.parquet as pq

    try:
        pq.write_table(pa.schema([column]).empty_table(), pa.BufferOutputStream())
    except (pa.ArrowException, OSError):
        return False
    return True
