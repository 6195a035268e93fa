"""metrics.jsonl in job_dir: every recorded loss and evaluation of a job, over all its runs."""

import json
from pathlib import Path
from typing import Any


class MetricsLog:
    """A file that is only ever appended to, so that it tells of restarts too."""

    def __init__(self, job_dir: str):
        self._path = Path(job_dir) / "metrics.jsonl"

    def append(self, kind: str, step: int, values: dict[str, float]) -> None:
        """Adds one line; `kind` is train or eval."""
        line = json.dumps({"kind": kind, "step": int(step), **values})
        with self._path.open("a", encoding="utf-8") as stream:
            stream.write(line + "\n")

    def resume_from(self, step: int) -> None:
        """Notes that training goes on from a step: what was seen beyond it is lost with its run."""
        lines = self.read("train") + self.read("eval")
        if any(line["step"] > step for line in lines):
            self.append("resume", step, {})

    def read(self, kind: str) -> list[dict[str, Any]]:
        """The lines of a kind, each with "step" and values, in order of step.

        A step that was run twice, before and after a restart, counts as it was the last time, and
        one that was not reached again not at all; a line that a crash cut short is passed over.
        """
        steps: dict[int, dict[str, Any]] = {}
        if self._path.exists():
            for line in self._path.read_text(encoding="utf-8").splitlines():
                try:
                    record = json.loads(line)
                except ValueError:
                    continue
                said = record.pop("kind")
                if said == kind:
                    steps[record["step"]] = record
                elif said == "resume":
                    steps = {step: steps[step] for step in steps if step <= record["step"]}
        return [steps[step] for step in sorted(steps)]
