"""Converts a search space to the StudySpec of Vertex AI."""

from typing import Any, NamedTuple

from trainer.config.search_space import Parameter, load_space

SCALES = {
    "linear": "UNIT_LINEAR_SCALE",
    "log": "UNIT_LOG_SCALE",
    "reverse_log": "UNIT_REVERSE_LOG_SCALE",
}
ALGORITHMS = {"random": "RANDOM_SEARCH", "grid": "GRID_SEARCH"}
DEFAULT_TRIALS = 10
DEFAULT_PARALLEL = 2


class Study(NamedTuple):
    """A hyperparameter search.

    Attributes:
        metric: name of the evaluation metric to optimise.
        spec: JSON of the StudySpec.
        max_trials: number of trials.
        parallel_trials: number of trials that run at a time.
        samples: parameter → examples of its values, as the text of a flag.
    """

    metric: str
    spec: dict[str, Any]
    max_trials: int
    parallel_trials: int
    samples: dict[str, list[str]]


def load_study(name: str) -> Study:
    """Reads a search space.

    Args:
        name: a path, or the name of a file in hparams/tuning/.

    Raises:
        UserError: a key, a parameter or a range is invalid.
    """
    space = load_space(name)
    spec: dict[str, Any] = {
        "metrics": [{"metricId": space.metric, "goal": space.goal.upper()}],
        "parameters": [_render(each, given) for each, given in space.parameters.items()],
    }
    if space.algorithm is not None:
        spec["algorithm"] = ALGORITHMS[space.algorithm]
    trials = space.max_trials or max(DEFAULT_TRIALS, space.parallel_trials or 1)
    together = space.parallel_trials or min(trials, DEFAULT_PARALLEL)
    samples = {each: given.samples for each, given in space.parameters.items()}
    return Study(space.metric, spec, trials, together, samples)


def _render(name: str, parameter: Parameter) -> dict[str, Any]:
    """Returns the JSON of a ParameterSpec."""
    spec: dict[str, Any] = {"parameterId": name}
    if parameter.kind == "words":
        return {**spec, "categoricalValueSpec": {"values": list(parameter.values)}}
    if parameter.kind == "numbers":
        spec["discreteValueSpec"] = {"values": sorted(float(one) for one in parameter.values)}
    elif parameter.kind == "integer":
        # In the service's JSON, 64-bit integers are text.
        low, high = str(int(parameter.low)), str(int(parameter.high))
        spec["integerValueSpec"] = {"minValue": low, "maxValue": high}
    else:
        spec["doubleValueSpec"] = {"minValue": parameter.low, "maxValue": parameter.high}
    return {**spec, "scaleType": SCALES[parameter.scale]}
