"""Reads Parquet files."""

from collections.abc import Iterator, Sequence
from typing import Any, Optional

import pyarrow as pa

from estimator_bridge import BridgeError
from estimator_bridge.user_files.limits import check_column_sizes
from trainer import config as config_lib
from trainer import storage
from trainer.errors import UserError
from trainer.inputs.files import DataFile
from trainer.inputs.raw_batches import RawBatch, ReadRequest, cast_batch, require_columns

# Number of rows that are read at once: many enough to make the cost of a call small, few enough to
# fit into the CPU's cache.
BATCH_ROWS = 65_536
# Row groups are read together up to this size, and no batch has rows of two runs of row groups. So
# the batches of a share, which consists of runs, are those of the whole file.
RUN_ROWS, RUN_BYTES = 1 << 18, 64 << 20


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
    try:
        content = open_content(file)
        metadata = pq.read_metadata(content)
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
        with pq.ParquetFile(content, metadata=metadata, read_dictionary=strings) as parquet:
            first_row = 1 + count_rows_before(file, metadata)
            for batch in iterate_runs(parquet, file, names):
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


def open_content(file: DataFile) -> Any:
    """Returns what Arrow reads: the path of a file, or a file of which only a share is fetched.

    Args:
        file: a file, or a share of it.

    Raises:
        OSError: there is no such file.
        UserError: the file cannot be fetched, or has changed since it was divided.
    """
    file.require_version()
    is_share = file.part is not None and storage.is_remote(file.path)
    return storage.open_data(file.path) if is_share else file.local_path


def iterate_runs(
    parquet: Any, file: DataFile, names: Optional[Sequence[str]] = None
) -> Iterator[pa.RecordBatch]:
    """Yields the rows of a file, or of a share of it.

    Args:
        parquet: the opened file.
        file: names the share.
        names: the columns to read; None: all.
    """
    runs = _list_runs(parquet.metadata)
    first, end = _choose_runs(file, len(runs))
    for groups in runs[first:end]:
        yield from parquet.iter_batches(BATCH_ROWS, groups, names)


def _list_runs(metadata: Any) -> list[list[int]]:
    """Returns the row groups of a file, divided into those that are read together."""
    runs: list[list[int]] = []
    rows, size = RUN_ROWS, 0
    for number in range(metadata.num_row_groups):
        if rows >= RUN_ROWS or size >= RUN_BYTES:
            runs.append([])
            rows = size = 0
        group = metadata.row_group(number)
        runs[-1].append(number)
        rows += group.num_rows
        size += group.total_byte_size
    return runs


def _choose_runs(file: DataFile, count: int) -> tuple[int, int]:
    """Returns which of `count` runs a share consists of: the first, and the one after the last."""
    part = file.part
    if part is None:
        return 0, count
    return count * part.number // part.total, count * (part.number + 1) // part.total


def count_runs(file: DataFile) -> int:
    """Returns into how many shares a Parquet file can be divided.

    Args:
        file: a file; in Cloud Storage, only its footer is fetched.

    Raises:
        UserError: the footer cannot be read.
    """
    return len(_list_runs(_read_footer(file, storage.open_data(file.path))))


def count_rows_before(file: DataFile, metadata: Any = None) -> int:
    """Returns the number of rows of a file before the share that is read.

    Args:
        file: a share of a Parquet file or of JSON lines, or a whole file of any format.
        metadata: the footer of a Parquet file; None: it is read.

    Raises:
        UserError: the footer cannot be read.
    """
    if file.part is None:
        return 0
    if file.part.stretch is not None:
        return file.part.stretch.rows
    metadata = metadata or _read_footer(file)
    runs = _list_runs(metadata)
    first, _ = _choose_runs(file, len(runs))
    return sum(metadata.row_group(group).num_rows for run in runs[:first] for group in run)


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


def _read_footer(file: DataFile, content: Any = None) -> Any:
    import pyarrow.parquet as pq

    try:
        return pq.read_metadata(content or open_content(file))
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise UserError(f"{file.path}: damaged: {error}; write the file again") from error
