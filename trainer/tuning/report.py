"""The results of a search: a table, best.yaml and plots."""

import textwrap
from pathlib import Path
from typing import Any, Optional

import yaml

from estimator_bridge.output.terminal import SEPARATOR, quote_command
from trainer import config as config_lib
from trainer import storage
from trainer.drawing import load_matplotlib
from trainer.tuning.search import Search, to_flags
from trainer.tuning.study import REASON, SECS, STEPS, Study, is_feasible

BEST = "best.yaml"
TABLE = "trials.txt"
PLOTS_FOLDER = "plots"
STATES = {"COMPLETE": "complete", "PRUNED": "pruned", "FAIL": "failed", "RUNNING": "stopped"}
# Options of one job that a preset does not contain.
NOT_IN_PRESET = ("job_dir", "verbosity", "storage")
WIDTH = 12


def describe_length(search: Search) -> str:
    """Returns a line that says how long a trial is.

    Args:
        search: what is searched.
    """
    return (
        f"a trial trains {100 * search.share:g} % of the steps of the job (--share), "
        f"with {search.evaluations} evaluations"
    )


def list_headings(search: Search, width: Optional[int] = None) -> list[str]:
    """Returns the first line of the table of trials; nothing if the table is too wide.

    Args:
        search: what is searched.
        width: of the terminal, in columns; None without one.
    """
    line = _join(search, _list_names(search), list(search.parameters))
    return [line] if _fits(search, width) else []


def _list_names(search: Search) -> list[str]:
    return ["trial", "state", *(each.metric for each in search.objectives), "steps", "secs"]


def _fits(search: Search, width: Optional[int]) -> bool:
    parameters = (2 + WIDTH) * len(search.parameters)
    return width is None or sum(_list_widths(search)) + parameters <= width


def _list_widths(search: Search) -> list[int]:
    metrics = [max(WIDTH, 2 + len(each.metric)) for each in search.objectives]
    return [6, WIDTH, *metrics, WIDTH, WIDTH]


def describe_trial(trial: Any, search: Search, width: Optional[int] = None) -> str:
    """Returns one line of the table of trials; if the table is too wide, a sentence.

    Args:
        trial: of Optuna.
        search: what is searched.
        width: of the terminal, in columns; None without one.
    """
    values = [f"{value:.6g}" for value in trial.values or ()]
    if trial.state.name not in ("COMPLETE", "PRUNED"):
        values = []
    values += ["-"] * (len(search.objectives) - len(values))
    attributes = trial.user_attrs
    state = STATES.get(trial.state.name, "waiting")
    if trial.state.name == "COMPLETE" and not is_feasible(trial):
        state = "infeasible"
    first = [str(trial.number), state, *values]
    first += [f"{attributes.get(STEPS, 0):,}", f"{attributes.get(SECS, 0):.0f}"]
    texts = []
    for name in search.parameters:
        value = trial.params.get(name, "-")
        texts.append(f"{value:.6g}" if isinstance(value, float) else str(value))
    if _fits(search, width):
        line = _join(search, first, texts)
    else:
        number, state, *rest = first
        cells = zip((*_list_names(search)[2:], *search.parameters), (*rest, *texts))
        parts = (f"{name} {text}" for name, text in cells if text != "-")
        line = SEPARATOR.join([f"trial {number}: {state}", *parts])
    reason = attributes.get(REASON)
    return f"{line}  ({reason})" if reason and state in ("failed", "infeasible") else line


def _join(search: Search, first: list[str], parameters: list[str]) -> str:
    numbers = "".join(text.rjust(width) for text, width in zip(first, _list_widths(search)))
    return numbers + "".join(f"  {text:<{WIDTH}}" for text in parameters).rstrip()


