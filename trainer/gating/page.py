"""gate.html: both models side by side, in one page without references to the network."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from trainer.gating.report import Outcome, describe_subject, summarise
from trainer.metrics import curves
from trainer.metrics.slices import Predictions
from trainer.reporting import figures, html

NAMES = ("candidate", "baseline")
SHOWN_SLICES, SHOWN_ROWS, BINS = 100, 20, 10


def build_page(
    outcome: Outcome, task: str, models: Sequence[Predictions], has_rows: bool
) -> html.Markup:
    """Returns the page.

    Args:
        outcome: results of the gate.
        task: binary, multiclass or regression.
        models: predictions of the candidate, and of the baseline if it has any.
        has_rows: whether the predictions are those of single rows, not of bins of scores.
    """
    sections = [
        html.section("Verdict", html.preformatted(summarise(outcome), "summary of the gate")),
        html.section("Checks", _list_checks(outcome)),
        html.section("All rows", _list_metrics(outcome)),
    ]
    if len(outcome.subjects) > 1:
        sections.append(html.section("Slices", _list_slices(outcome)))
    if task == "binary":
        sections.append(html.section("Curves", html.figures(_draw(models))))
    if len(models) > 1 and task != "multiclass" and has_rows:
        sections.append(html.section("Rows that moved most", _list_moved(models)))
    return html.page(f"Gate: {outcome.verdict}", sections)


def _list_checks(outcome: Outcome) -> html.Markup:
    header = ["check", "result", "rows", "value", "from", "to", "bound", "more rows"]
    rows: list[list[html.Content]] = [
        [
            f"{check.rule}. {check.where}: {check.what}",
            check.verdict,
            check.rows,
            check.value,
            check.low,
            check.high,
            check.bound,
            check.more_rows,
        ]
        for check in outcome.checks
    ]
    return html.table(header, rows, "each rule, for all rows and for each slice")


def _list_metrics(outcome: Outcome) -> html.Markup:
    found = describe_subject(outcome.subjects[0], outcome.rules.confidence)["metrics"]
    rows: list[list[html.Content]] = []
    for name, one in found.items():
        change = one.get("change_interval", (None, None))
        own = one["candidate_interval"]
        rows.append([name, one["candidate"], *own, one.get("baseline"), one.get("change"), *change])
    header = ["metric", "candidate", "from", "to", "baseline", "change", "from", "to"]
    return html.table(header, rows, f"intervals of {outcome.rules.confidence:.0%}")


def _list_slices(outcome: Outcome) -> html.Markup:
    """Lists the slices; those with the largest change of the main metric come first."""
    metric = outcome.rules.rules[0].metric
    subjects = [one for one in outcome.subjects[1:] if metric in one.candidate.values]
    rows: list[list[Any]] = []
    for subject in subjects:
        found = describe_subject(subject, outcome.rules.confidence)["metrics"][metric]
        change = found.get("change_interval", (None, None))
        rows.append(
            [
                subject.name,
                subject.rows,
                found["candidate"],
                found.get("baseline"),
                found.get("change"),
                *change,
            ]
        )
    rows.sort(key=lambda row: -abs(row[4]) if row[4] is not None and row[4] == row[4] else 1.0)
    header = ["slice", "rows", "candidate", "baseline", "change", "from", "to"]
    return html.table(header, rows[:SHOWN_SLICES], f"{metric}, the largest changes first")


def _draw(models: Sequence[Predictions]) -> list[html.Markup]:
    """Draws ROC, precision-recall, calibration and the distribution of the scores."""
    parts = []
    for title, curve, axes_names in (
        ("ROC", _find_roc, ("false positive rate", "true positive rate")),
        ("Precision and recall", _find_precision, ("recall", "precision")),
        ("Calibration", _find_calibration, ("mean score", "share of positives")),
        ("Scores", _find_distribution, ("score", "share of rows")),
    ):
        drawn, axes = figures.open_axes(*axes_names)
        for name, color, style, model in zip(NAMES, html.SERIES, ("-", "--"), models):
            axes.plot(*curve(model), color=color, linestyle=style, label=name)
        figures.add_legend(axes)
        parts.append(html.figure(drawn, title, title))
    return parts


def _find_roc(model: Predictions) -> tuple[np.ndarray, np.ndarray]:
    return figures.list_roc(curves.trace_curves(*model))


def _find_precision(model: Predictions) -> tuple[np.ndarray, np.ndarray]:
    return figures.list_precision_recall(curves.trace_curves(*model))


def _find_calibration(model: Predictions) -> tuple[np.ndarray, np.ndarray]:
    reliability = curves.measure_reliability(*model, BINS)
    return reliability.score, reliability.share


def _find_distribution(model: Predictions) -> tuple[np.ndarray, np.ndarray]:
    counts, edges = np.histogram(model.scores, 2 * BINS, (0, 1), weights=model.weights)
    return (edges[1:] + edges[:-1]) / 2, counts / counts.sum()


def _list_moved(models: Sequence[Predictions]) -> html.Markup:
    """Lists rows by their number; the page contains no values of the data except the label."""
    change = models[0].scores - models[1].scores
    rows: list[list[html.Content]] = [
        [
            f"row {row + 1:,}",
            float(models[0].labels[row]),
            float(models[0].scores[row]),
            float(models[1].scores[row]),
            float(change[row]),
        ]
        for row in np.argsort(-np.abs(change), kind="stable")[:SHOWN_ROWS].tolist()
    ]
    return html.table(["row of the data", "label", *NAMES, "change"], rows, "scores of both")
