"""Divides the rows of the same files into training and evaluation rows."""

import math
import re
from decimal import Decimal
from typing import NamedTuple, Optional

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from trainer import config as config_lib
from trainer.errors import UserError, nearest
from trainer.inputs.row_hashes import hash_rows
from trainer.schema import Schema
from trainer.schema.columns import DATE_PATTERN

# The beginning of a time in ISO 8601; a month or a year alone is one too.
_TIME = r"^\d{4}(-\d{2}(-\d{2}( .*)?)?)?$"


class Split(NamedTuple):
    """How rows are divided, and which of the two parts is read.

    Attributes:
        columns: the columns that decide; rows with the same values are in the same part.
        share: share of the rows' hashes that are evaluation rows; None to divide by time.
        after: time from which on rows are evaluation rows; None to divide by hash.
        is_eval: whether the evaluation rows are read.
    """

    columns: tuple[str, ...]
    share: Optional[float]
    after: Optional[str]
    is_eval: bool

    def choose(self, columns: pa.RecordBatch) -> np.ndarray:
        """Returns which rows belong to this part, bool [rows].

        Args:
            columns: the rows, with at least the columns that decide; null for a missing value. A
                row without a time is a training row.
        """
        if self.share is not None:
            hashes = hash_rows(columns, self.columns)
            places: np.ndarray = (hashes >> np.uint64(11)).astype(np.float64) / 2.0**53
            chosen = places < self.share
        else:
            chosen = _find_late(columns.column(self.columns[0]), self.after or "")
        return chosen if self.is_eval else ~chosen


def _find_late(column: pa.Array, after: str) -> np.ndarray:
    if pa.types.is_integer(column.type):
        # Not as floats, which round times in nanoseconds.
        first = max(math.ceil(Decimal(after)), -(2**63))
        if first >= 2**63:
            return np.zeros(len(column), bool)
        return np.asarray(pc.greater_equal(column, first).fill_null(False))
    if not pa.types.is_dictionary(column.type):
        # Rounded as the column is.
        bound = pa.scalar(float(after), column.type)
        return np.asarray(pc.greater_equal(column, bound).fill_null(False))
    # ISO 8601 orders as text does. Any other text, such as 31.12.2020, is no time.
    times = _normalize(column.dictionary)
    late = pc.and_(
        pc.greater_equal(times, after.strip().replace("T", " ")),
        pc.match_substring_regex(times, _TIME),
    )
    return np.asarray(late.take(column.indices).fill_null(False))


def _normalize(words: pa.Array) -> pa.Array:
    return pc.replace_substring(pc.utf8_trim_whitespace(words), "T", " ")


def build_split(data: config_lib.DataConfig, schema: Schema, is_eval: bool) -> Optional[Split]:
    """Returns how the files of data.train are divided; None if data.eval names other files.

    Args:
        data: eval_share or eval_after, and eval_by.
        schema: the columns.
        is_eval: whether the evaluation rows are wanted.

    Raises:
        UserError: no column can decide, or its type does not fit.
    """
    if data.eval_share is None and data.eval_after is None:
        return None
    columns = data.eval_by or _choose_columns(data, schema)
    for name in columns:
        if name not in schema.columns:
            raise UserError(f"data.eval_by: no column {name!r}{nearest(name, schema.columns)}")
    if data.eval_after is not None:
        _check_time(data.eval_after, columns, schema)
    return Split(tuple(columns), data.eval_share, data.eval_after, is_eval)


def _choose_columns(data: config_lib.DataConfig, schema: Schema) -> tuple[str, ...]:
    if data.eval_share is not None:
        # Not the labels: they would divide rows whose features are equal. Not the weight.
        return (schema.key,) if schema.key else tuple(schema.used_features)
    dates = [name for name, column in schema.columns.items() if column.date]
    if len(dates) != 1:
        found = f"{len(dates)} columns are dates" if dates else "no column of the schema is a date"
        raise UserError(
            f"data.eval_after: {found}; name the column of the rows' times in --eval_by"
        )
    return (dates[0],)


def _check_time(after: str, columns: tuple[str, ...], schema: Schema) -> None:
    if len(columns) != 1:
        raise UserError(
            f"data.eval_by: has {len(columns)} columns, but --eval_after needs the one of the "
            "rows' times; name only this one"
        )
    (name,) = columns
    kind = schema.columns[name].raw_type
    if kind == "string":
        if not re.fullmatch(DATE_PATTERN, after.strip()):
            raise UserError(
                f"data.eval_after: got {after!r}: column {name} is text; write a time such as "
                "2020-12-31 or 2020-12-31 23:59"
            )
        return
    try:
        is_number = math.isfinite(float(after))
    except ValueError:
        is_number = False
    if not is_number:
        raise UserError(f"data.eval_after: got {after!r}: column {name} is {kind}; write a number")
