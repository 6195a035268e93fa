"""Decides whether a complete job in job_dir can be used again instead of training it anew."""

from pathlib import Path
from typing import Optional

from trainer import config as config_lib
from trainer.console import Console
from trainer.errors import UserError
from trainer.export.exporters import list_exports
from trainer.job_dir import checkpoints
from trainer.job_dir.input_runs import read_runs
from trainer.job_dir.results import read_results
from trainer.job_layout import EXPORT_FOLDER, INPUTS, METRICS, SUMMARY
from trainer.schema import Schema
from trainer.training.inputs_record import describe_inputs
from trainer.training.job import prepare

# Parts of the record that must be equal, and how messages call them.
COMPARED = {
    "data": "the data",
    "schema": "the schema",
    "config": "the options",
    "max_steps": "the number of steps",
    "code": "the code",
    "tensorflow": "TensorFlow",
    "python": "Python",
}


def find_unchanged(
    config: config_lib.Config, schema: Schema
) -> tuple[Optional[str], Optional[str]]:
    """Returns when the job in job_dir ended, if it can be used again; any doubt means a new run.

    The modules of user code are not imported yet. So a job with user code never counts as
    unchanged.

    Args:
        config: the resolved configuration, including job_dir.
        schema: of the data.

    Returns:
        the time of its end, or None and the reason.

    Raises:
        UserError: data or options are wrong.
    """
    folder = Path(config.require_job_dir())
    runs = read_runs(folder / INPUTS)
    if not runs or "ended" not in runs[-1]:
        return None, f"{folder} has no complete job with a record of its inputs"
    if config.train.warm_start or config.model.base_weights:
        return None, "the files that its training starts from may have changed"
    job = prepare(config, schema, Console(quiet=True))
    now = describe_inputs(job)
    changed = [called for name, called in COMPARED.items() if runs[-1].get(name) != now[name]]
    if changed:
        return None, f"changed since the last run: {', '.join(changed)}"
    missing = _find_missing(config, folder)
    return (None, f"{missing} is missing") if missing else (str(runs[-1]["ended"]), None)


def list_job_exports(config: config_lib.Config) -> dict[str, list[str]]:
    """Returns exporter → paths of its exports, oldest first.

    Args:
        config: of the job.
    """
    folder = Path(config.require_job_dir()) / EXPORT_FOLDER
    return {name: list_exports(str(folder / name)) for name in config.export.exporters}


def _find_missing(config: config_lib.Config, folder: Path) -> Optional[str]:
    """Returns a part of the job's result that is not there any more."""
    try:
        report = read_results(folder / METRICS)
    except UserError:
        return "a readable report of it"
    step = checkpoints.read_step(checkpoints.latest_checkpoint(str(folder)))
    if not report or not (folder / SUMMARY).is_file():
        return "its report"
    if step == 0 or step != report.get("end_step"):
        return "its last checkpoint"
    exports = list_job_exports(config)
    return next((f"its export {name}" for name, paths in exports.items() if not paths), None)
