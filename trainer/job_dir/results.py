"""Reads metrics.json, the results of a job's last run."""

from pathlib import Path
from typing import Any, Optional

import pydantic

from trainer import storage


class _Results(pydantic.BaseModel):
    """What is read of the file, which other programs may have changed."""

    model_config = pydantic.ConfigDict(strict=True)

    best: Optional[dict[str, Any]] = None
    last: Optional[dict[str, Any]] = None
    evaluations: Optional[list[dict[str, Any]]] = None
    baselines: Optional[dict[str, dict[str, Any]]] = None
    best_metric: Optional[str] = None
    exports: Optional[dict[str, list[str]]] = None
    end_step: Optional[int] = None
    secs: Optional[dict[str, float]] = None
    examples_per_sec: Optional[float] = None
    query: Optional[dict[str, Any]] = None


def read_results(path: Path) -> dict[str, Any]:
    """Returns the content of metrics.json; {} if there is no such file.

    Args:
        path: the file.

    Raises:
        UserError: the file is damaged.
    """
    found = storage.read_json(path) or {}
    try:
        _Results.model_validate(found)
    except pydantic.ValidationError as error:
        problem = error.errors(include_url=False)[0]
        field = ".".join(map(str, problem["loc"]))
        reason = f"{field:.80}: got {problem['input']!r:.60}"
        raise storage.describe_damage(path, reason) from error
    return found
