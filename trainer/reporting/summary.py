"""What a run leaves for people: metrics.json, curves.png and the summary."""

import json
import math
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple, Optional

from trainer import config as config_lib
from trainer import job_layout, storage
from trainer.export.choose import choose_export
from trainer.job_dir.metrics_log import MetricsLog
from trainer.metrics import baselines
from trainer.metrics.catalogue import SHOWN_METRICS

# Pixels of curves.png: 1200 x 450.
CURVES_INCHES, CURVES_DPI = (12.0, 4.5), 100
CURVES_MARGINS = {"left": 0.06, "right": 0.985, "bottom": 0.11, "top": 0.93, "wspace": 0.14}

# Phases of the run that took less are not in the summary.
SHOWN_SECS = 0.05


class Facts(NamedTuple):
    """What the run did, as the report tells it.

    Attributes:
        task: binary, multiclass or regression.
        num_files, num_rows: of the training and of the evaluation data.
        start_step, end_step: global steps.
        stopped_early: why it ended before its last step; None where it did not.
        examples_per_sec: while training; 0 where nothing was trained.
        secs: where the time went, name → seconds.
        secs_each: what came several times → seconds of each time, the last ones.
        checkpoints: those kept, oldest first.
        exports: exporter → paths, oldest first.
        best_metric, direction: by which the best evaluation is chosen; min or max.
        baselines: name → metrics of predictors to be beaten.
        query: a row that an export can be asked, input name → value.
        num_bad_rows: rows left out of the training and of the evaluation data.
        origins: where the training and the evaluation rows came from.
    """

    task: str
    num_files: tuple[int, int]
    num_rows: tuple[int, int]
    start_step: int
    end_step: int
    stopped_early: Optional[str]
    examples_per_sec: float
    secs: dict[str, float]
    secs_each: dict[str, list[float]]
    checkpoints: Sequence[str]
    exports: dict[str, list[str]]
    best_metric: str
    direction: str
    baselines: dict[str, dict[str, float]]
    query: dict[str, Any]
    num_bad_rows: tuple[int, int] = (0, 0)
    origins: tuple[str, str] = ("files", "files")


def collect_facts(
    job: Any, result: Any, measured: dict[str, dict[str, float]], query: dict[str, Any]
) -> Facts:
    """Gathers the facts from a training.job.Job and the training.run.Result of it."""
    return Facts(
        task=job.schema.task,
        num_files=(len(job.train_files), len(job.eval_files)),
        num_rows=(job.train_scan.statistics.num_rows, job.eval_scan.statistics.num_rows),
        num_bad_rows=(job.train_scan.num_bad_rows, job.eval_scan.num_bad_rows),
        best_metric=job.best_metric,
        direction=job.direction,
        baselines=measured,
        query=query,
        **result._asdict(),
    )


def choose_best(
    evaluations: list[dict[str, Any]], metric: str, direction: str
) -> Optional[dict[str, Any]]:
    """The evaluation with the lowest (min) or highest (max) metric; the first of equals."""
    measured = [record for record in evaluations if math.isfinite(record.get(metric, math.nan))]
    if not measured:
        return None
    sign = 1 if direction == "min" else -1
    return min(measured, key=lambda record: sign * record[metric])


def write_report(config: config_lib.Config, facts: Facts) -> str:
    """Writes metrics.json and summary.txt into job_dir; returns the summary."""
    evaluations = MetricsLog(config.job_dir).read("eval")
    best = choose_best(evaluations, facts.best_metric, facts.direction)
    last = evaluations[-1] if evaluations else None
    folder = Path(config.job_dir)
    document = {
        **facts._asdict(),
        "best": best,
        "last": last,
        "evaluations": evaluations,
    }
    storage.write_json(folder / job_layout.METRICS, without_nan(document))
    summary = describe(config, facts, best, last)
    storage.write_text(folder / job_layout.SUMMARY, summary + "\n")
    return summary


def draw(config: config_lib.Config, task: str) -> None:
    """Draws curves.png in job_dir, as far as the metrics log goes."""
    metrics_log = {kind: MetricsLog(config.job_dir).read(kind) for kind in ("train", "eval")}
    draw_curves(metrics_log, SHOWN_METRICS[task][0], Path(config.job_dir) / job_layout.CURVES)


