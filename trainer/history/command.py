"""The command line of python -m trainer.runs."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Callable, NamedTuple, Optional

from absl import flags

from estimator_bridge.output.terminal import escape, find_width, format_table
from trainer import storage
from trainer.config.arguments import parse_flags
from trainer.config.commands import define_storage, open_storage
from trainer.console import show
from trainer.errors import UserError, nearest
from trainer.export.fingerprint import GATE_REPORT
from trainer.history import compare, exporting
from trainer.history.lineage import describe_lineage, list_verdicts
from trainer.history.records import make_record
from trainer.history.runs import FILES, Run, list_runs, read_run
from trainer.history.select import (
    check_known,
    choose_removals,
    filter_runs,
    sort_runs,
)
from trainer.job_layout import CONFIG
from trainer.release.pushing import Deployment
from trainer.storage.files import remove

USAGE = """python -m trainer.runs: lists, compares, explains and prunes jobs.

  python -m trainer.runs list --folder=jobs --where='auc>0.9' --sort=auc
  python -m trainer.runs show jobs/a
  python -m trainer.runs compare jobs/a jobs/b --plot=curves.png
  python -m trainer.runs why jobs/a jobs/b
  python -m trainer.runs lineage served/flights/7
  python -m trainer.runs prune --folder=jobs --keep=10 --served=served/flights
  python -m trainer.runs export --folder=jobs --to=http://127.0.0.1:5000

  list     shows one line for each job below --folder
  show     shows a job's metrics, inputs and options
  compare  shows the metrics of several jobs, and how the jobs differ
  why      lists the changes that may explain the difference of two jobs
  lineage  traces an export or a pushed version to its job, data and code
  prune    lists the jobs that can be removed; with --remove, removes them
  export   copies the records of the jobs to MLflow or Vertex AI