def write_best(folder: Path, search: Search, study: Study) -> Optional[str]:
    """Writes best.yaml, and returns what to print about it; None if no trial is complete.

    Args:
        folder: of the study.
        search: what is searched.
        study: has the trials.
    """
    best = study.find_best()
    if not best:
        return None
    chosen = best[0]
    config = search.load_config(study.to_texts(chosen))
    values = _list_changed(config)
    reached = ", ".join(
        f"{each.metric} {value:.6g}" for each, value in zip(search.objectives, chosen.values)
    )
    path = folder / BEST
    rest = {k: v for k, v in search.overrides.items() if k in ("data.train", "data.eval")}
    words = ["-m", "trainer.task", *to_flags(str(path), rest), "--job_dir=FOLDER"]
    command = quote_command("python", *words)
    about = textwrap.fill(
        f"The best values of a search with {len(study.trials)} trials: trial {chosen.number} "
        f"reached {reached} in {chosen.user_attrs[STEPS]:,} steps.",
        width=98,
        initial_indent="# ",
        subsequent_indent="# ",
    )
    text = f"# {command}\n#\n{about}\n{yaml.safe_dump(values, sort_keys=False)}"
    storage.write_text(path, text)
    found = " ".join(f"{name}={text}" for name, text in study.to_texts(chosen).items())
    lines = [f"best: trial {chosen.number}, {reached}: {found}"]
    if len(best) > 1:
        others = ", ".join(str(trial.number) for trial in best[1:])
        lines.append(f"no trial surpasses these in both metrics either: {others}")
    return "\n".join([*lines, f"{path}: a preset; train with: {command}"])


def _list_changed(config: config_lib.Config) -> dict[str, Any]:
    """Returns the options that are not at their defaults, by section."""
    values = config.model_dump(mode="json", exclude=set(NOT_IN_PRESET))
    plain = config_lib.Config().model_dump(mode="json")
    changed: dict[str, Any] = {}
    for section, given in values.items():
        if not isinstance(given, dict):
            if given != plain[section]:
                changed[section] = given
            continue
        kept = {name: value for name, value in given.items() if plain[section].get(name) != value}
        if section == "data":
            kept = {name: value for name, value in kept.items() if name not in ("train", "eval")}
        if kept:
            changed[section] = kept
    return changed


def write_table(folder: Path, search: Search, study: Study, width: Optional[int] = None) -> str:
    """Writes the table of all trials to a file, and returns it; the best trial comes first.

    Args:
        folder: of the study.
        search: what is searched.
        study: has the trials.
        width: of the terminal that what is returned is for, in columns; None without one.
    """
    sign = -1 if search.objectives[0].direction == "max" else 1

    def place(trial: Any) -> tuple[bool, bool, float, int]:
        is_complete = trial.state.name == "COMPLETE"
        value = sign * trial.values[0] if is_complete else 0.0
        return (not is_feasible(trial), not is_complete, value, trial.number)

    trials = sorted(study.trials, key=place)
    shares = study.measure_importance()
    last = []
    if shares:
        shown = ", ".join(f"{name} {share:.0%}" for name, share in shares.items())
        last = ["", f"importance for {search.objectives[0].metric}: {shown}"]

    def describe(width: Optional[int]) -> str:
        rows = [describe_trial(trial, search, width) for trial in trials]
        return "\n".join([*list_headings(search, width), *rows, *last])

    storage.write_text(folder / TABLE, describe(None) + "\n")
    return describe(width)


def draw_plots(folder: Path, search: Search, study: Study) -> list[str]:
    """Draws history, parallel coordinates and slices; returns the names of the files.

    Args:
        folder: of the study.
        search: what is searched.
        study: has the trials.
    """
    if len(study.find_best()) == 0:
        return []
    matplotlib = load_matplotlib()

    matplotlib.use("Agg")
    from matplotlib import pyplot
    from optuna.visualization import matplotlib as drawing

    metric = search.objectives[0].metric
    plots: dict[str, Any] = {
        "history": drawing.plot_optimization_history,
        "parallel": drawing.plot_parallel_coordinate,
        "slices": drawing.plot_slice,
    }
    (folder / PLOTS_FOLDER).mkdir(exist_ok=True)
    for name, draw in plots.items():
        # With two objectives, Optuna must be told which one to draw.
        many = len(search.objectives) > 1
        draw(
            study.optuna_study,
            target=(lambda trial: trial.values[0]) if many else None,
            target_name=metric,
        )
        figure = pyplot.gcf()
        figure.set_size_inches(4 * max(2, len(search.parameters)) if name == "slices" else 11, 5)
        with storage.replaced(folder / PLOTS_FOLDER / f"{name}.png") as temporary:
            figure.savefig(temporary, format="png", dpi=100, bbox_inches="tight")
        pyplot.close("all")
    return [f"{name}.png" for name in plots]
