"""Joins labels that arrive later to predictions, and computes metrics of the served model."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from trainer.errors import TemporaryError, UserError
from trainer.export.fingerprint import EXTRA, GATE_REPORT
from trainer.gating.comparison import measure_places
from trainer.gating.measured import Measured, Settings
from trainer.gating.resampling import find_interval
from trainer.gating.rules import DEFAULT_CHANGE
from trainer.inputs.floats import to_floats
from trainer.metrics.catalogue import SHOWN_METRICS, choose_direction
from trainer.metrics.slices import Predictions
from trainer.schema import Schema
from trainer.watching.batches import Wanted
from trainer.watching.findings import (
    GREEN,
    MIN_ROWS,
    RED,
    YELLOW,
    Finding,
    describe_training,
    find_quantile,
    judge_column,
)
from trainer.watching.intake import Plans
from trainer.watching.reading import LogFile, ReadState, read_log
from trainer.watching.sketches import plan_columns, sketch
from trainer.watching.state import State, hash_key

# Maximum number of labelled periods that are measured and shown.
MEASURED_PERIODS = 30
# The main metric is red if it is significantly worse by this share, and a calibration error if it
# is higher by this value.
RED_CHANGE = 0.05
CALIBRATION = "calibration_error"
CALIBRATION_CHANGE, RED_CALIBRATION_CHANGE = 0.02, 0.05
# Periods older than the expected delay are reported if more than this share of labels is missing.
MISSING_LABELS = 0.2
THRESHOLD = 0.5
FIRST = "the first labelled period"
CONFIDENCE = 0.95
NORMAL_95 = 1.96


class Expected(NamedTuple):
    """The expected value of a metric of the served model.

    Attributes:
        value: value of the metric.
        error: standard error of the value.
        source: where the value was measured.
    """

    value: float
    error: float
    source: str


def read_labels(
    files: Sequence[LogFile], wanted: Wanted, key: str, state: State
) -> tuple[int, list[str]]:
    """Reads new labels from files.

    Args:
        files: files with a key and a label in each row.
        wanted: the two columns.
        key: key column.
        state: the state, to which the labels are added.

    Returns:
        The number of new labels, and a line for each file that cannot be read.

    Raises:
        TemporaryError: a bucket does not respond, or another watch writes the state.
    """
    total, problems = 0, []
    for file in files:
        try:
            with state.transaction():
                total += _read_file(file, wanted, key, state)
        except TemporaryError:
            raise
        except UserError as error:
            problems.append(str(error))
    return total, problems


def _read_file(file: LogFile, wanted: Wanted, key: str, state: State) -> int:
    path = file.file.path
    if state.find_labels(path) == file.mark:
        return 0
    progress, rows = ReadState(), 0
    # A label that is read again replaces itself, so a changed file is read from the beginning.
    for batch in read_log(file.file, wanted, 0, progress):
        keys = batch.columns.column(key).to_pylist()
        labels = find_ids(batch.columns.column(wanted.schema.label.column), wanted.schema)
        known = [
            (hash_key(one), label)
            for one, label in zip(keys, labels.tolist())
            if one is not None and label == label
        ]
        state.add_labels(known)
        rows += len(known)
    state.note_labels(path, file.mark)
    for problem in progress.list_problems(path):
        state.note_problem(problem)
    if progress.records and not rows:
        label = wanted.schema.label.column
        raise UserError(
            f"{path}: no row has a value in {key} and a known label in {label}; check both"
        )
    return rows


def find_ids(values: pa.Array, schema: Schema) -> np.ndarray:
    """Returns labels as class ids or numbers, float64 [rows]; NaN for a missing or unknown one.

    Args:
        values: labels, in the type of their column.
        schema: defines the label.
    """
    if not schema.label.classes:
        return to_floats(values)
    ids = {str(one): float(number) for number, one in enumerate(schema.label.classes)}
    return np.array([ids.get(str(value), np.nan) for value in values.to_pylist()], np.float64)


def judge_labels(plans: Plans, state: State, export: str, delay_days: int) -> list[Finding]:
    """Returns findings about metrics by period and slice, and about drift and absence of labels.

    The expected value of a metric is that of the gate; if the gate did not measure it, or the
    schema has a weight, that of the first labelled period.

    Args:
        plans: schema, statistics and the columns.
        state: predictions and labels.
        export: folder of the export, with its gate.json.
        delay_days: number of days after which labels should have arrived.
    """
    counts = state.count_labels()
    due = [period for period in sorted(counts) if max(counts) - period >= delay_days]
    found = [_judge_absence(period, counts[period]) for period in due]
    labelled = [period for period in due if counts[period][1] >= MIN_ROWS]
    expected: dict[tuple[str, str], Expected] = {}
    for period in dict.fromkeys([*labelled[:1], *labelled[-MEASURED_PERIODS:]]):
        labels, scores, slices = state.read_labelled(period)
        measured = _measure(plans.schema, labels, scores, slices)
        # The gate weights its rows, but a log does not contain the weight of each row.
        gate = _read_gate(export) if plans.schema.weight is None else {}
        expected = expected or {**_expect(measured), **gate}
        found += _judge_drift(plans, period, labels)
        found += _judge_metrics(period, measured, expected, plans.schema)
    return found


def _judge_absence(period: int, counted: tuple[int, int]) -> Finding:
    answers, labels = counted
    share = 1 - labels / answers
    status = GREEN
    if answers >= MIN_ROWS and share > MISSING_LABELS:
        status = RED if not labels else YELLOW
    reason = f"{answers - labels:,} of {answers:,} answers have no label" if status != GREEN else ""
    remedy = "ask for the labels, or give --label_delay_days the days that they need"
    return Finding(period, "", "labels", status, answers, reason, remedy if reason else "", share)


def _judge_drift(plans: Plans, period: int, labels: np.ndarray) -> list[Finding]:
    schema = plans.schema
    name = schema.label.column
    columns = plan_columns(schema, plans.statistics, [name])
    then = describe_training(plans._replace(columns=columns)).get(name)
    if then is None:
        return []
    values = pa.array(labels)
    if schema.label.classes:
        values = pa.array([str(schema.label.classes[int(one)]) for one in labels])
    now = sketch(values, columns[name])
    normal = find_quantile(2)
    status, reasons, remedy, distance = judge_column(name, now, columns[name], then, normal)
    value, noise = (distance.psi, distance.noise) if distance else (None, None)
    text = "; ".join(reasons)
    return [Finding(period, "", f"{name} (label)", status, now.rows, text, remedy, value, noise)]


def _measure(
    schema: Schema, labels: np.ndarray, scores: np.ndarray, slices: list[list[str]]
) -> dict[str, tuple[int, Measured]]:
    """Returns slice → (rows, metrics with samples); "" is all rows."""
    members: dict[str, list[int]] = {}
    for row, names in enumerate(slices):
        for name in names:
            members.setdefault(name, []).append(row)
    chosen = {name: rows for name, rows in sorted(members.items()) if len(rows) >= MIN_ROWS}
    places = [None, *(np.array(rows) for rows in chosen.values())]
    settings = Settings(schema.task, THRESHOLD, SHOWN_METRICS[schema.task])
    measured = measure_places(Predictions(labels, scores, None), places, settings)
    sizes = [len(labels), *(len(rows) for rows in chosen.values())]
    return dict(zip(["", *chosen], zip(sizes, measured)))


def _expect(measured: dict[str, tuple[int, Measured]]) -> dict[tuple[str, str], Expected]:
    return {
        (name, metric): Expected(value, _find_error(one.samples[metric]), FIRST)
        for name, (_, one) in measured.items()
        for metric, value in one.values.items()
    }


def _find_error(samples: np.ndarray) -> float:
    """Returns the standard error of a metric from its samples; NaN if no sample has a value."""
    known = samples[np.isfinite(samples)]
    return float(known.std()) if len(known) else float("nan")


def _read_gate(export: str) -> dict[tuple[str, str], Expected]:
    """Returns (slice, metric) → value that the gate measured; empty without a report of it."""
    try:
        return _parse_gate(json.loads(Path(export, EXTRA, GATE_REPORT).read_text("utf-8")))
    except (OSError, ValueError, RecursionError, TypeError, KeyError, AttributeError):
        return {}


def _parse_gate(document: Any) -> dict[tuple[str, str], Expected]:
    found = {}
    for subject in document.get("metrics", []):
        name = f"{subject['by']} = {subject['value']}" if subject["by"] else ""
        for metric, one in subject["metrics"].items():
            low, high = one["candidate_interval"]
            if one["candidate"] is not None and low is not None and high is not None:
                error = (high - low) / (2 * NORMAL_95)
                found[(name, metric)] = Expected(one["candidate"], error, "the gate")
    return found


def _judge_metrics(
    period: int,
    measured: dict[str, tuple[int, Measured]],
    expected: dict[tuple[str, str], Expected],
    schema: Schema,
) -> list[Finding]:
    judged = [SHOWN_METRICS[schema.task][0]]
    judged += [CALIBRATION] if schema.task == "binary" else []
    normal = find_quantile(len(judged) * len(measured))
    found = []
    for name, (rows, one) in measured.items():
        for metric in SHOWN_METRICS[schema.task]:
            value = one.values.get(metric, float("nan"))
            if not np.isfinite(value):
                continue
            low, high = find_interval(value, one.samples[metric], CONFIDENCE)
            status, reason = GREEN, ""
            then = expected.get((name, metric))
            if metric in judged and then is not None:
                error = float(np.hypot(_find_error(one.samples[metric]), then.error))
                status, reason = _judge_metric(metric, value, then, normal * error)
            remedy = "look at what moved; train again with the labelled rows" if reason else ""
            finding = Finding(
                period, name, metric, status, rows, reason, remedy, value, (high - low) / 2
            )
            found.append(finding)
    return found


def _judge_metric(metric: str, value: float, then: Expected, noise: float) -> tuple[str, str]:
    sign = 1 if choose_direction(metric, "auto") == "min" else -1
    worse = sign * (value - then.value)
    least, most = CALIBRATION_CHANGE, RED_CALIBRATION_CHANGE
    if metric != CALIBRATION:
        least, most = DEFAULT_CHANGE * abs(then.value), RED_CHANGE * abs(then.value)
    # An unknown noise, NaN, is no evidence either.
    if worse < least or not worse > noise:
        return GREEN, ""
    status = RED if worse - noise >= most else YELLOW
    return status, f"{value:.4g}, in {then.source} {then.value:.4g}"
