"""The rows that one model has scored: their sums, and the rows themselves while they are few."""

from typing import Optional

import numpy as np

from trainer.gating.places import Places
from trainer.gating.tally import Tally
from trainer.inputs.shuffle import Chunk
from trainer.metrics.scored import ScoredRows, join_scored
from trainer.metrics.slices import Predictions

# Of more rows, only sums are kept.
EXACT_ROWS = 1_000_000


class Answered:
    """Takes rows, and those that other processes have taken.

    Args:
        order: higher for later rows of the data.
        places: of no rows.
        tally: of no rows.

    Attributes:
        tally: the sums.
        num_rows: number of rows.
    """

    def __init__(self, order: int, places: Places, tally: Tally):
        self.tally = tally
        self.num_rows = 0
        self._order = order
        self._places = places
        self._parts: list[Predictions] = []
        # Those of other processes, by their order.
        self._others: list[tuple[int, ScoredRows[Places]]] = []

    def add(self, predictions: Predictions, groups: np.ndarray, chunk: Chunk) -> None:
        """Adds the next rows.

        Args:
            predictions: of the rows.
            groups: of `tally.group_rows`, int64 [rows].
            chunk: at least the columns of the slicings, and of the places.
        """
        self.num_rows += len(groups)
        self.tally.add(predictions, groups, chunk)
        if self._has_few():
            self._parts.append(predictions)
            self._places.add(chunk)

    def merge(self, other: "Answered") -> None:
        """Adds the rows of another.

        Args:
            other: of other rows; must not be used afterwards.
        """
        self.num_rows += other.num_rows
        self.tally.merge(other.tally)
        if self._has_few():
            self._others += other.list_parts()

    def _has_few(self) -> bool:
        if self.num_rows <= EXACT_ROWS:
            return True
        self._parts.clear()
        self._others.clear()
        self._places.clear()
        return False

    def list_parts(self) -> list[tuple[int, ScoredRows[Places]]]:
        """Returns (order, rows) of each process that has rows."""
        parts = list(self._others)
        if self._parts:
            joined = _join(self._parts)
            self._parts = [joined]
            parts.append((self._order, ScoredRows(joined, self._places)))
        return parts

    def finish(self) -> Optional[ScoredRows[Places]]:
        """Returns all rows in their order; None if only sums are kept. For at least one row."""
        if not self._has_few():
            return None
        return join_scored(rows for _, rows in sorted(self.list_parts(), key=lambda one: one[0]))


def _join(parts: list[Predictions]) -> Predictions:
    weights = [part.weights for part in parts if part.weights is not None]
    return Predictions(
        np.concatenate([part.labels for part in parts]),
        np.concatenate([part.scores for part in parts]),
        np.concatenate(weights) if weights else None,
    )
