"""tuner_fn: a search of keras_tuner, each trial of which is a job of this trainer."""

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import keras_tuner
from keras_tuner.engine import base_tuner

from trainer.config.search_space import (
    Parameter,
    SearchSpace,
    load_space,
    parse_search,
    resolve_name,
)
from trainer.errors import UserError
from trainer.tfx import child
from trainer.tfx.arguments import flatten

DEFAULT_TRIALS = 20


class TunerFnResult(NamedTuple):
    """What a tuner_fn returns; TFX's class of this name is not imported.

    Attributes:
        tuner: a keras_tuner tuner.
        fit_kwargs: arguments of its search(): none, since a job knows its data.
    """

    tuner: Any
    fit_kwargs: dict[str, Any]


class JobTuner(base_tuner.BaseTuner):
    """A tuner whose trials are jobs.

    Args:
        oracle: proposes the values of a trial.
        options: of every job.
        schema: of the examples, as plain values.
        directory: folder of the search; each trial's job is in jobs/ID.
    """

    def __init__(
        self, oracle: Any, options: Mapping[str, Any], schema: Mapping[str, Any], directory: str
    ):
        super().__init__(oracle=oracle, directory=directory, project_name="search")
        self._options, self._schema = dict(options), dict(schema)
        self._jobs = Path(directory) / "jobs"

    def run_trial(self, trial: Any, *args: Any, **kwargs: Any) -> dict[str, float]:
        """Trains a job with the values of a trial; returns metric → value of its best evaluation.

        Args:
            trial: a keras_tuner Trial.
            args: of search(); there are none.
            kwargs: of search(); there are none.
        """
        values = {resolve_name(name): value for name, value in trial.hyperparameters.values.items()}
        options = {**self._options, **values, "job_dir": str(self._jobs / trial.trial_id)}
        given = {"options": options, "schema": self._schema}
        metrics = child.call("trainer.tfx.running:try_values", given)
        metric = self.oracle.objective.name
        return {metric: metrics[metric]}


def build_tuner(fn_args: Any) -> TunerFnResult:
    """Returns a tuner for TFX's Tuner component.

    Args:
        fn_args: tfx.components.FnArgs.

    Raises:
        UserError: custom_config, the search space or an option are wrong.
    """
    custom = getattr(fn_args, "custom_config", None) or {}
    space = _read_space(custom)
    trials = custom.get("max_trials", space.max_trials or DEFAULT_TRIALS)
    if not isinstance(trials, int) or trials < 1:
        raise UserError(f"custom_config['max_trials']: got {trials!r:.40}; give a number from 1")
    given = {"fn_args": flatten(fn_args), "metric": space.metric}
    search = child.call("trainer.tfx.running:prepare_search", given)
    oracle = keras_tuner.oracles.BayesianOptimizationOracle(
        objective=keras_tuner.Objective(search["metric"], search["direction"]),
        max_trials=trials,
        hyperparameters=to_hyperparameters(space.parameters),
        seed=search["seed"],
    )
    folder = getattr(fn_args, "working_dir", None) or tempfile.mkdtemp(prefix="tuner-")
    return TunerFnResult(JobTuner(oracle, search["options"], search["schema"], folder), {})


def _read_space(custom: Mapping[str, Any]) -> SearchSpace:
    space = load_space(custom["tuning"]) if custom.get("tuning") else SearchSpace("", "", {})
    parameters = {**space.parameters, **parse_search(custom.get("search", ()))}
    if not parameters:
        raise UserError(
            "custom_config: neither search nor tuning is given; name what the Tuner varies, for "
            "example search=['train.learning_rate=log:1e-3..1']"
        )
    return space._replace(parameters=parameters)


def to_hyperparameters(parameters: Mapping[str, Parameter]) -> Any:
    """Returns keras_tuner's description of a search space.

    Args:
        parameters: option → its values.
    """
    found = keras_tuner.HyperParameters()
    for name, given in parameters.items():
        if given.values:
            found.Choice(name, list(given.values))
        elif given.kind == "integer":
            found.Int(name, int(given.low), int(given.high), sampling=given.scale)
        else:
            found.Float(name, given.low, given.high, sampling=given.scale)
    return found
