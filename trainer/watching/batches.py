"""Converts logged requests of any format to Arrow batches with the types of the schema."""

import datetime
from collections.abc import Sequence
from typing import Any, NamedTuple, Optional, Union

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from trainer import config as config_lib
from trainer.inputs.bad_rows import BadRows
from trainer.inputs.files import DataFile
from trainer.inputs.floats import to_floats
from trainer.inputs.missing import mark_missing
from trainer.inputs.raw_batches import ReadRequest, cast_batch
from trainer.metrics.catalogue import SCORE_OUTPUTS
from trainer.schema import Schema

# Tasks whose models have one label column.
TASKS = ("binary", "multiclass", "regression")
# Possible names of the fields for the time and the model version, in order of preference.
TIMES = ("time", "timestamp", "logging_time")
VERSIONS = ("model_version", "version")
# A time above this is in milliseconds, not in seconds.
MILLISECONDS = 1e11


class Row(NamedTuple):
    """One row of a logged request, and its prediction.

    Attributes:
        features: column → value, or a list of values.
        score: number, or list of numbers; None: no prediction was logged.
        time: seconds since 1970, or ISO text; None: not logged.
        version: version of the model; "": not logged.
    """

    features: dict[str, Any]
    score: Any
    time: Any
    version: str


class Batch(NamedTuple):
    """Logged rows.

    Attributes:
        columns: rows in the Arrow types of the schema; null for a missing value.
        unreadable: column → number of values of another type than the schema's.
        scores: float64 [rows], or [rows, classes] for more than two classes; NaN: not logged.
        times: float64 [rows], seconds since 1970; NaN: not logged.
        versions: version of the model of each row; "": not logged.
    """

    columns: pa.RecordBatch
    unreadable: dict[str, int]
    scores: np.ndarray
    times: np.ndarray
    versions: Sequence[str]

    @property
    def answered(self) -> np.ndarray:
        """Which rows have a prediction, bool [rows]."""
        known: np.ndarray = np.isfinite(self.scores.reshape(len(self.versions), -1)).all(axis=1)
        return known


class Wanted(NamedTuple):
    """The fields to read from each row.

    Attributes:
        schema: types of the columns.
        names: the columns of the schema to read.
        time: name of the field for the time; None: the first of TIMES that exists.
        version: name of the field for the model version; None: the first of VERSIONS that exists.
    """

    schema: Schema
    names: Sequence[str]
    time: Optional[str] = None
    version: Optional[str] = None

    @property
    def times(self) -> Sequence[str]:
        """Possible names of the field for the time."""
        return (self.time,) if self.time else TIMES

    @property
    def versions(self) -> Sequence[str]:
        """Possible names of the field for the version."""
        return (self.version,) if self.version else VERSIONS

    @property
    def scores(self) -> Sequence[str]:
        """Possible names of the field for the score."""
        taken = self.schema.columns
        names = (*SCORE_OUTPUTS[self.schema.task], "score", "prediction")
        return [name for name in names if name not in taken]


def from_rows(file: DataFile, first_row: int, rows: Sequence[Row], wanted: Wanted) -> Batch:
    """Returns rows as a batch.

    Args:
        file: name of their file, for messages.
        first_row: number of the first row in the file.
        rows: at least one row.
        wanted: the fields to read.
    """
    columns = {
        name: _to_array([row.features.get(name) for row in rows], name, wanted.schema)
        for name in wanted.names
    }
    conformed, unreadable = _conform(file, first_row, columns, wanted.schema)
    return Batch(
        conformed,
        unreadable,
        to_scores([row.score for row in rows], wanted.schema),
        to_times([row.time for row in rows]),
        [row.version for row in rows],
    )


def from_table(file: DataFile, first_row: int, table: pa.RecordBatch, wanted: Wanted) -> Batch:
    """Returns a part of a table as a batch.

    Args:
        file: name of its file, for messages.
        first_row: number of the first row in the file.
        table: columns of any type.
        wanted: the fields to read; a column that the table lacks is missing in every row.
    """
    rows = table.num_rows
    given = set(table.schema.names)
    columns = {
        name: table.column(name) if name in given else pa.nulls(rows, pa.string())
        for name in wanted.names
    }

    def pick(names: Sequence[str]) -> pa.Array:
        name = next((one for one in names if one in given), None)
        return pa.nulls(rows) if name is None else table.column(name)

    conformed, unreadable = _conform(file, first_row, columns, wanted.schema)
    return Batch(
        conformed,
        unreadable,
        to_scores(pick(wanted.scores), wanted.schema),
        to_times(pick(wanted.times)),
        [_to_text(value) for value in pick(wanted.versions).to_pylist()],
    )


