"""Compares what jobs were made of, and names the differences that may explain their metrics."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from trainer import storage
from trainer.drawing import open_figure
from trainer.errors import UserError, nearest
from trainer.history.runs import Run, flatten
from trainer.job_dir.metrics_log import MetricsLog

# Options that do not change the result.
IRRELEVANT = ("job_dir", "verbosity", "storage.", "data.cache", "run.log_step", "run.save_summary")
DATA_PATHS = ("data.train", "data.eval")
# identify_file: path, format, gzipped, size, times, checksum of both ends.
FILE_PARTS = ("path", "format", "compression", "size", "times", "content")
WIDTH = 60


def list_differences(runs: Sequence[Run]) -> list[tuple[str, list[str]]]:
    """Returns what differs between jobs: name, and the value in each job.

    Args:
        runs: at least two jobs.
    """
    rows = []
    # The same files can be named in many ways; what was read is recorded.
    recorded = DATA_PATHS if all(_find(run.inputs, "data.train") for run in runs) else ()
    for name in dict.fromkeys(name for run in runs for name in run.config):
        if not name.startswith(IRRELEVANT) and name not in recorded:
            rows.append((name, [_show(run.config.get(name)) for run in runs]))
    for part in ("train", "eval"):
        rows.append((f"{part} data", [_describe_data(run, part) for run in runs]))
    for name in ("schema", "code.trainer", "code.user", "code.git", "tensorflow", "python"):
        rows.append((name, [_show_digest(_find(run.inputs, name)) for run in runs]))
    for name in ("machine.host", "machine.platform", "machine.cores"):
        rows.append((name, [_show(_find(run.inputs, name)) for run in runs]))
    for name in ("parent.warm_start", "parent.study"):
        rows.append((name, [_show(_find(run.inputs, name)) for run in runs]))
    return [(name, values) for name, values in rows if len(set(values)) > 1]


def list_metrics(runs: Sequence[Run]) -> list[tuple[str, list[str]]]:
    """Returns the metrics of jobs: name, and the value in each job.

    Args:
        runs: the jobs.
    """
    names = dict.fromkeys(name for run in runs for name in run.metrics)
    rows = [(name, [_show(run.metrics.get(name)) for run in runs]) for name in names]
    return [("secs", [_show(run.inputs.get("secs")) for run in runs]), *rows]


def explain(before: Run, after: Run) -> list[str]:
    """Returns lines that tell which change may explain the difference of two jobs.

    Args:
        before: a job.
        after: another job.
    """
    unknown = [run.name for run in (before, after) if not run.inputs]
    if unknown:
        return [
            f"{unknown[0]} has no inputs.json, so its data and code are not known; it was trained "
            "by an older version"
        ]
    lines = []
    for name, (first, second) in list_differences([before, after]):
        lines.append(f"{name}: {first} -> {second}")
    for part in ("train", "eval"):
        lines += [f"{part} data: {line}" for line in _compare_files(before, after, part)]
    lines += _compare_modules(before, after)
    if not lines:
        return [
            "data, schema, configuration, code, TensorFlow and machine are the same; a difference "
            "comes from the order of parallel operations, or from a restart"
        ]
    only = "one recorded change" if len(lines) == 1 else f"{len(lines)} recorded changes"
    return [f"{only} may explain it:", *(f"  {line}" for line in lines)]


def describe_inputs(run: Run) -> list[tuple[str, str]]:
    """Returns what a job was made of: name and text.

    Args:
        run: the job.
    """
    if not run.inputs:
        return [("inputs", "not known: the job was trained by an older version")]
    names = ("schema", "code.version", "code.trainer", "code.user", "code.git", "tensorflow")
    rows = [(f"{part} data", _describe_data(run, part)) for part in ("train", "eval")]
    for part in ("train", "eval"):
        files = _find(run.inputs, f"data.{part}.files") or []
        rows.append((f"{part} files", ", ".join(str(each[0]) for each in files)))
    rows += [(name, _show_digest(_find(run.inputs, name))) for name in (*names, "python")]
    rows += [(name, _show(_find(run.inputs, name))) for name in ("machine.host", "machine.cores")]
    rows += [(name, _show(_find(run.inputs, name))) for name in ("parent.warm_start", "secs")]
    return [*rows, ("parent.study", _show(_find(run.inputs, "parent.study")))]


def draw_curves(folders: dict[str, Path], metric: str, path: Path) -> None:
    """Draws one metric of several jobs over their steps.

    Args:
        folders: name of each job → its folder on this machine.
        metric: of the evaluations.
        path: of the PNG file.

    Raises:
        UserError: no job has the metric, or the file cannot be written.
    """
    figure = open_figure((9, 5), dpi=100, layout="constrained")
    axes = figure.subplots()
    known: set[str] = set()
    for name, folder in folders.items():
        lines = MetricsLog(str(folder)).read("eval")
        known.update(*lines)
        points = [(line["step"], line[metric]) for line in lines if metric in line]
        if points:
            axes.plot(*zip(*points), marker=".", label=name.replace("$", r"\$"))
    if metric not in known:
        raise UserError(f"--metric={metric}: no job has it{nearest(metric, known)}")
    axes.set_xlabel("step")
    axes.set_ylabel(metric)
    axes.legend()
    try:
        with storage.replaced(path) as temporary:
            figure.savefig(temporary, format="png")
    except OSError as error:
        raise UserError(f"--plot={path}: {error.strerror}; name another file") from error


def _compare_files(before: Run, after: Run, part: str) -> list[str]:
    """Returns a line for each file that differs in more than its times, at most five."""
    found = []
    files = [_find(run.inputs, f"data.{part}") or {} for run in (before, after)]
    lists = [{str(each[0]): each for each in given.get("files", [])} for given in files]
    for path in dict.fromkeys([*lists[0], *lists[1]]):
        first, second = lists[0].get(path), lists[1].get(path)
        if first is None or second is None:
            found.append(f"{path} is only in {(before if first else after).name}")
        elif first != second:
            parts = [name for name, one, two in zip(FILE_PARTS, first, second) if one != two]
            found.append(f"{path} differs in {', '.join(parts) or 'its generation'}")
    more = [f"and {len(found) - 5} more files"] if len(found) > 5 else []
    return found[:5] + more


def _compare_modules(before: Run, after: Run) -> list[str]:
    first, second = (_find(run.inputs, "code.user") or {} for run in (before, after))
    names = [name for name in {**first, **second} if first.get(name) != second.get(name)]
    return [f"module {name} differs" for name in sorted(names)]


def _describe_data(run: Run, part: str) -> str:
    found = _find(run.inputs, f"data.{part}")
    if not found:
        return "unknown"
    return f"{found['rows']:,} rows, {str(found['fingerprint'])[:8]}"


def _find(values: dict[str, Any], name: str) -> Any:
    for part in name.split("."):
        values = values.get(part) if isinstance(values, dict) else None  # type: ignore[assignment]
    return values


def _show(value: Any) -> str:
    if value is None:
        return "none"
    if isinstance(value, float):
        return f"{value:.6g}"
    text = ",".join(map(str, value)) if isinstance(value, list) else str(value)
    return text if len(text) <= WIDTH else f"{text[:WIDTH]}..."


def _show_digest(value: Any) -> str:
    if isinstance(value, dict):
        flat = flatten(value)
        parts = [f"{name} {str(part)[:8]}" for name, part in flat.items()]
        return _show(", ".join(parts) or "none")
    is_digest = isinstance(value, str) and len(value) == 64
    return value[:8] if is_digest else _show(value)
