"""What a search varies and optimises, and the configuration of each of its trials."""

import itertools
import math
from typing import Any, NamedTuple, Optional

from trainer import config as config_lib
from trainer.config import effects
from trainer.config.search_space import Parameter, SearchSpace, resolve_name
from trainer.errors import UserError
from trainer.gating.rules import LATENCIES, SIZE
from trainer.metrics.catalogue import choose_direction

# Options that the tuner sets for each trial.
LENGTH = ("train.max_steps", "train.epochs")
INTERVAL = ("run.save_checkpoints_steps", "run.save_checkpoints_secs")
# Options that do not change what a trial learns.
IRRELEVANT = ("job_dir", "verbosity", "storage", "export")
# Objectives that the gate measures of the export.
COSTS = (*LATENCIES, SIZE)
# What a latency is without a quantile; the median is the less noisy of the two.
LATENCY = {"latency": LATENCIES[0]}


class Objective(NamedTuple):
    """A metric of the evaluation to optimise.

    Attributes:
        metric: its name.
        direction: min or max.
    """

    metric: str
    direction: str

    def choose(self, values: list[float]) -> float:
        """Returns the best of some values.

        Args:
            values: at least one.
        """
        known = [value for value in values if not math.isnan(value)] or values
        return max(known) if self.direction == "max" else min(known)


class Search(NamedTuple):
    """A hyperparameter search.

    Attributes:
        hparams: preset or file of all trials; None for neither.
        overrides: option → value of the flags of all trials.
        parameters: option or short name → its values.
        objectives: one or two metrics.
        share: share of the full steps that a trial trains.
        evaluations: evaluations of a trial.
        num_rows: number of training rows.
        rules: content of the gate's rules that trials must fulfil; None: there are none.
        baseline: export or job that the rules compare with; None: there is none.
    """

    hparams: Optional[str]
    overrides: dict[str, Any]
    parameters: dict[str, Parameter]
    objectives: tuple[Objective, ...]
    share: float
    evaluations: int
    num_rows: int = 0
    rules: Any = None
    baseline: Optional[str] = None

    @property
    def is_judged(self) -> bool:
        """Whether the gate measures the export of each trial."""
        return self.rules is not None or any(each.metric in COSTS for each in self.objectives)

    def load_config(self, values: dict[str, str]) -> config_lib.Config:
        """Returns the configuration of a full job.

        Args:
            values: parameter → value, as the text of a flag.

        Raises:
            UserError: the trainer does not accept the values.
        """
        given = {resolve_name(name): text for name, text in values.items()}
        kept = _drop_other(self.overrides, given, LENGTH)
        return config_lib.load_config(self.hparams, {**kept, **given})

    def plan_trial(self, values: dict[str, str], job_dir: str) -> tuple[list[str], int]:
        """Returns the flags of a trial, and its number of steps.

        Args:
            values: parameter → value, as the text of a flag.
            job_dir: the trial's folder.

        Raises:
            UserError: the trainer does not accept the values.
        """
        full = self.load_config(values).plan_steps(self.num_rows)
        steps = max(1, math.ceil(full * self.share))
        first = next(each for each in self.objectives if each.metric not in COSTS)
        given = {resolve_name(name): text for name, text in values.items()}
        own = {
            "job_dir": job_dir,
            "train.max_steps": steps,
            "run.save_checkpoints_steps": math.ceil(steps / self.evaluations),
            "run.keep_checkpoint_max": 1,
            "eval.throttle_secs": 0,
            "export.exporters": "",
            "export.best_metric": first.metric,
            "export.best_mode": first.direction,
        }
        if self.is_judged:
            # A trial counts with its best model; with two objectives, with its last one.
            own["export.exporters"] = "best" if len(self.objectives) == 1 else "final"
            own["export.verify"] = False
        dropped = (*LENGTH, *INTERVAL)
        kept = {k: v for k, v in {**self.overrides, **given}.items() if k not in dropped}
        return to_flags(self.hparams, {"run.report": False, **kept, **own}), steps

    def describe(self) -> dict[str, Any]:
        """Returns everything that the values of trials depend on, as JSON."""
        config = self.load_config({}).model_dump(mode="json", exclude=set(IRRELEVANT))
        judged = {"rules": self.rules, "baseline": self.baseline}
        return {
            "config": config,
            "parameters": {name: given._asdict() for name, given in self.parameters.items()},
            "objectives": [list(each) for each in self.objectives],
            "share": self.share,
            "evaluations": self.evaluations,
            "num_rows": self.num_rows,
            **(judged if self.rules is not None else {}),
        }

    def find_start(self) -> Optional[dict[str, str]]:
        """Returns the values of the preset and the flags; None if the space does not have them."""
        config = self.load_config({})
        found = {}
        for name, parameter in self.parameters.items():
            text = _find_text(config, resolve_name(name), parameter)
            if text is None:
                return None
            found[name] = text
        return found

    def find_unused(self) -> dict[str, str]:
        """Returns the parameters that no trial reads, with the reason."""
        options = {name: resolve_name(name) for name in self.parameters}
        deciding = [name for name, option in options.items() if option in effects.DECIDING]
        unused: Optional[dict[str, str]] = None
        for texts in itertools.product(*(self.parameters[name].samples for name in deciding)):
            try:
                config = self.load_config(dict(zip(deciding, texts)))
            except UserError:
                # Such a trial fails.
                continue
            found = effects.find_unused(config, options.values())
            unused = found if unused is None else {k: v for k, v in unused.items() if k in found}
        reasons = unused or {}
        return {name: reasons[each] for name, each in options.items() if each in reasons}

    def list_differences(self, before: config_lib.Config, now: config_lib.Config) -> list[str]:
        """Returns the parameters whose values differ, with both values.

        Args:
            before: the configuration of one job.
            now: that of another.
        """
        pairs = {
            name: (_get(before, resolve_name(name)), _get(now, resolve_name(name)))
            for name in self.parameters
        }
        return [
            f"{name} (was {first!r}, now {second!r})"
            for name, (first, second) in pairs.items()
            if first != second
        ]

    def list_grid(self) -> list[dict[str, str]]:
        """Returns every combination of values.

        Raises:
            UserError: a parameter is a range of real numbers.
        """
        columns = []
        for name, parameter in self.parameters.items():
            if parameter.kind == "float":
                raise UserError(
                    f"--sampler=grid: {name} is a range of real numbers; list its values"
                )
            if parameter.kind == "integer":
                low, high = int(parameter.low), int(parameter.high)
                columns.append([str(value) for value in range(low, high + 1)])
            else:
                columns.append(list(parameter.values))
        return [dict(zip(self.parameters, row)) for row in itertools.product(*columns)]


