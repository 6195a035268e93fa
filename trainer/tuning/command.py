"""The command line of python -m trainer.tune."""

import json
import os
import signal
import sys
import warnings
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple, Optional

import yaml
from absl import flags

from estimator_bridge.command_line.current_folder import list_words
from estimator_bridge.output.terminal import find_width
from estimator_bridge.processor import count_cores
from trainer import config as config_lib
from trainer import schema as schema_lib
from trainer import storage
from trainer.cluster.forking import ForkServer
from trainer.config.flags import CommandLine
from trainer.config.search_space import (
    SearchSpace,
    load_space,
    parse_search,
    resolve_name,
)
from trainer.console import Console, show
from trainer.environment.variables import note_replaced
from trainer.errors import TemporaryError, UserError
from trainer.inputs.data_sets import find_eval_files, find_train_files
from trainer.inputs.scan_cache import open_cache, scan_or_load
from trainer.job_layout import CHECKPOINT_STATE, CONFIG, STUDY
from trainer.tuning import judging, locks, report, tensorboard
from trainer.tuning.command_line import DEFAULT_TRIALS, parse
from trainer.tuning.rehearsal import rehearse
from trainer.tuning.search import Search, choose_objectives, to_flags
from trainer.tuning.study import SAMPLERS, Study, check_name, import_optuna
from trainer.tuning.trials import (
    DRAWING,
    MODULES,
    PROGRAMS,
    TRIALS_FOLDER,
    Budget,
    Signals,
    Trials,
)

FULL_FOLDER = "full"


class Options(NamedTuple):
    """The parsed command line.

    Attributes:
        folder: of the study.
        search: what is searched.
        unused: parameter that no trial reads → the reason.
        budget: how much may run.
        sampler: name of the sampler.
        pruner: name of the pruner.
        seed: of the sampler.
        full_job_dir: where --then_train trains; None: it was not given.
        is_warm: whether that job starts from the best trial's checkpoint.
    """

    folder: Path
    search: Search
    unused: dict[str, str]
    budget: Budget
    sampler: str
    pruner: str
    seed: int
    full_job_dir: Optional[str]
    is_warm: bool


def main(argv: list[str]) -> int:
    """Runs a search; returns the exit status.

    Args:
        argv: the arguments after the program's name.

    Raises:
        UserError: a name, a value or the data are wrong, or no trial succeeded.
    """
    parsed = parse(argv)
    if parsed is None:
        return 0
    options = read_options(*parsed)
    signals = Signals()
    _search(options, signals)
    if signals.received:
        print("stopped; the same command continues the search", file=sys.stderr)
        return 128 + signals.received[0]
    if options.full_job_dir is not None:
        _train_fully(options)
    return 0


def read_options(values: flags.FlagValues, command: CommandLine) -> Options:
    """Returns the search that flags describe, after reading the files that they name.

    Args:
        values: the flags of the command.
        command: the flags of trainer.task.

    Raises:
        UserError: Optuna is missing, or a file or a value is invalid.
    """
    import_optuna()
    if not Path(values.study_dir, STUDY).exists():
        # Earlier versions have searched in such folders.
        storage.refuse_job(values.study_dir, "--study_dir")
    space = _read_space(values)
    config = config_lib.load_config(command.hparams, command.overrides)
    if config.experiment or config.tfx.trainer_fn:
        raise UserError(
            "experiment, tfx.trainer_fn: a search sets the number of steps, which here the code "
            "sets; search with model.type or on Vertex AI"
        )
    sampler = values.sampler or space.algorithm or "tpe"
    check_name("sampler", sampler, SAMPLERS)
    names = [name for name in (values.objectives or "").split(",") if name]
    overrides = {k: v for k, v in command.overrides.items() if k != "job_dir"}
    search = Search(
        command.hparams,
        overrides,
        space.parameters,
        choose_objectives(space, names, config),
        values.share,
        values.evaluations,
    )
    _check_values(search)
    unused = _find_unused(search)
    search = _add_rules(search, values, config)
    if sampler == "grid":
        search.list_grid()
    folder = Path(values.study_dir).absolute()
    full = (config.job_dir or str(folder / FULL_FOLDER)) if values.then_train else None
    budget = Budget(
        values.max_trials or space.max_trials or DEFAULT_TRIALS,
        values.max_hours,
        values.parallel or _count_parallel(space, search),
        values.keep_checkpoints,
    )
    return Options(
        folder, search, unused, budget, sampler, values.pruner, values.seed, full, values.warm_start
    )


