"""Judges every period of the state, and reports the current findings and since when they hold."""

from collections.abc import Sequence
from typing import NamedTuple, Optional

from trainer.watching.findings import (
    GREEN,
    MIN_ROWS,
    Finding,
    describe_name,
    describe_training,
    find_quantile,
    judge_column,
    worst,
)
from trainer.watching.intake import SCORE, Plans, name_period
from trainer.watching.sketches import Plan, Sketch
from trainer.watching.state import State


class Current(NamedTuple):
    """A finding that is not green now.

    Attributes:
        finding: finding of the newest period.
        since: first day since which the finding has not been green.
    """

    finding: Finding
    since: str


class Reference:
    """The first served rows of each slice, column and version, with which later rows are compared.

    Args:
        periods: number of periods of these rows.
    """

    def __init__(self, periods: int):
        self._periods = periods
        self._sums: dict[tuple[str, str], Sketch] = {}
        self._counts: dict[tuple[str, str], int] = {}

    def find(self, key: tuple[str, str]) -> Optional[Sketch]:
        """Returns the sketch of the first rows; None until they are complete.

        Args:
            key: slice and name.
        """
        return self._sums[key] if self._counts.get(key, 0) >= self._periods else None

    def add(self, key: tuple[str, str], sketch: Sketch) -> None:
        """Adds a period, unless the first rows are complete.

        Args:
            key: slice and name.
            sketch: sketch of the period.
        """
        if self._counts.get(key, 0) < self._periods:
            self._sums[key] = self._sums.get(key, Sketch()) + sketch
            self._counts[key] = self._counts.get(key, 0) + 1


def judge_periods(plans: Plans, state: State, reference_periods: int) -> list[Finding]:
    """Returns a finding for every column in every period, also if it is green.

    Columns of all rows are compared with the training data. Slices, scores, and columns whose
    categories are not in the training statistics, are compared with the first served rows.

    Args:
        plans: schema, statistics and the columns.
        state: the served rows.
        reference_periods: number of first periods with which later ones are compared.
    """
    trained = describe_training(plans)
    reference = Reference(reference_periods)
    found: list[Finding] = []
    for period in state.list_periods():
        sketches = {
            key: one for key, one in state.read_sketches(period).items() if one.rows >= MIN_ROWS
        }
        # There are two comparisons of each column: the distance, and the missing values.
        normal = find_quantile(2 * len(sketches))
        for (slice_, name), sketch in sorted(sketches.items()):
            plan = plans.scores if name.startswith(SCORE) else plans.columns.get(name, Plan("none"))
            then = trained.get(name) if slice_ == "" else None
            if then is None or plan.kind == "hash":
                then = reference.find((slice_, name))
                reference.add((slice_, name), sketch)
            if then is not None:
                status, reasons, remedy, distance = judge_column(name, sketch, plan, then, normal)
                shown = describe_name(name)
                found.append(
                    Finding(
                        period,
                        slice_,
                        shown,
                        status,
                        sketch.rows,
                        "; ".join(reasons),
                        remedy,
                        distance.psi if distance else None,
                        distance.noise if distance else None,
                    )
                )
    return found


def _family(finding: Finding) -> str:
    """Returns the group of a finding; the newest period of labels is older than that of columns."""
    return finding.name.partition(" of version ")[0]


def find_current(findings: Sequence[Finding]) -> list[Current]:
    """Returns the findings that are not green in the newest period of their kind, worst first.

    Args:
        findings: in ascending order of the periods.
    """
    by_subject: dict[tuple[str, str], list[Finding]] = {}
    for finding in findings:
        by_subject.setdefault((finding.slice, finding.name), []).append(finding)
    newest: dict[str, int] = {}
    for finding in findings:
        newest[_family(finding)] = max(finding.period, newest.get(_family(finding), finding.period))
    found = []
    for history in by_subject.values():
        last = history[-1]
        if last.status == GREEN or last.period != newest[_family(last)]:
            continue
        since = last.period
        for finding in reversed(history):
            if finding.status == GREEN:
                break
            since = finding.period
        found.append(Current(last, name_period(since)))
    found.sort(key=lambda one: (worst([one.finding.status]) != "red", one.finding.slice != ""))
    return found
