"""Writes the metrics of a tuning trial to the file that the service reads.

The file has one line of JSON for each metric of an evaluation: time stamp, trial, name and value of
the metric, global step. The evaluating process writes all metrics. The service uses the metric that
its StudySpec names.
"""

import json
import time
from collections.abc import Mapping
from pathlib import Path

from trainer.environment.cluster_spec import read_cluster
from trainer.environment.services import read_service
from trainer.errors import UserError

# The service reads the file repeatedly, so only the last lines are kept.
KEPT_LINES = 100


def report_trial(step: int, values: Mapping[str, float]) -> None:
    """Reports an evaluation if this process belongs to a trial.

    Args:
        step: global step of the checkpoint.
        values: metric → value.

    Raises:
        UserError: the file or its folder is a link.
    """
    trial = read_cluster().trial
    if trial is None:
        return
    path = Path(read_service().metric_file)
    path.parent.mkdir(parents=True, exist_ok=True)
    for each in (path, path.parent):
        # Every user can write to /tmp, and could redirect this process to another file.
        if each.is_symlink():
            raise UserError(
                f"CLOUD_ML_HP_METRIC_FILE={path}: {each} is a symbolic link, and metrics are not "
                "written through links; remove it, or name another file"
            )
    before = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    now = time.time()
    lines = [
        json.dumps(
            {"timestamp": now, "trial": trial, name: str(float(value)), "global_step": str(step)}
        )
        for name, value in values.items()
    ]
    # The file is overwritten, not replaced, because the reader keeps it open.
    path.write_text("\n".join([*before, *lines][-KEPT_LINES:]) + "\n", encoding="utf-8")
