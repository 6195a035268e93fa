"""gate.json and the summary of the gate."""

import datetime
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple, Optional

from estimator_bridge.output.terminal import format_table
from trainer import storage
from trainer.errors import UserError
from trainer.export.fingerprint import EXTRA, GATE_PAGE, GATE_REPORT, GATE_SUMMARY
from trainer.gating.comparison import Subject
from trainer.gating.judging import PASS, WITHIN_NOISE, Check
from trainer.gating.rules import Rules
from trainer.release.verdict import BLESSED
from trainer.reporting import html

# Checks that pass are listed up to this number.
SHOWN_CHECKS = 20


class Outcome(NamedTuple):
    """The results of the gate.

    Attributes:
        verdict: the verdict that is stored; with --force, it may differ from that of the rules.
        judged: the verdict of the rules.
        reason: value of --reason.
        candidate: path of the candidate, as the user gave it.
        baseline: path of the baseline, as the user gave it; None for a first model.
        baseline_error: error of the baseline; None if it has predictions.
        fingerprint: fingerprint of the candidate.
        files: the data.
        rules: the rules.
        checks: the rules applied.
        subjects: all rows, and the slices.
    """

    verdict: str
    judged: str
    reason: str
    candidate: str
    baseline: Optional[str]
    baseline_error: Optional[str]
    fingerprint: str
    files: Sequence[str]
    rules: Rules
    checks: Sequence[Check]
    subjects: Sequence[Subject]


def write_report(outcome: Outcome, page: html.Markup, folder: Path) -> list[Path]:
    """Writes gate.html, gate.txt and gate.json into assets.extra of an export.

    Args:
        outcome: results of the gate.
        page: content of gate.html.
        folder: the export.

    Returns:
        Their paths; gate.json, which contains the verdict, is the last.

    Raises:
        UserError: the folder cannot be written.
    """
    extra = folder / EXTRA
    paths = [extra / name for name in (GATE_PAGE, GATE_SUMMARY, GATE_REPORT)]
    try:
        extra.mkdir(exist_ok=True)
        html.write(paths[0], page)
        storage.write_text(paths[1], summarise(outcome) + "\n")
        storage.write_json(paths[2], to_json(outcome))
    except OSError as error:
        raise UserError(f"{extra}: cannot be written: {error.strerror}") from error
    return paths


def to_json(outcome: Outcome) -> dict[str, Any]:
    """Returns the content of gate.json.

    Args:
        outcome: results of the gate.
    """
    now = datetime.datetime.now(datetime.timezone.utc)
    document = {
        "verdict": outcome.verdict,
        "judged": outcome.judged,
        "forced": outcome.verdict != outcome.judged,
        "reason": outcome.reason,
        "first_model": outcome.baseline is None,
        "time": now.isoformat(timespec="seconds"),
        "candidate": outcome.candidate,
        "fingerprint": outcome.fingerprint,
        "baseline": outcome.baseline,
        "baseline_error": outcome.baseline_error,
        "files": list(outcome.files),
        "rules": outcome.rules.model_dump(mode="json", exclude_defaults=True),
        "confidence": outcome.rules.confidence,
        "checks": [check._asdict() for check in outcome.checks],
        "rows": outcome.subjects[0].rows,
        "metrics": [describe_subject(one, outcome.rules.confidence) for one in outcome.subjects],
    }
    cleaned: dict[str, Any] = _without_nan(document)
    return cleaned


def describe_subject(subject: Subject, confidence: float) -> dict[str, Any]:
    """Returns the metrics of some rows, for JSON.

    Args:
        subject: the rows.
        confidence: confidence of the intervals.
    """
    metrics = {}
    for name, value in subject.candidate.values.items():
        samples = subject.candidate.samples[name]
        found: dict[str, Any] = {
            "candidate": value,
            "candidate_interval": subject.find_interval(name, value, samples, confidence),
        }
        if subject.baseline is not None:
            theirs, other = subject.baseline.values[name], subject.baseline.samples[name]
            change = value - theirs
            found.update(
                baseline=theirs,
                baseline_interval=subject.find_interval(name, theirs, other, confidence),
                change=change,
                change_interval=subject.find_interval(name, change, samples - other, confidence),
            )
        metrics[name] = found
    return {"by": subject.by, "value": subject.value, "rows": subject.rows, "metrics": metrics}


def _without_nan(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without_nan(one) for name, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_without_nan(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def summarise(outcome: Outcome, width: Optional[int] = None) -> str:
    """Returns the summary: the verdict, the metrics of all rows, and the checks.

    Args:
        outcome: results of the gate.
        width: width of the terminal, in columns; None: as wide as the table is.
    """
    lines = [f"{outcome.verdict}: {outcome.candidate}"]
    if outcome.verdict != outcome.judged:
        lines.append(f"forced: {outcome.reason} (the rules say: {outcome.judged})")
    if outcome.baseline is None:
        lines.append("first model: there is no baseline, so no change is checked")
    elif outcome.baseline_error is not None:
        lines.append(f"baseline {outcome.baseline} does not answer: {outcome.baseline_error}")
    else:
        lines.append(f"baseline: {outcome.baseline}")
    lines += ["", *_describe_metrics(outcome, width), ""]
    passed = [check for check in outcome.checks if check.verdict == PASS]
    others = [check for check in outcome.checks if check.verdict != PASS]
    shown = [*others, *passed[:SHOWN_CHECKS]]
    lines += [check.describe() for check in sorted(shown, key=lambda check: check.rule)]
    if len(passed) > SHOWN_CHECKS:
        lines.append(f"and {len(passed) - SHOWN_CHECKS} more that pass")
    more = [check.more_rows for check in outcome.checks if check.verdict == WITHIN_NOISE]
    known = [rows for rows in more if rows is not None]
    if known and outcome.judged != BLESSED:
        lines.append(f"about {max(known):,} more rows in --data would decide the open checks")
    return "\n".join(lines)


def _describe_metrics(outcome: Outcome, width: Optional[int]) -> list[str]:
    overall, confidence = outcome.subjects[0], outcome.rules.confidence
    table = [["", "candidate", "baseline", f"change ({confidence:.0%} interval)"]]
    for name, found in describe_subject(overall, confidence)["metrics"].items():
        row = [name, f"{found['candidate']:.5g}", "-", "-"]
        if "baseline" in found:
            low, high = found["change_interval"]
            row[2] = f"{found['baseline']:.5g}"
            row[3] = f"{found['change']:+.3g}"
            row[3] += f" [{low:+.3g}, {high:+.3g}]" if math.isfinite(low) else ""
        table.append(row)
    return format_table(table, width=width)
