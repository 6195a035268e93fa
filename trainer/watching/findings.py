"""Compares periods of served rows with the training data, and describes the changes in words."""

import math
from collections.abc import Sequence
from statistics import NormalDist
from typing import NamedTuple, Optional

import numpy as np

from trainer.data_validation import drift
from trainer.data_validation.drift import percent
from trainer.inputs.row_sample import SAMPLE_ROWS
from trainer.watching.intake import SCORE, Plans
from trainer.watching.sketches import Plan, Sketch

GREEN, YELLOW, RED = "green", "yellow", "red"
ORDER = (GREEN, YELLOW, RED)
# Accepted share of periods with a false alarm, for unchanged data. It is divided by the number of
# comparisons in a period. docs/watch.md states 1 %; this is half of it, because the quantile is an
# approximation.
FALSE_ALARMS = 0.005
# Periods and slices with fewer rows are not judged.
MIN_ROWS = 100
# A difference in the share of missing or unknown values is red from this size on.
RED_MISSING, RED_UNKNOWN = 0.10, 0.05
# Fewer unknown or unreadable values than this are not reported.
MIN_VALUES = 5
# A category may have been renamed if its share is within this factor of that of an unknown one.
SAME_SHARE = 1.25
MOST_MOVED = 3
LOST = "find out where the value is lost: the client, a join, or a renamed field"


class Finding(NamedTuple):
    """The finding for one column in one period.

    Attributes:
        period: number of the period's first day.
        slice: name of the slice; "" for all rows.
        name: column, "score", "label", or name of a metric.
        status: green, yellow or red.
        rows: number of rows.
        reason: what changed, from which value to which; "" if nothing changed.
        remedy: what to do; "" if nothing.
        value: distance or metric; None if there is none.
        noise: distance that can occur by chance, or half the width of an interval.
    """

    period: int
    slice: str
    name: str
    status: str
    rows: int
    reason: str
    remedy: str
    value: Optional[float] = None
    noise: Optional[float] = None


def worst(statuses: Sequence[str]) -> str:
    """Returns the worst status; green if there is none.

    Args:
        statuses: green, yellow or red.
    """
    return max(statuses, key=ORDER.index, default=GREEN)


def find_quantile(comparisons: int, false_alarms: float = FALSE_ALARMS) -> float:
    """Returns the quantile of the standard normal distribution for one of many comparisons.

    Args:
        comparisons: number of comparisons (Bonferroni correction).
        false_alarms: accepted probability of a false alarm in any of them.
    """
    return NormalDist().inv_cdf(1 - false_alarms / max(1, comparisons))


def judge_column(
    name: str, now: Sketch, plan: Plan, then: Sketch, normal: float
) -> tuple[str, list[str], str, Optional[drift.Distance]]:
    """Compares the served rows of a column with those of the training data.

    Args:
        name: the column.
        now: sketch of the served rows.
        plan: how both are sketched.
        then: sketch of the training rows, or of the first served rows.
        normal: quantile that find_quantile returned.

    Returns:
        Status, sentences that describe the change, what to do, and the distance.
    """
    found: list[tuple[str, str, str]] = []
    _judge_missing(found, now, then, normal)
    _judge_values(found, now, plan, then, normal)
    distance = measure(now, plan, then, normal)
    if distance is not None and distance.verdict != "the same":
        status = RED if distance.verdict == "drifted" and _is_clear(distance) else YELLOW
        moved, remedy = _describe_move(now, plan, then)
        found.append((status, f"PSI {distance.psi:.2f} ({moved})", remedy))
    remedies = [remedy for status, _, remedy in sorted(found, key=lambda one: -ORDER.index(one[0]))]
    return (
        worst([status for status, _, _ in found]),
        [text for _, text, _ in found],
        remedies[0] if remedies else "",
        distance,
    )


def _is_clear(distance: drift.Distance) -> bool:
    return distance.psi - distance.noise > drift.SHIFTED


def _judge_missing(
    found: list[tuple[str, str, str]], now: Sketch, then: Sketch, normal: float
) -> None:
    if now.unreadable >= MIN_VALUES:
        share = now.unreadable / now.rows
        found.append(
            (
                RED if share >= RED_UNKNOWN else YELLOW,
                f"{percent(share)} of the values have another type than in training",
                "send the type that the schema names",
            )
        )
    if not then.rows:
        return
    was, is_now = then.missing / then.rows, now.missing / now.rows
    both = (now.missing + then.missing) / (now.rows + then.rows)
    error = math.sqrt(both * (1 - both) * (1 / now.rows + 1 / then.rows))
    if abs(is_now - was) <= max(drift.MISSING_SHIFT, max(drift.STANDARD_ERRORS, normal) * error):
        return
    clear = abs(is_now - was) - normal * error >= RED_MISSING or (is_now == 1 and was < 0.5)
    change = "is missing in every row" if is_now == 1 else f"is missing in {percent(is_now)}"
    found.append(
        (
            RED if clear else YELLOW,
            f"{change}, in training in {percent(was)}",
            LOST if is_now > was else "find out what fills the value in now",
        )
    )


