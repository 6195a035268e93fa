"""The rules of the gate: a YAML file, which is validated before any row is read."""

from pathlib import Path
from typing import Any, Literal, Optional

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from estimator_bridge.user_files.limits import load_yaml
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

HIGHER, LOWER = "higher_is_better", "lower_is_better"


class Change(BaseModel):
    """Bound of the difference between candidate and baseline, in the direction of the metric.

    Attributes:
        absolute: bound of candidate - baseline.
        relative: bound of (candidate - baseline) / |baseline|.
    """

    model_config = ConfigDict(extra="forbid")

    absolute: Optional[float] = None
    relative: Optional[float] = None

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
    lower_bound: Optional[float] = None
    upper_bound: Optional[float] = None
    change: Optional[Change] = None
    direction: Optional[Literal["higher_is_better", "lower_is_better"]] = None
    by: list[str] = []
    max_gap: Optional[float] = Field(None, ge=0)
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
    min_rows: int = Field(100, ge=1)
    rules: list[Rule] = Field(min_length=1)


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
    rules = _parse(path, read_rules_file(path))
    for number, rule in enumerate(rules.rules, start=1):
        where = f"--rules={path}: rule {number}"
        if rule.metric not in (*known, *LATENCIES, SIZE):
            every = (*known, *LATENCIES, SIZE)
            raise UserError(
                f"{where}: no metric {rule.metric!r}{nearest(rule.metric, every)} for a "
                f"{schema.task} model; use one of {', '.join(every)}"
            )
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
    try:
        return load_yaml(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError, yaml.YAMLError) as error:
        message = getattr(error, "strerror", None) or " ".join(str(error).split())[:150]
        raise UserError(f"--rules={path}: cannot be read: {message}; correct the file") from error


def _parse(path: str, values: Any) -> Rules:
    if isinstance(values, list):
        values = {"rules": values}
    try:
        return Rules.model_validate(values)
    except ValidationError as error:
        first: Any = error.errors()[0]
        where = ".".join(str(part + 1 if isinstance(part, int) else part) for part in first["loc"])
        message = str(first["msg"]).removeprefix("Value error, ")
        raise UserError(
            f"--rules={path}: {where or 'the file'}: {message}; correct the rule"
        ) from error
