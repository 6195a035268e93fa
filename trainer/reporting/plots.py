"""Pictures of evaluations: curves over checkpoints, bars of slices, what one model answers."""

from pathlib import Path
from typing import Any, Optional

import numpy as np

from trainer import storage
from trainer.metrics.slices import Predictions, Slice

DPI = 100
# Slices of one column in a picture, the largest.
SHOWN_SLICES = 20
RELIABILITY_BINS = 15


def _open(width: float, height: float, panels: int) -> tuple[Any, list[Any]]:
    # Imported here: it takes half a second, and only pictures need it.
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), dpi=DPI, layout="constrained")
    FigureCanvasAgg(figure)
    return figure, list(np.atleast_1d(figure.subplots(1, panels)))


def _save(figure: Any, path: Path) -> None:
    with storage.replaced(path) as temporary:
        figure.savefig(temporary, format="png")


def draw_checkpoints(evaluations: list[dict[str, float]], metric: str, path: Path) -> None:
    """Draws loss and one metric over the steps of several checkpoints."""
    names = [name for name in ("loss", metric) if name in evaluations[0]]
    figure, panels = _open(6.0 * len(names), 4.5, len(names))
    for axes, name in zip(panels, names):
        points = sorted((record["step"], record[name]) for record in evaluations)
        axes.plot(*zip(*points), marker="o")
        axes.set_title(name)
        axes.set_xlabel("step")
        axes.grid(alpha=0.3)
    _save(figure, path)


def draw_slices(slices: list[Slice], metric: str, overall: Optional[float], path: Path) -> None:
    """Draws one metric as bars, a panel for each column; pale where there are few rows."""
    columns = list(dict.fromkeys(part.by for part in slices))
    longest = max(
        min(SHOWN_SLICES, sum(part.by == column for part in slices)) for column in columns
    )
    figure, panels = _open(6.0 * len(columns), 1.5 + 0.3 * longest, len(columns))
    for axes, column in zip(panels, columns):
        shown = [part for part in slices if part.by == column][:SHOWN_SLICES]
        heights = [part.metrics.get(metric, float("nan")) for part in shown]
        names = [f"{part.value[:40]} ({part.rows:,})" for part in shown]
        colors = ["lightgray" if part.few else "tab:blue" for part in shown]
        axes.barh(range(len(shown)), np.nan_to_num(heights), color=colors)
        axes.set_yticks(range(len(shown)), names)
        # Bars of one thickness in every panel, the first on top.
        axes.set_ylim(longest - 0.5, -0.5)
        if overall is not None:
            axes.axvline(overall, color="tab:red")
            axes.set_xlabel(f"red: all rows, {overall:.4g}; gray: few rows")
        axes.set_title(f"{metric} by {column}")
        axes.grid(alpha=0.3, axis="x")
    _save(figure, path)


def draw_answers(task: str, predictions: Predictions, classes: list[str], path: Path) -> None:
    """Draws what one model answers: ROC and reliability, recall by class, or mean by decile."""
    figure, panels = _open(*{"binary": (11.0, 4.5, 2)}.get(task, (6.0, 4.5, 1)))
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


def _draw_roc(axes, labels, scores, weights) -> None:
    order = np.argsort(-scores, kind="stable")
    hits = np.cumsum((weights * labels)[order])
    alarms = np.cumsum((weights * (1 - labels))[order])
    # A thousand points are as good as all.
    shown = np.unique(np.linspace(0, len(hits) - 1, 1000).astype(int))
    axes.plot(alarms[shown] / max(alarms[-1], 1e-12), hits[shown] / max(hits[-1], 1e-12))
    axes.plot([0, 1], [0, 1], color="gray", linestyle=":")
    axes.set_title("ROC")
    axes.set_xlabel("negatives called positive")
    axes.set_ylabel("positives found")


def _draw_reliability(axes, labels, scores, weights) -> None:
    bins = np.clip((scores * RELIABILITY_BINS).astype(np.int64), 0, RELIABILITY_BINS - 1)
    rows = np.bincount(bins, weights=weights, minlength=RELIABILITY_BINS)
    mean = np.bincount(bins, weights=weights * scores, minlength=RELIABILITY_BINS)
    share = np.bincount(bins, weights=weights * labels, minlength=RELIABILITY_BINS)
    some = rows > 0
    axes.plot(mean[some] / rows[some], share[some] / rows[some], marker="o")
    axes.plot([0, 1], [0, 1], color="gray", linestyle=":")
    axes.set_title("reliability")
    axes.set_xlabel("mean score")
    axes.set_ylabel("share of positives")


def _draw_recalls(axes, labels, scores, weights, classes) -> None:
    ids = labels.astype(np.int64)
    right = np.bincount(ids, weights * (scores.argmax(axis=1) == ids), minlength=len(classes))
    rows = np.bincount(ids, weights, minlength=len(classes))
    axes.barh(range(len(classes)), right / np.maximum(rows, 1e-12))
    axes.set_yticks(range(len(classes)), [name[:40] for name in classes])
    axes.invert_yaxis()
    axes.set_title("share of each class that is recognised")


def _draw_deciles(axes, labels, scores, weights) -> None:
    order = np.argsort(scores, kind="stable")
    for part in np.array_split(order, 10):
        if len(part):
            point = [np.average(array[part], weights=weights[part]) for array in (scores, labels)]
            axes.plot(*point, marker="o", color="tab:blue")
    low, high = axes.get_xlim()
    axes.plot([low, high], [low, high], color="gray", linestyle=":")
    axes.set_title("tenths of the rows, by prediction")
    axes.set_xlabel("mean prediction")
    axes.set_ylabel("mean label")
