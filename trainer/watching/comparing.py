"""Compares two versions of a model on divided traffic, with intervals that are valid at any time.

Each unit, such as a user, is assigned to one version by a hash. The interval of the difference of
the means is that of the mixture sequential probability ratio test with a normal mixture of variance
tau^2 (Johari, Koomen, Pekelis and Walsh, "Always Valid Inference: Continuous Monitoring of A/B
Tests", Operations Research 70(3), 2022; Robbins, "Statistical methods related to the law of the
iterated logarithm", 1970). With probability 1 - alpha, all intervals of a comparison contain the
true difference. So one may look every day, and stop as soon as an interval excludes 0. If V is the
variance of the difference, the interval is

    difference ± sqrt(V (V + tau^2) / tau^2 * (2 ln(1 / alpha) + ln((V + tau^2) / V)))

tau is the smallest difference that matters. An ordinary interval is valid only at one time that was
chosen in advance.
"""

import hashlib
import itertools
import math
from collections.abc import Iterable, Sequence
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np

from trainer.errors import UserError
from trainer.metrics.baselines import EPSILON
from trainer.release.verdict import BLESSED, INCONCLUSIVE, NOT_BLESSED
from trainer.schema import Schema
from trainer.watching.state import State

DOCUMENT = "compare.json"
ALPHA, POWER = 0.05, 0.8
# Versions with fewer units are not judged, because their means are not yet normally distributed.
MIN_UNITS = 100
# The assignment is considered wrong if the numbers of units are less probable than this.
RATIO_ALPHA = 0.001
METRICS = {
    "binary": ("log_loss", "accuracy", "label"),
    "multiclass": ("log_loss", "accuracy"),
    "regression": ("squared_error", "label"),
}
LOWER_IS_BETTER = ("log_loss", "squared_error")


class Arm(NamedTuple):
    """The units of one version.

    Attributes:
        version: version of the model.
        units: number of units.
        mean: mean of the metric, each unit with equal weight.
        variance: variance of the units' metrics.
    """

    version: str
    units: int
    mean: float
    variance: float


class Comparison(NamedTuple):
    """The result of a comparison.

    Attributes:
        verdict: verdict on the second version, in the terms of the gate.
        reason: reason of the verdict, one line.
        metric: name of the metric.
        first: the version in service.
        second: the version that may replace it.
        difference: mean of the second minus that of the first.
        low: lower end of the always-valid interval.
        high: upper end.
        both: number of units that both versions served; they are excluded.
        needed: number of units of each version that detect the effect with a power of POWER.
        needed_once: the same for an ordinary interval at one time that was chosen in advance.
    """

    verdict: str
    reason: str
    metric: str
    first: Arm
    second: Arm
    difference: float
    low: float
    high: float
    both: int
    needed: int
    needed_once: int


def assign_version(unit: str, versions: Sequence[str], share: float, salt: str) -> str:
    """Returns the version that serves a unit; it is always the same.

    Args:
        unit: the unit, such as the ID of a user.
        versions: the version in service, and the other one.
        share: share of the units that the other one serves.
        salt: name of the comparison, so that each comparison divides the units differently.
    """
    digest = hashlib.blake2b(f"{salt}\n{unit}".encode(), digest_size=8).digest()
    return versions[int.from_bytes(digest, "big") < share * 2**64]


def find_half_width(variance: float, effect: float, alpha: float = ALPHA) -> float:
    """Returns half the width of the always-valid interval of a difference.

    Args:
        variance: variance of the difference.
        effect: the difference that matters; tau of the mixture.
        alpha: probability that an interval of the comparison does not contain the difference.
    """
    mixture = effect**2
    width = 2 * math.log(1 / alpha) + math.log((variance + mixture) / variance)
    return math.sqrt(variance * (variance + mixture) / mixture * width)


def count_units(variance: float, effect: float) -> tuple[int, int]:
    """Returns the number of units of each version that detect an effect with a power of POWER.

    Args:
        variance: variance of a unit's metric.
        effect: the difference that matters.

    Returns:
        The number for always-valid intervals, and that for an ordinary interval at a fixed time.
    """
    powered = NormalDist().inv_cdf(POWER)
    once = 2 * variance * ((NormalDist().inv_cdf(1 - ALPHA / 2) + powered) / effect) ** 2
    low, high = 1.0, max(2.0, once)
    while not _shows(high, variance, effect, powered):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) / 2
        low, high = (low, middle) if _shows(middle, variance, effect, powered) else (middle, high)
    return math.ceil(high), math.ceil(once)


def _shows(units: float, variance: float, effect: float, powered: float) -> bool:
    error = 2 * variance / units
    return find_half_width(error, effect) + powered * math.sqrt(error) <= effect


def measure_row(metric: str, score: np.ndarray, label: float, schema: Schema) -> float:
    """Returns the metric of one row.

    Args:
        metric: one of METRICS.
        score: number, or [classes].
        label: class id or number.
        schema: its task.
    """
    if metric == "label":
        return label
    if metric == "squared_error":
        return float((score - label) ** 2)
    if schema.task == "multiclass":
        chosen, right = float(score[int(label)]), int(np.argmax(score)) == int(label)
    else:
        chosen, right = float(score if label else 1 - score), (score >= 0.5) == bool(label)
    return float(right) if metric == "accuracy" else -math.log(min(max(chosen, EPSILON), 1.0))