def to_flags(hparams: Optional[str], overrides: dict[str, Any]) -> list[str]:
    """Returns the arguments of trainer.task for some options.

    Args:
        hparams: preset or file; None for neither.
        overrides: option → value: text, number or bool.
    """
    first = [f"--hparams={hparams}"] if hparams else []
    texts = {k: str(v).lower() if isinstance(v, bool) else v for k, v in overrides.items()}
    return first + [f"--{name}={text}" for name, text in texts.items()]


def choose_objectives(
    space: SearchSpace, names: list[str], config: config_lib.Config
) -> tuple[Objective, ...]:
    """Returns what a search optimises.

    Args:
        space: may name a metric and a goal.
        names: of --objectives; empty: the metric of the space, else export.best_metric, else loss.
        config: the configuration of the full job.

    Raises:
        UserError: there are more than two, none is of the evaluation, or whether lower or higher is
            better is not known.
    """
    names = names or [space.metric or config.export.best_metric or "loss"]
    names = [LATENCY.get(name, name) for name in names]
    if len(names) > 2 or len(set(names)) < len(names):
        raise UserError(f"--objectives={','.join(names)}: give one metric, or two different ones")
    if all(name in COSTS for name in names):
        raise UserError(
            f"--objectives={','.join(names)}: name a metric of the evaluation too, such as "
            f"auc,{names[0]}"
        )
    found = []
    for name in names:
        mode = "min" if name in COSTS else "auto"
        if name == space.metric:
            mode = "max" if space.goal == "maximize" else "min"
        elif name == config.export.best_metric:
            mode = config.export.best_mode
        try:
            found.append(Objective(name, choose_direction(name, mode)))
        except UserError as error:
            raise UserError(
                f"--objectives={','.join(names)}: whether a lower or a higher {name!r} is better "
                "is not known; name it as --export.best_metric with --export.best_mode=min or max"
            ) from error
    return tuple(found)


def _drop_other(
    overrides: dict[str, Any], given: dict[str, str], names: tuple[str, ...]
) -> dict[str, Any]:
    """Returns the flags without those that a parameter of the space replaces."""
    is_replaced = any(name in given for name in names)
    return {k: v for k, v in overrides.items() if not (is_replaced and k in names)}


def _find_text(config: config_lib.Config, option: str, parameter: Parameter) -> Optional[str]:
    value = _get(config, option)
    if value is None:
        return None
    if parameter.values:
        for text in parameter.values:
            if _get(config_lib.load_config(None, {option: text}), option) == value:
                return text
        return None
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not is_number or not parameter.low <= value <= parameter.high:
        return None
    return str(int(value)) if parameter.kind == "integer" else repr(float(value))


def _get(config: config_lib.Config, option: str) -> Any:
    section, _, leaf = option.rpartition(".")
    if section == config_lib.USER:
        return config.user.get(leaf)
    return getattr(getattr(config, section) if section else config, leaf)
