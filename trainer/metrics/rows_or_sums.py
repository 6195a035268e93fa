"""The rows that a model has scored, if there are few, and their sums; from many workers."""

from typing import Any, Generic, Optional, Protocol, TypeVar

import numpy as np

from trainer.inputs.bad_rows import BadRows
from trainer.inputs.shuffle import Chunk
from trainer.metrics.scored import ScoredRows, join_scored
from trainer.metrics.slices import Predictions, join_predictions
from trainer.metrics.tally import Tally

# Of more rows, only sums are kept.
EXACT_ROWS = 1_000_000


class _Sorts(Protocol):
    """Keeps where rows belong."""

    def add(self, chunk: Chunk, /) -> None: ...
    def merge(self, later: Any, /) -> None: ...
    def clear(self) -> None: ...


Sorter = TypeVar("Sorter", bound=_Sorts)
Sums = TypeVar("Sums", bound=Tally)


class RowsOrSums(Generic[Sorter, Sums]):
    """Takes rows, and those that other processes have taken.

    Args:
        order: higher for later rows of the data.
        places: of no rows.
        tally: of no rows.

    Attributes:
        tally: the sums.
        num_rows: number of rows.
    """

    def __init__(self, order: int, places: Sorter, tally: Sums):
        self.tally = tally
        self.num_rows = 0
        self._order = order
        self._places = places
        self._parts: list[Predictions] = []
        # Those of other processes, by their order.
        self._others: list[tuple[int, ScoredRows[Sorter]]] = []
        self._dropped: list[tuple[int, BadRows]] = []

    def add(self, predictions: Predictions, groups: np.ndarray, chunk: Chunk) -> None:
        """Adds the next rows.

        Args:
            predictions: of the rows.
            groups: the group of each row, int64 [rows].
            chunk: at least the columns of the slicings, and of the places.
        """
        self.num_rows += len(groups)
        self.tally.add(predictions, groups, chunk)
        if self._has_few():
            self._parts.append(predictions)
            self._places.add(chunk)

    def drop(self, dropped: Optional[BadRows]) -> None:
        """Records the rows that were left out.

        Args:
            dropped: these rows; None: no row may be.
        """
        if dropped is not None:
            self._dropped.append((self._order, dropped))

    def merge(self, other: "RowsOrSums[Sorter, Sums]") -> None:
        """Adds the rows of another.

        Args:
            other: of other rows; must not be used afterwards.
        """
        self.num_rows += other.num_rows
        self.tally.merge(other.tally)
        self._dropped += other._dropped
        if self._has_few():
            self._others += other.list_parts()

    def _has_few(self) -> bool:
        if self.num_rows <= EXACT_ROWS:
            return True
        self._parts.clear()
        self._others.clear()
        self._places.clear()
        return False

    def list_parts(self) -> list[tuple[int, ScoredRows[Sorter]]]:
        """Returns (order, rows) of each process that has rows."""
        parts = list(self._others)
        if self._parts:
            joined = join_predictions(self._parts)
            self._parts = [joined]
            parts.append((self._order, ScoredRows(joined, self._places)))
        return parts

    def finish(self) -> Optional[ScoredRows[Sorter]]:
        """Returns all rows in their order; None if only sums are kept. For at least one row.

        Raises:
            UserError: more rows were left out than may be.
        """
        found = [dropped for _, dropped in sorted(self._dropped, key=lambda one: one[0])]
        for later in found[1:]:
            found[0].merge(later)
            # Each process has left out fewer than may be.
            found[0].drop(0)
        if not self._has_few():
            return None
        return join_scored(rows for _, rows in sorted(self.list_parts(), key=lambda one: one[0]))
