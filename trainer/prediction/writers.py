"""Tables to CSV, Parquet and JSON lines, without a line of Python per row."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet

FORMATS = ("csv", "parquet", "jsonl")


def open_writer(path: Path, file_format: str, schema: pa.Schema) -> Any:
    """Opens a file for record batches: write(batch), close().

    Args:
        path: the file, which is replaced.
        file_format: csv, parquet or jsonl.
        schema: of the batches: numbers, text, and lists of a fixed number of them.
    """
    if file_format == "parquet":
        return pa.parquet.ParquetWriter(str(path), schema)
    return (_CsvWriter if file_format == "csv" else _JsonWriter)(path, schema)


class _CsvWriter:
    """A list of n values becomes the columns name_0 ... name_{n-1}."""

    def __init__(self, path: Path, schema: pa.Schema):
        empty = _spread(pa.RecordBatch.from_pylist([], schema=schema))
        self._writer = pa.csv.CSVWriter(str(path), empty.schema)

    def write(self, batch: pa.RecordBatch) -> None:
        """Adds rows."""
        self._writer.write(_spread(batch))

    def close(self) -> None:
        """Ends the file."""
        self._writer.close()


def _spread(batch: pa.RecordBatch) -> pa.RecordBatch:
    columns = {}
    for field, column in zip(batch.schema, batch.columns):
        if not pa.types.is_fixed_size_list(field.type):
            columns[field.name] = column
            continue
        for index in range(field.type.list_size):
            values = column.flatten()
            places = pa.array(range(index, len(values), field.type.list_size), pa.int64())
            columns[f"{field.name}_{index}"] = values.take(places)
    return pa.RecordBatch.from_pydict(columns)


class _JsonWriter:
    """One object a line; NaN and infinity, which JSON does not have, as null."""

    def __init__(self, path: Path, schema: pa.Schema):
        self._stream = path.open("wb")

    def write(self, batch: pa.RecordBatch) -> None:
        """Adds rows."""
        parts: list[Any] = []
        for index, (field, column) in enumerate(zip(batch.schema, batch.columns)):
            parts.append(f"{', ' if index else '{'}{json.dumps(field.name)}: ")
            parts.append(_to_json(column))
        parts.append("}\n")
        lines = pc.binary_join_element_wise(*parts, "")
        buffers = lines.buffers()
        # The text of all lines, one after the other, is what an Arrow string column is.
        self._stream.write(memoryview(buffers[2]))

    def close(self) -> None:
        """Ends the file."""
        self._stream.close()


def _to_json(column: pa.Array) -> pa.Array:
    """Each value as JSON text."""
    kind = column.type
    if pa.types.is_fixed_size_list(kind):
        values = _to_json(column.flatten())
        offsets = pa.array(range(0, len(values) + 1, kind.list_size), pa.int32())
        joined = pc.binary_join(pa.ListArray.from_arrays(offsets, values), ", ")
        return pc.binary_join_element_wise("[", joined, "]", "")
    if pa.types.is_floating(kind):
        text = pc.if_else(pc.is_finite(column), column.cast(pa.string()), "null")
    elif pa.types.is_string(kind):
        words = column.dictionary_encode()
        spelled = [json.dumps(word, ensure_ascii=False) for word in words.dictionary.to_pylist()]
        text = pa.array(spelled, pa.string()).take(words.indices)
    else:
        text = column.cast(pa.string())
    return text.fill_null("null")