def without_nan(value: Any) -> Any:
    """NaN and infinity, which JSON does not have, as null."""
    if isinstance(value, dict):
        return {name: without_nan(part) for name, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [without_nan(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def draw_curves(metrics_log: dict[str, list[dict[str, Any]]], metric: str, path: Path) -> None:
    """Draws train and eval loss, and the main metric, over steps."""
    # Imported here: it takes half a second, and only this function draws.
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=CURVES_INCHES, dpi=CURVES_DPI)
    FigureCanvasAgg(figure)
    # To find out how much room they need would take as long as drawing them.
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
        axes.set_title(title)
        axes.grid(alpha=0.3)
        if axes.lines:
            axes.legend()
    _cut_first_losses(left, *([r["loss"] for r in metrics_log[kind]] for kind in ("train", "eval")))
    with storage.replaced(path) as temporary:
        figure.savefig(temporary, format="png")


def _cut_first_losses(axes: Any, losses: list[float], evaluated: list[float]) -> None:
    """Lets the few large training losses of the first steps run out of the picture."""
    finite = sorted(loss for loss in losses if math.isfinite(loss))
    shown = [loss for loss in evaluated if math.isfinite(loss)]
    if len(finite) >= 10:
        usual = finite[int(0.9 * (len(finite) - 1))]
        if finite[-1] > 2 * usual > 0:
            low, high = min([finite[0], *shown]), max([1.5 * usual, *shown])
            axes.set_ylim(0.9 * low, 1.05 * high)


def describe(
    config: config_lib.Config,
    facts: Facts,
    best: Optional[dict[str, Any]],
    last: Optional[dict[str, Any]],
) -> str:
    """The summary at the end of a run."""
    lines = ["", f"Summary of {config.job_dir}", ""]
    titles = ("training data", "evaluation data")
    for title, files, rows, origin in zip(titles, facts.num_files, facts.num_rows, facts.origins):
        lines.append(as_row(title, f"{rows:,} rows in {files} file(s), read from {origin}"))
    if any(facts.num_bad_rows):
        training, evaluation = facts.num_bad_rows
        left_out = f"{training:,} left out of training, {evaluation:,} of evaluation"
        lines.append(as_row("bad rows", left_out))
    trained = facts.end_step - facts.start_step
    speed = f", {facts.examples_per_sec:,.0f} examples/s" if facts.examples_per_sec else ""
    lines.append(
        as_row("steps", f"{facts.start_step:,} to {facts.end_step:,} ({trained:,} trained{speed})")
    )
    if facts.stopped_early:
        lines.append(as_row("stopped early", facts.stopped_early))
    lines.append(describe_secs(facts.secs))
    lines += ["", *_describe_metrics(facts, best, last), ""]
    kept = f"{len(facts.checkpoints)} kept"
    if facts.checkpoints:
        kept += f", the last {facts.checkpoints[-1]}"
    lines.append(as_row("checkpoints", kept))
    for name, paths in facts.exports.items():
        lines.append(as_row(f"export {name}", paths[-1] if paths else "none"))
    files = " ".join((job_layout.CONFIG, job_layout.METRICS, job_layout.CURVES, job_layout.SUMMARY))
    lines.append(as_row("files", f"{files} in job_dir"))
    lines.append(as_row("TensorBoard", f"tensorboard --logdir {config.job_dir}"))
    served = choose_export(facts.exports)
    if served:
        question = f"--export={shlex.quote(served)} --row={shlex.quote(json.dumps(facts.query))}"
        lines.append(as_row("query", f"python -m trainer.predict {question}"))
    return "\n".join(lines)


def describe_secs(secs: dict[str, float]) -> str:
    """One line: where the time went; what took none to speak of is in metrics.json alone."""
    told = [f"{name} {value:.1f} s" for name, value in secs.items() if value >= SHOWN_SECS]
    return as_row("time", ", ".join(told) or "none")


def as_row(name: str, value: str) -> str:
    return f"  {name:<18}{value}"


def _describe_metrics(facts, best, last) -> list[str]:
    if last is None:
        return [as_row("metrics", "no evaluation")]
    # Of several heads, the main metrics of each.
    mains = {metrics[0] for metrics in SHOWN_METRICS.values()}
    heads = sorted(name for name in last if "/" in name and name.partition("/")[0] in mains)
    wanted = ["loss", *SHOWN_METRICS[facts.task], *heads, facts.best_metric]
    names = [name for name in dict.fromkeys(wanted) if name in last]
    widths = [max(len(name), 8) for name in names]
    columns = [(f"last, step {last['step']:,}", last)]
    if best is not None:
        columns.insert(0, (f"best {facts.best_metric}, step {best['step']:,}", best))
    columns += list(facts.baselines.items())
    first = max(len(title) for title, _ in columns) + 2
    lines = ["  " + " " * first + "  ".join(f"{n:>{w}}" for n, w in zip(names, widths))]
    for title, metrics in columns:
        cells = [
            f"{metrics[name]:>{width}.4f}" if name in metrics else " " * width
            for name, width in zip(names, widths)
        ]
        lines.append(f"  {title:<{first}}" + "  ".join(cells))
    lines += [
        as_row("better than", f"{name} by {', '.join(gains)}")
        for name, gains in _describe_gains(best or last, facts.baselines).items()
    ]
    return lines


def _describe_gains(metrics, measured) -> dict[str, list[str]]:
    gains: dict[str, list[str]] = {name: [] for name in measured}
    for gain in baselines.compare(metrics, measured):
        # A constant is perfectly calibrated, and says nothing: no rival in that.
        if gain.metric != "calibration_error":
            gains[gain.baseline].append(f"{gain.metric} {gain.gain:+.4f}")
    return gains
