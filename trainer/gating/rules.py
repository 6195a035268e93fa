"""The rules of the gate: a YAML file, which is validated before any row is read."""

from collections.abc import Collection
from pathlib import Path
from typing import Annotated, Any, Literal, Optional

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    model_validator,
)

from trainer.config import describe_problem, read_document
from trainer.config.values import refuse_bool
from trainer.errors import UserError, nearest, require_column
from trainer.metrics.catalogue import SHOWN_METRICS, choose_direction
from trainer.schema import Schema

# Metrics of the export itself: latency of a request with one row, and size of the files.
LATENCIES = ("latency_p50_ms", "latency_p99_ms")
SIZE = "size_mb"
METRICS = {
    "binary": (*SHOWN_METRICS["binary"], "precision", "recall"),
    "multiclass": SHOWN_METRICS["multiclass"],
    "regression": SHOWN_METRICS["regression"],
}
# Default rule: the first metric of the task may be worse by this share.
DEFAULT_CHANGE = 0.01

# An example for a file that contains none.
EXAMPLE = "- {metric: auc, change: {absolute: -0.002}}"

HIGHER, LOWER = "higher_is_better", "lower_is_better"

# Every comparison with NaN is false, so that no check with such a bound would fail.
_Number = Annotated[float, BeforeValidator(refuse_bool), Field(allow_inf_nan=False)]


class Change(BaseModel):
    """Bound of the difference between candidate and baseline, in the direction of the metric.

    Attributes:
        absolute: bound of candidate - baseline.
        relative: bound of (candidate - baseline) / |baseline|.
    """

    model_config = ConfigDict(extra="forbid")

    absolute: Optional[_Number] = None
    relative: Optional[_Number] = None

    @model_validator(mode="after")
    def _check(self) -> "Change":
        if (self.absolute is None) == (self.relative is None):
            raise ValueError("give absolute or relative, and not both")
        return self


class Rule(BaseModel):
    """One rule.

    Attributes:
        metric: name of the metric.
        lower_bound: the candidate's value must be at least this.
        upper_bound: the candidate's value must be at most this.
        change: bound of the change relative to the baseline.
        direction: whether higher values are better; needed only for metrics that are not known.
        by: columns; the rule also applies to each slice of a column; a*b: each pair of values.
        max_gap: bound of the difference between the slices of `by`; such a rule checks only this.
        within_noise: result of a check whose interval contains the bound.
    """

    model_config = ConfigDict(extra="forbid")

    metric: str
    lower_bound: Optional[_Number] = None
    upper_bound: Optional[_Number] = None
    change: Optional[Change] = None
    direction: Optional[Literal["higher_is_better", "lower_is_better"]] = None
    by: list[str] = []
    max_gap: Optional[Annotated[_Number, Field(ge=0)]] = None
    within_noise: Literal["inconclusive", "pass"] = "inconclusive"

    @model_validator(mode="after")
    def _check(self) -> "Rule":
        bounds = (self.lower_bound, self.upper_bound, self.change, self.max_gap)
        if all(bound is None for bound in bounds):
            raise ValueError("give lower_bound, upper_bound, change or max_gap")
        if self.max_gap is not None and (not self.by or any(b is not None for b in bounds[:3])):
            raise ValueError("max_gap needs by, and no other bound in the same rule")
        if self.by and self.metric in (*LATENCIES, SIZE):
            raise ValueError(f"{self.metric} cannot be sliced; remove by")
        return self

    def is_higher_better(self) -> bool:
        """Whether a higher value is better."""
        if self.direction is not None:
            return self.direction == HIGHER
        if self.metric in (*LATENCIES, SIZE):
            return False
        return choose_direction(self.metric, "auto") == "max"


class Rules(BaseModel):
    """A file of rules.

    Attributes:
        confidence: confidence of the intervals.
        min_rows: slices with fewer rows are not judged.
        rules: the rules.
    """

    model_config = ConfigDict(extra="forbid")

    confidence: float = Field(0.95, gt=0.5, lt=1)
    min_rows: Annotated[int, BeforeValidator(refuse_bool)] = Field(100, ge=1)
    rules: list[Rule]


def load_rules(path: Optional[str], schema: Schema, threshold: float) -> Rules:
    """Reads and validates rules.

    Args:
        path: YAML file; None: the default rule.
        schema: schema of the candidate; its task determines the available metrics.
        threshold: decision threshold, which becomes part of the names of precision and recall.

    Raises:
        UserError: the file cannot be read, or a rule is invalid.
    """
    known = METRICS[schema.task]
    if path is None:
        sign = -1 if choose_direction(known[0], "auto") == "max" else 1
        change = Change(relative=sign * DEFAULT_CHANGE)
        return Rules(rules=[Rule(metric=known[0], change=change)])
    rules = parse_rules(path, [schema.task])
    for number, rule in enumerate(rules.rules, start=1):
        where = f"--rules={path}: rule {number}"
        for name in (name.strip() for one in rule.by for name in one.split("*")):
            require_column(name, schema.columns, f"{where}: by")
        if rule.metric in ("precision", "recall"):
            rule.metric = f"{rule.metric}_at_{threshold:g}"
    return rules


def read_rules_file(path: str) -> Any:
    """Returns the content of a YAML file of rules, which is not validated.

    Args:
        path: path of the file.

    Raises:
        UserError: the file cannot be read.
    """
    return read_document(Path(path), f"--rules={path}")


def parse_rules(path: str, tasks: Collection[str] = tuple(METRICS)) -> Rules:
    """Reads rules; their columns are not checked, because they depend on the model.

    Args:
        path: path of the file.
        tasks: tasks that the model may have.

    Raises:
        UserError: the file cannot be read, or a rule is invalid.
    """
    values = read_rules_file(path)
    if isinstance(values, list):
        values = {"rules": values}
    if not (values.get("rules") if isinstance(values, dict) else values):
        raise UserError(f"--rules={path}: has no rules; write for example {EXAMPLE}")
    try:
        rules = Rules.model_validate(values)
    except ValidationError as error:
        first: Any = error.errors(include_url=False)[0]
        where = ".".join(str(part + 1 if isinstance(part, int) else part) for part in first["loc"])
        known = [name for one in (Rules, Rule, Change) for name in one.model_fields]
        message = f"{where}: {describe_problem(first, known)}" if where else describe_problem(first)
        raise UserError(f"--rules={path}: {message}; correct the rule") from error
    every = [*dict.fromkeys(name for task in tasks for name in METRICS[task]), *LATENCIES, SIZE]
    for number, rule in enumerate(rules.rules, start=1):
        if rule.metric not in every:
            raise UserError(
                f"--rules={path}: rule {number}: no metric {rule.metric!r}"
                f"{nearest(rule.metric, every)} for a {' or '.join(tasks)} model; use one of "
                f"{', '.join(every)}"
            )
    return rules
