"""The trials of a search, in Optuna's journal in the folder of the study."""

import contextlib
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Optional

from estimator_bridge.process.fast_import import block_import
from trainer.config.search_space import Parameter
from trainer.errors import UserError, nearest
from trainer.tuning.search import Search

JOURNAL = "journal.log"
SAMPLERS = ("tpe", "random", "grid")
PRUNERS = ("median", "halving", "none")
# Trials that the samplers draw at random, and that finish before any is pruned.
STARTUP_TRIALS = 5
# Attributes of a trial.
FLAGS, STEPS, SECS, REASON = "flags", "steps", "secs", "reason"


def import_optuna() -> Any:
    """Returns the module optuna, with its log off.

    Raises:
        UserError: it is not installed.
    """
    try:
        import optuna
    except ImportError as error:
        raise UserError("trainer.tune needs Optuna; pip install 'optuna>=5,<6'") from error
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    return optuna


def check_name(option: str, name: str, known: Sequence[str]) -> None:
    """Checks the value of an option.

    Args:
        option: the flag.
        name: its value.
        known: the valid values.

    Raises:
        UserError: the value is not one of them.
    """
    if name not in known:
        raise UserError(f"--{option}={name}: use one of {', '.join(known)}{nearest(name, known)}")


class Study:
    """A study that only this process writes.

    Args:
        folder: of the study.
        search: what is searched.
        sampler: one of SAMPLERS.
        pruner: one of PRUNERS.
        seed: of the sampler.
    """

    def __init__(self, folder: Path, search: Search, sampler: str, pruner: str, seed: int):
        self._optuna = optuna = import_optuna()
        warnings.filterwarnings("ignore", category=optuna.exceptions.ExperimentalWarning)
        self._search = search
        self._sampler = sampler
        self._seed = seed
        self._grid = search.list_grid() if sampler == "grid" else []
        self.optuna_study = self._open(folder / JOURNAL, pruner)
        self._distributions = {
            name: self._build_distribution(given) for name, given in search.parameters.items()
        }

    def _open(self, journal: Path, pruner: str) -> Any:
        """Returns Optuna's study, with the trials of the journal."""
        optuna = import_optuna()
        try:
            backend = optuna.storages.journal.JournalFileBackend(str(_mend(journal)))
            return optuna.create_study(
                study_name="study",
                storage=optuna.storages.JournalStorage(backend),
                directions=[f"{each.direction}imize" for each in self._search.objectives],
                pruner=self._build_pruner(pruner),
                load_if_exists=True,
            )
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
            raise UserError(
                f"{journal}: damaged ({type(error).__name__}: {error!s:.60}); restore the file "
                "from a copy, or name another --study_dir"
            ) from error

    @property
    def trials(self) -> list[Any]:
        """All trials, in order of their numbers."""
        found: list[Any] = self.optuna_study.get_trials(deepcopy=False)
        return found

    @property
    def secs(self) -> float:
        """Seconds that the study has run, in all commands together."""
        return float(self.optuna_study.user_attrs.get(SECS, 0.0))

    def add_secs(self, secs: float) -> None:
        """Records that the study has run longer.

        Args:
            secs: seconds since the last call.
        """
        self.optuna_study.set_user_attr(SECS, self.secs + secs)

    def limit(self, max_trials: int) -> int:
        """Returns the number of trials that the study can have.

        Args:
            max_trials: the wanted number.
        """
        return min(max_trials, len(self._grid)) if self._grid else max_trials

    def ask(self) -> Any:
        """Returns a new trial. The same number gets the same seed, whenever it is asked."""
        trials = self.trials
        waiting = any(trial.state.name == "WAITING" for trial in trials)
        if not waiting:
            number = len(trials)
            start = self._search.find_start() if number == 0 else None
            chosen = self._grid[number] if self._grid else start
            if chosen is not None:
                self.optuna_study.enqueue_trial(
                    {n: self._from_text(text, n) for n, text in chosen.items()}
                )
        self.optuna_study.sampler = self._build_sampler(len(trials))
        return self.complete(self.optuna_study.ask())

    def resume(self, frozen: Any) -> Any:
        """Returns a trial that an earlier process has begun.

        Args:
            frozen: one of `trials`, in state RUNNING.
        """
        self.optuna_study.sampler = self._build_sampler(frozen.number)
        return self.complete(self._optuna.trial.Trial(self.optuna_study, frozen._trial_id))

    def complete(self, trial: Any) -> Any:
        """Returns a trial that has a value for each parameter.

        Args:
            trial: a new trial, or one that an earlier process began; existing values are kept.
        """
        for name, distribution in self._distributions.items():
            if isinstance(distribution, self._optuna.distributions.CategoricalDistribution):
                trial.suggest_categorical(name, distribution.choices)
            elif isinstance(distribution, self._optuna.distributions.IntDistribution):
                trial.suggest_int(name, distribution.low, distribution.high, log=distribution.log)
            else:
                trial.suggest_float(name, distribution.low, distribution.high, log=distribution.log)
        return trial

    def to_texts(self, trial: Any) -> dict[str, str]:
        """Returns the values of a trial, as the text of flags.

        Args:
            trial: its parameters are set.
        """
        return {
            name: _to_text(self._search.parameters[name], value)
            for name, value in trial.params.items()
        }

    def report(self, trial: Any, values: Mapping[int, float]) -> bool:
        """Records evaluations; returns whether the trial should be pruned.

        Args:
            trial: a trial that runs.
            values: of the objective, by part of the trial, from 1 to the number of evaluations.
        """
        reported = self.trials[trial.number].intermediate_values
        is_behind = False
        for part, value in values.items():
            if part not in reported:
                trial.report(value, part)
                # Successive halving compares the trials that it was asked about, at each step.
                is_behind = trial.should_prune()
        return is_behind and max(values) < self._search.evaluations

    def tell(self, trial: Any, state: str, values: Optional[Sequence[float]] = None) -> None:
        """Records the end of a trial.

        Args:
            trial: a trial that has run.
            state: COMPLETE, PRUNED or FAIL.
            values: of the objectives; None unless it is complete.
        """
        self.optuna_study.tell(
            trial.number,
            values=list(values) if values is not None else None,
            state=self._optuna.trial.TrialState[state],
        )

    def find_best(self) -> list[Any]:
        """Returns the best trial; with two objectives those that no other one surpasses in both.

        The first is the best one by the first objective. The list is empty if no
        trial is complete and within the rules.
        """
        done = [trial for trial in self.trials if is_feasible(trial)]
        if not done:
            return []
        sign = -1 if self._search.objectives[0].direction == "max" else 1
        front = self.optuna_study.best_trials if len(self._search.objectives) > 1 else done
        ordered = sorted(front, key=lambda trial: (sign * trial.values[0], trial.number))
        return ordered if len(self._search.objectives) > 1 else ordered[:1]

    def measure_importance(self) -> dict[str, float]:
        """Returns parameter → its importance for the first objective; {} if it is not known."""
        optuna = self._optuna
        done = [trial for trial in self.trials if trial.state.name == "COMPLETE"]
        if len(done) < STARTUP_TRIALS or len(self._distributions) < 2:
            return {}
        # The evaluator finds what low targets depend on; it warns of that whenever one is given.
        sign = -1 if self._search.objectives[0].direction == "max" else 1
        with (
            contextlib.suppress(ValueError, RuntimeError),
            warnings.catch_warnings(),
            # Optuna imports it for other evaluators, which takes a second.
            block_import("sklearn"),
        ):
            warnings.simplefilter("ignore", UserWarning)
            found: dict[str, float] = optuna.importance.get_param_importances(
                self.optuna_study,
                evaluator=optuna.importance.PedAnovaImportanceEvaluator(),
                target=lambda trial: sign * trial.values[0],
            )
            return {name: share for name, share in found.items() if share == share}
        return {}

    def _build_distribution(self, parameter: Parameter) -> Any:
        distributions = self._optuna.distributions
        is_log = parameter.scale != "linear"
        if parameter.values:
            return distributions.CategoricalDistribution(parameter.values)
        if parameter.kind == "integer":
            return distributions.IntDistribution(
                int(parameter.low), int(parameter.high), log=is_log
            )
        return distributions.FloatDistribution(parameter.low, parameter.high, log=is_log)

    def _build_sampler(self, number: int) -> Any:
        samplers = self._optuna.samplers
        # The seed depends on the trial, so that a restarted search does not repeat its first draws.
        seed = self._seed * 100_003 + number
        if self._sampler != "tpe":
            return samplers.RandomSampler(seed)
        return samplers.TPESampler(n_startup_trials=STARTUP_TRIALS, seed=seed, constant_liar=True)

    def _build_pruner(self, name: str) -> Any:
        pruners = self._optuna.pruners
        builders: dict[str, Callable[[], Any]] = {
            "median": lambda: pruners.MedianPruner(STARTUP_TRIALS, n_warmup_steps=1),
            "halving": lambda: pruners.SuccessiveHalvingPruner(
                min_resource=1, reduction_factor=2, bootstrap_count=0
            ),
            "none": pruners.NopPruner,
        }
        return builders[name]()

    def _from_text(self, text: str, name: str) -> Any:
        parameter = self._search.parameters[name]
        if parameter.values:
            return text
        number = float(text)
        if parameter.scale == "reverse_log":
            number = parameter.low + parameter.high - number
        return int(number) if parameter.kind == "integer" else number


def is_feasible(trial: Any) -> bool:
    """Whether a trial is complete, and within the rules.

    Args:
        trial: of Optuna.
    """
    return trial.state.name == "COMPLETE" and all(v <= 0 for v in trial.constraints.values())


def _to_text(parameter: Parameter, value: Any) -> str:
    if parameter.values:
        return str(value)
    if parameter.scale == "reverse_log":
        value = parameter.low + parameter.high - value
    return str(int(value)) if parameter.kind == "integer" else repr(float(value))


def _mend(path: Path) -> Path:
    """Removes what a killed process left: the lock of the journal, and an unfinished last line."""
    path.with_name(f"{path.name}.lock").unlink(missing_ok=True)
    if path.exists():
        content = path.read_bytes()
        whole = content.rfind(b"\n") + 1
        if whole < len(content):
            with path.open("rb+") as stream:
                stream.truncate(whole)
    return path
