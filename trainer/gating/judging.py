"""Applies rules to measured models: each check passes, fails, or is inconclusive."""

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple, Optional

import numpy as np

from trainer.gating.comparison import Subject
from trainer.gating.measured import Measured
from trainer.gating.resampling import MIN_GROUPS, find_interval
from trainer.gating.rules import LATENCIES, SIZE, Rule, Rules
from trainer.release.verdict import BLESSED, INCONCLUSIVE, NOT_BLESSED

PASS, FAIL, WITHIN_NOISE = "pass", "fail", "inconclusive"
FEW_ROWS, NO_BASELINE, UNDEFINED = "too few rows", "no baseline", "undefined"
FEW_GROUPS = "too few groups"
# The number of rows that would decide is not given if it exceeds this multiple of the rows.
MAX_TIMES = 1_000


class Check(NamedTuple):
    """One rule applied to some rows.

    Attributes:
        rule: number of the rule, from 1.
        where: name of the rows.
        what: name of the measured value.
        value: its estimate; NaN if it is undefined.
        low: lower end of the interval.
        high: upper end of the interval.
        bound: the bound of the rule.
        is_lower: whether the value must be at least the bound; otherwise, at most the bound.
        rows: number of rows.
        verdict: pass, fail, inconclusive, too few rows, too few groups, no baseline or undefined.
        more_rows: number of additional rows that would decide; None if the check is decided, or
            the number unknown.
        groups: number of groups that are resampled; None if there are enough of them.
    """

    rule: int
    where: str
    what: str
    value: float
    low: float
    high: float
    bound: float
    is_lower: bool
    rows: int
    verdict: str
    more_rows: Optional[int]
    groups: Optional[int] = None

    def describe(self) -> str:
        """Returns one line."""
        sign = ">=" if self.is_lower else "<="
        text = f"{self.verdict}: rule {self.rule}, {self.where}: {self.what} {sign} {self.bound:g}"
        if math.isfinite(self.value):
            text += f"; value {self.value:.5g}"
        if math.isfinite(self.low):
            text += f" [{self.low:.5g}, {self.high:.5g}]"
        text += f", {self.rows:,} rows"
        if self.verdict == FEW_GROUPS:
            text += f" in {self.groups} group(s); an interval needs {MIN_GROUPS}"
        if self.verdict == WITHIN_NOISE:
            text += (
                f"; about {self.more_rows:,} more rows would decide"
                if self.more_rows is not None
                else "; the value is so close to the bound that more rows would not decide"
            )
        return text


def judge(rules: Rules, subjects: Sequence[Subject], has_baseline: bool) -> list[Check]:
    """Applies all rules.

    Args:
        rules: the rules.
        subjects: all rows first, then the slices.
        has_baseline: whether the baseline was measured.
    """
    checks = []
    for number, rule in enumerate(rules.rules, start=1):
        if rule.max_gap is not None:
            for by in rule.by:
                checks.append(_judge_gap(number, rule, by, rules, subjects))
            continue
        wanted = ["", *(_clean(by) for by in rule.by)]
        for subject in (one for one in subjects if one.by in wanted):
            for what, bound, is_lower, series in _list_bounds(rule, subject, has_baseline):
                checks.append(
                    _decide(number, rule, rules, subject, (what, bound, is_lower), series)
                )
    return checks


def _clean(by: str) -> str:
    return "*".join(name.strip() for name in by.split("*"))


# An estimate with its samples; None if there is no baseline to compare with.
_Series = Optional[tuple[float, np.ndarray]]


def _list_bounds(
    rule: Rule, subject: Subject, has_baseline: bool
) -> Iterator[tuple[str, float, bool, _Series]]:
    """Yields (what is measured, bound, whether it is a lower one, estimate and samples)."""
    name = rule.metric
    own = _get(subject.candidate, name)
    if rule.lower_bound is not None:
        yield name, rule.lower_bound, True, own
    if rule.upper_bound is not None:
        yield name, rule.upper_bound, False, own
    if rule.change is None:
        return
    is_higher_better = rule.is_higher_better()
    theirs = _get(subject.baseline, name) if subject.baseline is not None else None
    for kind, bound in (
        ("change", rule.change.absolute),
        ("relative change", rule.change.relative),
    ):
        if bound is None:
            continue
        series: _Series = None
        if has_baseline and theirs is not None:
            scale = [1.0, np.ones(1)]
            if kind != "change":
                scale = [abs(theirs[0]), np.abs(theirs[1])]
            with np.errstate(divide="ignore", invalid="ignore"):
                series = (
                    float(np.float64(own[0] - theirs[0]) / scale[0]),
                    (own[1] - theirs[1]) / scale[1],
                )
        yield f"{kind} of {name}", bound, is_higher_better, series


