"""Real rows for a comparison: from the trainer's data files, or from an input function."""

import csv
import glob
import gzip
import os
from typing import Any, NamedTuple, Optional

import numpy as np
import yaml

from estimator_bridge.errors import BridgeError

from ..plan.columns import Input
from ..plan.model import Plan

__all__ = ["Rows", "default_files", "read_files", "read_input_fn"]


class Rows(NamedTuple):
    """Rows as the Estimator's input function gives them.

    Attributes:
      features: name -> array [rows] or [rows, values]; text as bytes.
      labels: array [rows] or [rows, labels], text as bytes; None where there are none. Of several
        heads a dict of arrays by their names.
      sparse: names of the features that were SparseTensors.
      fillers: name -> what stands for no value in it; "", -1 or 0 by its type where it is not here.
    """

    features: dict[str, np.ndarray]
    labels: Any
    sparse: tuple[str, ...] = ()
    fillers: Optional[dict[str, Any]] = None

    def take(self, indices: np.ndarray) -> "Rows":
        """Some of the rows."""
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
    """The evaluation files that config.yaml in job_dir names."""
    with open(os.path.join(job_dir, "config.yaml"), encoding="utf-8") as file:
        return list(yaml.safe_load(file)["data"]["eval"])


def read_files(plan: Plan, patterns: list[str], limit: int) -> Rows:
    """The first rows of CSV, TFRecord or Parquet files; packed CSV and TFRecord too.

    Raises:
      BridgeError: no file, no such column, or a value that is not of its column's type.
    """
    paths = sorted(path for pattern in patterns for path in _expand(pattern))
    if not paths:
        raise BridgeError(f"data: no file matches {', '.join(patterns) or 'nothing'}; give --data")
    table: dict[str, list] = {}
    for path in paths:
        for name, values in _read_table(plan.data, path, limit).items():
            table.setdefault(name, []).extend(values)
        if len(next(iter(table.values()))) >= limit:
            break
    inputs = list(plan.inputs)
    for extra, dtype in ((plan.key, "string"), (plan.head.weight, "float32")):
        if extra is not None and extra not in {feature.name for feature in inputs}:
            inputs.append(Input(extra, dtype, 1))
    features = {
        feature.name: _to_array(plan.data, feature, table, limit, paths[0]) for feature in inputs
    }
    labels = {
        head.name: _labels(plan.data, head, names, table, limit, paths[0])
        for head, names in zip(plan.head.single, plan.data.labels)
    }
    return Rows(features, labels if plan.head.parts else labels[""])


def _labels(data, head, names, table, limit, path):
    """Labels of one head: [rows], or [rows, labels] of several answers."""
    dtype = "string" if head.classes else "float32"
    if head.task == "multilabel" or (head.task in ("binary", "multiclass") and not head.classes):
        dtype = "int64"
    found = [_to_array(data, Input(n, dtype, 1), table, limit, path) for n in names]
    return np.stack(found, axis=1) if head.task == "multilabel" else found[0]


def _expand(pattern):
    if os.path.isdir(pattern):
        return [path for path in glob.glob(os.path.join(pattern, "*")) if os.path.isfile(path)]
    return glob.glob(pattern)


def _read_table(data, path, limit) -> dict[str, Any]:
    """Columns of a file, by what it begins with."""
    with open(path, "rb") as file:
        packed = file.read(2) == b"\x1f\x8b"
        file.seek(0)
        if file.read(4) == b"PAR1":
            return _read_parquet(data, path)
    with (gzip.open if packed else open)(path, "rb") as file:
        head = file.read(12)
    # A record begins with its length and a check sum of these eight bytes.
    if len(head) == 12 and not head[2:8].strip(b"\0"):
        return _read_records(data, path, "GZIP" if packed else "", limit)
    return _read_csv(data, path, limit)


def _read_records(data, path, compression, limit) -> dict[str, list]:
    """Columns of a TFRecord file of tf.Examples, one a row."""
    import tensorflow as tf

    table: dict[str, list] = {}
    rows = 0
    try:
        for record in tf.data.TFRecordDataset(path, compression).take(limit):
            example = tf.train.Example.FromString(record.numpy())
            for name, feature in example.features.feature.items():
                values = getattr(feature, feature.WhichOneof("kind") or "bytes_list").value
                if name in data.multivalent and len(values):
                    # As in a CSV file: one text, whether a record has its values joined or apart.
                    value = _joined(values, data.multivalent[name][1])
                else:
                    value = values[0] if len(values) else None
                text = value.decode("utf-8") if isinstance(value, bytes) else value
                table.setdefault(name, [None] * rows).append(text)
            rows += 1
            for column in table.values():
                column += [None] * (rows - len(column))
    except (tf.errors.OpError, UnicodeDecodeError, ValueError) as error:
        raise BridgeError(
            f"data {path}: record {rows + 1} is no tf.Example of such rows: "
            f"{str(error).splitlines()[0][:100]}"
        ) from error
    return table


def _joined(values, separator) -> str:
    texts = [v.decode("utf-8") if isinstance(v, bytes) else str(v) for v in values]
    return separator.join(texts)


def _read_parquet(data, path):
    import pyarrow.parquet as pq

    table = pq.read_table(path).to_pydict()
    for name in set(table) & set(data.multivalent):
        separator = data.multivalent[name][1]
        table[name] = [_joined(v, separator) if isinstance(v, list) else v for v in table[name]]
    return table


