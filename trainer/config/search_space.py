"""Reads search spaces: hparams/tuning/NAME.yaml, or flags of the form NAME=RANGE.

    metric: auc
    goal: maximize
    max_trials: 20
    parallel_trials: 4
    algorithm: random            # or grid; unset: the default of the service or of trainer.tune
    parameters:
      learning_rate: {min: 0.001, max: 0.3, scale: log}
      batch_size: [64, 128, 256]
      hidden_units: ["64,32", "128,64"]
      max_steps: {min: 500, max: 2000, integer: true}

Each parameter is an option of the trainer. A trial receives it as a flag of the same name.
"""

import math
import re
from collections.abc import Sequence
from typing import Any, NamedTuple, Optional

from trainer.config import flags
from trainer.config.loading import find_preset, list_options, load_config, read_yaml
from trainer.config.sections import USER
from trainer.config.values import refuse_bool
from trainer.errors import UserError, nearest

SCALES = ("linear", "log", "reverse_log")
ALGORITHMS = ("random", "grid")
KEYS = ("metric", "goal", "max_trials", "parallel_trials", "algorithm", "parameters")
RANGE_KEYS = ("min", "max", "scale", "integer")
SEARCH_HINT = (
    "write NAME=log:1e-4..1, NAME=0..0.4, NAME=int:1..8 or NAME=A|B|C, for example "
    "train.learning_rate=log:1e-4..1"
)


class Parameter(NamedTuple):
    """The values of one parameter: a range or a list.

    Attributes:
        kind: float, integer, numbers or words; the last two are lists.
        low: least value of a range.
        high: greatest value of a range.
        scale: linear, log or reverse_log.
        values: the values of a list, as the text of a flag, in the order of the file.
    """

    kind: str
    low: float = 0.0
    high: float = 0.0
    scale: str = "linear"
    values: tuple[str, ...] = ()

    @property
    def samples(self) -> list[str]:
        """Examples of the values, as the text of a flag: both ends of a range, or the list."""
        if self.values:
            return list(self.values)
        if self.kind == "integer":
            return [str(int(self.low)), str(int(self.high))]
        return [repr(self.low), repr(self.high)]


class SearchSpace(NamedTuple):
    """What a hyperparameter search may vary, and what it optimises.

    Attributes:
        metric: name of the evaluation metric to optimise; "" if it is given elsewhere.
        goal: maximize or minimize; "" if it is given elsewhere.
        parameters: flag → its values.
        max_trials: number of trials; None: not given.
        parallel_trials: number of trials that run at a time; None: not given.
        algorithm: random or grid; None: not given.
    """

    metric: str
    goal: str
    parameters: dict[str, Parameter]
    max_trials: Optional[int] = None
    parallel_trials: Optional[int] = None
    algorithm: Optional[str] = None


def load_space(name: str) -> SearchSpace:
    """Reads a search space.

    Args:
        name: a path, or the name of a file in hparams/tuning/.

    Raises:
        UserError: a key, a parameter or a range is invalid.
    """
    path = find_preset(name, "--tuning", "tuning")
    values = read_yaml(path, "tuning")
    where = f"tuning {path}"
    unknown = [key for key in values if key not in KEYS]
    if unknown:
        raise UserError(f"{where}: no key {unknown[0]!r}{nearest(str(unknown[0]), KEYS)}")
    metric, parameters = values.get("metric"), values.get("parameters")
    if not isinstance(metric, str) or not metric:
        raise UserError(f"{where}: metric: not given; name a metric of the evaluation, such as auc")
    if values.get("goal") not in ("maximize", "minimize"):
        raise UserError(
            f"{where}: goal: got {values.get('goal')!r:.80}; write maximize or minimize"
        )
    if not isinstance(parameters, dict) or not parameters:
        raise UserError(f"{where}: parameters: none given; write 'name: range' lines")
    for each in parameters:
        _check_name(str(each), f"{where}: parameters")
    read = {str(key): _read(given, f"{where}: {key}") for key, given in parameters.items()}
    for each, parameter in read.items():
        _check_samples(each, parameter, f"{where}: {each}")
    algorithm = values.get("algorithm")
    if algorithm is not None and algorithm not in ALGORITHMS:
        raise UserError(f"{where}: algorithm: got {algorithm!r:.80}; write random or grid")
    trials = _read_count(values, "max_trials", where)
    together = _read_count(values, "parallel_trials", where)
    if together is not None and together > (trials or together):
        raise UserError(
            f"{where}: parallel_trials: {together} is more than max_trials; lower it to {trials}"
        )
    return SearchSpace(metric, values["goal"], read, trials, together, algorithm)


