"""Metrics of very many rows, of which only sums are known."""

from collections.abc import Sequence

from trainer.evaluation.report import Sliced
from trainer.metrics.slices import MAX_SLICES, Slice
from trainer.metrics.sums import bound_areas, measure_bins, measure_sums
from trainer.metrics.tally import Tables, Tally


def measure_tally(tally: Tally, min_rows: int) -> Sliced:
    """Returns the metrics of all rows and of each slice.

    Args:
        tally: the sums; all rows are one group.
        min_rows: a slice of fewer rows is marked.

    Raises:
        UserError: there are too many slices, or rows could not be added.
    """
    (rows, overall), parts = (0, {}), []
    bounds: dict[str, dict[str, float]] = {}
    for by, listed in tally.list_slices():
        measured = []
        for one in listed:
            tables = tally.read(one)
            metrics = _measure(tally, tables)
            measured.append(Slice(by, one.value, tables.rows, tables.rows < min_rows, metrics))
            if tables.ranked is not None:
                largest = bounds.setdefault("slices" if by else "overall", {})
                for name, bound in bound_areas(tables.ranked).items():
                    largest[name] = max(bound, largest.get(name, 0.0))
        if by:
            parts += _choose(measured, listed[0].ordered)
        else:
            rows, overall = measured[0].rows, measured[0].metrics
    return Sliced(tally.sketch(), rows, overall, parts, min_rows, bounds)


def _measure(tally: Tally, tables: Tables) -> dict[str, float]:
    """Returns the metrics of a slice, in the order of `slices.measure`; none without any weight."""
    if not tables.sums[0, 0] > 0:
        return {}
    values = {} if tables.ranked is None else measure_bins(tables.ranked[None])
    detail = tally.detail
    values.update(measure_sums(detail.task, detail.threshold, tables.sums, tables.gaps))
    return {name: float(one[0]) for name, one in tally.restore(values).items()}


def _choose(measured: Sequence[Slice], is_ordered: bool) -> list[Slice]:
    """Returns the largest slices; in their natural order if there is one."""
    chosen = sorted(measured, key=lambda one: (-one.rows, "" if is_ordered else one.value))
    chosen = chosen[:MAX_SLICES]
    return [one for one in measured if one in chosen] if is_ordered else chosen
