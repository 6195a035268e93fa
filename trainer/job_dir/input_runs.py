"""Reads inputs.json, in which each run of a job records what it was made of."""

from pathlib import Path
from typing import Any, Optional

from trainer import config as config_lib
from trainer import storage
from trainer.errors import UserError
from trainer.job_dir.newest import latest_checkpoint
from trainer.job_layout import CONFIG, INPUTS


def read_runs(path: Path) -> list[dict[str, Any]]:
    """Returns the records of a job's runs, oldest first; none if the file is damaged.

    Args:
        path: of the file.
    """
    try:
        stored = storage.read_json(path) or {}
    except UserError:
        # A job does not depend on the records of its earlier runs.
        return []
    runs = stored.get("runs")
    return [run for run in runs if isinstance(run, dict)] if isinstance(runs, list) else []


def list_files(config: config_lib.Config) -> Optional[dict[str, set[str]]]:
    """Returns the data files of a run that was interrupted, and is continued with the same paths.

    Args:
        config: of the training, including job_dir.

    Returns:
        train and eval → paths; None if a run begins.

    Raises:
        UserError: config.yaml is damaged.
    """
    folder, data = Path(config.require_job_dir()), config.data
    runs = read_runs(folder / INPUTS)
    if not runs or "ended" in runs[-1] or latest_checkpoint(str(folder)) is None:
        return None
    stored = storage.get_object(
        config_lib.read_yaml(folder / CONFIG, "job_dir"), "data", folder / CONFIG
    )
    now = data.model_dump(mode="json")
    if any(stored.get(name) != now[name] for name in ("train", "eval", "format")):
        return None
    try:
        recorded = runs[-1]["data"]
        return {
            part: {str(file[0]) for file in recorded[part]["files"]} for part in ("train", "eval")
        }
    except (KeyError, TypeError, IndexError):
        # Written by another version.
        return None