def _count_parallel(space: SearchSpace, search: Search) -> int:
    """Returns how many trials run at a time, unless the user says it.

    A short trial mostly builds graphs, which keeps one core busy. Without a number in the space, or
    where latencies are measured, a trial has two.
    """
    cores = count_cores()
    half = max(1, cores // 2)
    return min(space.parallel_trials or half, half if search.is_judged else cores)


def _add_rules(search: Search, values: flags.FlagValues, config: config_lib.Config) -> Search:
    if values.baseline and not values.rules:
        raise UserError("--baseline: only with --rules; add it")
    baseline: Optional[str] = values.baseline
    if baseline and not storage.is_remote(baseline):
        if not Path(baseline).is_dir():
            raise UserError(f"--baseline={baseline}: no such folder; name an export or a job")
        baseline = str(Path(baseline).absolute())
    if values.rules:
        rules = judging.read_rules(values.rules, baseline, config)
        search = search._replace(rules=rules, baseline=baseline)
    if search.is_judged:
        judging.check_data(config)
    return search


def _read_space(values: flags.FlagValues) -> SearchSpace:
    space = load_space(values.tuning) if values.tuning else SearchSpace("", "", {})
    parameters = {**space.parameters, **parse_search(values.search)}
    if not parameters:
        raise UserError("--tuning, --search: neither is given; name a search space or parameters")
    seen: dict[str, str] = {}
    for name in parameters:
        option = resolve_name(name)
        if option in seen:
            raise UserError(f"{seen[option]} and {name} are the same option; remove one of them")
        if option == "job_dir" or option.partition(".")[0] in ("data", "storage", "run"):
            raise UserError(f"{name}: not a hyperparameter; remove it from the search space")
        seen[option] = name
    return space._replace(parameters=parameters)


def _check_values(search: Search) -> None:
    """Checks that the trainer accepts each value beside the preset and the flags."""
    for name, parameter in search.parameters.items():
        if resolve_name(name) in search.overrides:
            raise UserError(
                f"{name} is in the search space and given as a flag; remove one of them"
            )
        for text in parameter.samples:
            try:
                search.load_config({name: text})
            except UserError as error:
                raise UserError(f"{name}: a trial with {text!r} would fail: {error}") from error


def _find_unused(search: Search) -> dict[str, str]:
    """Returns the parameters that no trial reads, with the reason; refuses a search of these."""
    unused = search.find_unused()
    if len(unused) == len(search.parameters):
        name, reason = next(iter(unused.items()))
        raise UserError(
            f"{name}: has no effect: {reason}; all trials would be equal: search other options"
        )
    return unused


def _refuse_links(trials: Path) -> None:
    """Raises UserError where a trial lies elsewhere: checkpoints would be deleted there."""
    for path in (trials, *trials.iterdir()):
        if path.is_symlink():
            raise UserError(f"{path} is a link; remove it, or name another --study_dir")


def _search(options: Options, signals: Signals) -> None:
    folder, console = options.folder, Console()
    try:
        (folder / TRIALS_FOLDER).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"--study_dir={folder}: {error.strerror}; name another folder") from error
    _refuse_links(folder / TRIALS_FOLDER)
    with ExitStack() as stack:
        lock = stack.enter_context(locks.hold(folder, console.log))
        draws = options.search.is_judged or "run.report" in options.search.overrides
        server = ForkServer(PROGRAMS, (*MODULES, *(DRAWING if draws else ())))
        stack.callback(server.close)
        for name, reason in options.unused.items():
            console.warn(f"{name}: has no effect: {reason}")
        search = options.search._replace(num_rows=_count_rows(options.search, console))
        described = search.describe()
        _compare(folder, described)
        # Until here, a signal ends the command at once.
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signals.note)
        if not (folder / STUDY).exists():
            rehearse(search, folder, signals, console.log, server)
            if signals.received:
                return
            storage.write_json(folder / STUDY, described)
        if search.rules is not None:
            storage.write_text(folder / judging.RULES, yaml.safe_dump(search.rules))
        study = Study(folder, search, options.sampler, options.pruner, options.seed)
        if len(search.objectives) > 1 and options.pruner != "none":
            console.log("two objectives: no trial is pruned")
        try:
            Trials(folder, search, study, options.budget, console, signals, lock, server).run()
        finally:
            show(report.write_table(folder, search, study, find_width(sys.stdout)))
        best = report.write_best(folder, search, study)
        tensorboard.write_trials(folder, TRIALS_FOLDER, search, study)
        if best is not None:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                report.draw_plots(folder, search, study)
            show(best)
        elif not signals.received:
            raise UserError(explain_failure(folder, study))