def _judge_values(
    found: list[tuple[str, str, str]], now: Sketch, plan: Plan, then: Sketch, normal: float
) -> None:
    if not now.present:
        return
    share = now.unknown / now.present
    was = then.unknown / then.present if then.present else 0.0
    noise = normal * math.sqrt(was * (1 - was) / now.present)
    if now.unknown >= MIN_VALUES and share - was - noise >= drift.UNSEEN_SHARE:
        examples = ", ".join(repr(value)[:40] for value in now.examples[:MOST_MOVED])
        found.append(
            (
                RED if share - was - noise >= RED_UNKNOWN else YELLOW,
                f"{percent(share)} of the values are unknown to the model, in training "
                f"{percent(was)}; such as {examples}",
                "map the new names to the old ones, or train again with them",
            )
        )
    if now.outside >= max(MIN_VALUES, drift.UNSEEN_SHARE * now.present):
        share = now.outside / now.present
        found.append(
            (
                RED if share >= RED_UNKNOWN else YELLOW,
                f"{percent(share)} of the numbers are outside of training: now from "
                f"{now.low:.6g} to {now.high:.6g}, in training from {plan.low:.6g} to "
                f"{plan.high:.6g}",
                "check the unit and the source of the column",
            )
        )


def measure(now: Sketch, plan: Plan, then: Sketch, normal: float) -> Optional[drift.Distance]:
    """Returns the population stability index of two sketches; None if they are not comparable.

    Args:
        now: sketch of the served rows.
        plan: how both are sketched.
        then: sketch of the rows to compare with.
        normal: quantile that find_quantile returned.
    """
    if plan.kind == "none" or not now.present or not then.present:
        return None
    if plan.kind == "category":
        names = sorted(then.counts, key=lambda one: -then.counts[one])[: drift.COMPARED]
        first = [now.counts.get(name, 0) for name in names]
        second = [then.counts[name] for name in names]
        first.append(now.present - sum(first))
        second.append(max(0, then.present - sum(second)))
        if len(first) < 2 or not names:
            return None
        return drift.measure_psi(np.array(first), np.array(second), normal)
    if len(now.bins) < 2 or len(now.bins) != len(then.bins):
        return None
    return drift.measure_psi(np.array(now.bins), np.array(then.bins), normal)


def _describe_move(now: Sketch, plan: Plan, then: Sketch) -> tuple[str, str]:
    """Returns a sentence that describes the change, and what to do."""
    retrain = "look for the cause; if the change is real, train again with recent rows"
    if plan.kind == "hash":
        return "other values, or other shares of them, than before", retrain
    if plan.kind == "category":
        return _describe_categories(now, then), retrain
    ratio = now.mean / then.mean if then.mean else float("nan")
    text = f"mean {then.mean:.4g} to {now.mean:.4g}"
    if then.std and now.std:
        text += f", standard deviation {then.std:.4g} to {now.std:.4g}"
        spread = now.std / then.std
        if ratio > 0 and not 1 / 3 < spread < 3 and abs(math.log(ratio / spread)) < 0.3:
            factor = spread if spread > 1 else 1 / spread
            word = "times" if spread > 1 else "times smaller:"
            return f"{text}: about {factor:.3g} {word} as large", (
                "check the unit: a constant factor, such as seconds for minutes, explains this"
            )
    return text, retrain


def _describe_categories(now: Sketch, then: Sketch) -> str:
    moved = []
    for name in then.counts:
        was, is_now = then.counts[name] / then.present, now.counts.get(name, 0) / now.present
        moved.append((abs(is_now - was), name, was, is_now))
    texts = [
        f"{name!r} {percent(was)} to {percent(is_now)}"
        for _, name, was, is_now in sorted(moved, reverse=True)[:MOST_MOVED]
    ]
    gone = [
        (was, name) for _, name, was, is_now in moved if was >= drift.UNSEEN_SHARE and not is_now
    ]
    unknown = (now.unknown - then.unknown) / now.present if not then.unknown else 0.0
    if gone and unknown and len(now.examples) == 1:
        was, name = max(gone)
        if 1 / SAME_SHARE < unknown / was < SAME_SHARE:
            texts.append(f"{name!r} may have been renamed to {now.examples[0]!r}")
    return ", ".join(texts)


def describe_training(plans: Plans) -> dict[str, Sketch]:
    """Returns column → sketch of the training data, for the columns in its statistics.

    Args:
        plans: schema, statistics and the columns.
    """
    found = {}
    rows = plans.statistics.num_rows
    for name, plan in plans.columns.items():
        numbers = plans.statistics.columns.get(name)
        categories = plans.statistics.categories.get(name)
        seen = numbers if plan.kind == "number" or categories is None else categories
        if seen is None:
            continue
        base = Sketch(rows, seen.missing, present=seen.count)
        if plan.kind == "number" and numbers is not None and numbers.bins is not None:
            # The bins of the training data were computed from a sample.
            sampled = min(seen.count, SAMPLE_ROWS)
            bins = [round(share * sampled) for share in numbers.bins.shares]
            squares = numbers.std**2 * numbers.count
            base = base._replace(bins=bins, mean=numbers.mean, squares=squares)
        elif plan.kind == "category" and categories is not None:
            known = {one: categories.counts[one] for one in plan.known if one in categories.counts}
            unknown = seen.count - sum(known.values()) if plan.closed else 0
            base = base._replace(counts=known, unknown=unknown)
        found[name] = base
    return found


def describe_name(name: str) -> str:
    """Returns the name of a sketch, for messages.

    Args:
        name: a column, or SCORE and a version.
    """
    if not name.startswith(SCORE):
        return name
    version = name[len(SCORE) :]
    return f"score of version {version}" if version else "score"
