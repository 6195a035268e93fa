"""metrics.json and summary.txt: the results of a run for programs and for users."""

import json
import math
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple, Optional

from estimator_bridge.output.terminal import find_width, format_table, quote_command
from trainer import job_layout, storage
from trainer.export.choose import choose_export
from trainer.job_dir.metrics_log import MetricsLog
from trainer.metrics import baselines
from trainer.metrics.catalogue import SHOWN_METRICS

# Phases that took less time than this are not in the summary.
SHOWN_SECS = 0.05

# A model whose best metric changed by at least this share during the last evaluations is still
# improving.
TREND_SHARE = 0.02
TREND_EVALUATIONS = 4
# A smaller gain in AUC over the constant prediction is no proof that a model has learnt anything:
# it is the standard error of random scores on 3,000 rows.
AUC_NOISE = 0.01

Evaluation = dict[str, Any]


class RunResult(NamedTuple):
    """The result of a run.

    Attributes:
        start_step: global step at which it started.
        end_step: global step at which it ended.
        stopped_early: why it ended before its last step; None if it did not.
        examples_per_sec: speed of training; 0 if no step was trained.
        secs: phase → seconds.
        secs_each: phase that occurred several times → its most recent durations in seconds.
        checkpoints: paths of the kept checkpoints, oldest first.
        exports: exporter → paths of its exports, oldest first.
        origins: the sources of the training rows and of the evaluation rows; None if unknown.
        steps_each: process of a cluster → steps that it has trained since its last start; None
            unless the processes train independently of each other.
    """

    start_step: int
    end_step: int
    stopped_early: Optional[str]
    examples_per_sec: float
    secs: dict[str, float]
    secs_each: dict[str, list[float]]
    checkpoints: Sequence[str]
    exports: dict[str, list[str]]
    origins: Optional[tuple[str, str]] = None
    steps_each: Optional[dict[str, int]] = None


class DataSummary(NamedTuple):
    """The data of a job. Pairs contain a value for the training and one for the evaluation data.

    Attributes:
        task: binary, multiclass, regression, multilabel or multihead.
        num_files: number of files.
        num_rows: number of rows.
        num_bad_rows: number of rows that were left out.
        baselines: name → metrics of the predictors with which the model is compared.
        query: a made-up row for an export, input name → value.
        split: how the rows of one data set were divided; None for separate data.
        leaks: sentences about rows and columns that may make the evaluation too good.
    """

    task: str
    num_files: tuple[int, int]
    num_rows: tuple[int, int]
    num_bad_rows: tuple[int, int]
    baselines: dict[str, dict[str, float]]
    query: dict[str, Any]
    split: Optional[str] = None
    leaks: tuple[str, ...] = ()


class RunSummary(NamedTuple):
    """The contents of the report.

    Attributes:
        job_dir: the job's folder, to which the report is written.
        result: the result of the run.
        best_metric: the metric by which the best evaluation is chosen.
        direction: min or max.
        data: the data of the job; None for a user's experiment.
        experiment: option and reference of a user's experiment; None for a job.
        longer: what more of would train longer, with its flag.
    """

    job_dir: str
    result: RunResult
    best_metric: str
    direction: str
    data: Optional[DataSummary] = None
    experiment: Optional[str] = None
    longer: str = "steps (--max_steps)"


def choose_best(
    evaluations: Sequence[Evaluation], metric: str, direction: str
) -> Optional[Evaluation]:
    """Returns the evaluation with the best metric; None if there is no evaluation.

    Of several evaluations with the same value, it is the first.

    Args:
        evaluations: each with "step" and metrics.
        metric: its name.
        direction: min or max.
    """
    measured = [record for record in evaluations if math.isfinite(record.get(metric, math.nan))]
    if not measured:
        return None
    sign = 1 if direction == "min" else -1
    return min(measured, key=lambda record: float(sign * record[metric]))


def write_report(summary: RunSummary) -> str:
    """Writes metrics.json and summary.txt into job_dir; returns the text of the summary.

    Args:
        summary: the contents of the report.
    """
    log = MetricsLog(summary.job_dir)
    evaluations, comparable = log.read("eval"), log.read_comparable()
    best = choose_best(comparable, summary.best_metric, summary.direction)
    last = evaluations[-1] if evaluations else None
    document: dict[str, Any] = {}
    if summary.experiment is not None:
        document["experiment"] = summary.experiment
    if summary.data is not None:
        document.update(summary.data._asdict())
    document.update(summary.result._asdict())
    for name in ("origins", "steps_each"):
        if document[name] is None:
            del document[name]
    document.update(
        best_metric=summary.best_metric,
        direction=summary.direction,
        best=best,
        last=last,
        evaluations=evaluations,
    )
    folder = Path(summary.job_dir)
    storage.write_json(folder / job_layout.METRICS, without_nan(document))
    text = describe(summary, best, comparable)
    storage.write_text(folder / job_layout.SUMMARY, text + "\n")
    return describe(summary, best, comparable, find_width(sys.stdout))


