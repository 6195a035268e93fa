"""The rows of a file that the model cannot take, with the reason."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from trainer.inputs.bad_rows import BadRows, Fault

# Folder for the bad rows of all shards, in the output folder. Hadoop skips names that begin so.
FOLDER = "_bad_rows"


class RejectedRows(BadRows):
    """Keeps all rows that are dropped while files are read, until they are taken.

    Args:
        columns: the columns whose values are kept: the key, and those that are copied.
    """

    # All rows of a fault are recorded one by one.
    max_examples = None

    def __init__(self, columns: Sequence[str]):
        super().__init__(None)
        self._columns = columns
        self._reasons: dict[int, dict[str, str]] = {}
        self._values: dict[int, dict[str, Any]] = {}

    def add(self, path: str, row: int, fault: Fault, value: str = "", rows: int = 1) -> None:
        """Records a fault.

        Args:
            path: the file.
            row: number of the row that has the fault.
            fault: what is wrong.
            value: the value in that row, quoted for messages.
            rows: 1.
        """
        super().add(path, row, fault, value, rows)
        reason = {"column": fault.column, "error": fault.text.replace("{value}", value)}
        # The first reason of a row stays.
        self._reasons.setdefault(row, reason)

    def keep(self, numbers: np.ndarray, rows: pa.RecordBatch) -> None:
        """Keeps values of dropped rows.

        Args:
            numbers: of the rows in their file, int64 [rows].
            rows: the rows.
        """
        names = [name for name in self._columns if name in rows.schema.names]
        for number, values in zip(numbers.tolist(), rows.select(names).to_pylist()):
            self._values[number] = values

    def take(self) -> list[dict[str, Any]]:
        """Returns the rows that were dropped since the last call, in their order in the file.

        Returns:
            for each row its number in the file, counted from 1, as `row`, the column of the fault
            ("": the row as a whole), the reason as `error`, and the kept columns.
        """
        reasons, values = self._reasons, self._values
        self._reasons, self._values = {}, {}
        return [
            {"row": row, **reasons[row], **_to_json(values.get(row, {}))} for row in sorted(reasons)
        ]


def _to_json(values: dict[str, Any]) -> dict[str, Any]:
    """Returns values with null for numbers that JSON cannot represent."""
    return {
        name: None if isinstance(value, float) and not math.isfinite(value) else value
        for name, value in values.items()
    }
