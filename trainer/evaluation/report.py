"""evaluation.json, evaluation.png and the tables of python -m trainer.evaluate."""

import math
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, Optional

from estimator_bridge.output.terminal import find_width, format_table
from trainer import job_layout, storage
from trainer.errors import UserError
from trainer.metrics import slices
from trainer.metrics.catalogue import SHOWN_METRICS
from trainer.reporting import plots
from trainer.reporting.summary import without_nan
from trainer.schema import Schema

# The table on the terminal has this many slices of a column; evaluation.json has more.
SHOWN_SLICES = 20
# Columns of metrics in the table of slices.
SHOWN_COLUMNS = 6


class Sliced(NamedTuple):
    """The metrics of one checkpoint for all rows and by slice.

    Attributes:
        predictions: of all rows; of very many, weighted rows that look like them in a plot.
        rows: number of rows.
        overall: metrics of all rows.
        parts: the slices.
        min_rows: a slice with fewer rows is marked.
        bounds: "overall" and "slices" → metric → by how much it can differ at most from that of
            the rows; empty if all metrics are exact.
    """

    predictions: slices.Predictions
    rows: int
    overall: dict[str, float]
    parts: list[slices.Slice]
    min_rows: int
    bounds: Mapping[str, dict[str, float]] = MappingProxyType({})


class EvaluationReport(NamedTuple):
    """The contents of the report.

    Attributes:
        schema: of the data.
        files: paths of the data.
        threshold: score from which a row is called positive.
        evaluations: of the checkpoints, each with "checkpoint", "step" and metrics.
        sliced: metrics by slice; None for several checkpoints, or a task without slices.
    """

    schema: Schema
    files: Sequence[str]
    threshold: float
    evaluations: list[dict[str, Any]]
    sliced: Optional[Sliced] = None


def store_evaluation(report: EvaluationReport, output: Path, copies: storage.Copies) -> str:
    """Writes evaluation.json and evaluation.png where they are to be; returns the tables as text.

    Args:
        report: the contents.
        output: folder of the files on this machine.
        copies: of files of this machine.

    Raises:
        UserError: the folder cannot be written.
    """
    text = write_evaluation(report, output)
    for path in output.glob("evaluation.*"):
        copies.store_output(path)
    return text


def write_evaluation(report: EvaluationReport, output: Path) -> str:
    """Writes evaluation.json and evaluation.png; returns the tables as text.

    Args:
        report: the contents.
        output: folder of the files.

    Raises:
        UserError: the folder cannot be written.
    """
    task = report.schema.task
    document: dict[str, Any] = {
        "task": task,
        "files": list(report.files),
        "threshold": report.threshold,
        "evaluations": report.evaluations,
    }
    lines = _describe_evaluations(report.evaluations, task)
    if report.sliced is not None:
        overall, parts = report.sliced.overall, report.sliced.parts
        document.update(
            rows=report.sliced.rows,
            overall=overall,
            min_rows=report.sliced.min_rows,
            slices=[part._asdict() for part in parts],
        )
        lines += _describe_slices(report.sliced, _main_metric(task))
        if report.sliced.bounds:
            document.update(bounds=report.sliced.bounds)
            lines += _describe_bounds(report.sliced)
    path, plot = output / job_layout.EVALUATION_REPORT, output / job_layout.EVALUATION_PLOT
    try:
        output.mkdir(parents=True, exist_ok=True)
        _draw(report, plot)
        storage.write_json(path, without_nan(document))
    except OSError as error:
        raise UserError(f"--output={output}: {error.strerror}; choose another") from error
    return "\n".join([*lines, "", f"{path}, {plot}"])


def _main_metric(task: str) -> str:
    return SHOWN_METRICS.get(task, ("loss",))[0]


def _draw(report: EvaluationReport, path: Path) -> None:
    task, sliced = report.schema.task, report.sliced
    if sliced is None:
        plots.draw_checkpoints(report.evaluations, _main_metric(task), path)
    elif sliced.parts:
        metric = _main_metric(task)
        plots.draw_slices(sliced.parts, metric, sliced.overall.get(metric), path)
    else:
        classes = [str(name) for name in report.schema.label.vocabulary or ()]
        classes = classes or [str(name) for name in range(report.schema.num_classes)]
        plots.draw_predictions(task, sliced.predictions, classes, path)


def _describe_evaluations(evaluations: list[dict[str, Any]], task: str) -> list[str]:
    names = dict.fromkeys(("loss", *SHOWN_METRICS.get(task, ())))
    shown = [name for name in names if name in evaluations[0]]
    # For a model with several heads, show the main metrics of each head.
    mains = {metrics[0] for metrics in SHOWN_METRICS.values()}
    shown += [name for name in evaluations[0] if "/" in name and name.split("/")[0] in mains]
    shown = shown or [name for name in evaluations[0] if name not in ("checkpoint", "step")]
    rows = [[f"{record['step']:,}", *(f"{record[n]:.4f}" for n in shown)] for record in evaluations]
    return format_table([["step", *shown], *rows], width=find_width(sys.stdout))


def _describe_slices(sliced: Sliced, main: str) -> list[str]:
    overall, rows = sliced.overall, sliced.rows
    shown = [main, *(name for name in overall if name != main)][:SHOWN_COLUMNS]
    lines = []
    for by in dict.fromkeys(part.by for part in sliced.parts):
        parts = [part for part in sliced.parts if part.by == by]
        table = [[by, "rows", *shown], ["all rows", f"{rows:,}", *_format(overall, shown)]]
        for part in parts[:SHOWN_SLICES]:
            mark = " *" if part.few else ""
            table.append([part.value + mark, f"{part.rows:,}", *_format(part.metrics, shown)])
        lines += ["", *format_table(table, width=find_width(sys.stdout))]
        if any(part.few for part in parts[:SHOWN_SLICES]):
            lines.append(f"  * fewer than {sliced.min_rows} rows: too few to be trusted")
        if len(parts) > SHOWN_SLICES:
            lines.append(
                f"  {len(parts) - SHOWN_SLICES} smaller slices are in "
                f"{job_layout.EVALUATION_REPORT}"
            )
    return lines


def _describe_bounds(sliced: Sliced) -> list[str]:
    """Says how exact the areas of very many rows are."""
    lines = [""]
    for kind, what in (("overall", "all rows"), ("slices", "each slice")):
        bounds = [f"{name} {bound:.1g}" for name, bound in sliced.bounds.get(kind, {}).items()]
        if bounds:
            lines.append(f"of {what}, at most this far from exact: {', '.join(bounds)}")
    return lines


def _format(metrics: dict[str, float], names: Sequence[str]) -> list[str]:
    return [
        "-" if not math.isfinite(metrics.get(name, math.nan)) else f"{metrics[name]:.4f}"
        for name in names
    ]
