"""Plots of runs and evaluations: curves over steps, metrics by slice, predictions of one model."""

import math
from pathlib import Path
from typing import Any, Optional

import numpy as np
import numpy.typing as npt

from estimator_bridge.output.terminal import escape
from trainer import job_layout, storage
from trainer.drawing import open_figure
from trainer.job_dir.metrics_log import MetricsLog
from trainer.metrics.baselines import CALIBRATION_BINS
from trainer.metrics.curves import measure_reliability, trace_curves
from trainer.metrics.slices import Predictions, Slice
from trainer.reporting.figures import list_roc

Floats = npt.NDArray[np.float64]

DPI = 100
# curves.png has 1200 x 450 pixels.
CURVES_INCHES = (12.0, 4.5)
CURVES_MARGINS = {"left": 0.06, "right": 0.985, "bottom": 0.11, "top": 0.93, "wspace": 0.14}
# Only the largest slices of a column are drawn.
SHOWN_SLICES = 20


def _open(width: float, height: float, panels: int) -> tuple[Any, list[Any]]:
    figure = open_figure((width, height), dpi=DPI, layout="constrained")
    return figure, list(np.atleast_1d(figure.subplots(1, panels)))


def _plain(text: str) -> str:
    """Returns text that matplotlib draws as it is, not as a formula between two dollar signs."""
    return escape(text[:40]).replace("$", r"\$")


def _save(figure: Any, path: Path) -> None:
    with storage.replaced(path) as temporary:
        figure.savefig(temporary, format="png")


def draw_curves(job_dir: str, metric: str) -> None:
    """Draws curves.png in job_dir: losses of training and evaluation, and one metric, by step.

    Args:
        job_dir: the job's folder.
        metric: of the evaluations.
    """
    metrics_log = {kind: MetricsLog(job_dir).read(kind) for kind in ("train", "eval")}
    figure = open_figure(CURVES_INCHES, dpi=DPI)
    # The margins are fixed, because a layout engine would take as long as the drawing.
    left, right = figure.subplots(1, 2, gridspec_kw=CURVES_MARGINS)
    curves = (
        (left, "train", "loss", "training loss"),
        (left, "eval", "loss", "evaluation loss"),
        (right, "eval", metric, metric),
    )
    for axes, kind, name, label in curves:
        points = [(record["step"], record[name]) for record in metrics_log[kind] if name in record]
        if points:
            style = {"marker": "o", "markersize": 4} if kind == "eval" else {"alpha": 0.6}
            axes.plot(*zip(*points), label=label, **style)
    for axes, title in ((left, "loss"), (right, metric)):
        axes.set_xlabel("step")
        axes.set_xlim(left=0)
        axes.set_title(_plain(title))
        axes.grid(alpha=0.3)
        if axes.lines:
            axes.legend()
    losses, evaluated = ([r["loss"] for r in metrics_log[kind]] for kind in ("train", "eval"))
    _cut_first_losses(left, losses, evaluated)
    _save(figure, Path(job_dir) / job_layout.CURVES)


def _cut_first_losses(axes: Any, losses: list[float], evaluated: list[float]) -> None:
    """Limits the y axis if the first steps have a few very large losses."""
    finite = sorted(loss for loss in losses if math.isfinite(loss))
    shown = [loss for loss in evaluated if math.isfinite(loss)]
    if len(finite) >= 10:
        usual = finite[int(0.9 * (len(finite) - 1))]
        if finite[-1] > 2 * usual > 0:
            low, high = min([finite[0], *shown]), max([1.5 * usual, *shown])
            axes.set_ylim(0.9 * low, 1.05 * high)


def draw_checkpoints(evaluations: list[dict[str, Any]], metric: str, path: Path) -> None:
    """Draws the loss and one metric by the steps of several checkpoints.

    Args:
        evaluations: each with "step" and metrics; not empty.
        metric: its name.
        path: of the PNG file.
    """
    names = [name for name in ("loss", metric) if name in evaluations[0]]
    figure, panels = _open(6.0 * len(names), 4.5, len(names))
    for axes, name in zip(panels, names):
        points = sorted((record["step"], record[name]) for record in evaluations)
        axes.plot(*zip(*points), marker="o")
        axes.set_title(_plain(name))
        axes.set_xlabel("step")
        axes.grid(alpha=0.3)
    _save(figure, path)