def compare(
    state: State, schema: Schema, versions: Sequence[str], metric: str, effect: float, share: float
) -> Comparison:
    """Compares two versions.

    Args:
        state: answers and labels.
        schema: its task.
        versions: the version in service, and the one that may replace it.
        metric: one of METRICS; of `label`, a higher mean is better.
        effect: the difference that matters.
        share: share of the units that the second version serves.

    Raises:
        UserError: there is no such metric, or too few labelled units.
    """
    if metric not in METRICS[schema.task]:
        raise UserError(
            f"--metric={metric}: not a metric of a {schema.task} model; use "
            f"{', '.join(METRICS[schema.task])}"
        )
    units: dict[str, list[float]] = {version: [0, 0.0, 0.0] for version in versions}
    both = 0
    outcomes = state.read_outcomes(versions)
    for _, rows in itertools.groupby(outcomes, lambda row: row[0]):
        both += _add_unit(units, metric, rows, schema)
    first, second = (_finish(version, *units[version]) for version in versions)
    for arm in (first, second):
        if arm.units < MIN_UNITS:
            raise UserError(
                f"--compare: version {arm.version} has {arm.units} labelled units, and {MIN_UNITS} "
                "are needed; try again when more labels have arrived"
            )
    error = first.variance / first.units + second.variance / second.units
    difference = second.mean - first.mean
    half = find_half_width(error, effect) if error else 0.0
    low, high = difference - half, difference + half
    verdict, reason = _judge(metric, (low, high), effect)
    wrong = _check_ratio(first.units, second.units, share)
    if wrong:
        verdict, reason = INCONCLUSIVE, wrong
    needed, once = count_units(max(first.variance, 1e-12), effect)
    return Comparison(
        verdict, reason, metric, first, second, difference, low, high, both, needed, once
    )


def _add_unit(
    units: dict[str, list[float]],
    metric: str,
    rows: Iterable[tuple[bytes, str, np.ndarray, float]],
    schema: Schema,
) -> bool:
    """Adds the mean of a unit to its version; returns whether both versions served the unit."""
    versions, total, count = set(), 0.0, 0
    for _, version, score, label in rows:
        versions.add(version)
        total += measure_row(metric, score, label, schema)
        count += 1
    if len(versions) > 1:
        return True
    held = units[versions.pop()]
    # Welford's update, which is numerically stable.
    held[0] += 1
    delta = total / count - held[1]
    held[1] += delta / held[0]
    held[2] += delta * (total / count - held[1])
    return False


def _finish(version: str, units: float, mean: float, squares: float) -> Arm:
    return Arm(version, int(units), mean, squares / (units - 1) if units > 1 else 0.0)


def _judge(metric: str, interval: tuple[float, float], effect: float) -> tuple[str, str]:
    low, high = interval
    if metric in LOWER_IS_BETTER:
        low, high = -high, -low
    if low > 0:
        return BLESSED, "the second version is better"
    if high < 0:
        return NOT_BLESSED, "the second version is worse"
    if -effect < low and high < effect:
        return INCONCLUSIVE, "the versions differ by less than the effect that matters"
    return INCONCLUSIVE, "the interval contains 0; wait for more units"


def _check_ratio(first: int, second: int, share: float) -> str:
    """Returns the problem of the assignment; "" if the numbers of units fit the share."""
    total = first + second
    error = math.sqrt(total * share * (1 - share))
    if abs(second - share * total) <= NormalDist().inv_cdf(1 - RATIO_ALPHA / 2) * error:
        return ""
    return (
        f"{second:,} of {total:,} units were served by the second version, not {share:.0%}: the "
        "assignment or the log is wrong, so the versions cannot be compared"
    )


def to_json(found: Comparison) -> dict[str, Any]:
    """Returns the content of compare.json.

    Args:
        found: the comparison.
    """
    return {**found._asdict(), "first": found.first._asdict(), "second": found.second._asdict()}


def describe(found: Comparison) -> str:
    """Returns the summary of a comparison.

    Args:
        found: the comparison.
    """
    lines = [f"{found.verdict}: {found.reason}"]
    lines += [
        f"  version {arm.version}: {found.metric} {arm.mean:.5g}, {arm.units:,} units"
        for arm in (found.first, found.second)
    ]
    lines.append(
        f"  difference {found.difference:+.4g}, always-valid {1 - ALPHA:.0%} interval "
        f"[{found.low:+.4g}, {found.high:+.4g}]"
    )
    lines.append(
        f"  {found.needed:,} units of each version show the effect with a power of {POWER:.0%}, "
        f"looking at any time; {found.needed_once:,} looking once"
    )
    if found.both:
        lines.append(f"  {found.both:,} units were served by both versions and are left out")
    return "\n".join(lines)
