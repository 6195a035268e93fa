"""metrics.jsonl in job_dir: every recorded loss and evaluation of all runs of a job."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Optional

from trainer.job_layout import EVAL_DATA_KEY, METRICS_LOG, TRAIN_DATA_KEY
from trainer.storage.files import append_lines


class MetricsLog:
    """A file that is only appended to, so that it also records restarts.

    Args:
        job_dir: folder of the file.
        data: checksums of the data, train_data and eval_data, that evaluations are recorded with;
            None: they are unknown.
    """

    def __init__(self, job_dir: str, data: Optional[Mapping[str, int]] = None):
        self._path = Path(job_dir) / METRICS_LOG
        self._data = dict(data or {})

    def measure(self) -> int:
        """Returns the size of the file in bytes; 0 if there is none."""
        try:
            return self._path.stat().st_size
        except OSError:
            return 0

    def append(self, kind: str, step: int, values: dict[str, float]) -> None:
        """Adds one line.

        Args:
            kind: train or eval.
            step: global step.
            values: name → value.
        """
        data = self._data if kind == "eval" else {}
        line = json.dumps({"kind": kind, "step": int(step), **values, **data})
        append_lines(self._path, [line])

    def resume_from(self, step: int) -> None:
        """Records that training resumes from a step. Records of later steps no longer count.

        Args:
            step: global step of the checkpoint.
        """
        if any(line["step"] > step for line in self._read("train", "eval")):
            self.append("resume", step, {})

    def read(self, kind: str) -> list[dict[str, Any]]:
        """Returns the lines of a kind, each with "step" and values, in order of step.

        If a step was trained again after a restart, only its last line counts. If it was not
        reached again, its line does not count. A line that a crash has damaged is skipped.

        Args:
            kind: train or eval.
        """
        return [_drop_data(line) for line in self._read(kind)]

    def read_comparable(self, data: Optional[Mapping[str, int]] = None) -> list[dict[str, Any]]:
        """Returns the evaluations of a job, as `read` does, that were on certain data.

        Those without checksums, which an older version or a user's experiment has recorded, count.

        Args:
            data: name → checksum, as in the constructor; None: the evaluation data of the last one.
        """
        lines = self._read("eval")
        if data is None:
            data = (
                {EVAL_DATA_KEY: lines[-1][EVAL_DATA_KEY]}
                if lines and EVAL_DATA_KEY in lines[-1]
                else {}
            )
        return [
            _drop_data(line)
            for line in lines
            if all(line.get(name, value) == value for name, value in data.items())
        ]

    def find_changed(self, data: Mapping[str, int]) -> set[str]:
        """Returns the names of data that differ from those of any evaluation of the job.

        Args:
            data: name → checksum, as in the constructor.
        """
        return {
            name
            for line in self._read("eval")
            for name, value in data.items()
            if line.get(name, value) != value
        }

    def _read(self, *kinds: str) -> list[dict[str, Any]]:
        found: dict[tuple[int, str], dict[str, Any]] = {}
        if self._path.exists():
            for line in self._path.read_text(encoding="utf-8", errors="replace").split("\n"):
                record = _parse(line)
                if record is None:
                    continue
                kind, step = record.pop("kind"), record["step"]
                if kind in kinds:
                    found[step, kind] = record
                elif kind == "resume":
                    found = {key: found[key] for key in found if key[0] <= step}
        return [found[key] for key in sorted(found)]


def _drop_data(line: dict[str, Any]) -> dict[str, Any]:
    return {
        name: value for name, value in line.items() if name not in (TRAIN_DATA_KEY, EVAL_DATA_KEY)
    }


def _parse(line: str) -> Optional[dict[str, Any]]:
    """Returns the record of a line; None if the line is damaged."""
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return None
    is_whole = (
        isinstance(record, dict)
        and isinstance(record.get("kind"), str)
        and isinstance(record.get("step"), int)
        and all(isinstance(record[name], (int, float)) for name in record if name != "kind")
    )
    return record if is_whole else None
