"""The page of a trained job: data, curves, quality, importance, errors, exports, a model card."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np

from estimator_bridge.output.terminal import quote_command
from trainer import job_layout
from trainer.data_validation.check import Finding
from trainer.export.choose import choose_export
from trainer.job_dir.metrics_log import MetricsLog
from trainer.job_dir.results import read_results
from trainer.metrics import curves
from trainer.metrics.baselines import CALIBRATION_BINS
from trainer.metrics.catalogue import SHOWN_METRICS
from trainer.metrics.slices import Predictions, Slice
from trainer.reporting import figures, html
from trainer.reporting.html import Markup
from trainer.reporting.weights import WideWeight, describe_weights
from trainer.schema import Schema, Statistics, parse_statistics
from trainer.schema.statistics import dump_public_statistics

THRESHOLDS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
SHOWN_SLICES = 12
SHOWN_METRIC_COLUMNS = 5
SHOWN_IMPORTANCE = 25
SHOWN_CATEGORIES = 4
SHOWN_CLASSES = 30
NOT_MEASURED = "Not measured at the end of a job; python -m trainer.report measures it."
BLOCKS = "▁▂▃▄▅▆▇█"


class ColumnImportance(Protocol):
    """The importance of one column.

    Attributes:
        column: its name.
        mean: mean loss of the metric.
        half_width: half the width of the interval of the mean.
    """

    column: str
    mean: float
    half_width: float


class Measured(NamedTuple):
    """What was measured on the evaluation data.

    Attributes:
        evaluation: the Estimator's metrics, with "checkpoint" and "step".
        predictions: of all rows.
        overall: exact metrics of all rows.
        parts: slices.
        importance: of columns, the most important first.
        findings: of the check against schema and training data.
        worst_rows: the columns of the rows with the largest errors, [rows shown].
        worst: their numbers, from 0, the largest error first.
        threshold: score from which a row is called positive.
        weights: of the wide part, the largest first.
    """

    evaluation: dict[str, Any]
    predictions: Predictions
    overall: dict[str, float]
    parts: list[Slice]
    importance: Sequence[Any]
    findings: list[Finding]
    worst_rows: dict[str, np.ndarray]
    worst: np.ndarray
    threshold: float
    weights: Sequence[WideWeight] = ()


def list_shown(schema: Schema) -> list[str]:
    """Returns the features that a page may show: all except those that are marked as private.

    Args:
        schema: the columns.
    """
    return [name for name in schema.features if not schema.columns[name].private]


def measure_errors(task: str, predictions: Predictions) -> np.ndarray:
    """Returns how far each prediction is from its label, float64 [rows].

    Args:
        task: binary, multiclass or regression.
        predictions: of all rows.
    """
    labels, scores = predictions.labels, predictions.scores.astype(np.float64)
    if task == "multiclass":
        return np.asarray(1 - scores[np.arange(len(labels)), labels.astype(np.int64)])
    return np.abs(labels.astype(np.float64) - scores)


def build_page(
    name: str, job_dir: Path, schema: Schema, statistics: Statistics, measured: Measured
) -> Markup:
    """Returns the page.

    Args:
        name: of the job, as the user wrote it.
        job_dir: the job's folder on this machine.
        schema: of the data.
        statistics: of the training data.
        measured: on the evaluation data.
    """
    results = read_results(job_dir / job_layout.METRICS)
    config = (job_dir / job_layout.CONFIG).read_text(encoding="utf-8", errors="replace")
    sections = [
        _describe_model(schema, statistics, measured, results),
        _describe_data(schema, statistics, measured),
        _describe_curves(job_dir, schema.task),
        _describe_quality(schema, measured),
        _describe_slices(schema.task, measured),
        _describe_importance(schema.task, measured),
        *describe_weights(schema.task, measured.weights),
        _describe_errors(schema, measured),
        _describe_run(results),
        _describe_exports(schema, results),
        html.section(
            "Configuration", html.details("config.yaml", html.preformatted(config, "config.yaml"))
        ),
    ]
    return html.page(f"Job {name}", sections)


def _describe_model(
    schema: Schema, statistics: Statistics, measured: Measured, results: dict[str, Any]
) -> tuple[str, Markup]:
    rows = len(measured.predictions.labels)
    facts: list[list[html.Content]] = [
        ["task", f"{schema.task}: predicts {schema.label.column}"],
        ["columns used", str(len(schema.used_features))],
        ["trained on", f"{statistics.num_rows:,} rows"],
        ["evaluated on", f"{rows:,} rows"],
        ["checkpoint", f"step {measured.evaluation['step']:,}"],
    ]
    if results.get("stopped_early"):
        facts.append(["stopped early", str(results["stopped_early"])])
    names = [name for name in SHOWN_METRICS[schema.task] if name in measured.overall]
    table: list[list[html.Content]] = [["this model", *(measured.overall[name] for name in names)]]
    for baseline, values in (results.get("baselines") or {}).items():
        table.append([baseline, *(values.get(name) for name in names)])
    note = (
        "The metrics describe the evaluation data of this job only. For other data, or groups of "
        "rows that are rare in them, evaluate the model again: python -m trainer.evaluate "
        "--data=FILES --by=COLUMNS."
    )
    return html.section(
        "Model card",
        html.table(["model", "value"], facts),
        html.table(["metrics", *names], table, "Metrics of the evaluation data, and of baselines"),
        html.paragraph(note, note=True),
    )


def _describe_data(
    schema: Schema, statistics: Statistics, measured: Measured
) -> tuple[str, Markup]:
    public = parse_statistics(dump_public_statistics(statistics, schema))
    private = {name for name, column in schema.columns.items() if column.private}
    shown = {*list_shown(schema), *schema.label_columns} - private
    rows: list[list[html.Content]] = []
    for finding in measured.findings:
        name = finding.column
        if name not in shown:
            continue
        verdict = "; ".join([finding.verdict, *finding.does_not_fit, *finding.drift])
        missing = [_percent(share) for share in (finding.trained_missing, finding.missing)]
        rows.append([name, _describe_column(name, public), *missing, finding.psi, verdict])
    header = ["column", "training data", "missing", "missing in evaluation", "PSI", "evaluation"]
    note = (
        "PSI, the population stability index, is the distance of the evaluation data from the "
        "training data: up to 0.1 the same, up to 0.25 shifted, above drifted."
    )
    return html.section("Data", html.table(header, rows), html.paragraph(note, note=True))


def _percent(share: Any) -> Any:
    return None if share is None else Markup(f"{100 * share:.1f} %")


def _describe_column(name: str, statistics: Statistics) -> str:
    if name in statistics.columns:
        seen = statistics.columns[name]
        values = f"{seen.min:.4g} to {seen.max:.4g}, mean {seen.mean:.4g}, std {seen.std:.4g}"
        edges = seen.bins.edges if seen.bins else ()
        if len(edges) < 3 or seen.bins is None:
            return values
        # The density between the outermost bounds; bins may differ in width.
        density = np.asarray(seen.bins.shares[1:-1]) / np.diff(edges)
        grid = np.linspace(edges[0], edges[-1], 25)[:-1]
        places = np.clip(np.searchsorted(edges, grid, side="right") - 1, 0, len(density) - 1)
        levels = density[places] / max(float(np.max(density)), 1e-300)
        return "".join(BLOCKS[min(int(level * 8), 7)] for level in levels) + "\n" + values
    if name not in statistics.categories:
        return ""
    seen_values = statistics.categories[name]
    total = max(seen_values.count, 1)
    largest = sorted(seen_values.counts.items(), key=lambda item: -item[1])
    texts = [f"{value} {100 * rows / total:.0f} %" for value, rows in largest[:SHOWN_CATEGORIES]]
    if len(largest) > SHOWN_CATEGORIES:
        texts.append(f"{len(largest) - SHOWN_CATEGORIES} more")
    return ", ".join(texts)


def _describe_curves(job_dir: Path, task: str) -> tuple[str, Markup]:
    records = {kind: MetricsLog(str(job_dir)).read(kind) for kind in ("train", "eval")}

    def collect(kind: str, name: str) -> list[tuple[int, float]]:
        values = [(one["step"], one.get(name)) for one in records[kind]]
        return [(step, value) for step, value in values if value is not None]

    metric = SHOWN_METRICS[task][0]
    losses = {"training": collect("train", "loss"), "evaluation": collect("eval", "loss")}
    drawn = [
        html.figure(figures.draw_steps(losses, "loss"), "Loss by step"),
        html.figure(
            figures.draw_steps({metric: collect("eval", metric)}, metric), f"{metric} by step"
        ),
    ]
    return html.section("Curves", html.figures(drawn))


def _describe_quality(schema: Schema, measured: Measured) -> tuple[str, Markup]:
    task, overall = schema.task, measured.overall
    exact = html.table(
        ["metric", "value"],
        [[name, value] for name, value in overall.items()],
        "Exact metrics of all evaluation rows",
    )
    own = [
        [name, value]
        for name, value in measured.evaluation.items()
        if name not in ("checkpoint", "step")
    ]
    estimators = html.details("The Estimator's own metrics", html.table(["metric", "value"], own))
    if not len(overall):
        parts: list[Markup] = []
    elif task == "binary":
        parts = _describe_binary(measured)
    elif task == "multiclass":
        parts = _describe_classes(schema, measured.predictions)
    else:
        drawn = figures.draw_residuals(measured.predictions.labels, measured.predictions.scores)
        titles = "Residuals by prediction", "Histogram of residuals"
        parts = [html.figures([html.figure(*pair) for pair in zip(drawn, titles)])]
    return html.section("Quality", *parts, exact, estimators)


def _describe_binary(measured: Measured) -> list[Markup]:
    overall, predictions = measured.overall, measured.predictions
    traced = curves.trace_curves(*predictions)
    reliability = curves.measure_reliability(*predictions, CALIBRATION_BINS)
    area = overall["auc_precision_recall"]
    precision = figures.draw_precision_recall(traced, area, overall["positives"])
    drawn = [
        html.figure(figures.draw_roc(traced, overall["auc"]), "ROC curve"),
        html.figure(precision, "Precision and recall"),
        html.figure(figures.draw_calibration(reliability), "Calibration"),
    ]
    thresholds = sorted({*THRESHOLDS, measured.threshold})
    rows: list[list[html.Content]] = []
    for one in curves.count_confusions(*predictions, thresholds):
        called, positives = one.found + one.alarms, one.found + one.missed
        shares = [
            part / whole if whole else None
            for part, whole in ((one.found, called), (one.found, positives))
        ]
        counts = [_count(value) for value in one[1:]]
        rows.append([f"{one.threshold:g}", *counts, *shares])
    header = ["threshold", "true positive", "false positive", "false negative", "true negative"]
    table = html.table([*header, "precision", "recall"], rows, "Confusion by threshold")
    return [html.figures(drawn), table]


def _count(value: float) -> html.Content:
    return int(value) if value.is_integer() else value


def _describe_classes(schema: Schema, predictions: Predictions) -> list[Markup]:
    counts = curves.count_classes(*predictions)
    names = [str(name) for name in schema.label.vocabulary or range(len(counts))]
    if len(names) > SHOWN_CLASSES:
        recalls = counts.diagonal() / np.maximum(counts.sum(axis=1), 1e-12)
        pairs = sorted(zip(recalls.tolist(), names))[:SHOWN_CLASSES]
        worst = [[name, recall] for recall, name in pairs]
        return [html.table(["class", "recognised"], worst, "The classes recognised worst")]
    rows = [[name, *(_count(value) for value in row)] for name, row in zip(names, counts.tolist())]
    return [html.table(["label", *names], rows, "Rows by label (down) and prediction (across)")]


def _describe_slices(task: str, measured: Measured) -> tuple[str, Markup]:
    names = list(measured.overall)[:SHOWN_METRIC_COLUMNS]
    parts = []
    for by in dict.fromkeys(part.by for part in measured.parts):
        found = [part for part in measured.parts if part.by == by]
        rows: list[list[html.Content]] = [
            ["all rows", len(measured.predictions.labels), *(measured.overall[n] for n in names)]
        ]
        for part in found[:SHOWN_SLICES]:
            label = f"{part.value} (few rows)" if part.few else part.value
            rows.append([label, part.rows, *(part.metrics.get(name) for name in names)])
        more = len(found) - SHOWN_SLICES
        caption = f"By {by}" + (f", without {more} other slices" if more > 0 else "")
        parts.append(html.table([by, "rows", *names], rows, caption))
    return html.section("Slices", *(parts or [html.paragraph("No column was sliced.")]))


def _describe_importance(task: str, measured: Measured) -> tuple[str, Markup]:
    shown: list[ColumnImportance] = list(measured.importance[:SHOWN_IMPORTANCE])
    if not shown:
        return html.section("Importance of columns", html.paragraph(NOT_MEASURED))
    metric = SHOWN_METRICS[task][0]
    drawn = figures.draw_bars(
        [one.column for one in shown],
        [one.mean for one in shown],
        [one.half_width for one in shown],
        f"loss of {metric}",
    )
    rows: list[list[html.Content]] = [[one.column, one.mean, one.half_width] for one in shown]
    note = (
        f"How much worse {metric} becomes if the values of a column are shuffled among a sample of "
        "the evaluation rows, with the 95 % interval of five shuffles. Columns that contain the "
        "same information share their importance."
    )
    return html.section(
        "Importance of columns",
        html.figures([html.figure(drawn, "Importance of columns")]),
        html.details("Table", html.table(["column", f"loss of {metric}", "±"], rows)),
        html.paragraph(note, note=True),
    )


def _describe_errors(schema: Schema, measured: Measured) -> tuple[str, Markup]:
    columns = [name for name in list_shown(schema) if name in measured.worst_rows]
    classes = schema.label.vocabulary if schema.task == "multiclass" else None
    rows: list[list[html.Content]] = []
    for place, number in enumerate(measured.worst.tolist()):
        score = measured.predictions.scores[number]
        predicted: html.Content
        if schema.task == "multiclass":
            chosen = int(score.argmax())
            predicted = str(classes[chosen] if classes else chosen)
        else:
            predicted = float(score)
        is_private = schema.columns[schema.label.column].private
        label = None if is_private else _to_text(measured.worst_rows[schema.label.column][place])
        values = [_to_text(measured.worst_rows[name][place]) for name in columns]
        rows.append([str(number + 1), label, predicted, *values])
    header = ["row", schema.label.column, "prediction", *columns]
    return html.section("Largest errors", html.table(header, rows))


def _to_text(value: Any) -> html.Content:
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    return f"{value:.6g}" if isinstance(value, (float, np.floating)) else str(value)


def _describe_run(results: dict[str, Any]) -> tuple[str, Markup]:
    secs = {name: value for name, value in (results.get("secs") or {}).items() if value >= 0.05}
    if not secs:
        return html.section("Time", html.paragraph("No finished run is recorded."))
    rows = [[name, f"{value:.1f} s"] for name, value in secs.items()]
    speed = results.get("examples_per_sec")
    note = [html.paragraph(f"Training read {speed:,.0f} examples/s.")] if speed else []
    return html.section("Time", html.table(["phase", "time"], rows), *note)


def _describe_exports(schema: Schema, results: dict[str, Any]) -> tuple[str, Markup]:
    exports = results.get("exports") or {}
    served = choose_export(exports)
    if served is None:
        return html.section("Exports", html.paragraph("There is no export."))
    rows = [[name, paths[-1]] for name, paths in exports.items() if paths]
    words = ["python", "-m", "trainer.predict", f"--export={served}"]
    query = results.get("query")
    # A query of a model with private columns would name them.
    if query and not any(schema.columns[name].private for name in query if name in schema.columns):
        words.append(f"--row={json.dumps(query)}")
    command = html.preformatted(quote_command(*words), "Command that queries the export")
    return html.section("Exports", html.table(["exporter", "newest export"], rows), command)