def _conform(
    file: DataFile, first_row: int, columns: dict[str, pa.Array], schema: Schema
) -> tuple[pa.RecordBatch, dict[str, int]]:
    """Returns columns in the types of the schema, and the number of values that do not fit."""
    unreadable: dict[str, int] = {}
    for name, array in columns.items():
        column = schema.columns[name]
        kind = array.type
        if (pa.types.is_list(kind) or pa.types.is_large_list(kind)) and column.separator is None:
            # A client may send each value as a list with one element.
            single = pc.less_equal(pc.list_value_length(array), 1).fill_null(True)
            unreadable[name] = len(array) - int(pc.sum(single).as_py() or 0)
            values = [one[0] if one and len(one) == 1 else None for one in array.to_pylist()]
            columns[name] = pa.array(values, kind.value_type)
        elif pa.types.is_null(kind):
            columns[name] = array.cast(pa.string())
    request = ReadRequest(
        file, schema, list(columns), config_lib.DataConfig(), bad_rows=BadRows(None)
    )
    raw = cast_batch(request, first_row, pa.RecordBatch.from_pydict(columns))
    known = {word.encode() for word in schema.missing_values}
    for name, (mask, values) in (raw.unparsed or {}).items():
        found = values.filter(mask)
        texts = (
            value if isinstance(value, bytes) else str(value).encode()
            for value in found.to_pylist()
        )
        unreadable[name] = unreadable.get(name, 0) + sum(
            text.strip() not in known for text in texts
        )
    return mark_missing(raw.columns, schema), unreadable


def _to_array(values: list[Any], name: str, schema: Schema) -> pa.Array:
    """Returns logged values as numbers, texts or lists; mixed values become texts."""
    column = schema.columns[name]
    if column.separator is not None:
        joined = [
            column.separator.join(_to_text(one) for one in value)
            if isinstance(value, (list, tuple))
            else value
            for value in values
        ]
        return pa.array(
            [None if value in (None, "") else _to_text(value) for value in joined], pa.string()
        )
    values = [_unwrap(value) for value in values]
    present = [value for value in values if value is not None]
    if column.raw_type != "string" and all(_is_number(value) for value in present):
        whole = all(isinstance(value, int) and abs(value) < 2**63 for value in present)
        return pa.array(values, pa.int64() if whole else pa.float64(), from_pandas=True)
    return pa.array([None if value is None else _to_text(value) for value in values], pa.string())


def _unwrap(value: Any) -> Any:
    """Returns the element of a list with one element; None for an empty list."""
    while isinstance(value, (list, tuple)):
        if len(value) > 1:
            return repr(value)
        value = value[0] if value else None
    return value


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _to_text(value: Any) -> str:
    if value is None:
        return ""
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)


def decode(columns: pa.RecordBatch) -> pa.RecordBatch:
    """Returns rows with texts in place of dictionaries of texts.

    Args:
        columns: rows of a Batch.
    """
    plain = [
        one.cast(pa.string()) if pa.types.is_dictionary(one.type) else one
        for one in columns.columns
    ]
    return pa.RecordBatch.from_arrays(plain, names=columns.schema.names)


def to_scores(values: Union[Sequence[Any], pa.Array], schema: Schema) -> np.ndarray:
    """Returns logged scores: float64 [rows], or [rows, classes] for more than two classes.

    Args:
        values: a number or a list of numbers for each row; None: not logged.
        schema: its task determines the meaning of a list; for two classes, the last score is used.
    """
    width = schema.num_classes if schema.task == "multiclass" else 1
    if isinstance(values, pa.Array):
        if width == 1 and _has_numbers(values):
            return to_floats(values)
        values = values.to_pylist()
    scores = np.full((len(values), width), np.nan)
    for row, value in enumerate(values):
        try:
            numbers = np.asarray(value, np.float64).reshape(-1)
        except (TypeError, ValueError):
            continue
        if width == 1 and len(numbers):
            scores[row, 0] = numbers[-1]
        elif len(numbers) == width:
            scores[row] = numbers
    return scores if width > 1 else scores[:, 0]


def to_times(values: Union[Sequence[Any], pa.Array]) -> np.ndarray:
    """Returns times as seconds since 1970, float64 [values]; NaN for other values.

    Args:
        values: numbers (seconds, or milliseconds beyond the year 5000), ISO texts or datetimes.
    """
    if isinstance(values, pa.Array):
        if pa.types.is_timestamp(values.type):
            # A time without a time zone is UTC.
            return to_floats(values.cast(pa.timestamp("us"), safe=False).cast(pa.int64())) / 1e6
        if _has_numbers(values):
            numbers = to_floats(values)
            return np.where(numbers > MILLISECONDS, numbers / 1000, numbers)
        values = values.to_pylist()
    return np.array([_to_seconds(value) for value in values], np.float64)


def _has_numbers(values: pa.Array) -> bool:
    return bool(pa.types.is_integer(values.type) or pa.types.is_floating(values.type))


def _to_seconds(value: Any) -> float:
    if isinstance(value, bytes):
        value = value.decode(errors="replace")
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            try:
                value = datetime.datetime.fromisoformat(value.strip().replace("Z", "+00:00"))
            except ValueError:
                return float("nan")
    if isinstance(value, datetime.datetime):
        zoned = value if value.tzinfo else value.replace(tzinfo=datetime.timezone.utc)
        return zoned.timestamp()
    if not _is_number(value):
        return float("nan")
    return value / 1000 if value > MILLISECONDS else float(value)
