"""Lists the checkpoints in a job_dir, finds the newest one, and checks whether one is intact."""

from pathlib import Path
from typing import Optional

from estimator_bridge import tf
from estimator_bridge.model_files.checkpoints import (
    ERRORS,
    find_corruption,
    has_all_shards,
    latest_checkpoint,
    list_checkpoints,
    list_data_files,
    read_state,
    write_state,
)
from trainer.errors import UserError
from trainer.job_layout import CHECKPOINT_STATE

__all__ = [
    "find_corruption",
    "find_newest_intact",
    "has_all_shards",
    "has_outside_paths",
    "latest_checkpoint",
    "list_checkpoints",
    "list_data_files",
    "read_step",
    "write_state",
]


def read_step(checkpoint: Optional[str]) -> int:
    """Returns the global step of a checkpoint; 0 for None.

    Args:
        checkpoint: its path.

    Raises:
        UserError: the checkpoint cannot be read.
    """
    if checkpoint is None:
        return 0
    try:
        return int(tf.train.load_variable(checkpoint, "global_step"))
    except ERRORS as error:
        step = checkpoint.rpartition("-")[2]
        if step.isdigit() and not Path(f"{checkpoint}.index").exists():
            # The training process has just deleted the checkpoint.
            return int(step)
        raise UserError(
            f"job_dir: checkpoint {checkpoint} cannot be read ({str(error).splitlines()[0][:80]}); "
            f"remove its files and its line in the file named {CHECKPOINT_STATE}, or use another "
            "--job_dir"
        ) from error


def find_newest_intact(job_dir: str) -> Optional[str]:
    """Returns the path of the newest checkpoint whose values can be read; None without checkpoints.

    Args:
        job_dir: folder of the checkpoints.

    Raises:
        UserError: none of its checkpoints can be read.
    """
    listed = list_checkpoints(job_dir)
    for checkpoint in reversed(listed):
        if find_corruption(checkpoint, allow_nan=True) is None:
            return checkpoint
    if listed:
        raise UserError(
            f"job_dir {job_dir}: none of its {len(listed)} checkpoint(s) can be read; use another "
            f"--job_dir, or start over with --fresh={job_dir}"
        )
    return None


def has_outside_paths(job_dir: str) -> bool:
    """Returns whether the state file names a checkpoint in another folder.

    Args:
        job_dir: folder of the checkpoints.
    """
    state = read_state(job_dir)
    if state is None:
        return False
    named = (state.model_checkpoint_path, *state.all_model_checkpoint_paths)
    folder = Path(job_dir).resolve()
    return any(Path(path).parent.resolve() != folder for path in named)