Everything is read from the files of the jobs. The index .runs.sqlite makes this
faster, and can be deleted."""
NONE = "none"


class _Command(NamedTuple):
    """A subcommand.

    Attributes:
        run: runs it with its words, its flags and access to gs:// paths.
        words: least and greatest number of words.
    """

    run: Callable[[list[str], flags.FlagValues, storage.Copies], None]
    words: tuple[int, int]


def main(argv: list[str]) -> int:
    """Runs a command; returns the exit status.

    Args:
        argv: the arguments after the program's name.

    Raises:
        UserError: the command, a flag, or a folder is wrong.
    """
    words = []
    rest = list(argv)
    while rest and not rest[0].startswith("-"):
        words.append(rest.pop(0))
    values = parse_flags("trainer.runs", _define, rest, USAGE)
    if values is None:
        return 0
    if not words or words[0] not in COMMANDS:
        given = f"{words[0]!r}: no such command{nearest(words[0], COMMANDS)}" if words else "none"
        raise UserError(f"command: {given}; use one of {', '.join(COMMANDS)} (--help shows them)")
    command = COMMANDS[words[0]]
    least, most = command.words
    if not least <= len(words) - 1 <= most:
        wanted = {
            0: f"name the folder of the jobs as --folder={words[-1]}",
            1: "give one path",
        }.get(most, "give two or more folders of jobs")
        raise UserError(f"{words[0]}: {wanted} (--help shows examples)")
    with open_storage(values) as copies:
        command.run(words[1:], values, copies)
    return 0


def _define(values: flags.FlagValues) -> None:
    texts = {
        "folder": ("jobs", "folder of the jobs, on this machine or gs://"),
        "sort": ("", "list: an option, a metric, or started, secs, step; prune: a metric"),
        "metric": ("", "list, compare: the metric to show; unset: that of the best evaluation"),
        "plot": ("", "compare: PNG file for the curves of the jobs"),
        "to": ("", "export: tracking URI of MLflow, or projects/PROJECT/locations/REGION"),
        "experiment": ("", "export: name of the experiment; unset: that of the folder"),
        "api_endpoint": ("", "export: host:port of Vertex AI; unset: the region's own"),
        "served": ("", "prune: the --to folders of trainer.push, separated by commas, or none"),
    }
    for name, (default, described) in texts.items():
        flags.DEFINE_string(name, default, described, flag_values=values)
    flags.DEFINE_multi_string(
        "where",
        [],
        "list, export: NAME=VALUE, NAME!=VALUE, NAME<NUMBER, NAME>=NUMBER and so on",
        flag_values=values,
    )
    flags.DEFINE_integer("keep", None, "prune: number of jobs to keep", 0, flag_values=values)
    flags.DEFINE_boolean("remove", False, "prune: remove, not only list", flag_values=values)
    define_storage(values)


def _fetch(path: str, option: str, copies: storage.Copies) -> Path:
    """Returns the local folder with the small files of jobs."""
    if not storage.is_remote(path) and not Path(path).is_dir():
        if option.startswith("--"):
            raise UserError(f"{option}={path}: no such folder; name the folder of your jobs")
        raise UserError(f"{path}: no such folder; name the folder of a job")
    wanted = (*FILES, GATE_REPORT)
    return Path(copies.fetch(path, option, lambda name: name.rpartition("/")[2] in wanted))


def _list_all(values: flags.FlagValues, copies: storage.Copies) -> tuple[Path, list[Run]]:
    folder = _fetch(values.folder, "--folder", copies)
    runs, problems = list_runs(folder)
    for problem in problems:
        show(f"left out: {copies.display_path(problem)}")
    return folder, runs


def _read(words: Sequence[str], copies: storage.Copies) -> list[Run]:
    runs = []
    for word in words:
        folder = _fetch(word, "job", copies)
        if not (folder / CONFIG).is_file():
            raise UserError(
                f"{word}: no {CONFIG} there; name the folder of a job (lineage shows the job of an "
                "export and of a pushed version)"
            )
        runs.append(read_run(folder, ".")._replace(name=word.rstrip("/")))
    return runs


def _run_list(words: list[str], values: flags.FlagValues, copies: storage.Copies) -> None:
    _, runs = _list_all(values, copies)
    runs = filter_runs(runs, values.where)
    if values.sort:
        check_known(f"--sort={values.sort}", values.sort, runs)
    runs = sort_runs(runs, values.sort or "started")
    shown = [name for name in (values.sort,) if name and name not in ("started", "secs", "step")]
    rows = [["job", "state", "started", "steps", "secs", "metric", *shown]]
    for run in runs:
        metric = values.metric or run.best_metric or "loss"
        value = run.metrics.get(metric)
        first = [run.name, run.state, run.started[:19], f"{run.last_step:,}"]
        first += [_show(run.inputs.get("secs")), f"{metric} {_show(value)}"]
        rows.append(first + [_show(run.find(name)) for name in shown])
    show(_align(rows) if runs else f"{values.folder}: no jobs")


def _run_show(words: list[str], values: flags.FlagValues, copies: storage.Copies) -> None:
    (run,) = _read(words, copies)
    rows = [["state", run.state], ["started", run.started], ["steps", f"{run.last_step:,}"]]
    rows += [[name, _show(value)] for name, value in run.metrics.items()]
    rows += [[name, texts] for name, texts in compare.describe_inputs(run)]
    verdicts = list_verdicts(_fetch(words[0], "job", copies))
    rows += [[f"gate on {export}", text] for export, text in verdicts]
    rows += [[name, str(value)] for name, value in run.config.items()]
    show(_align(rows))


def _run_compare(words: list[str], values: flags.FlagValues, copies: storage.Copies) -> None:
    runs = _read(words, copies)
    rows = [["", *(run.name for run in runs)]]
    rows += [[name, *cells] for name, cells in compare.list_metrics(runs)]
    rows.append(["", *("" for _ in runs)])
    rows += [[name, *cells] for name, cells in compare.list_differences(runs)]
    show(_align(rows))
    if values.plot:
        folders = {run.name: _fetch(run.name, "job", copies) for run in runs}
        metric = values.metric or runs[0].best_metric or "loss"
        compare.draw_curves(folders, metric, Path(values.plot))
        show(f"{values.plot}: {metric} of {len(runs)} jobs by step")


def _run_why(words: list[str], values: flags.FlagValues, copies: storage.Copies) -> None:
    before, after = _read(words, copies)
    metric = values.metric or after.best_metric or "loss"
    first, second = _show(before.metrics.get(metric)), _show(after.metrics.get(metric))
    show("\n".join([f"{metric}: {first} -> {second}", *compare.explain(before, after)]))


def _run_lineage(words: list[str], values: flags.FlagValues, copies: storage.Copies) -> None:
    show(describe_lineage(words[0], lambda path: _fetch(path, "export", copies)))


def _run_prune(words: list[str], values: flags.FlagValues, copies: storage.Copies) -> None:
    if storage.is_remote(values.folder):
        raise UserError(
            f"--folder={values.folder}: prune removes jobs of this machine only; set a lifecycle "
            "rule for the bucket"
        )
    if values.keep is None:
        raise UserError("--keep: not given; give the number of jobs to keep")
    if not values.served:
        raise UserError(
            "--served: not given; name the --to folders of trainer.push, so that nothing is "
            "removed that is served, or --served=none"
        )
    places = [] if values.served == NONE else values.served.split(",")
    served = [Deployment(place).read() for place in places]
    for place, state in zip(places, served):
        if not state.versions:
            raise UserError(f"--served={place}: no pushed versions there; correct the folder")
    folder, runs = _list_all(values, copies)
    metric: Optional[str] = values.sort or None
    if metric:
        check_known(f"--sort={metric}", metric, runs)
    doomed = 0
    for run, reason in choose_removals(folder, runs, values.keep, metric, served):
        if reason is not None:
            show(f"keep    {escape(run.name)}: {reason}")
            continue
        doomed += 1
        show(f"remove  {escape(run.name)}")
        if values.remove:
            _remove_job(folder / run.name)
    done = "removed" if values.remove else "would be removed; add --remove to remove them"
    show(f"{doomed} of {len(runs)} jobs {done}")


def _remove_job(job_dir: Path) -> None:
    """Removes a job, last what describes it: after an interrupt, the same command goes on."""
    if not job_dir.is_symlink():
        for path in job_dir.iterdir():
            if path.name not in FILES:
                remove(path)
    remove(job_dir)


def _run_export(words: list[str], values: flags.FlagValues, copies: storage.Copies) -> None:
    if not values.to:
        raise UserError(
            "--to: not given; name the tracking URI of MLflow, or projects/PROJECT/locations/REGION"
        )
    folder, runs = _list_all(values, copies)
    runs = filter_runs(runs, values.where)
    place = values.folder if storage.is_remote(values.folder) else str(folder.absolute())
    experiment = values.experiment or place.rstrip("/").rpartition("/")[2]
    destination = exporting.open_destination(values.to, experiment, values.api_endpoint)
    for run in runs:
        done = destination.write(make_record(run, folder, place))
        show(f"{done:<10}{escape(run.name)}")
    show(f"experiment {escape(experiment)}: {len(runs)} jobs")


def _show(value: object) -> str:
    if value is None:
        return "-"
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _align(rows: list[list[str]]) -> str:
    """Returns rows as lines with aligned columns; a cell has one line, whatever it contains."""
    left = range(len(rows[0]))
    return "\n".join(format_table(rows, width=find_width(sys.stdout), left=left, indent=0))


COMMANDS = {
    "list": _Command(_run_list, (0, 0)),
    "show": _Command(_run_show, (1, 1)),
    "compare": _Command(_run_compare, (2, 20)),
    "why": _Command(_run_why, (2, 2)),
    "lineage": _Command(_run_lineage, (1, 1)),
    "prune": _Command(_run_prune, (0, 0)),
    "export": _Command(_run_export, (0, 0)),
}