def parse_search(texts: Sequence[str]) -> dict[str, Parameter]:
    """Parses the values of --search flags.

    Args:
        texts: each "NAME=log:LOW..HIGH", "NAME=LOW..HIGH", "NAME=int:LOW..HIGH" or "NAME=A|B".

    Returns:
        Flag → its values.

    Raises:
        UserError: a name or a range is invalid, or a name is given twice.
    """
    found: dict[str, Parameter] = {}
    for text in texts:
        name, _, given = text.partition("=")
        where = f"--search={text}"
        if not name or not given:
            raise UserError(f"{where}: no values; {SEARCH_HINT}")
        _check_name(name, where)
        if name in found:
            raise UserError(f"{where}: {name} is given twice; remove one of them")
        found[name] = _parse_values(given, where)
        _check_samples(name, found[name], where)
    return found


def resolve_name(name: str) -> str:
    """Returns the dotted option name of a parameter.

    Args:
        name: an option or one of its short names.
    """
    return flags.list_aliases().get(name, name)


def _parse_values(text: str, where: str) -> Parameter:
    match = re.fullmatch(r"(?:([a-z_]+):)?(.+?)\.\.(.+)", text)
    if not match:
        return Parameter("words", values=tuple(text.split("|")))
    kind, low, high = match.groups()
    given: dict[str, Any] = {"min": low, "max": high}
    if kind == "int":
        given["integer"] = True
    elif kind in SCALES:
        given["scale"] = kind
    elif kind:
        raise UserError(f"{where}: not a range; {SEARCH_HINT}")
    return _read(given, where)


def _check_name(name: str, where: str) -> None:
    known = _list_parameters()
    if name not in known and not name.startswith(f"{USER}."):
        raise UserError(
            f"{where}: {name!r} is not an option of the trainer{nearest(name, known)} "
            "(python -m trainer.task --help lists them)"
        )


def _list_parameters() -> list[str]:
    options = {option.name: option for option in list_options()}
    aliases = [alias for alias, name in flags.list_aliases().items() if name in options]
    return [*options, *aliases]


def _read_count(values: dict[str, Any], key: str, where: str) -> Optional[int]:
    count = values.get(key, 1)
    if not isinstance(count, int) or isinstance(count, bool) or count < 1:
        raise UserError(f"{where}: {key}: got {count!r:.80}; write a number from 1")
    return count if key in values else None


def _read(given: Any, where: str) -> Parameter:
    if isinstance(given, list) and given:
        numbers = all(isinstance(one, (int, float)) and not isinstance(one, bool) for one in given)
        kind = "numbers" if numbers else "words"
        return Parameter(kind, values=tuple(_as_text(one) for one in given))
    if not isinstance(given, dict) or not {"min", "max"} <= set(given):
        raise UserError(f"{where}: got {given!r:.60}; write {{min: .., max: ..}}, or [a, b, ..]")
    unknown = [key for key in given if key not in RANGE_KEYS]
    if unknown:
        raise UserError(f"{where}: no key {unknown[0]!r}{nearest(str(unknown[0]), RANGE_KEYS)}")
    return _read_range(given, where)


def _read_range(given: dict[str, Any], where: str) -> Parameter:
    low, high = (_read_number(given[key], f"{where}: {key}") for key in ("min", "max"))
    scale = given.get("scale", "linear")
    if scale not in SCALES:
        raise UserError(f"{where}: scale: got {scale!r:.80}; write one of {', '.join(SCALES)}")
    if not low < high:
        raise UserError(f"{where}: min {low:g} is not below max {high:g}")
    if scale != "linear" and low <= 0:
        raise UserError(f"{where}: min {low:g}: a logarithmic scale needs a min above 0")
    is_integer = given.get("integer", False)
    if not isinstance(is_integer, bool):
        raise UserError(f"{where}: integer: got {is_integer!r:.80}; write true or false")
    if not is_integer:
        return Parameter("float", low, high, scale)
    if low != int(low) or high != int(high):
        raise UserError(f"{where}: min and max of an integer must be whole numbers")
    return Parameter("integer", low, high, scale)


def _read_number(value: Any, where: str) -> float:
    # YAML 1.1 reads 1e-3 as text.
    try:
        number = float(refuse_bool(value))
    except (TypeError, ValueError) as error:
        raise UserError(f"{where}: got {value!r:.80}; write a number") from error
    if not math.isfinite(number):
        raise UserError(f"{where}: got {value!r:.80}; write a finite number")
    return number


def _as_text(value: Any) -> str:
    if isinstance(value, list):
        return ",".join(_as_text(one) for one in value)
    return str(value).lower() if isinstance(value, bool) else str(value)


def _check_samples(name: str, parameter: Parameter, where: str) -> None:
    """Checks that the trainer accepts the values of a parameter."""
    for text in parameter.samples:
        try:
            load_config(None, {resolve_name(name): text})
        except UserError as error:
            hint = f"; for several values, write {text.replace(',', '|')}" if "," in text else ""
            raise UserError(f"{where}: a trial with {text!r} would fail: {error}{hint}") from error
