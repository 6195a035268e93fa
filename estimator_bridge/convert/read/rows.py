"""Reads rows for a comparison, from data files of the trainer."""

import csv
import glob
import gzip
import os
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple, Optional

import numpy as np

from estimator_bridge.errors import BridgeError
from estimator_bridge.user_files.limits import check_column_sizes, limit_lines, read_checked

from ..plan.columns import Input
from ..plan.model import Data, Head, Plan, model_inputs
from .job_files import read_config

__all__ = ["Rows", "default_files", "is_divided", "read_files"]

_BATCH_ROWS = 65_536
# Size from which a column of a Parquet file must not be packed extremely, and the longest line of a
# CSV file in characters.
_MAX_COLUMN_BYTES = 1 << 30
_MAX_LINE = 1 << 24


class Rows(NamedTuple):
    """Rows as the Estimator's input function returns them.

    Attributes:
      features: name -> array [rows] or [rows, values]; text as bytes.
      labels: array [rows] or [rows, labels], text as bytes; None without labels. For several heads
        a dict of arrays, by the names of the heads.
      sparse: names of the features that the input function returned as SparseTensors.
      fillers: name -> padding value. The default for a dtype is "" (string), -1 (integer) or 0.
    """

    features: dict[str, np.ndarray]
    labels: Any
    sparse: tuple[str, ...] = ()
    fillers: Optional[dict[str, Any]] = None

    def take(self, indices: np.ndarray) -> "Rows":
        """Returns some of the rows.

        Args:
          indices: row numbers, from 0.
        """
        features = {name: values[indices] for name, values in self.features.items()}
        labels = self.labels
        if isinstance(labels, dict):
            labels = {name: values[indices] for name, values in labels.items()}
        elif labels is not None:
            labels = labels[indices]
        return Rows(features, labels, self.sparse, self.fillers)

    def __len__(self) -> int:
        return len(next(iter(self.features.values())))


def default_files(job_dir: str) -> list[str]:
    """Returns the evaluation files of a job.

    A job that divides the rows of its training files has no others. Any rows serve to compare two
    models, so these files are returned.

    Args:
      job_dir: folder with its config.yaml.

    Raises:
      BridgeError: config.yaml is missing or corrupt, or names no evaluation files.
    """
    data = read_config(Path(job_dir)).get("data", {})
    files: list[str] = data.get("eval") or data.get("train", [])
    if not files:
        raise BridgeError(f"job_dir {job_dir}: config.yaml has no field data.eval; give --data")
    return files


def is_divided(job_dir: str) -> bool:
    """Returns whether a job divides the rows of its files into training and evaluation rows.

    Args:
      job_dir: folder with its config.yaml.
    """
    data = read_config(Path(job_dir)).get("data", {})
    return data.get("eval_share") is not None or data.get("eval_after") is not None


def read_files(plan: Plan, patterns: list[str], limit: int) -> Rows:
    """Returns the first rows of CSV, TFRecord or Parquet files, which may be gzipped.

    Args:
      plan: the model; it describes its data files.
      patterns: files, folders or glob patterns.
      limit: number of rows.

    Raises:
      BridgeError: there is no file, a column is missing, or a value is invalid.
    """
    paths = sorted(path for pattern in patterns for path in _expand(pattern))
    if not paths:
        raise BridgeError(f"data: no file matches {', '.join(patterns) or 'nothing'}; give --data")
    if plan.data is None:
        raise BridgeError("data: the model does not describe its data files; give --input_fn")
    reader = _FileReader(plan.data, limit, paths[0])
    for path in paths:
        if reader.read(path) >= limit:
            break
    inputs = list(model_inputs(plan))
    weight = plan.head.weight
    if weight is not None and weight not in {feature.name for feature in inputs}:
        inputs.append(Input(weight, "float32", 1))
    features = {feature.name: reader.to_array(feature) for feature in inputs}
    labels = {
        head.name: reader.labels(head, names)
        for head, names in zip(plan.head.single, plan.data.labels)
    }
    return Rows(features, labels if plan.head.parts else labels[""])


