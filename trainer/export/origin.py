"""The job that has made an export, and what its run was made of."""

import datetime
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Optional

from trainer import storage
from trainer.errors import TemporaryError, UserError
from trainer.job_layout import EXPORT_FOLDER, INPUTS

# The number of an export is the time at which it was made, in seconds since 1970.
_TIME = re.compile(r"\d{10}")


def find_job_dir(export: str) -> Optional[str]:
    """Returns the folder of the job that has made an export; None if it does not lie in one.

    Args:
        export: path of the export: JOB_DIR/export/NAME/NUMBER.
    """
    return export.rpartition(f"/{EXPORT_FOLDER}/")[0] or None


def find_time(export: str) -> Optional[float]:
    """Returns the time at which an export was made, in seconds since 1970; None if unknown.

    Args:
        export: path of the export.
    """
    number = export.rstrip("/").rpartition("/")[2]
    return float(number) if _TIME.fullmatch(number) else None


def parse_time(text: Any) -> Optional[float]:
    """Returns a time of a record, in seconds since 1970; None if it is none.

    Args:
        text: in ISO 8601.
    """
    try:
        return datetime.datetime.fromisoformat(text).timestamp()
    except (TypeError, ValueError, OverflowError, OSError):
        return None


def choose_run(runs: Sequence[dict[str, Any]], time: Optional[float]) -> Optional[dict[str, Any]]:
    """Returns the run of a job that was in progress at a time, or had ended last.

    Args:
        runs: the records of the runs in the job's folder, oldest first.
        time: in seconds since 1970; None: the last run is returned.

    Returns:
        The record; None if there is none, because the job has been started again since.
    """
    if time is not None:
        runs = [run for run in runs if (parse_time(run.get("started")) or 0.0) <= time]
    return runs[-1] if runs else None


def read_inputs(export: str, copies: storage.Copies) -> Optional[dict[str, Any]]:
    """Returns what the run that has made an export was made of; None if it is not known.

    Args:
        export: path or gs:// address of the export.
        copies: fetches files from Cloud Storage.

    Raises:
        TemporaryError: the bucket does not answer.
    """
    job_dir = find_job_dir(export)
    if job_dir is None:
        return None
    try:
        folder = copies.fetch(job_dir, "--export", lambda name: name == INPUTS)
        stored = (storage.read_json(Path(folder) / INPUTS) or {}).get("runs")
    except TemporaryError:
        raise
    except UserError:
        # The export is complete without it.
        return None
    runs = [run for run in stored if isinstance(run, dict)] if isinstance(stored, list) else []
    return choose_run(runs, find_time(export))
