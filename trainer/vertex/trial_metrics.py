"""The metrics of a tuning trial, where the service looks for them.

A line of JSON for each metric of each evaluation: time stamp, trial, the metric under its own name,
global step. The process that evaluates writes them; the service takes those that it was told of.
"""

import json
import time
from collections.abc import Mapping
from pathlib import Path

from trainer.environment.cluster_spec import read_cluster
from trainer.environment.services import read_service

# The file is read again and again: only the last lines are kept.
KEPT_LINES = 100


def report_trial(step: int, values: Mapping[str, float]) -> None:
    """Reports an evaluation, where this process belongs to a trial.

    Args:
        step: global step of the checkpoint.
        values: metric → value.
    """
    trial = read_cluster().trial
    if trial is None:
        return
    path = Path(read_service().metric_file)
    path.parent.mkdir(parents=True, exist_ok=True)
    before = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    now = time.time()
    lines = [
        json.dumps(
            {"timestamp": now, "trial": trial, name: str(float(value)), "global_step": str(step)}
        )
        for name, value in values.items()
    ]
    # No rename: whoever follows the file holds it open.
    path.write_text("\n".join([*before, *lines][-KEPT_LINES:]) + "\n", encoding="utf-8")
