"""Renames corrupt checkpoints, so that a job resumes from the newest intact one."""

from collections.abc import Callable
from pathlib import Path

from estimator_bridge import BridgeError
from estimator_bridge.model_files.checkpoints import put_corrupt_aside
from trainer.errors import UserError
from trainer.job_dir import checkpoints
from trainer.job_layout import CHECKPOINT_STATE


def quarantine_corrupt(job_dir: str, log: Callable[[str], None]) -> bool:
    """Makes a job resume from its newest intact checkpoint.

    After a crash or a full disk, the newest checkpoint or the state file may be incomplete. Files
    of a corrupt checkpoint are renamed, not deleted.

    Args:
        job_dir: folder of the checkpoints; no other process may be writing checkpoints to it.
        log: called with one line if a checkpoint or the state file was corrupt.

    Returns:
        Whether a checkpoint or the state file was corrupt.

    Raises:
        UserError: there are checkpoints and all are corrupt.
    """
    try:
        message = put_corrupt_aside(
            job_dir, remedy=f"use another --job_dir, or start over with --fresh={job_dir}"
        )
    except BridgeError as error:
        raise UserError(f"job_dir {error}") from error
    if message is not None:
        log(message)
    return message is not None


def forget_outside(job_dir: str, log: Callable[[str], None]) -> None:
    """Makes the state file name only checkpoints in job_dir.

    TensorFlow deletes old checkpoints that the state file names, wherever they are. In a copied
    job_dir, the file may name those of the original.

    Args:
        job_dir: folder of the checkpoints; no other process may be writing checkpoints to it.
        log: called with one line if the file named other checkpoints.

    Raises:
        UserError: the file names other checkpoints, and job_dir has none.
    """
    if not checkpoints.has_outside_paths(job_dir):
        return
    kept, latest = checkpoints.list_checkpoints(job_dir), checkpoints.latest_checkpoint(job_dir)
    if not kept:
        raise UserError(
            f"job_dir {job_dir}: its file named {CHECKPOINT_STATE} names checkpoints in another "
            "folder, and job_dir has none; to start from those, name them with --train.warm_start, "
            "and remove the file"
        )
    names = [Path(path).name for path in kept]
    name = Path(latest).name if latest else ""
    end = names.index(name) + 1 if name in names else len(names)
    checkpoints.write_state(job_dir, kept[:end])
    log(
        f"the file named {CHECKPOINT_STATE} named checkpoints outside of {job_dir}, which are left "
        f"alone; resuming from {names[end - 1]}"
    )
