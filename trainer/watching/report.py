"""Writes watch.json, watch.html and the summary: the findings, since when, and what to do."""

import datetime
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from trainer import storage
from trainer.errors import UserError
from trainer.reporting import html
from trainer.watching.findings import GREEN, RED, YELLOW, Finding, worst
from trainer.watching.intake import name_period
from trainer.watching.judging import Current, find_current

PAGE, DOCUMENT = "watch.html", "watch.json"
# Exit status of the command.
STATUS = {GREEN: 0, RED: 3, YELLOW: 4}
SHOWN = 20
SHOWN_PERIODS, SHOWN_CELLS = 30, 60
MARKS = {GREEN: "●", YELLOW: "▲", RED: "■"}


class Outcome(NamedTuple):
    """The results of a watch.

    Attributes:
        model: name of the model, as the user gave it.
        rows: number of rows in the state.
        new_rows: number of rows that this run read.
        findings: findings of every period, including green ones.
        problems: problems such as unreadable files; each makes the report yellow.
        notes: other messages.
        replay: rows that were predicted again, and the differences; empty if this was not done.
        labels: period → number of predictions with a key, and number of those with a label.
    """

    model: str
    rows: int
    new_rows: int
    findings: Sequence[Finding]
    problems: Sequence[str]
    notes: Sequence[str]
    replay: dict[str, Any]
    labels: dict[int, tuple[int, int]]

    @property
    def current(self) -> list[Current]:
        """The findings of the newest period that are not green."""
        return find_current(self.findings)

    @property
    def status(self) -> str:
        """green, yellow or red."""
        found = [one.finding.status for one in self.current]
        found += [YELLOW] if self.problems else []
        found += [self.replay["status"]] if self.replay else []
        return worst(found)


def write_report(outcome: Outcome, folder: Path) -> list[Path]:
    """Writes watch.html and watch.json; returns their paths.

    Args:
        outcome: results of the watch.
        folder: where they are written.

    Raises:
        UserError: the folder cannot be written.
    """
    paths = [folder / PAGE, folder / DOCUMENT]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        html.write(paths[0], _build_page(outcome))
        storage.write_json(paths[1], to_json(outcome))
    except OSError as error:
        raise UserError(f"{folder}: cannot be written: {error.strerror}") from error
    return paths


def to_json(outcome: Outcome) -> dict[str, Any]:
    """Returns the content of watch.json.

    Args:
        outcome: results of the watch.
    """
    now = datetime.datetime.now(datetime.timezone.utc)
    periods = sorted({finding.period for finding in outcome.findings})
    return {
        "status": outcome.status,
        "time": now.isoformat(timespec="seconds"),
        "model": outcome.model,
        "rows": outcome.rows,
        "new_rows": outcome.new_rows,
        "newest_period": name_period(periods[-1]) if periods else None,
        "current": [
            {**_describe(one.finding), "since": one.since, "what_to_do": one.finding.remedy}
            for one in outcome.current
        ],
        "problems": list(outcome.problems),
        "notes": list(outcome.notes),
        "replay": outcome.replay,
        "labels": [
            {"period": name_period(period), "answers": answers, "labels": labels}
            for period, (answers, labels) in sorted(outcome.labels.items())
        ],
        "findings": [_describe(finding) for finding in outcome.findings],
    }


def _describe(finding: Finding) -> dict[str, Any]:
    described = finding._asdict()
    described.pop("remedy")
    described["period"] = name_period(finding.period)
    for name in ("value", "noise"):
        value = described[name]
        described[name] = value if value is not None and abs(value) < 1e300 else None
    return described


def summarise(outcome: Outcome) -> str:
    """Returns the summary: the status, and a line for each finding that is not green.

    Args:
        outcome: results of the watch.
    """
    lines = [
        f"{outcome.status}: {outcome.model}: {outcome.rows:,} rows, {outcome.new_rows:,} of them "
        "new"
    ]
    for one in outcome.current[:SHOWN]:
        lines.append(f"  {_tell(one)}")
    if len(outcome.current) > SHOWN:
        lines.append(f"  and {len(outcome.current) - SHOWN} more")
    if outcome.replay and outcome.replay["reason"]:
        lines.append(f"  {outcome.replay['status']}: {outcome.replay['reason']}")
    lines += [f"  {YELLOW}: {problem}" for problem in outcome.problems]
    lines += [f"  {note}" for note in outcome.notes]
    return "\n".join(lines)


