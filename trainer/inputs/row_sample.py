"""A uniform sample of rows that does not depend on how the rows are divided into pieces."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from trainer.inputs.floats import to_floats
from trainer.inputs.hashing import mix

# Number of rows in the sample for histograms and quantiles. A share that is estimated from the
# sample has a standard error below 0.2 percentage points.
SAMPLE_ROWS = 65_536
# A place holds the number of a row in its lower bits, and that of its file above them.
_ROW_BITS = 40


def place_rows(file: int, numbers: np.ndarray) -> np.ndarray:
    """Returns a number for each row that no other row of the data has, uint64 [rows].

    Args:
        file: index of the file in the data.
        numbers: number of each row in the file, int64 [rows].
    """
    places: np.ndarray = numbers.astype(np.uint64) + np.uint64(file << _ROW_BITS)
    return places


class RowSample:
    """A uniform sample of the rows of some data; all rows if there are few.

    A row is in the sample if the hash of its place is below a limit. Whenever the sample exceeds
    twice SAMPLE_ROWS, the limit is halved. So the sample of the same data is always the same,
    whatever the order of the rows and however they are divided.

    Args:
        names: the columns, all numeric.
    """

    def __init__(self, names: Sequence[str]):
        self._halvings = 0
        self._keys: list[np.ndarray] = []
        self._held: dict[str, list[np.ndarray]] = {name: [] for name in names}
        self._rows = 0

    def add(self, batch: pa.RecordBatch, places: np.ndarray) -> None:
        """Adds rows.

        Args:
            batch: rows with at least the sample's columns.
            places: see place_rows, uint64 [rows].
        """
        keys = mix(places)
        rows = self._choose(keys)
        self._keys.append(keys[rows])
        for name, held in self._held.items():
            held.append(to_floats(batch.column(name).take(pa.array(rows))))
        self._rows += len(rows)
        self._shrink()

    def merge(self, other: "RowSample") -> None:
        """Adds the rows of another sample with the same columns.

        Args:
            other: of other rows.
        """
        self._halvings = max(self._halvings, other._halvings)
        self._keys += other._keys
        for name, held in self._held.items():
            held += other._held[name]
        self._rows += other._rows
        self._sort()
        self._shrink()

    def _choose(self, keys: np.ndarray) -> np.ndarray:
        if not self._halvings:
            return np.arange(len(keys))
        return np.flatnonzero(keys >> np.uint64(64 - self._halvings) == 0)

    def _shrink(self) -> None:
        while self._rows > 2 * SAMPLE_ROWS:
            self._halvings += 1
            self._sort()

    def _sort(self) -> None:
        """Puts the rows that stay in the order of their hashes."""
        keys = np.concatenate(self._keys) if self._keys else np.zeros(0, np.uint64)
        order = np.argsort(keys)
        order = order[: len(self._choose(keys[order]))]
        self._keys, self._rows = [keys[order]], len(order)
        for name, held in self._held.items():
            self._held[name] = [np.concatenate(held)[order]] if held else []

    def get(self, name: str) -> np.ndarray:
        """Returns the sampled values of a column without missing values, float64 [values].

        Args:
            name: the column.
        """
        if len(self._keys) > 1:
            self._sort()
        held = self._held[name]
        values = held[0] if held else np.zeros(0)
        return values[~np.isnan(values)]