def _expand(pattern: str) -> list[str]:
    if os.path.isdir(pattern):
        return [path for path in glob.glob(os.path.join(pattern, "*")) if os.path.isfile(path)]
    return glob.glob(pattern)


class _FileReader:
    """Reads files into one table, and converts its columns to arrays.

    Args:
      data: describes the files.
      limit: number of rows.
      path: the first file, for messages.
    """

    def __init__(self, data: Data, limit: int, path: str):
        self._data = data
        self._limit = limit
        self._path = path
        self._table: dict[str, list[Any]] = {}

    def read(self, path: str) -> int:
        """Appends the rows of a file; returns the number of rows of the table.

        Args:
          path: the file.
        """
        for name, values in _read_table(self._data, path, self._limit).items():
            self._table.setdefault(name, []).extend(values)
        return len(next(iter(self._table.values())))

    def labels(self, head: Head, names: tuple[str, ...]) -> np.ndarray:
        """Returns the labels of one head: [rows], or [rows, labels] for a multilabel head.

        Args:
          head: the head.
          names: its label columns.
        """
        dtype = "string" if head.classes else "float32"
        is_class = head.task in ("binary", "multiclass") and not head.classes
        if head.task == "multilabel" or is_class:
            dtype = "int64"
        found = [self.to_array(Input(name, dtype, 1)) for name in names]
        return np.stack(found, axis=1) if head.task == "multilabel" else found[0]

    def to_array(self, feature: Input) -> np.ndarray:
        """Returns a column as an array [rows].

        Args:
          feature: name and dtype.

        Raises:
          BridgeError: there is no such column, or one of its values is missing or invalid.
        """
        if feature.name not in self._table:
            raise BridgeError(f"data {self._path}: there is no column {feature.name!r}")
        is_text = feature.dtype == "string"
        default = self._data.defaults.get(feature.name, "" if is_text else None)
        values = []
        for row, value in enumerate(self._table[feature.name][: self._limit]):
            if value is None or value in self._data.missing:
                value = default
            if value is None:
                raise BridgeError(
                    f"data {self._path}: row {row + 1}, column {feature.name}: the value is "
                    "missing; set a default in the schema, or give other files with --data"
                )
            values.append(str(value).encode() if is_text else value)
        try:
            return np.array(values, object if is_text else feature.dtype)
        except (ValueError, TypeError, OverflowError) as error:
            # The message of NumPy quotes the value, which may be private.
            raise BridgeError(
                f"data {self._path}: row {_find_unfit(values, feature.dtype) + 1}, column "
                f"{feature.name}: the value is not one {feature.dtype}; fix it, or give other "
                "files with --data"
            ) from error


def _find_unfit(values: list[Any], dtype: str) -> int:
    """Returns the index of the first value that is not of a dtype; 0 if there is none."""
    for index, value in enumerate(values):
        try:
            np.array([value], dtype)
        except (ValueError, TypeError, OverflowError):
            return index
    return 0


def _read_table(data: Data, path: str, limit: int) -> dict[str, Any]:
    """Returns the columns of a file, whose format is recognized by its first bytes."""
    with open(path, "rb") as file:
        is_gzip = file.read(2) == b"\x1f\x8b"
        file.seek(0)
        if file.read(4) == b"PAR1":
            return _read_parquet(data, path, limit)
    try:
        with (gzip.open if is_gzip else open)(path, "rb") as file:
            head = file.read(12)
    except (OSError, EOFError, zlib.error) as error:
        raise BridgeError(
            f"data {path}: damaged: {error}; give another file with --data"
        ) from error
    # A TFRecord begins with its length in 8 bytes and their checksum.
    if len(head) == 12 and not head[2:8].strip(b"\0"):
        return _read_records(data, path, "GZIP" if is_gzip else "", limit)
    return _read_csv(data, path, limit, is_gzip)