def _get(measured: Measured, name: str) -> tuple[float, np.ndarray]:
    return measured.values[name], measured.samples[name]


def _decide(
    number: int,
    rule: Rule,
    rules: Rules,
    subject: Subject,
    bounded: tuple[str, float, bool],
    series: _Series,
) -> Check:
    what, bound, is_lower = bounded
    nan = math.nan
    if subject.by and subject.rows < rules.min_rows:
        outcome = (nan, nan, nan, FEW_ROWS)
    elif series is None:
        outcome = (nan, nan, nan, NO_BASELINE)
    else:
        low, high = subject.find_interval(rule.metric, *series, rules.confidence)
        outcome = (series[0], low, high, _compare(series[0], low, high, bound, is_lower))
    value, low, high, verdict = outcome
    more_rows = None
    if verdict == WITHIN_NOISE:
        if rule.metric not in (*LATENCIES, SIZE):
            more_rows = _count_more(subject.rows, value, low, high, bound)
        verdict = PASS if rule.within_noise == "pass" else verdict
    groups = None
    if verdict == UNDEFINED and math.isfinite(value) and subject.num_groups < MIN_GROUPS:
        verdict, groups = FEW_GROUPS, subject.num_groups
    return Check(
        number,
        subject.name,
        what,
        value,
        low,
        high,
        bound,
        is_lower,
        subject.rows,
        verdict,
        more_rows,
        groups,
    )


def _compare(value: float, low: float, high: float, bound: float, is_lower: bool) -> str:
    if not math.isfinite(value) or not math.isfinite(low):
        return UNDEFINED
    if not is_lower:
        low, high, bound = -high, -low, -bound
    # If all samples are equal, rounding errors must not decide.
    slack = 1e-9 * max(1.0, abs(bound))
    if low >= bound - slack:
        return PASS
    return FAIL if high < bound - slack else WITHIN_NOISE


def _count_more(rows: int, value: float, low: float, high: float, bound: float) -> Optional[int]:
    """Estimates the additional rows; the interval narrows with the square root of the rows."""
    distance = abs(value - bound)
    half = value - low if bound <= value else high - value
    if distance <= 0 or (half / distance) ** 2 > MAX_TIMES:
        return None
    more = max(1.0, rows * ((half / distance) ** 2 - 1))
    # Rounded up to one digit, because the estimated distance is itself uncertain.
    unit = 10 ** int(math.log10(more))
    return int(math.ceil(more / unit) * unit)


def _judge_gap(
    number: int, rule: Rule, by: str, rules: Rules, subjects: Sequence[Subject]
) -> Check:
    """Judges the largest difference of a metric between the slices of a column."""
    parts = [one for one in subjects if one.by == _clean(by) and one.rows >= rules.min_rows]
    parts = [one for one in parts if math.isfinite(one.candidate.values[rule.metric])]
    rows = sum(one.rows for one in parts)
    what, bound = f"gap of {rule.metric}", float(rule.max_gap or 0.0)
    nan = math.nan
    if len(parts) < 2:
        return Check(number, by, what, nan, nan, nan, bound, False, rows, FEW_ROWS, None)
    values = [one.candidate.values[rule.metric] for one in parts]
    samples = np.stack([one.candidate.samples[rule.metric] for one in parts])
    gap = max(values) - min(values)
    groups = min(one.num_groups for one in parts)
    worst, best = parts[int(np.argmin(values))].value, parts[int(np.argmax(values))].value
    where = f"{by} ({worst} to {best})"
    if groups < MIN_GROUPS:
        few = FEW_GROUPS
        return Check(number, where, what, gap, nan, nan, bound, False, rows, few, None, groups)
    low, high = find_interval(gap, samples.max(axis=0) - samples.min(axis=0), rules.confidence)
    verdict = _compare(gap, max(0.0, low), high, bound, False)
    more_rows = None
    if verdict == WITHIN_NOISE:
        more_rows = _count_more(rows, gap, low, high, bound)
        verdict = PASS if rule.within_noise == "pass" else verdict
    return Check(number, where, what, gap, low, high, bound, False, rows, verdict, more_rows)


def conclude(checks: Sequence[Check]) -> str:
    """Returns the verdict: not blessed if a check fails, inconclusive if one is within noise.

    Args:
        checks: checks that `judge` returned. An undefined check, and one with too few groups, also
            make it inconclusive.
    """
    verdicts = {check.verdict for check in checks}
    if FAIL in verdicts:
        return NOT_BLESSED
    return INCONCLUSIVE if verdicts & {WITHIN_NOISE, UNDEFINED, FEW_GROUPS} else BLESSED
