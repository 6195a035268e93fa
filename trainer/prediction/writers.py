"""Writes Arrow tables as CSV, Parquet, JSON lines and TFRecord files of tf.Examples.

No Python code runs per row, but for TFRecord files.
"""

import json
from pathlib import Path
from typing import Any, Protocol, Union

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet

FORMATS = ("csv", "parquet", "jsonl", "tfrecord")
# A spreadsheet program runs text that begins with one of these characters as a formula.
_FORMULA = r"\A([=+\-@\t\r])"


def is_file_name(output: Union[str, Path]) -> bool:
    """Returns whether the name of an output is the name of a file, not of a folder.

    Args:
        output: local path or gs:// address.
    """
    return Path(output).suffix.lstrip(".") in FORMATS


class Writer(Protocol):
    """Writes record batches to a file."""

    def write(self, batch: pa.RecordBatch) -> None:
        """Appends rows.

        Args:
            batch: rows of the writer's schema.
        """

    def close(self) -> None:
        """Completes the file."""


def open_writer(
    path: Path, file_format: str, schema: pa.Schema, escape_formulas: bool = False
) -> Writer:
    """Opens a file for record batches.

    Args:
        path: the file; an existing file is replaced.
        file_format: csv, parquet, jsonl or tfrecord.
        schema: types of the columns: numbers, text, and lists of a fixed number of these.
        escape_formulas: csv: whether text that a spreadsheet would run gets an apostrophe before
            it; numbers stay as they are.
    """
    if file_format == "parquet":
        writer: Writer = pa.parquet.ParquetWriter(str(path), schema)
        return writer
    if file_format == "tfrecord":
        return _RecordWriter(path)
    return _CsvWriter(path, schema, escape_formulas) if file_format == "csv" else _JsonWriter(path)


class _CsvWriter:
    """Writes a list of n values as the columns name_0 ... name_{n-1}."""

    def __init__(self, path: Path, schema: pa.Schema, escape_formulas: bool):
        self._escape_formulas = escape_formulas
        empty = self._convert(pa.RecordBatch.from_pylist([], schema=schema))
        self._writer = pa.csv.CSVWriter(str(path), empty.schema)

    def write(self, batch: pa.RecordBatch) -> None:
        self._writer.write(self._convert(batch))

    def _convert(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        flat = _flatten_lists(batch)
        return _escape_formulas(flat) if self._escape_formulas else flat

    def close(self) -> None:
        self._writer.close()


def _flatten_lists(batch: pa.RecordBatch) -> pa.RecordBatch:
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


def _escape_formulas(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Puts an apostrophe before names and texts that a spreadsheet would run."""
    names = pa.array(batch.schema.names, pa.string())
    columns = [
        _escape_texts(column) if pa.types.is_string(column.type) else column
        for column in batch.columns
    ]
    return pa.RecordBatch.from_arrays(columns, names=_escape_texts(names).to_pylist())


def _escape_texts(texts: pa.Array) -> pa.Array:
    return pc.replace_substring_regex(texts, pattern=_FORMULA, replacement=r"'\1")


class _JsonWriter:
    """Writes one object per line, with null for NaN and infinity, which JSON cannot represent."""

    def __init__(self, path: Path):
        self._stream = path.open("wb")

    def write(self, batch: pa.RecordBatch) -> None:
        parts: list[Any] = []
        for index, (field, column) in enumerate(zip(batch.schema, batch.columns)):
            parts.append(f"{', ' if index else '{'}{json.dumps(field.name)}: ")
            parts.append(_to_json(column))
        parts.append("}\n")
        lines = pc.binary_join_element_wise(*parts, "")
        buffers = lines.buffers()
        # The data buffer of an Arrow string column is the concatenated text of all rows.
        self._stream.write(memoryview(buffers[2]))

    def close(self) -> None:
        self._stream.close()


def _to_json(column: pa.Array) -> pa.Array:
    """Returns each value as JSON text."""
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
        quoted = [json.dumps(word, ensure_ascii=False) for word in words.dictionary.to_pylist()]
        text = pa.array(quoted, pa.string()).take(words.indices)
    else:
        text = column.cast(pa.string())
    return text.fill_null("null")


class _RecordWriter:
    """Writes one tf.Example per row, in which a missing value is an empty list."""

    def __init__(self, path: Path):
        from estimator_bridge import tf

        self._tf = tf
        self._writer = tf.io.TFRecordWriter(str(path))

    def write(self, batch: pa.RecordBatch) -> None:
        columns = [
            (field.name, self._find_kind(field.type), _to_lists(column))
            for field, column in zip(batch.schema, batch.columns)
        ]
        for row in range(batch.num_rows):
            example = self._tf.train.Example()
            features = example.features.feature
            for name, kind, values in columns:
                getattr(features[name], kind).value.extend(values[row])
            self._writer.write(example.SerializeToString())

    @staticmethod
    def _find_kind(kind: pa.DataType) -> str:
        if pa.types.is_fixed_size_list(kind):
            kind = kind.value_type
        if pa.types.is_floating(kind):
            return "float_list"
        return "bytes_list" if pa.types.is_string(kind) else "int64_list"

    def close(self) -> None:
        self._writer.close()


def _to_lists(column: pa.Array) -> list[list[Any]]:
    """Returns the values of each row that are not missing; text as UTF-8."""
    kind = column.type
    flat = column.flatten() if pa.types.is_fixed_size_list(kind) else column
    size = kind.list_size if pa.types.is_fixed_size_list(kind) else 1
    if pa.types.is_string(flat.type):
        flat = flat.cast(pa.binary())
    elif pa.types.is_boolean(flat.type):
        flat = flat.cast(pa.int8())
    values = flat.to_pylist()
    return [
        [value for value in values[start : start + size] if value is not None]
        for start in range(0, len(values), size)
    ]
