"""Finds the newest checkpoint, without TensorFlow where possible."""

import re
from pathlib import Path
from typing import Optional

from trainer.job_layout import read_state

# The newest checkpoint in TensorFlow's state file: a name without folders and escapes.
_NEWEST = re.compile(r'^model_checkpoint_path: *"([^"/\\]+)"', re.MULTILINE)


def latest_checkpoint(job_dir: str) -> Optional[str]:
    """Returns the path of the newest checkpoint; None if there is no checkpoint.

    Args:
        job_dir: folder of the checkpoints.
    """
    folder = Path(job_dir)
    try:
        state = read_state(folder)
    except (OSError, ValueError):
        return None
    if not state:
        return None
    named = _NEWEST.search(state)
    if named and (folder / f"{named.group(1)}.index").is_file():
        return str(folder / named.group(1))
    # Imported here, because it imports TensorFlow, and a new or usual job needs none for this.
    from estimator_bridge.model_files import checkpoints

    return checkpoints.latest_checkpoint(job_dir)
