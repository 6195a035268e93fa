"""What is known of any number of rows: sums that need the same memory for any number.

Areas under curves are computed from the scores in bins. All sums are exact, so the result does not
depend on how the rows are divided among workers.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple, Optional

import numpy as np

from trainer.errors import UserError
from trainer.inputs.shuffle import Chunk
from trainer.metrics import cells
from trainer.metrics.baselines import CALIBRATION_BINS
from trainer.metrics.slice_sums import BINS, Rows, Slice, SliceSums
from trainer.metrics.slices import Predictions
from trainer.metrics.sums import Values, find_bins, tabulate
from trainer.schema import Range, Schema

# Bins of the predictions of a regression that are kept apart for its plot.
DRAWN_BINS = 1024
# The bits of 0.5.
_HALF = int(np.float32(0.5).view(np.int32))
# Kinds of sums.
_TABLE, _GAPS, _FINE, _COARSE, _DRAWN = "table", "gaps", "fine", "coarse", "drawn"


class Detail(NamedTuple):
    """What is kept of the rows.

    Attributes:
        task: binary, multiclass or regression.
        threshold: decision threshold of the scores.
        bins: at most so many bins of the scores are kept apart, of all rows.
        slice_bins: likewise of each slice; 0: its areas are not measured.
        max_values: a slicing may have so many different values.
        num_groups: so many groups of rows are kept apart.
        group_bins: likewise bins of each group; 0: its areas are not measured.
        is_drawn: whether `sketch` is needed for another model than a binary one.
    """

    task: str
    threshold: float
    bins: int
    slice_bins: int
    max_values: int
    num_groups: int = 1
    group_bins: int = 0
    is_drawn: bool = False


class Tables(NamedTuple):
    """The sums of a slice.

    Attributes:
        rows: number of rows.
        sums: those of `sums.tabulate`, float64 [groups, columns].
        gaps: binary: of score - label, weighted, by bin, float64 [groups, bins].
        ranked: weights of positives and negatives by bin of the score, the lowest first, float64
            [bins, 2]; None: areas are not measured.
        ranked_groups: likewise of each group, float64 [groups, bins, 2].
    """

    rows: int
    sums: np.ndarray
    gaps: Optional[np.ndarray]
    ranked: Optional[np.ndarray]
    ranked_groups: Optional[np.ndarray]


class Tally:
    """The sums of the rows that a model has scored.

    Args:
        detail: what is kept.
        by: names of the columns of each slicing.
        schema: of the rows.
        ranges: statistics of the training data.
        is_weighted: whether the rows have weights.
    """

    def __init__(
        self,
        detail: Detail,
        by: Sequence[Sequence[str]],
        schema: Schema,
        ranges: Mapping[str, Range],
        is_weighted: bool,
    ):
        self.detail = detail
        self._centre, self._scale = 0.0, 1.0
        if detail.task == "regression" and schema.label.column in ranges:
            trained = ranges[schema.label.column]
            # A power of two rounds nothing, and brings large and tiny labels to what sums can hold.
            if 0 < trained.std < math.inf:
                self._scale = 2.0 ** -round(math.log2(trained.std))
            self._centre = trained.mean * self._scale
        self._slicings = {
            "*".join(names): SliceSums(names, schema, dict(ranges), detail.max_values)
            for names in [(), *by]
        }
        # Whole numbers of rows need no fractions.
        self._units = cells.UNITS if is_weighted else cells.WHOLE
        self._fault = ""

    def add(self, predictions: Predictions, groups: np.ndarray, chunk: Chunk) -> None:
        """Adds rows.

        Args:
            predictions: of the rows.
            groups: the group of each, int64 [rows].
            chunk: at least the columns of the slicings.
        """
        kinds = self._sum_up(predictions, groups)
        if self._fault:
            return
        for by, slicing in self._slicings.items():
            slicing.add(chunk, self._choose(kinds, by))

    def _choose(self, kinds: dict[str, Rows], by: str) -> dict[str, Rows]:
        """Returns what is added to a slicing."""
        if not by:
            return kinds
        left_out = {_DRAWN} if self.detail.slice_bins else {_DRAWN, _FINE, _COARSE}
        chosen = {kind: rows for kind, rows in kinds.items() if kind not in left_out}
        if _FINE in chosen:
            chosen[_FINE] = chosen[_FINE]._replace(max_bins=self.detail.slice_bins)
        return chosen

    def _sum_up(self, predictions: Predictions, groups: np.ndarray) -> dict[str, Rows]:
        detail, count = self.detail, self.detail.num_groups
        if detail.task == "regression" and self._scale != 1:
            labels, scores = (one.astype(np.float64) * self._scale for one in predictions[:2])
            predictions = predictions._replace(labels=labels, scores=scores)
        # What is not finite is found afterwards.
        with np.errstate(all="ignore"):
            table = tabulate(detail.task, predictions, detail.threshold, self._centre)
        labels = predictions.labels.astype(np.float64)
        # The number of rows, and what tells whether two models have read the same rows.
        table = np.column_stack([table, np.ones(len(labels)), labels - self._centre])
        if not (np.abs(table) <= cells.LARGEST).all():
            self._fault = "a score, a label or a weight is not a finite number, or too large to add"
            return {}
        kinds = {_TABLE: Rows(groups, cells.to_limbs(table), count)}
        if detail.task == "binary":
            kinds.update(self._rank(predictions, table[:, 0], groups))
        elif detail.is_drawn:
            kinds[_DRAWN] = self._draw(predictions, table)
        return kinds

    def _draw(self, predictions: Predictions, table: np.ndarray) -> Rows:
        """Returns what the plot of a multiclass or regression model needs."""
        labels, weights = predictions.labels, table[:, 0]
        if self.detail.task == "multiclass":
            limbs = cells.to_limbs(table[:, :2], self._units)
            return Rows(labels.astype(np.int64), limbs, predictions.scores.shape[1])
        scores = predictions.scores.astype(np.float64)
        drawn = cells.to_limbs(np.stack([weights, weights * labels, weights * scores], 1))
        return Rows(_order_bits(scores), drawn, BINS, DRAWN_BINS)

    def _rank(
        self, predictions: Predictions, weights: np.ndarray, groups: np.ndarray
    ) -> dict[str, Rows]:
        """Returns the kinds of a binary model, by bins of the score."""
        detail, count = self.detail, self.detail.num_groups
        labels, scores = (one.astype(np.float64) for one in predictions[:2])
        gaps = cells.to_limbs(((scores - labels) * weights)[:, None])
        places = groups * CALIBRATION_BINS + find_bins(scores)
        kinds = {_GAPS: Rows(places, gaps, count * CALIBRATION_BINS)}
        bins = _to_bins(scores)
        limbs = cells.to_limbs(np.stack([weights * labels, weights * (1 - labels)], 1), self._units)
        kinds[_FINE] = Rows(bins, limbs, BINS, detail.bins)
        if detail.group_bins:
            kinds[_COARSE] = Rows(groups * BINS + bins, limbs, count * BINS, detail.group_bins)
        return kinds

    def merge(self, other: "Tally") -> None:
        """Adds the sums of other rows.

        Args:
            other: of the same detail; must not be used afterwards.
        """
        self._fault = self._fault or other._fault
        for by, slicing in self._slicings.items():
            slicing.merge(other._slicings[by])

    def list_slices(self) -> Iterator[tuple[str, list[Slice]]]:
        """Yields each slicing, "" for all rows, and its slices; for at least one row.

        Raises:
            UserError: there are too many slices, or rows cannot be added.
        """
        if self._fault:
            raise UserError(f"{self._fault}: no sums of so many rows; measure fewer rows")
        for by, slicing in self._slicings.items():
            yield by, slicing.finish()

    def read(self, one: Slice) -> Tables:
        """Returns the sums of a slice.

        Args:
            one: of `list_slices`.
        """
        count = self.detail.num_groups
        table = cells.to_floats(_spread(one, _TABLE, count))
        gaps = ranked = ranked_groups = None
        if _GAPS in one.sums:
            gaps = cells.to_floats(_spread(one, _GAPS, count * CALIBRATION_BINS))
            gaps = gaps.reshape(count, CALIBRATION_BINS)
        if _FINE in one.sums:
            ranked = cells.to_floats(one.sums[_FINE][1], self._units)
        if _COARSE in one.sums:
            places, limbs = one.sums[_COARSE]
            bins, indices = np.unique(places % BINS, return_inverse=True)
            ranked_groups = np.zeros((count, len(bins), 2))
            ranked_groups[places // BINS, indices] = cells.to_floats(limbs, self._units)
        return Tables(int(table[:, -2].sum()), table[:, :-2], gaps, ranked, ranked_groups)

    def restore(self, values: Values) -> Values:
        """Returns the metrics of the labels as they are in the data.

        Args:
            values: of the sums: of labels that have been brought to another scale.
        """
        scaled = ("rmse", "mae")
        return {n: one / self._scale if n in scaled else one for n, one in values.items()}

    def has_rows_of(self, other: "Tally") -> bool:
        """Returns whether another model has read the same rows and labels.

        Args:
            other: its sums.
        """
        found = []
        for one in (self, other):
            _, (overall,) = next(one.list_slices())
            found.append(_spread(overall, _TABLE, self.detail.num_groups))
        width = 2 * len(cells.UNITS)
        is_same = self._centre == other._centre and self._scale == other._scale
        return is_same and np.array_equal(found[0][:, -width:], found[1][:, -width:])

    def sketch(self) -> Predictions:
        """Returns weighted rows that look in a plot as the rows do.

        For a binary model, one for each bin of the score and label; for a regression, one for each
        bin of the prediction; for several classes, two for each class: those that are right, and
        those that are not.
        """
        _, (overall,) = next(self.list_slices())
        if self.detail.task == "binary":
            return self._sketch_scores(overall)
        if not self.detail.is_drawn:
            return Predictions(np.zeros(0), np.zeros(0), None)
        if self.detail.task == "regression":
            drawn = cells.to_floats(overall.sums[_DRAWN][1])
            drawn = drawn[drawn[:, 0] > 0]
            means = drawn[:, 1:] / drawn[:, :1] / self._scale
            return Predictions(means[:, 0], means[:, 1], drawn[:, 0])
        places, limbs = overall.sums[_DRAWN]
        total, right = cells.to_floats(limbs, self._units).T
        scores = np.eye(overall.widths[_DRAWN], dtype=bool)
        wrong = np.roll(scores, 1, axis=1)
        return Predictions(
            np.tile(places, 2),
            np.concatenate([scores[places], wrong[places]]),
            np.concatenate([right, total - right]),
        )

    def _sketch_scores(self, overall: Slice) -> Predictions:
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


def _order_bits(values: np.ndarray) -> np.ndarray:
    """Returns a bin below BINS for each finite number, int64 [rows]; higher for a higher one."""
    bits = values.astype(np.float32).view(np.int32).astype(np.int64) >> 1
    # The bits of negative numbers, without the sign, count backwards.
    bins: np.ndarray = np.where(bits >= 0, (BINS >> 1) + bits, -bits - 1)
    return bins
