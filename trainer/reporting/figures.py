"""Figures of HTML pages: curves of a run, quality of predictions, importance, distributions."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from trainer.drawing import open_figure
from trainer.metrics.curves import Curves, Reliability
from trainer.reporting.html import INK, SERIES

INCHES = (4.0, 3.1)
MARGINS = {"left": 0.21, "right": 0.94, "bottom": 0.16, "top": 0.93}
# Outside of these powers of ten the y axis has a factor above it; other numbers fit in the margin.
PLAIN_POWERS = (-2, 4)
# More points would make no visible difference.
POINTS = 500
LABEL_CHARACTERS = 28


def plain(label: str) -> str:
    """Returns a label that Matplotlib draws as it is, and not as a formula.

    Args:
        label: at most LABEL_CHARACTERS of it are shown.
    """
    short = label if len(label) <= LABEL_CHARACTERS else label[: LABEL_CHARACTERS - 1] + "…"
    return short.replace("$", r"\$")


def open_axes(x: str, y: str) -> tuple[Any, Any]:
    """Returns an empty figure with fixed margins, and its axes.

    Args:
        x: label of the x axis.
        y: label of the y axis.
    """
    # A layout engine would take as long as the drawing.
    figure = open_figure(INCHES)
    axes = figure.subplots(gridspec_kw=MARGINS)
    axes.ticklabel_format(axis="y", scilimits=PLAIN_POWERS)
    _label(axes, x, y)
    return figure, axes


def _label(axes: Any, x: str, y: str) -> None:
    axes.set_xlabel(plain(x), color=INK)
    axes.set_ylabel(plain(y), color=INK)
    axes.tick_params(colors=INK)
    for side in ("left", "bottom"):
        axes.spines[side].set_color(INK)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    axes.grid(color=SERIES[2], alpha=0.25)


def add_legend(axes: Any) -> None:
    """Adds a legend if something is drawn.

    Args:
        axes: result of open_axes.
    """
    if axes.lines:
        axes.legend(labelcolor=INK, framealpha=0, fontsize="small")


def thin(count: int) -> np.ndarray:
    """Returns the indices of at most POINTS evenly chosen points of a curve, int [points].

    Args:
        count: number of points of the curve.
    """
    return np.unique(np.linspace(0, count - 1, POINTS).astype(int))


def list_roc(curves: Curves) -> tuple[np.ndarray, np.ndarray]:
    """Returns the points of the ROC curve that are drawn, from (0, 0) on: x and y, float64.

    Args:
        curves: all points.
    """
    shown = thin(len(curves.recall))
    x, y = curves.false_positive_rate[shown], curves.recall[shown]
    return np.append(0, x), np.append(0, y)


def list_precision_recall(curves: Curves) -> tuple[np.ndarray, np.ndarray]:
    """Returns the points of precision by recall that are drawn: x and y, float64.

    Args:
        curves: all points.
    """
    shown = thin(len(curves.recall))
    return curves.recall[shown], curves.precision[shown]


def draw_steps(curves: dict[str, list[tuple[int, float]]], metric: str) -> Any:
    """Draws values by global step.

    Args:
        curves: name → (step, value); at most as many as SERIES.
        metric: what the values are.
    """
    figure, axes = open_axes("step", metric)
    for color, (name, points) in zip(SERIES, curves.items()):
        if points:
            shown = [points[index] for index in thin(len(points))]
            marker = "o" if len(shown) <= 50 else ""
            axes.plot(*zip(*shown), color=color, label=plain(name), marker=marker, markersize=3)
    add_legend(axes)
    return figure


def draw_roc(curves: Curves, auc: float) -> Any:
    """Draws the ROC curve.

    Args:
        curves: all points.
        auc: the area below the curve.
    """
    figure, axes = open_axes("negatives called positive", "positives found")
    label = f"model, AUC {auc:.4f}"
    axes.plot(*list_roc(curves), color=SERIES[0], label=label)
    axes.plot([0, 1], [0, 1], color=SERIES[2], linestyle=":", label="chance")
    add_legend(axes)
    return figure


def draw_precision_recall(curves: Curves, area: float, positives: float) -> Any:
    """Draws precision by recall.

    Args:
        curves: all points.
        area: the area below the curve.
        positives: share of positive rows.
    """
    figure, axes = open_axes("recall", "precision")
    label = f"model, area {area:.4f}"
    axes.plot(*list_precision_recall(curves), color=SERIES[0], label=label)
    axes.axhline(positives, color=SERIES[2], linestyle=":", label="chance")
    axes.set_ylim(0, 1.03)
    add_legend(axes)
    return figure


def draw_calibration(reliability: Reliability) -> Any:
    """Draws the share of positives by score.

    Args:
        reliability: by bin of the score.
    """
    figure, axes = open_axes("mean score", "share of positives")
    axes.plot(*reliability[:2], color=SERIES[0], marker="o", markersize=4, label="model")
    axes.plot([0, 1], [0, 1], color=SERIES[2], linestyle=":", label="calibrated")
    add_legend(axes)
    return figure


def draw_residuals(labels: np.ndarray, scores: np.ndarray) -> list[Any]:
    """Draws the residuals of a regression: by prediction, and their histogram.

    Args:
        labels: [rows].
        scores: the predictions, [rows].
    """
    residuals = labels.astype(np.float64) - scores
    shown = thin(len(scores))
    by_score, axes = open_axes("prediction", "label - prediction")
    axes.plot(scores[shown], residuals[shown], ".", color=SERIES[0], alpha=0.5)
    axes.axhline(0, color=SERIES[2])
    histogram, axes = open_axes("label - prediction", "rows")
    axes.hist(residuals, bins=40, color=SERIES[0])
    return [by_score, histogram]


def draw_bars(
    names: Sequence[str], values: Sequence[float], widths: Sequence[float], x: str
) -> Any:
    """Draws horizontal bars with intervals, the first one on top.

    Args:
        names: of the bars.
        values: their lengths.
        widths: half the widths of their intervals; 0: no interval.
        x: what the values are.
    """
    # The names are words of the data, so the margin depends on them.
    figure = open_figure((INCHES[0], 0.9 + 0.24 * len(names)), layout="constrained")
    axes = figure.subplots()
    _label(axes, x, "")
    axes.barh(range(len(names)), values, xerr=widths, color=SERIES[0], ecolor=INK)
    axes.set_yticks(range(len(names)), [plain(name) for name in names], color=INK)
    axes.invert_yaxis()
    return figure
