"""Reads Parquet files."""

from collections.abc import Iterator

import pyarrow as pa

from trainer.errors import UserError
from trainer.inputs.files import DataFile
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
        require_columns(request.names, stored.names, file)
        plain = (pa.string(), pa.large_string(), pa.binary(), pa.large_binary())
        strings = [
            name
            for name in request.names
            if schema.columns[name].type == "string" and stored.field(name).type in plain
        ]
        with pq.ParquetFile(path, metadata=metadata, read_dictionary=strings) as parquet:
            first_row = 1
            for batch in parquet.iter_batches(BATCH_ROWS, columns=list(request.names)):
                yield cast_batch(request, first_row, batch)
                first_row += batch.num_rows
    except (pa.ArrowException, OSError) as error:
        raise UserError(
            f"{file.path}: damaged: {' '.join(str(error).split())}; write the file again"
        ) from error


def count_rows(file: DataFile) -> int:
    """Returns the number of rows of a file, from its footer alone.

    Args:
        file: a Parquet file.

    Raises:
        UserError: the footer cannot be read.
    """
    import pyarrow.parquet as pq

    try:
        return int(pq.read_metadata(file.local_path).num_rows)
    except (pa.ArrowException, OSError) as error:
        raise UserError(f"{file.path}: damaged: {error}; write the file again") from error