def without_nan(value: Any) -> Any:
    """Replaces NaN and infinity in a value by None, because JSON cannot represent them.

    Args:
        value: a value of JSON's types.
    """
    if isinstance(value, dict):
        return {name: without_nan(part) for name, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [without_nan(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def describe(
    summary: RunSummary,
    best: Optional[Evaluation],
    evaluations: Sequence[Evaluation],
    width: Optional[int] = None,
) -> str:
    """Returns the text of the summary.

    Args:
        summary: the contents of the report.
        best: the best evaluation, if any.
        evaluations: those on the same data, in their order.
        width: of the terminal, in columns; None: as wide as the tables are.
    """
    result, data = summary.result, summary.data
    last = evaluations[-1] if evaluations else None
    lines = ["", f"Summary of {summary.job_dir}", ""]
    if summary.experiment is not None:
        lines.append(_format_row("experiment", summary.experiment))
    if data is not None:
        lines += _describe_data(data, result.origins or ("files", "files"))
    trained = result.end_step - result.start_step
    speed = f", {result.examples_per_sec:,.0f} examples/s" if result.examples_per_sec else ""
    steps = f"{result.start_step:,} to {result.end_step:,} ({trained:,} trained{speed})"
    lines.append(_format_row("steps", steps))
    if result.steps_each:
        shares = ", ".join(f"{name} {count:,}" for name, count in result.steps_each.items())
        lines.append(_format_row("trained by", f"{shares} (since each was last started)"))
    if result.stopped_early:
        lines.append(_format_row("stopped early", result.stopped_early))
    elif best is last:
        lines += _describe_trend(evaluations, summary.best_metric, summary.longer)
    lines.append(_describe_secs(result.secs))
    if data is not None:
        lines += ["", *_describe_metrics(data, summary.best_metric, best, last, width), ""]
    else:
        lines += _list_metrics(summary.best_metric, best, last)
    kept = f"{len(result.checkpoints)} kept"
    if result.checkpoints:
        kept += f", the last {result.checkpoints[-1]}"
    lines.append(_format_row("checkpoints", kept))
    for name, paths in result.exports.items():
        lines.append(_format_row(f"export {name}", paths[-1] if paths else "none"))
    curves = [name for name in (job_layout.CURVES,) if (Path(summary.job_dir) / name).is_file()]
    files = " ".join((job_layout.CONFIG, job_layout.METRICS, *curves, job_layout.SUMMARY))
    lines.append(_format_row("files", f"{files} in job_dir"))
    lines.append(
        _format_row("TensorBoard", quote_command("tensorboard", "--logdir", summary.job_dir))
    )
    served = choose_export(result.exports)
    if served and data is not None:
        words = ("python", "-m", "trainer.predict", f"--export={served}")
        query = quote_command(*words, f"--row={json.dumps(data.query)}")
        lines.append(_format_row("query", query))
    if data is not None and last is not None:
        lines += _warn_if_useless(best or last, data.baselines)
    return "\n".join(lines)


def _warn_if_useless(metrics: Evaluation, measured: dict[str, dict[str, float]]) -> list[str]:
    """Returns a line if the evaluation cannot judge the model, or shows that it learnt nothing.

    It has learnt nothing if it is not better than the constant prediction in any metric.
    """
    # The first baseline is the constant one.
    constant = next(iter(measured), None)
    if constant is not None and measured[constant].get("accuracy") == 1:
        text = "all evaluation rows have the same label, so that no metric can judge the model; "
        return [_format_row("one label", text + "check the label and --data.eval")]
    gains = [gain for gain in _compare(metrics, measured) if gain.baseline == constant]
    if not gains or any(
        gain.gain > (AUC_NOISE if gain.metric.startswith("auc") else 0) for gain in gains
    ):
        return []
    text = (
        f"in no metric is the model better than the {constant}; check the label and the columns, "
    )
    return [_format_row("learnt nothing", text + "or try another --learning_rate")]


def _compare(metrics: Evaluation, measured: dict[str, dict[str, float]]) -> list[baselines.Gain]:
    """Returns the gains over each baseline in each metric but the calibration error.

    A constant prediction has almost no calibration error, so that comparison is meaningless. If all
    labels are the same, the AUC of a baseline has no value.
    """
    gains = baselines.compare(metrics, measured)
    return [g for g in gains if g.metric != "calibration_error" and not math.isnan(g.theirs)]


def _describe_trend(evaluations: Sequence[Evaluation], metric: str, longer: str) -> list[str]:
    """Returns a line if the model still became better at the end; the last evaluation is the best.

    Args:
        evaluations: all evaluations in their order.
        metric: the metric by which the best one is chosen.
        longer: as in RunSummary.
    """
    if len(evaluations) < TREND_EVALUATIONS:
        return []
    before, now = (evaluations[i].get(metric, math.nan) for i in (-TREND_EVALUATIONS, -1))
    change = abs(now - before) / (abs(now) or 1.0)
    if not change >= TREND_SHARE:
        return []
    text = (
        f"{metric} was {100 * change:.0f} % worse {TREND_EVALUATIONS - 1} evaluations before the "
        f"end; more {longer} may make the model better"
    )
    return [_format_row("still improving", text)]


def _describe_data(data: DataSummary, origins: tuple[str, str]) -> list[str]:
    lines = []
    titles = ("training data", "evaluation data")
    for title, files, rows, origin in zip(titles, data.num_files, data.num_rows, origins):
        lines.append(_format_row(title, f"{rows:,} rows in {files} file(s), read from {origin}"))
    if data.split is not None:
        lines.append(_format_row("divided", f"evaluation data are {data.split}"))
    lines += [_format_row("possible leak", leak) for leak in data.leaks]
    if any(data.num_bad_rows):
        training, evaluation = data.num_bad_rows
        left_out = f"{training:,} left out of training, {evaluation:,} of evaluation"
        lines.append(_format_row("bad rows", left_out))
    return lines


def _describe_secs(secs: dict[str, float]) -> str:
    """Returns one line with the seconds of each phase, without very short phases."""
    shown = [f"{name} {value:.1f} s" for name, value in secs.items() if value >= SHOWN_SECS]
    return _format_row("time", ", ".join(shown) or "none")


def _format_row(name: str, value: str) -> str:
    return f"  {name:<18}{value}"


def _list_metrics(metric: str, best: Optional[Evaluation], last: Optional[Evaluation]) -> list[str]:
    """Returns lines with all metrics of the best and of the last evaluation."""
    lines = []
    for title, record in ((f"best {metric}", best), ("last", last)):
        if record is not None:
            values = [f"{name} {value:.4f}" for name, value in record.items() if name != "step"]
            lines.append(_format_row(title, f"step {record['step']:,}: {' · '.join(values)}"))
    return lines


def _describe_metrics(
    data: DataSummary,
    metric: str,
    best: Optional[Evaluation],
    last: Optional[Evaluation],
    width: Optional[int],
) -> list[str]:
    """Returns a table of the best and last evaluation and the baselines, one column per metric."""
    if last is None:
        return [_format_row("metrics", "no evaluation")]
    # For a model with several heads, show the main metrics of each head.
    mains = {metrics[0] for metrics in SHOWN_METRICS.values()}
    heads = sorted(name for name in last if "/" in name and name.partition("/")[0] in mains)
    wanted = ["loss", *SHOWN_METRICS[data.task], *heads, metric]
    names = [name for name in dict.fromkeys(wanted) if name in last]
    rows = [(f"last, step {last['step']:,}", last)]
    if best is not None:
        rows.insert(0, (f"best {metric}, step {best['step']:,}", best))
    rows += list(data.baselines.items())
    table = [["", *names]]
    for title, metrics in rows:
        cells = (f"{metrics[name]:.4f}" if name in metrics else "" for name in names)
        table.append([title, *cells])
    return format_table(table, width=width) + _describe_gains(best or last, data.baselines)


def _describe_gains(metrics: Evaluation, measured: dict[str, dict[str, float]]) -> list[str]:
    """Returns lines that tell in which metrics the model is better or worse than each baseline."""
    gains: dict[tuple[str, str], list[str]] = {}
    for gain in _compare(metrics, measured):
        # As shown, with four digits.
        shown = round(gain.gain, 4)
        verdict = "better than" if shown > 0 else "worse than" if shown < 0 else "equal to"
        text = f"{gain.metric} {shown:+.4f}" if shown else gain.metric
        gains.setdefault((gain.baseline, verdict), []).append(text)
    return [
        _format_row(verdict, f"{name} {'in' if verdict == 'equal to' else 'by'} {', '.join(texts)}")
        for (name, verdict), texts in gains.items()
    ]