def _tell(one: Current) -> str:
    where = f" ({one.finding.slice})" if one.finding.slice else ""
    return (
        f"{one.finding.status} since {one.since}: {one.finding.name}{where}: "
        f"{one.finding.reason}; {one.finding.remedy}"
    )


def _build_page(outcome: Outcome) -> html.Markup:
    sections = [
        html.section(
            "Status",
            html.preformatted(summarise(outcome), "summary of the watch"),
            _list_current(outcome.current) if outcome.current else html.paragraph("All is green."),
        ),
        html.section("Columns by period", *_draw_grid(outcome.findings)),
    ]
    if outcome.labels:
        sections.append(html.section("Labels", _list_labels(outcome)))
    if outcome.replay:
        sections.append(html.section("The same rows again", _list_replay(outcome.replay)))
    return html.page(f"Watch: {outcome.status}: {outcome.model}", sections)


def _list_current(current: Sequence[Current]) -> html.Markup:
    rows: list[list[html.Content]] = [
        [
            one.finding.name,
            one.finding.status,
            one.since,
            one.finding.slice or "all rows",
            one.finding.reason,
            one.finding.remedy,
            one.finding.rows,
        ]
        for one in current
    ]
    header = ["what", "status", "since", "where", "reason", "what to do", "rows"]
    return html.table(header, rows, "what is not green in the newest period")


def _draw_grid(findings: Sequence[Finding]) -> list[html.Markup]:
    """Returns tables by period: the columns of all rows, and slices that were not green."""
    parts = []
    for title, chosen in (
        ("all rows", [one for one in findings if not one.slice]),
        ("slices that were not green", _choose_slices(findings)),
    ):
        periods = sorted({one.period for one in chosen})[-SHOWN_PERIODS:]
        cells: dict[tuple[str, str], dict[int, Finding]] = {}
        for one in chosen:
            cells.setdefault((one.name, one.slice), {})[one.period] = one
        rows: list[list[html.Content]] = []
        for (name, slice_), by_period in list(cells.items())[:SHOWN_CELLS]:
            label = f"{name}\n{slice_}" if slice_ else name
            rows.append([label, *(_cell(by_period.get(period)) for period in periods)])
        if rows:
            header = ["column", *(name_period(period) for period in periods)]
            caption = f"{title}; the number is the distance (PSI), or the metric"
            parts.append(html.table(header, rows, caption))
    legend = ", ".join(f"{mark} {status}" for status, mark in MARKS.items())
    return [*parts, html.paragraph(legend, note=True)]


def _choose_slices(findings: Sequence[Finding]) -> list[Finding]:
    wrong = {(one.slice, one.name) for one in findings if one.slice and one.status != GREEN}
    return [one for one in findings if (one.slice, one.name) in wrong]


def _cell(finding: Any) -> html.Content:
    if finding is None:
        return None
    value = "" if finding.value is None else f" {finding.value:.3g}"
    return html.Markup(f"{MARKS[finding.status]}{value}")


def _list_labels(outcome: Outcome) -> html.Markup:
    rows: list[list[html.Content]] = [
        [name_period(period), answers, labels, answers - labels]
        for period, (answers, labels) in sorted(outcome.labels.items())[-SHOWN_PERIODS:]
    ]
    return html.table(["period", "answers", "with a label", "missing"], rows, "labels by period")


def _list_replay(replay: dict[str, Any]) -> html.Markup:
    text = html.paragraph(replay["reason"] or f"{replay['rows']:,} rows: the same answers.")
    rows = [[one["where"], one["logged"], one["model"]] for one in replay["differences"]]
    return html.Markup(
        text + (html.table(["row", "logged", "answer of the model"], rows) if rows else "")
    )
