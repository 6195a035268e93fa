"""Parquet files."""

from collections.abc import Iterator, Sequence
from typing import Optional

import pyarrow as pa

from trainer import config as config_lib
from trainer.errors import UserError
from trainer.inputs.bad_rows import BadRows
from trainer.inputs.files import DataFile
from trainer.inputs.raw_batches import RawBatch, cast_batch, require_columns
from trainer.schema import Schema

# Rows read at once: enough to make the cost of a call vanish, small enough to stay in the cache.
BATCH_ROWS = 65_536


def read_parquet(
    file: DataFile,
    schema: Schema,
    names: Sequence[str],
    data: config_lib.DataConfig,
    bad: Optional[BadRows],
    layouts: Sequence[Sequence[str]],
) -> Iterator[RawBatch]:
    """Yields the rows of a file; see tables.read_batches."""
    # Imported here: it takes a fifth of a second, and only these files need it.
    import pyarrow.parquet as pq

    path = file.local_path
    try:
        metadata = pq.read_metadata(path)
        stored = metadata.schema.to_arrow_schema()
        require_columns(names, stored.names, file)
        plain = (pa.string(), pa.large_string(), pa.binary(), pa.large_binary())
        strings = [
            name
            for name in names
            if schema.columns[name].type == "string" and stored.field(name).type in plain
        ]
        with pq.ParquetFile(path, metadata=metadata, read_dictionary=strings) as parquet:
            first_row = 1
            for batch in parquet.iter_batches(BATCH_ROWS, columns=list(names)):
                yield cast_batch(first_row, batch, schema, names, file, bad)
                first_row += batch.num_rows
    except (pa.ArrowException, OSError) as error:
        raise UserError(
            f"{file.path}: damaged: {' '.join(str(error).split())}; write the file again"
        ) from error


def count_rows(file: DataFile) -> int:
    """Rows of a file, from its footer alone.

    Raises:
        UserError: the footer cannot be read.
    """
    import pyarrow.parquet as pq

    try:
        return pq.read_metadata(file.local_path).num_rows
    except (pa.ArrowException, OSError) as error:
        raise UserError(f"{file.path}: damaged: {error}; write the file again") from error