def _read_csv(data, path, limit):
    with open(path, "rb") as file:
        packed = file.read(2) == b"\x1f\x8b"
    lines = []
    try:
        with (gzip.open if packed else open)(path, "rt", newline="", encoding="utf-8") as file:
            for line in csv.reader(file, delimiter=data.delimiter):
                if line:
                    lines.append(line)
                if len(lines) > limit:
                    break
    except (UnicodeDecodeError, csv.Error) as error:
        raise BridgeError(
            f"data {path}: it is neither CSV, TFRecord nor Parquet; give --data=FILE of these rows "
            f"in one of them ({error})"
        ) from error
    header = list(data.columns)
    if lines and sorted(name.strip() for name in lines[0]) == sorted(header):
        header = [name.strip() for name in lines.pop(0)]
    wrong = next((line for line in lines if len(line) != len(header)), None)
    if wrong is not None:
        raise BridgeError(
            f"data {path}: a line has {len(wrong)} fields, the schema {len(header)} columns: "
            f"{','.join(wrong)[:60]}"
        )
    return dict(zip(header, zip(*lines)))


def _to_array(data, feature, table, limit, path) -> np.ndarray:
    if feature.name not in table:
        raise BridgeError(f"data {path}: there is no column {feature.name!r}")
    default = data.defaults.get(feature.name, "" if feature.dtype == "string" else None)
    values = []
    for row, value in enumerate(table[feature.name][:limit]):
        if value is None or value in data.missing:
            value = default
        if value is None:
            raise BridgeError(
                f"data {path}: row {row + 1}, column {feature.name}: the value is missing and "
                "there is no default"
            )
        values.append(str(value).encode() if feature.dtype == "string" else value)
    try:
        return np.array(values, object if feature.dtype == "string" else feature.dtype)
    except ValueError as error:
        raise BridgeError(f"data {path}: column {feature.name}: {error}") from error


def read_input_fn(function: Any, inputs: Optional[tuple[Input, ...]], limit: int) -> Rows:
    """The first rows that an input function gives, sparse features padded with "", -1 or 0.

    Args:
      function: returns a tf.data.Dataset of (features, labels), or the two as tensors.
      inputs: the features that the model uses, others are left out; None: all of them.
      limit: number of rows.
    """
    from estimator_bridge import tf

    from .user_code import call_function, describe_error

    fillers = {feature.name: feature.filler for feature in inputs or ()}
    fillers = {name: filler for name, filler in fillers.items() if filler is not None}
    sparse: dict[str, None] = {}
    batches: list[tuple[dict, Any]] = []
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        given = call_function(function, "--input_fn")
        if isinstance(given, tf.data.Dataset):
            given = tf.compat.v1.data.make_one_shot_iterator(given).get_next()
        features, labels = given if isinstance(given, tuple) else (given, None)
        session.run(
            [tf.compat.v1.global_variables_initializer(), tf.compat.v1.tables_initializer()]
        )
        fetched = (features, {} if labels is None else labels)
        rows = 0
        while rows < limit:
            try:
                batch = session.run(fetched)
            except tf.errors.OutOfRangeError:
                break
            except tf.errors.OpError as error:
                raise BridgeError(
                    f"input_fn: it fails after {rows} rows: {describe_error(error)}"
                ) from error
            dense = {}
            for name, value in batch[0].items():
                if isinstance(value, tf.compat.v1.SparseTensorValue):
                    sparse[name] = None
                dense[name] = _pad(value, fillers.get(name), tf)
            batches.append((dense, batch[1]))
            rows += len(next(iter(dense.values())))
    if not batches:
        raise BridgeError("input_fn: it gave no rows")
    given = set(batches[0][0])
    wanted = given if inputs is None else {feature.name for feature in inputs}
    features = {
        name: _join([batch[0][name] for batch in batches], fillers.get(name))[:limit]
        for name in batches[0][0]
        if name in wanted
    }
    missing = sorted(wanted - set(features))
    if missing:
        raise BridgeError(f"input_fn: it gives no feature {', '.join(missing)}")
    labels = [batch[1] for batch in batches]
    known: Any = None
    if not isinstance(labels[0], dict):
        known = np.concatenate(labels)[:limit]
    elif labels[0]:
        names = list(labels[0])
        known = {name: np.concatenate([part[name] for part in labels])[:limit] for name in names}
    return Rows(features, known, tuple(name for name in sparse if name in wanted), fillers)


def _nothing(dtype, filler) -> Any:
    """What stands for no value in an array."""
    if dtype.kind == "O":
        return b""
    if filler is not None:
        return filler
    return -1 if dtype.kind == "i" else 0


def _pad(value, filler, tf) -> np.ndarray:
    if not isinstance(value, tf.compat.v1.SparseTensorValue):
        return np.asarray(value)
    dtype = value.values.dtype
    dense = np.full(tuple(value.dense_shape), _nothing(dtype, filler), dtype)
    dense[tuple(value.indices.T)] = value.values
    return dense


def _join(parts, filler) -> np.ndarray:
    if parts[0].ndim == 2:
        width = max(part.shape[1] for part in parts)
        parts = [_widen(part, width, filler) for part in parts]
    return np.concatenate(parts)


def _widen(part, width, filler):
    more = [(0, 0), (0, width - part.shape[1])]
    return np.pad(part, more, constant_values=_nothing(part.dtype, filler))
