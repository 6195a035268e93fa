"""The sums with which the gate judges any number of rows.

A hash divides the rows into NUM_GROUPS groups, and the groups are resampled instead of the rows.
The hash is that of the position of a row in its file, or of the row's value of --group.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from trainer.errors import UserError
from trainer.gating import resampling
from trainer.gating.measured import OTHER_ROWS, Measured, Settings
from trainer.inputs.hashing import mix
from trainer.metrics import tally
from trainer.metrics.slice_sums import Slice
from trainer.metrics.slices import MAX_SLICES
from trainer.metrics.sums import RANKING, measure_bins, measure_sums
from trainer.prediction.description import ExportDescription

# A standard deviation that is estimated from this number of groups has a standard error of 4.4 %.
NUM_GROUPS = 256
_GROUP_BITS = 8
# Maximum number of bins of the scores: for all rows, and for each group.
FINE, COARSE = 8192, 128


class TalliedSlice(NamedTuple):
    """A slice.

    Attributes:
        by: columns of the slicing, joined by *; "" for all rows.
        value: value of the slice.
        rows: number of rows.
        measured: its metrics.
        groups: number of groups that have rows of the slice.
    """

    by: str
    value: str
    rows: int
    measured: Measured
    groups: int


def group_rows(numbers: np.ndarray) -> np.ndarray:
    """Returns the group of each row, int64 [rows].

    Args:
        numbers: number of each row that determines its group, 8 bytes each, [rows].
    """
    hashes = mix(numbers.view(np.uint64)) >> np.uint64(64 - _GROUP_BITS)
    groups: np.ndarray = hashes.astype(np.int64)
    return groups


class Tally(tally.Tally):
    """The sums of the rows that one model has scored.

    Args:
        settings: how the model is measured.
        by: names of the columns of each slicing.
        description: schema and statistics of the candidate.
        is_weighted: whether the rows of the model have weights.
    """

    def __init__(
        self,
        settings: Settings,
        by: Sequence[Sequence[str]],
        description: ExportDescription,
        is_weighted: bool,
    ):
        is_ranked = any(name in settings.sliced for name in RANKING)
        detail = tally.Detail(
            settings.task,
            settings.threshold,
            FINE,
            FINE if is_ranked else 0,
            MAX_SLICES,
            NUM_GROUPS,
            COARSE,
        )
        columns = description.statistics.columns
        super().__init__(detail, by, description.schema, columns, is_weighted)
        self._seed = settings.seed

    def finish(self) -> list[TalliedSlice]:
        """Returns all rows, followed by the slices, the largest first; for at least one row.

        Raises:
            UserError: there are too many slices.
        """
        (counts,) = resampling.draw(NUM_GROUPS, None, self._seed)
        found = []
        for by, slices in self.list_slices():
            measured = [TalliedSlice(by, one.value, *self._measure(one, counts)) for one in slices]
            measured.sort(key=lambda one: (-one.rows, one.value))
            found += measured[:MAX_SLICES]
        return found

    def _measure(self, one: Slice, counts: np.ndarray) -> tuple[int, Measured, int]:
        """Returns the number of rows, the metrics of the sums of a slice, and their groups."""
        task, threshold = self.detail.task, self.detail.threshold
        tables = self.read(one)
        values: dict[str, np.ndarray] = {}
        samples: dict[str, np.ndarray] = {}
        for found, drawn in ((values, np.ones((1, NUM_GROUPS))), (samples, counts)):
            off = None if tables.gaps is None else drawn @ tables.gaps
            found.update(self.restore(measure_sums(task, threshold, drawn @ tables.sums, off)))
        if tables.ranked is not None and tables.ranked_groups is not None:
            values.update(measure_bins(tables.ranked[None]))
            resampled = counts @ tables.ranked_groups.reshape(NUM_GROUPS, -1)
            samples.update(measure_bins(resampled.reshape(len(counts), -1, 2)))
        measured = Measured({name: float(one[0]) for name, one in values.items()}, samples)
        return tables.rows, measured, int(np.any(tables.sums, axis=1).sum())

    def require_rows_of(self, other: "Tally") -> None:
        """Checks that another model has read the same rows and labels.

        Args:
            other: sums of the other model.

        Raises:
            UserError: the rows or the labels differ.
        """
        if not self.has_rows_of(other):
            raise UserError(OTHER_ROWS)