def _read_records(data: Data, path: str, compression: str, limit: int) -> dict[str, list[Any]]:
    """Returns the columns of a TFRecord file with one tf.Example per row."""
    import tensorflow as tf

    table: dict[str, list[Any]] = {}
    rows = 0
    try:
        records = tf.data.TFRecordDataset(path, compression).take(limit)
        # TensorFlow unpacks a record of a compressed file piece by piece.
        checked = records if compression else read_checked(path, lambda: records, 1)
        for record in checked:
            example = tf.train.Example.FromString(record.numpy())
            for name, feature in example.features.feature.items():
                values = getattr(feature, feature.WhichOneof("kind") or "bytes_list").value
                value: Any = values[0] if len(values) else None
                if name in data.multivalent and len(values):
                    # One text, as in a CSV file. The record may contain it, or separate values.
                    value = _join_texts(values, data.multivalent[name][1])
                text = value.decode("utf-8") if isinstance(value, bytes) else value
                table.setdefault(name, [None] * rows).append(text)
            rows += 1
            for column in table.values():
                column += [None] * (rows - len(column))
    except (tf.errors.OpError, UnicodeDecodeError, ValueError) as error:
        raise BridgeError(
            f"data {path}: record {rows + 1} is not a valid tf.Example: "
            f"{str(error).splitlines()[0][:100]}"
        ) from error
    return table


def _join_texts(values: Iterable[Any], separator: str) -> str:
    texts = [v.decode("utf-8") if isinstance(v, bytes) else str(v) for v in values]
    return separator.join(texts)


def _read_parquet(data: Data, path: str, limit: int) -> dict[str, list[Any]]:
    import pyarrow.parquet

    table: dict[str, list[Any]] = {}
    try:
        with pyarrow.parquet.ParquetFile(path) as file:
            check_column_sizes(file.metadata, file.schema_arrow.names, _MAX_COLUMN_BYTES)
            rows = 0
            for batch in file.iter_batches(min(limit, _BATCH_ROWS)):
                for name, values in batch.to_pydict().items():
                    table.setdefault(name, []).extend(values)
                rows += batch.num_rows
                if rows >= limit:
                    break
    except (pyarrow.ArrowException, OSError, UnicodeDecodeError) as error:
        raise BridgeError(f"data {path}: damaged: {' '.join(str(error).split())}") from error
    for name in set(table) & set(data.multivalent):
        separator = data.multivalent[name][1]
        table[name] = [
            _join_texts(value, separator) if isinstance(value, list) else value
            for value in table[name]
        ]
    return table


def _read_csv(data: Data, path: str, limit: int, is_gzip: bool) -> dict[str, Any]:
    lines: list[list[str]] = []
    try:
        with (gzip.open if is_gzip else open)(
            path, "rt", newline="", encoding=data.encoding
        ) as file:
            for line in csv.reader(limit_lines(file, _MAX_LINE), delimiter=data.delimiter):
                if line:
                    lines.append(line)
                if len(lines) > limit:
                    break
    except (ValueError, OSError, EOFError, zlib.error, csv.Error) as error:
        raise BridgeError(
            f"data {path}: it is neither CSV, TFRecord nor Parquet ({error}); "
            "give a file in one of these formats with --data"
        ) from error
    header = list(data.columns or ())
    if lines and sorted(name.strip() for name in lines[0]) == sorted(header):
        header = [name.strip() for name in lines.pop(0)]
    for row, line in enumerate(lines, start=1):
        if len(line) != len(header):
            raise BridgeError(
                f"data {path}: row {row} has {len(line)} fields, but the schema has {len(header)} "
                "columns; fix the row, or give other files with --data"
            )
    return dict(zip(header, zip(*lines)))
