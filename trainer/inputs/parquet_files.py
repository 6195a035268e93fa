"""Reads Parquet files."""

from collections.abc import Iterator, Sequence
from typing import Any, Optional

import pyarrow as pa

from estimator_bridge import BridgeError
from estimator_bridge.file_limits import check_column_sizes
from trainer import config as config_lib
from trainer.errors import UserError
from trainer.inputs.files import DataFile, FilePart
from trainer.inputs.raw_batches import RawBatch, ReadRequest, cast_batch, require_columns

# Number of rows that are read at once: many enough to make the cost of a call small, few enough to
# fit into the CPU's cache.
BATCH_ROWS = 65_536


def read_parquet(request: ReadRequest) -> Iterator[RawBatch]:
    """Yields the rows of a file.

    Args:
        request: what to read.

    Raises:
        UserError: a column is missing, a value cannot be converted, or the file is damaged.
    """
    # Imported here, because the import takes a fifth of a second and only Parquet files need it.
    import pyarrow.parquet as pq

    file, schema = request.file, request.schema
    path = file.local_path
    try:
        metadata = pq.read_metadata(path)
        stored = metadata.schema.to_arrow_schema()
        added = set(request.data.added_columns).difference(stored.names)
        names = [name for name in request.names if name not in added]
        require_columns(request._replace(names=names), stored.names)
        check_sizes(file, metadata, names, request.data)
        plain = (pa.string(), pa.large_string(), pa.binary(), pa.large_binary())
        strings = [
            name
            for name in names
            if schema.columns[name].type == "string" and stored.field(name).type in plain
        ]
        with pq.ParquetFile(path, metadata=metadata, read_dictionary=strings) as parquet:
            groups, before = choose_groups(metadata, file.part)
            first_row = 1 + before
            for batch in parquet.iter_batches(BATCH_ROWS, groups, names):
                check_values(file, batch)
                for name in added.intersection(request.names):
                    missing = pa.nulls(batch.num_rows, request.find_type(name))
                    batch = batch.append_column(name, missing)
                yield cast_batch(request, first_row, batch)
                first_row += batch.num_rows
    # A damaged footer may contain names that are not text.
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise UserError(
            f"{file.path}: damaged: {' '.join(str(error).split())}; write the file again"
        ) from error


def choose_groups(metadata: Any, part: Optional[FilePart]) -> tuple[list[int], int]:
    """Returns the row groups of a share of a file, and the number of rows before them.

    Args:
        metadata: the footer of the file.
        part: the share; None: the whole file.
    """
    count = metadata.num_row_groups
    if part is None:
        return list(range(count)), 0
    first, end = (count * place // part.total for place in (part.number, part.number + 1))
    before = sum(metadata.row_group(group).num_rows for group in range(first))
    return list(range(first, end)), before


def count_rows_before(file: DataFile) -> int:
    """Returns the number of rows of a file before the share that is read.

    Args:
        file: a share of a Parquet file, or a whole file of any format.

    Raises:
        UserError: the footer cannot be read.
    """
    return 0 if file.part is None else choose_groups(_read_footer(file), file.part)[1]


def check_values(file: DataFile, batch: pa.RecordBatch) -> None:
    """Refuses text that is not UTF-8 and indices outside a dictionary: Arrow reads both unchecked.

    Args:
        file: the file.
        batch: some of its rows.

    Raises:
        UserError: a column has such a value.
    """
    for name, column in zip(batch.schema.names, batch.columns):
        try:
            column.validate(full=True)
        except pa.ArrowException as error:
            raise UserError(
                f"{file.path}: column {name}: {' '.join(str(error).split())}; the file is damaged, "
                "or its text is not UTF-8: write it again"
            ) from error


def check_sizes(
    file: DataFile, metadata: Any, names: Sequence[str], data: config_lib.DataConfig
) -> None:
    """Refuses a file whose columns unpack to more than data.max_column_mib.

    Args:
        file: a Parquet file.
        metadata: its footer.
        names: the columns to read.
        data: the limit.

    Raises:
        UserError: a column is larger.
    """
    try:
        check_column_sizes(metadata, names, data.max_column_mib << 20)
    except BridgeError as error:
        raise UserError(
            f"{file.path}: {error}; if you trust the file, raise --data.max_column_mib"
        ) from error


def list_parquet_columns(request: ReadRequest) -> list[str]:
    """Returns the columns of a file, from its footer alone.

    Args:
        request: names the file.

    Raises:
        UserError: the footer cannot be read.
    """
    return list(_read_footer(request.file).schema.to_arrow_schema().names)


def count_rows(file: DataFile) -> int:
    """Returns the number of rows of a file, from its footer alone.

    Args:
        file: a Parquet file.

    Raises:
        UserError: the footer cannot be read.
    """
    return int(_read_footer(file).num_rows)


def _read_footer(file: DataFile) -> Any:
    import pyarrow.parquet as pq

    try:
        return pq.read_metadata(file.local_path)
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise UserError(f"{file.path}: damaged: {error}; write the file again") from error
