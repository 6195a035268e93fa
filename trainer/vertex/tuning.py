"""Reads search spaces, hparams/tuning/NAME.yaml, as the service's StudySpec.

    metric: auc
    goal: maximize
    max_trials: 20
    parallel_trials: 4
    algorithm: random            # or grid; unset: the service's default
    parameters:
      learning_rate: {min: 0.001, max: 0.3, scale: log}
      batch_size: [64, 128, 256]
      hidden_units: ["64,32", "128,64"]
      max_steps: {min: 500, max: 2000, integer: true}

Each parameter is an option of the trainer. A trial receives it as a flag of the same name.
"""

from typing import Any, NamedTuple

from trainer import config as config_lib
from trainer.config import flags
from trainer.errors import UserError, nearest

SCALES = {
    "linear": "UNIT_LINEAR_SCALE",
    "log": "UNIT_LOG_SCALE",
    "reverse_log": "UNIT_REVERSE_LOG_SCALE",
}
ALGORITHMS = {"random": "RANDOM_SEARCH", "grid": "GRID_SEARCH"}
KEYS = ("metric", "goal", "max_trials", "parallel_trials", "algorithm", "parameters")
RANGE_KEYS = ("min", "max", "scale", "integer")


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
    path = config_lib.find_preset(name, "--tuning", "tuning")
    values = config_lib.read_yaml(path, "tuning")
    where = f"tuning {path}"
    unknown = [key for key in values if key not in KEYS]
    if unknown:
        raise UserError(f"{where}: no key {unknown[0]!r}{nearest(str(unknown[0]), KEYS)}")
    metric, parameters = values.get("metric"), values.get("parameters")
    if not isinstance(metric, str) or not metric:
        raise UserError(f"{where}: metric: not given; name a metric of the evaluation, such as auc")
    if values.get("goal") not in ("maximize", "minimize"):
        raise UserError(f"{where}: goal: got {values.get('goal')!r}; write maximize or minimize")
    if not isinstance(parameters, dict) or not parameters:
        raise UserError(f"{where}: parameters: none given; write 'name: range' lines")
    known = _list_parameters()
    for name in parameters:
        if name not in known and not str(name).startswith(f"{config_lib.USER}."):
            raise UserError(
                f"{where}: parameters: {name!r} is not an option of the trainer"
                f"{nearest(str(name), known)} (python -m trainer.task --help lists them)"
            )
    specs, samples = [], {}
    for name, given in parameters.items():
        spec, samples[name] = _read_parameter(name, given, f"{where}: {name}")
        specs.append(spec)
        for sample in samples[name]:
            _check_sample(name, sample, f"{where}: {name}")
    study: dict[str, Any] = {
        "metrics": [{"metricId": metric, "goal": values["goal"].upper()}],
        "parameters": specs,
    }
    algorithm = values.get("algorithm")
    if algorithm is not None:
        if algorithm not in ALGORITHMS:
            raise UserError(f"{where}: algorithm: got {algorithm!r}; write random or grid")
        study["algorithm"] = ALGORITHMS[algorithm]
    trials = _read_count(values, "max_trials", where, 10)
    together = _read_count(values, "parallel_trials", where, min(trials, 2))
    if together > trials:
        raise UserError(
            f"{where}: parallel_trials: {together} is more than max_trials; lower it to {trials}"
        )
    return Study(metric, study, trials, together, samples)


def _list_parameters() -> list[str]:
    options = {option.name: option for option in config_lib.list_options()}
    aliases = [alias for alias, name in flags.list_aliases().items() if name in options]
    return [*options, *aliases]


def _read_count(values: dict[str, Any], key: str, where: str, default: int) -> int:
    count = values.get(key, default)
    if not isinstance(count, int) or isinstance(count, bool) or count < 1:
        raise UserError(f"{where}: {key}: got {count!r}; write a number from 1")
    return count


def _read_parameter(name: str, given: Any, where: str) -> tuple[dict[str, Any], list[str]]:
    if isinstance(given, list) and given:
        numbers = all(isinstance(one, (int, float)) and not isinstance(one, bool) for one in given)
        if numbers:
            values = sorted(float(one) for one in given)
            return {
                "parameterId": name,
                "discreteValueSpec": {"values": values},
                "scaleType": SCALES["linear"],
            }, [_as_text(one) for one in given]
        words = [_as_text(one) for one in given]
        return {"parameterId": name, "categoricalValueSpec": {"values": words}}, words
    if not isinstance(given, dict) or not {"min", "max"} <= set(given):
        raise UserError(f"{where}: got {given!r:.60}; write {{min: .., max: ..}}, or [a, b, ..]")
    unknown = [key for key in given if key not in RANGE_KEYS]
    if unknown:
        raise UserError(f"{where}: no key {unknown[0]!r}{nearest(str(unknown[0]), RANGE_KEYS)}")
    return _read_range(name, given, where)


def _read_range(name: str, given: dict[str, Any], where: str) -> tuple[dict[str, Any], list[str]]:
    low, high = (_read_number(given[key], f"{where}: {key}") for key in ("min", "max"))
    scale = given.get("scale", "linear")
    if scale not in SCALES:
        raise UserError(f"{where}: scale: got {scale!r}; write one of {', '.join(SCALES)}")
    if not low < high:
        raise UserError(f"{where}: min {low:g} is not below max {high:g}")
    if scale != "linear" and low <= 0:
        raise UserError(f"{where}: min {low:g}: a logarithmic scale needs a min above 0")
    if given.get("integer"):
        if low != int(low) or high != int(high):
            raise UserError(f"{where}: min and max of an integer must be whole numbers")
        # In the service's JSON, 64-bit integers are text.
        spec: dict[str, Any] = {
            "integerValueSpec": {"minValue": str(int(low)), "maxValue": str(int(high))}
        }
        return {"parameterId": name, **spec, "scaleType": SCALES[scale]}, [
            str(int(low)),
            str(int(high)),
        ]
    spec = {"doubleValueSpec": {"minValue": low, "maxValue": high}}
    return {"parameterId": name, **spec, "scaleType": SCALES[scale]}, [repr(low), repr(high)]


def _read_number(value: Any, where: str) -> float:
    # YAML 1.1 reads 1e-3 as text.
    try:
        return float(value)
    except (TypeError, ValueError) as error:
        raise UserError(f"{where}: got {value!r}; write a number") from error


def _as_text(value: Any) -> str:
    if isinstance(value, list):
        return ",".join(_as_text(one) for one in value)
    return str(value).lower() if isinstance(value, bool) else str(value)


def _check_sample(name: str, text: str, where: str) -> None:
    """Checks that the trainer accepts a value."""
    target = flags.list_aliases().get(name, name)
    try:
        config_lib.load_config(None, {target: text})
    except UserError as error:
        raise UserError(f"{where}: a trial with {text!r} would fail: {error}") from error
