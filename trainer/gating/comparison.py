"""Measures two models on the same rows: over all rows and by slice, with samples of each metric."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, Optional

import numpy as np

from trainer.gating import resampling
from trainer.gating.measured import Measured, Settings
from trainer.gating.rules import LATENCIES, SIZE
from trainer.metrics.grouping import Grouping
from trainer.metrics.slices import MAX_SLICES, Predictions

if TYPE_CHECKING:
    # It imports TensorFlow, which --help and a wrong flag do not need.
    from trainer.gating.answers import Answers
    from trainer.gating.tally import TalliedSlice

ALL_ROWS = "all rows"
# Quantile of each latency.
_QUANTILES = dict(zip(LATENCIES, (0.5, 0.99)))


class Subject(NamedTuple):
    """Some rows, and both models' metrics for them.

    Attributes:
        by: column of the slice, or columns joined by *; "" for all rows.
        value: value of these columns in the slice.
        rows: number of rows.
        candidate: metrics of the candidate.
        baseline: metrics of the baseline; None if there is none.
        groups: number of groups of these rows; None: each row is a group.
    """

    by: str
    value: str
    rows: int
    candidate: Measured
    baseline: Optional[Measured]
    groups: Optional[int] = None

    @property
    def num_groups(self) -> int:
        """Number of groups that are resampled."""
        return self.rows if self.groups is None else self.groups

    def find_interval(
        self, metric: str, estimate: float, samples: np.ndarray, confidence: float
    ) -> tuple[float, float]:
        """Returns the interval of an estimate; NaN if the rows have too few groups for one.

        Args:
            metric: name of the metric.
            estimate: value for all rows.
            samples: [samples]; NaN where undefined.
            confidence: share of samples inside, from 0 to 1.
        """
        if self.num_groups < resampling.MIN_GROUPS and metric not in (*LATENCIES, SIZE):
            return float("nan"), float("nan")
        return resampling.find_interval(estimate, samples, confidence)

    @property
    def name(self) -> str:
        """Name of the rows, for messages."""
        return f"{self.by} = {self.value}" if self.by else ALL_ROWS


def measure_subjects(
    candidate: "Answers",
    baseline: Optional["Answers"],
    groupings: dict[str, Grouping],
    settings: Settings,
) -> list[Subject]:
    """Returns all rows, followed by the slices.

    Args:
        candidate: predictions of the candidate.
        baseline: predictions of the baseline for the same rows; None if there is no baseline.
        groupings: column, or columns joined by * → slice of each row.
        settings: how they are measured.
    """
    num_rows = len(candidate.predictions.labels)
    models = [candidate] if baseline is None else [candidate, baseline]
    subjects: list[Subject] = []
    # One slicing after another, because the tables of a slicing are as large as those of all rows.
    for by, grouping in [("", None), *groupings.items()]:
        places = [("", None)] if grouping is None else _list_places(grouping)
        indices = [index for _, index in places]
        measured = [measure_places(model.predictions, indices, settings) for model in models]
        if grouping is None:
            for model, one in zip(models, measured):
                _add_costs(one[0], model, settings.seed)
        for (value, index), *both in zip(places, *measured):
            rows = num_rows if index is None else len(index)
            theirs = both[1] if len(both) > 1 else None
            drawn = settings.groups
            if drawn is not None and index is not None:
                drawn = drawn[index]
            groups = None if drawn is None else len(np.unique(drawn))
            subjects.append(Subject(by, value, rows, both[0], theirs, groups))
    return subjects


def compare_tallies(
    candidate: "Answers", baseline: Optional["Answers"], seed: int
) -> list[Subject]:
    """Returns all rows, followed by the slices, for data of which only sums are known.

    Args:
        candidate: predictions of the candidate.
        baseline: predictions of the baseline for the same rows; None if there is no baseline.
        seed: seed of the resampling.

    Raises:
        UserError: there are too many slices.
    """
    models = [candidate] if baseline is None else [candidate, baseline]
    found: list[list[TalliedSlice]] = [model.tally.finish() for model in models]
    for model, listed in zip(models, found):
        _add_costs(listed[0].measured, model, seed)
    theirs = {(one.by, one.value): one.measured for one in found[-1]} if baseline else {}
    return [
        Subject(
            one.by,
            one.value,
            one.rows,
            one.measured,
            theirs.get((one.by, one.value)),
            one.groups,
        )
        for one in found[0]
    ]


def _list_places(grouping: Grouping) -> list[tuple[str, np.ndarray]]:
    """Returns the value and the rows, int64 [rows], of each slice, the largest first."""
    order = np.argsort(grouping.codes, kind="stable")
    counts = np.bincount(grouping.codes, minlength=len(grouping.names))
    ends = np.cumsum(counts)
    largest = [code for code in np.argsort(-counts, kind="stable") if counts[code]][:MAX_SLICES]
    return [
        (grouping.names[int(code)], order[ends[code] - counts[code] : ends[code]])
        for code in largest
    ]


def measure_places(
    predictions: Predictions,
    places: Sequence[Optional[np.ndarray]],
    settings: Settings,
) -> list[Measured]:
    """Measures a model for each slice; the resampled rows are the same in every call.

    Args:
        predictions: predictions of all rows.
        places: indices of the rows of each slice, int64 [rows]; None: all rows.
        settings: how it is measured.
    """
    num_rows = len(predictions.labels)
    meters = []
    for index in places:
        part = predictions if index is None else _select(predictions, index)
        names = None if index is None else settings.sliced
        meters.append(resampling.make_meter(settings.task, part, settings.threshold, names))
    sampled: list[list[dict[str, np.ndarray]]] = [[] for _ in places]
    for counts in resampling.draw(num_rows, settings.groups, settings.seed):
        for index, meter, parts in zip(places, meters, sampled):
            parts.append(meter(counts if index is None else counts[:, index]))
    found = []
    for index, meter, parts in zip(places, meters, sampled):
        ones = np.ones((1, num_rows if index is None else len(index)))
        values = {name: float(array[0]) for name, array in meter(ones).items()}
        samples = {name: np.concatenate([part[name] for part in parts]) for name in values}
        found.append(Measured(values, samples))
    return found


def _select(predictions: Predictions, index: np.ndarray) -> Predictions:
    weights = predictions.weights
    return Predictions(
        predictions.labels[index],
        predictions.scores[index],
        None if weights is None else weights[index],
    )


def _add_costs(measured: Measured, model: "Answers", seed: int) -> None:
    """Adds latencies and size; the samples of a latency are resampled requests."""
    times, rng = model.latencies, np.random.default_rng(seed)
    num_samples = len(next(iter(measured.samples.values())))
    drawn = times[rng.integers(0, len(times), (num_samples, len(times)))]
    for name, quantile in _QUANTILES.items():
        measured.values[name] = float(np.quantile(times, quantile))
        measured.samples[name] = np.quantile(drawn, quantile, axis=1)
    measured.values[SIZE] = model.size_mb
    measured.samples[SIZE] = np.full(num_samples, model.size_mb)
