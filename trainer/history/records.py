"""What is recorded of a job elsewhere.

A job that is exported again makes no second record: each record has a key, made of the job's
folder and the start of its last run.
"""

import datetime
import hashlib
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from trainer.history.runs import Run, flatten
from trainer.job_dir.metrics_log import MetricsLog

# Of the metrics log: the kind of its lines, and what the names of their metrics start with.
_KINDS = {"eval": "", "train": "train/"}
_SKIPPED = ("kind", "step")


class Record(NamedTuple):
    """What is recorded of a job.

    Attributes:
        key: the same for the same run of the same job.
        name: of the job.
        state: complete, incomplete or unknown.
        started: milliseconds since 1970, of its last run; 0 if it is not known.
        ended: likewise; 0 if it has not ended, or it is not known.
        params: option → value; those without a value are left out.
        tags: what the job was made of.
        best: metrics of its best evaluation.
        series: (metric, step, value) of all evaluations and of the training loss.
    """

    key: str
    name: str
    state: str
    started: int
    ended: int
    params: dict[str, str]
    tags: dict[str, str]
    best: dict[str, float]
    series: list[tuple[str, int, float]]


def make_record(run: Run, folder: Path, place: str) -> Record:
    """Returns the record of a job.

    Args:
        run: the job.
        folder: of the jobs, on this machine.
        place: the same, as the user named it; an absolute path or gs://.
    """
    job = f"{place.rstrip('/')}/{run.name}" if run.name != "." else place.rstrip("/")
    inputs = {name: value for name, value in flatten(run.inputs).items() if _is_short(value)}
    series = []
    for kind, start in _KINDS.items():
        for line in MetricsLog(str(folder / run.name)).read(kind):
            values = {name: value for name, value in line.items() if name not in _SKIPPED}
            series += [
                (f"{start}{name}", int(line["step"]), float(value))
                for name, value in values.items()
                if isinstance(value, (int, float)) and math.isfinite(value)
            ]
    return Record(
        hashlib.sha256(f"{job}\n{run.started}".encode()).hexdigest()[:16],
        run.name if run.name != "." else job.rpartition("/")[2],
        run.state,
        _to_millis(run.inputs.get("started")),
        _to_millis(run.inputs.get("ended")),
        {name: _to_text(value) for name, value in run.config.items() if value is not None},
        {"job": job, "state": run.state, **{name: _to_text(inputs[name]) for name in inputs}},
        {name: float(value) for name, value in run.metrics.items() if math.isfinite(value)},
        series,
    )


def _is_short(value: Any) -> bool:
    """Whether a value belongs in a tag: lists of files do not."""
    return value is not None and not isinstance(value, (list, dict))


def _to_text(value: Any) -> str:
    if isinstance(value, Sequence) and not isinstance(value, str):
        return ",".join(map(str, value))
    return str(value)


def _to_millis(text: Any) -> int:
    try:
        return int(datetime.datetime.fromisoformat(str(text)).timestamp() * 1000)
    except ValueError:
        return 0