def draw_slices(slices: list[Slice], metric: str, overall: Optional[float], path: Path) -> None:
    """Draws one metric of slices as bars, a panel for each column.

    Args:
        slices: not empty; bars of slices with few rows are gray.
        metric: its name.
        overall: the metric of all rows; None if it is undefined.
        path: of the PNG file.
    """
    columns = list(dict.fromkeys(part.by for part in slices))
    longest = max(
        min(SHOWN_SLICES, sum(part.by == column for part in slices)) for column in columns
    )
    figure, panels = _open(6.0 * len(columns), 1.5 + 0.3 * longest, len(columns))
    for axes, column in zip(panels, columns):
        shown = [part for part in slices if part.by == column][:SHOWN_SLICES]
        heights = [part.metrics.get(metric, float("nan")) for part in shown]
        names = [f"{_plain(part.value)} ({part.rows:,})" for part in shown]
        colors = ["lightgray" if part.few else "tab:blue" for part in shown]
        axes.barh(range(len(shown)), np.nan_to_num(heights), color=colors)
        axes.set_yticks(range(len(shown)), names)
        # Bars have the same thickness in every panel; the first one is on top.
        axes.set_ylim(longest - 0.5, -0.5)
        if overall is not None:
            axes.axvline(overall, color="tab:red")
            axes.set_xlabel(f"red: all rows, {overall:.4g}; gray: few rows")
        axes.set_title(f"{metric} by {_plain(column)}")
        axes.grid(alpha=0.3, axis="x")
    _save(figure, path)


def draw_predictions(task: str, predictions: Predictions, classes: list[str], path: Path) -> None:
    """Draws the predictions of a model: ROC and reliability, recall by class, or mean by decile.

    Args:
        task: binary, multiclass or regression.
        predictions: labels, scores and weights of all rows.
        classes: names of the classes.
        path: of the PNG file.
    """
    figure, panels = _open(11.0, 4.5, 2) if task == "binary" else _open(6.0, 4.5, 1)
    labels = predictions.labels.astype(np.float64)
    weights = predictions.weights
    weights = np.ones_like(labels) if weights is None else weights.astype(np.float64)
    if task == "binary":
        _draw_roc(panels[0], labels, predictions.scores, weights)
        _draw_reliability(panels[1], labels, predictions.scores, weights)
    elif task == "multiclass":
        _draw_recalls(panels[0], labels, predictions.scores, weights, classes)
    else:
        _draw_deciles(panels[0], labels, predictions.scores, weights)
    for axes in panels:
        axes.grid(alpha=0.3)
    _save(figure, path)


def _draw_roc(axes: Any, labels: Floats, scores: Floats, weights: Floats) -> None:
    axes.plot(*list_roc(trace_curves(labels, scores, weights)))
    axes.plot([0, 1], [0, 1], color="gray", linestyle=":")
    axes.set_title("ROC")
    axes.set_xlabel("negatives called positive")
    axes.set_ylabel("positives found")


def _draw_reliability(axes: Any, labels: Floats, scores: Floats, weights: Floats) -> None:
    reliability = measure_reliability(labels, scores, weights, CALIBRATION_BINS)
    axes.plot(reliability.score, reliability.share, marker="o")
    axes.plot([0, 1], [0, 1], color="gray", linestyle=":")
    axes.set_title("reliability")
    axes.set_xlabel("mean score")
    axes.set_ylabel("share of positives")


def _draw_recalls(
    axes: Any, labels: Floats, scores: Floats, weights: Floats, classes: list[str]
) -> None:
    ids = labels.astype(np.int64)
    right = np.bincount(ids, weights * (scores.argmax(axis=1) == ids), minlength=len(classes))
    rows = np.bincount(ids, weights, minlength=len(classes))
    axes.barh(range(len(classes)), right / np.maximum(rows, 1e-12))
    axes.set_yticks(range(len(classes)), [_plain(name) for name in classes])
    axes.invert_yaxis()
    axes.set_title("share of each class that is recognised")


def _draw_deciles(axes: Any, labels: Floats, scores: Floats, weights: Floats) -> None:
    order = np.argsort(scores, kind="stable")
    ends = np.cumsum(weights[order])
    tenths = ((ends - weights[order] / 2) * 10 / max(ends[-1], 1e-12)).astype(np.int64)
    for tenth in range(10):
        part = order[tenths == tenth]
        if weights[part].sum() > 0:
            point = [np.average(array[part], weights=weights[part]) for array in (scores, labels)]
            axes.plot(*point, marker="o", color="tab:blue")
    low, high = axes.get_xlim()
    axes.plot([low, high], [low, high], color="gray", linestyle=":")
    axes.set_title("tenths of the rows, by prediction")
    axes.set_xlabel("mean prediction")
    axes.set_ylabel("mean label")
