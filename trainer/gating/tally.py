"""What the gate knows of any number of rows: sums that need the same memory for any number.

All rows are divided by a hash into NUM_GROUPS groups, and the groups are resampled instead of the
rows: a row's place in its file decides, or its value of --group. Areas under curves are computed
from the scores in bins. All sums are exact, so the result does not depend on how the rows are
divided among workers.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from trainer.errors import UserError
from trainer.gating import resampling
from trainer.gating.measured import OTHER_ROWS, Measured, Settings
from trainer.inputs.hashing import mix
from trainer.inputs.shuffle import Chunk
from trainer.metrics import cells
from trainer.metrics.baselines import CALIBRATION_BINS
from trainer.metrics.slice_sums import BINS, Rows, Slice, SliceSums
from trainer.metrics.slices import MAX_SLICES, Predictions
from trainer.prediction.description import ExportDescription

# A deviation that is estimated from so many groups has a standard error of 4.4 %.
NUM_GROUPS = 256
_GROUP_BITS = 8
# At most so many bins of the scores are kept apart: of all rows, and of each group.
FINE, COARSE = 8192, 128
# The bits of 0.5.
_HALF = int(np.float32(0.5).view(np.int32))
# Kinds of sums.
_TABLE, _GAPS, _FINE, _COARSE = "table", "gaps", "fine", "coarse"


class TalliedSlice(NamedTuple):
    """A slice.

    Attributes:
        by: columns of the slicing, joined by *; "" for all rows.
        value: of the slice.
        rows: number of rows.
        measured: its metrics.
    """

    by: str
    value: str
    rows: int
    measured: Measured


def group_rows(numbers: np.ndarray) -> np.ndarray:
    """Returns the group of each row, int64 [rows].

    Args:
        numbers: that decide, 8 bytes each, [rows].
    """
    hashes = mix(numbers.view(np.uint64)) >> np.uint64(64 - _GROUP_BITS)
    groups: np.ndarray = hashes.astype(np.int64)
    return groups


class Tally:
    """The sums of the rows that one model has scored.

    Args:
        settings: how it is measured.
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
        self._settings = settings
        schema, columns = description.schema, description.statistics.columns
        self._centre = 0.0
        if settings.task == "regression" and schema.label.column in columns:
            self._centre = columns[schema.label.column].mean
        self._slicings = {"*".join(names): SliceSums(names, schema, columns) for names in [(), *by]}
        # Whole numbers of rows need no fractions.
        self._units = cells.UNITS if is_weighted else cells.WHOLE
        self._is_ranked = any(name in settings.sliced for name in resampling.RANKING)

    def add(self, predictions: Predictions, groups: np.ndarray, chunk: Chunk) -> None:
        """Adds rows.

        Args:
            predictions: of the rows.
            groups: of `group_rows`, int64 [rows].
            chunk: at least the columns of the slicings.
        """
        kinds = self._sum_up(predictions, groups)
        for by, slicing in self._slicings.items():
            is_ranked = not by or self._is_ranked
            slicing.add(
                chunk,
                {k: rows for k, rows in kinds.items() if is_ranked or k not in (_FINE, _COARSE)},
            )

    def _sum_up(self, predictions: Predictions, groups: np.ndarray) -> dict[str, Rows]:
        settings = self._settings
        table = resampling.tabulate(settings.task, predictions, settings.threshold, self._centre)
        labels = predictions.labels.astype(np.float64)
        # The number of rows, and what tells whether two models have read the same rows.
        table = np.column_stack([table, np.ones(len(labels)), labels - self._centre])
        kinds = {_TABLE: Rows(groups, cells.to_limbs(table), NUM_GROUPS)}
        if settings.task != "binary":
            return kinds
        scores, weights = predictions.scores.astype(np.float64), table[:, 0]
        gaps = cells.to_limbs(((scores - labels) * weights)[:, None])
        bins = resampling.find_bins(scores)
        kinds[_GAPS] = Rows(groups * CALIBRATION_BINS + bins, gaps, NUM_GROUPS * CALIBRATION_BINS)
        bins = _to_bins(scores)
        ranked = np.stack([weights * labels, weights * (1 - labels)], 1)
        limbs = cells.to_limbs(ranked, self._units)
        kinds[_FINE] = Rows(bins, limbs, BINS, FINE)
        kinds[_COARSE] = Rows(groups * BINS + bins, limbs, NUM_GROUPS * BINS, COARSE)
        return kinds

    def merge(self, other: "Tally") -> None:
        """Adds the sums of other rows.

        Args:
            other: of the same settings; must not be used afterwards.
        """
        for by, slicing in self._slicings.items():
            slicing.merge(other._slicings[by])

    def finish(self) -> list[TalliedSlice]:
        """Returns all rows, followed by the slices, the largest first; for at least one row.

        Raises:
            UserError: there are too many slices.
        """
        (counts,) = resampling.draw(NUM_GROUPS, None, self._settings.seed)
        found = []
        for by, slicing in self._slicings.items():
            measured = [
                TalliedSlice(by, one.value, *self._measure(one, counts)) for one in slicing.finish()
            ]
            measured.sort(key=lambda one: (-one.rows, one.value))
            found += measured[:MAX_SLICES]
        return found

    def _measure(self, one: Slice, counts: np.ndarray) -> tuple[int, Measured]:
        """Returns the number of rows and the metrics of the sums of a slice."""
        task, threshold = self._settings.task, self._settings.threshold
        table = cells.to_floats(_spread(one, _TABLE, NUM_GROUPS))
        num_rows, table = int(table[:, -2].sum()), table[:, :-2]
        gaps = None
        if _GAPS in one.sums:
            gaps = cells.to_floats(_spread(one, _GAPS, NUM_GROUPS * CALIBRATION_BINS))
            gaps = gaps.reshape(NUM_GROUPS, CALIBRATION_BINS)
        values: dict[str, np.ndarray] = {}
        samples: dict[str, np.ndarray] = {}
        for found, drawn in ((values, np.ones((1, NUM_GROUPS))), (samples, counts)):
            off = None if gaps is None else drawn @ gaps
            found.update(resampling.measure_sums(task, threshold, drawn @ table, off))
        if _FINE in one.sums:
            fine = cells.to_floats(one.sums[_FINE][1], self._units)[None]
            coarse = self._spread_bins(one)
            resampled = (counts @ coarse).reshape(len(counts), -1, 2)
            for found, ranked in ((values, fine), (samples, resampled)):
                # The highest score first.
                ends = np.cumsum(ranked[:, ::-1], axis=1)
                found.update(resampling.measure_areas(ends[..., 0], ends[..., 1]))
        return num_rows, Measured({name: float(one[0]) for name, one in values.items()}, samples)

    def _spread_bins(self, one: Slice) -> np.ndarray:
        """Returns the weights of positives and negatives by bin, [groups, bins * 2]."""
        places, limbs = one.sums[_COARSE]
        bins, indices = np.unique(places % BINS, return_inverse=True)
        spread = np.zeros((NUM_GROUPS, len(bins), 2))
        spread[places // BINS, indices] = cells.to_floats(limbs, self._units)
        return spread.reshape(NUM_GROUPS, -1)

    def require_rows_of(self, other: "Tally") -> None:
        """Raises unless another model has read the same rows and labels.

        Args:
            other: its sums.

        Raises:
            UserError: it has not.
        """
        found = [
            _spread(one._slicings[""].finish()[0], _TABLE, NUM_GROUPS) for one in (self, other)
        ]
        width = 2 * len(cells.UNITS)
        if self._centre != other._centre or not np.array_equal(
            found[0][:, -width:], found[1][:, -width:]
        ):
            raise UserError(OTHER_ROWS)

    def sketch(self) -> Predictions:
        """Returns rows with the scores and labels of a binary model, one for each bin and label."""
        (overall,) = self._slicings[""].finish()
        if _FINE not in overall.sums:
            return Predictions(np.zeros(0), np.zeros(0), None)
        places, limbs = overall.sums[_FINE]
        weights = cells.to_floats(limbs, self._units).T.ravel()
        scores = _to_scores(places, overall.levels[_FINE])
        labels = np.repeat([1, 0], len(scores))
        some = weights > 0
        return Predictions(labels[some], np.tile(scores, 2)[some], weights[some])


def _spread(one: Slice, kind: str, width: int) -> np.ndarray:
    """Returns the sums of all places, int64 [width, columns]."""
    places, limbs = one.sums[kind]
    spread = np.zeros((width, limbs.shape[1]), np.int64)
    spread[places] = limbs
    return spread


def _to_bins(scores: np.ndarray) -> np.ndarray:
    """Returns a bin for each score from 0 to 1, int64 [rows]; higher for a higher score.

    Neighbouring bins differ by a factor of at most 1 + 2**-22 in the odds: the bits of a number
    of 32 bits are about its logarithm.
    """
    scores = scores.clip(0, 1)
    low = np.minimum(scores, 1 - scores).astype(np.float32).view(np.int32).astype(np.int64)
    bins: np.ndarray = np.where(scores <= 0.5, low, 2 * _HALF - low)
    return bins


def _to_scores(bins: np.ndarray, level: int) -> np.ndarray:
    """Returns a score in the middle of each bin, float64 [bins]."""
    middles = (bins << level) + ((1 << level) >> 1)
    low = np.minimum(middles, 2 * _HALF - middles).astype(np.int32).view(np.float32)
    scores: np.ndarray = np.where(middles <= _HALF, low, 1 - low.astype(np.float64)).clip(0, 1)
    return scores
