"""Finds what rows in which two models differ have in common."""

from typing import Any, NamedTuple, Optional

import numpy as np

__all__ = ["describe_common"]

# A value counts as a cause if at least this share of the rows with it differ.
_MIN_SHARE = 0.5
# A range of numbers, which few rows share by chance, needs a larger share and so many rows.
_MIN_SHARE_OF_RANGE, _MIN_ROWS_OF_RANGE = 0.9, 5


class _Common(NamedTuple):
    """What all rows that differ have in common.

    Attributes:
      text: names the feature and its value.
      rows: how many rows have it.
    """

    text: str
    rows: int


def describe_common(features: dict[str, np.ndarray], differs: np.ndarray) -> str:
    """Returns what all rows that differ have in common, and few others; "" if there is nothing.

    Args:
      features: name -> array [rows] or [rows, values]; text as bytes.
      differs: bool [rows].
    """
    count, total = int(differs.sum()), len(differs)
    if count < 2 or count == total:
        return ""
    found = [_find_common(name, values, differs) for name, values in features.items()]
    best = min((one for one in found if one is not None), key=lambda one: one.rows, default=None)
    if best is None:
        return ""
    return f"all {count} rows that differ have {best.text}, as {best.rows} of {total} rows have"


def _find_common(name: str, values: np.ndarray, differs: np.ndarray) -> Optional[_Common]:
    table = values.reshape(len(values), -1)
    if not table.shape[1]:
        return None
    count = int(differs.sum())
    if table.dtype.kind == "f":
        missing = np.isnan(table).any(axis=1)
        if missing[differs].all():
            return _choose(f"no number in {name}", missing, count, _MIN_SHARE)
        if table.shape[1] > 1 or missing[differs].any() or count < _MIN_ROWS_OF_RANGE:
            return None
        low, high = table[differs].min(), table[differs].max()
        inside = (table[:, 0] >= low) & (table[:, 0] <= high)
        text = f"{name} from {low:.6g} to {high:.6g}"
        return _choose(text, inside, count, _MIN_SHARE_OF_RANGE)
    shared = set.intersection(*(set(row) for row in table[differs].tolist()))
    chosen = [
        _choose(f"{name} = {_to_text(value)}", (table == value).any(axis=1), count, _MIN_SHARE)
        for value in shared
    ]
    kept = [one for one in chosen if one is not None]
    return min(kept, key=lambda one: (one.rows, one.text), default=None)


def _choose(text: str, rows: np.ndarray, count: int, share: float) -> Optional[_Common]:
    have = int(rows.sum())
    return _Common(text, have) if have < len(rows) and count >= share * have else None


def _to_text(value: Any) -> str:
    if isinstance(value, bytes):
        value = value.decode("utf-8", "replace")
    return repr(value)