def explain_failure(folder: Path, study: Study) -> str:
    """Returns why a search has no best trial.

    Args:
        folder: of the study.
        study: has the trials.
    """
    states = {trial.state.name for trial in study.trials}
    if not states & {"COMPLETE", "PRUNED", "FAIL"}:
        return "--max_hours: used up before a trial has ended; the same command with more continues"
    if "COMPLETE" in states:
        return f"no trial is within --rules; {folder / report.TABLE} says which rule; try more"
    return f"no trial has succeeded; {folder / 'logs'} has their output; correct the flags"


def _count_rows(search: Search, console: Console) -> int:
    """Checks the data once for all trials; returns the number of training rows."""
    config = search.load_config({})
    schema = schema_lib.load_job_schema(config.data, storage.fetch_data)
    storage.configure(storage.Settings(**config.storage.model_dump()), console)
    files = find_train_files(config.data, schema)
    find_eval_files(config.data, schema)
    cache = open_cache(config.data, console.log)
    scan, _ = scan_or_load(files, schema, config.data, console, cache)
    return scan.statistics.num_rows


def _compare(folder: Path, described: dict[str, Any]) -> None:
    """Raises if the folder has a study of other trials."""
    stored = storage.read_json(folder / STUDY)
    if stored is None:
        return
    before, now = _flatten(stored), _flatten(json.loads(json.dumps(described)))
    differing = [
        f"{name} (was {before.get(name)!r:.40}, now {now.get(name)!r:.40})"
        for name in dict.fromkeys([*now, *before])
        if name not in now or before.get(name) != now[name]
    ]
    if differing:
        raise UserError(
            f"--study_dir={folder}: its trials differ in {', '.join(differing[:3])}; name another "
            "folder, or give the same space and flags"
        )


def _flatten(values: Any, start: str = "") -> dict[str, Any]:
    if not isinstance(values, dict):
        return {start: values}
    found: dict[str, Any] = {}
    for name, value in values.items():
        found.update(_flatten(value, f"{start}.{name}" if start else name))
    return found


def _train_fully(options: Options) -> None:
    """Replaces this process by the full job with the best values."""
    folder, search = options.folder, options.search
    assert options.full_job_dir is not None
    _check_full_job(options, options.full_job_dir)
    parameters = {resolve_name(name) for name in search.parameters}
    kept = {k: v for k, v in search.overrides.items() if k not in parameters}
    kept["job_dir"] = options.full_job_dir
    if options.is_warm:
        kept["train.warm_start"] = _find_best_folder(options)
    arguments = to_flags(str(folder / report.BEST), kept)
    sys.stdout.flush()
    note_replaced()
    words = [sys.executable, *list_words("trainer.task"), *arguments]
    os.execv(sys.executable, words)  # noqa: S606


def _check_full_job(options: Options, job_dir: str) -> None:
    """Raises UserError if the full job has trained with values that are no longer the best.

    It would be resumed, and at its last step, it would not train at all.
    """
    wanted = (CONFIG, CHECKPOINT_STATE)
    with storage.open_copies(storage.current_settings()) as copies:
        try:
            folder = Path(copies.fetch(job_dir, "--job_dir", lambda name: name in wanted))
        except TemporaryError:
            raise
        except UserError:
            # There is nothing in the bucket's folder; if it cannot be read, the job says so.
            return
        if not all((folder / name).is_file() for name in wanted):
            return
        stored = config_lib.load_config(str(folder.absolute() / CONFIG), {})
    best = config_lib.load_config(str(options.folder / report.BEST), {})
    differing = options.search.list_differences(stored, best)
    if differing:
        raise UserError(
            f"--job_dir={job_dir}: has trained with other values than the best: "
            f"{', '.join(differing)}; name another --job_dir after --, or remove this one"
        )


def _find_best_folder(options: Options) -> str:
    study = Study(options.folder, options.search, options.sampler, options.pruner, options.seed)
    return str(options.folder / TRIALS_FOLDER / str(study.find_best()[0].number))
