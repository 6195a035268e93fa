"""Lists the checkpoints in a job_dir, finds the newest one, and checks whether one is intact."""

import math
from pathlib import Path
from typing import Optional

from estimator_bridge import tf
from trainer import storage
from trainer.errors import UserError
from trainer.job_dir.checkpoint_index import find_fault, read_values
from trainer.job_layout import CHECKPOINT_STATE, CHECKPOINT_STEM

# Errors of TensorFlow's reader for damaged files.
CHECKPOINT_ERRORS = (tf.errors.OpError, ValueError, OSError, RuntimeError, IndexError)


def latest_checkpoint(job_dir: str) -> Optional[str]:
    """Returns the path of the newest checkpoint; None if there is no checkpoint.

    Args:
        job_dir: folder of the checkpoints.
    """
    try:
        path: Optional[str] = tf.train.latest_checkpoint(job_dir)
    except ValueError:
        # A crash may leave an empty state file.
        return None
    return path


def list_checkpoints(job_dir: str) -> list[str]:
    """Returns the paths of the checkpoints kept in job_dir, oldest first.

    Args:
        job_dir: folder of the checkpoints.
    """
    # If all checkpoints are kept, TensorFlow's state file names only the last one.
    paths = _paths_by_step(job_dir, CHECKPOINT_STEM)
    return [paths[step] for step in sorted(paths)]


def _paths_by_step(job_dir: str, stem: str) -> dict[int, str]:
    paths = {}
    for index in Path(job_dir).glob(f"{stem}-*.index"):
        step = index.stem.rpartition("-")[2]
        if step.isdigit():
            paths[int(step)] = str(index.with_suffix(""))
    return paths


def choose_checkpoints(job_dir: str, wanted: Optional[str], every: bool) -> list[str]:
    """Returns the paths of the checkpoints to evaluate, by step.

    Args:
        job_dir: folder of the checkpoints.
        wanted: a step, or the path of a checkpoint; None for the newest.
        every: whether to return all checkpoints.

    Raises:
        UserError: there is no checkpoint, or the wanted one is missing.
    """
    if wanted and Path(f"{wanted}.index").is_file():
        return [wanted]
    # Jobs of other programs may name their checkpoints differently.
    paths = _paths_by_step(job_dir, "*")
    steps = sorted(paths)
    if not steps:
        raise UserError(f"job_dir {job_dir}: holds no checkpoint; train first")
    if wanted:
        if not wanted.isdigit() or int(wanted) not in paths:
            raise UserError(
                f"--checkpoint={wanted}: no such checkpoint; choose one of the steps "
                f"{', '.join(map(str, steps))}"
            )
        return [paths[int(wanted)]]
    return [paths[step] for step in steps] if every else [paths[steps[-1]]]


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
    except CHECKPOINT_ERRORS as error:
        step = checkpoint.rpartition("-")[2]
        if step.isdigit() and not Path(f"{checkpoint}.index").exists():
            # The training process has just deleted the checkpoint.
            return int(step)
        raise UserError(
            f"job_dir: checkpoint {checkpoint} cannot be read ({str(error).splitlines()[0][:80]}); "
            f"remove its files and its line in the file named {CHECKPOINT_STATE}, or use another "
            "--job_dir"
        ) from error


def list_data_files(checkpoint: Path) -> list[Path]:
    """Returns the data files of a checkpoint, by shard.

    Args:
        checkpoint: its path, without a file's ending.
    """
    return sorted(checkpoint.parent.glob(f"{checkpoint.name}.data-*-of-*"))


def has_all_shards(checkpoint: Path) -> bool:
    """Returns whether a checkpoint has the number of data files that their names state.

    Args:
        checkpoint: its path, without a file's ending.
    """
    data = list_data_files(checkpoint)
    return bool(data) and len(data) == int(data[0].name.rpartition("-")[2])


def find_newest_complete(job_dir: str) -> Optional[str]:
    """Returns the path of the newest checkpoint that has an index and data; None without one.

    It reads no file, so it works on a full disk.

    Args:
        job_dir: folder of the checkpoints.
    """
    for checkpoint in reversed(list_checkpoints(job_dir)):
        if Path(f"{checkpoint}.index").stat().st_size and list_data_files(Path(checkpoint)):
            return checkpoint
    return None


def find_corruption(checkpoint: str) -> Optional[str]:
    """Returns the fault in the files of a checkpoint; None if they are intact.

    Args:
        checkpoint: its path.
    """
    if not has_all_shards(Path(checkpoint)):
        return "files are missing"
    try:
        reader = tf.train.load_checkpoint(checkpoint)
        types, shapes = reader.get_variable_to_dtype_map(), reader.get_variable_to_shape_map()
        needed = sum(
            math.prod(shape) * types[name].size
            for name, shape in shapes.items()
            if types[name] != tf.string
        )
        data = list_data_files(Path(checkpoint))
        found = sum(path.stat().st_size for path in data)
        if found < needed:
            return f"{found:,} bytes instead of at least {needed:,}"
        for value in read_values(Path(f"{checkpoint}.index")):
            if value.dtype == tf.string:
                # Its checksum is not that of its bytes; TensorFlow's reader verifies it.
                reader.get_tensor(value.name)
                continue
            fault = find_fault(value, data[value.shard])
            if fault is not None:
                return fault
    except CHECKPOINT_ERRORS as error:
        return str(error).splitlines()[0][:80]
    return None


def has_outside_paths(job_dir: str) -> bool:
    """Returns whether the state file names a checkpoint in another folder.

    Args:
        job_dir: folder of the checkpoints.
    """
    try:
        state = tf.train.get_checkpoint_state(job_dir)
    except ValueError:
        return False
    if state is None:
        return False
    named = (state.model_checkpoint_path, *state.all_model_checkpoint_paths)
    folder = Path(job_dir).resolve()
    return any(Path(path).parent.resolve() != folder for path in named)


def write_state(job_dir: str, kept: list[str]) -> None:
    """Writes the state file, from which TensorFlow reads the path of the newest checkpoint.

    Args:
        job_dir: folder of the checkpoints.
        kept: paths of the checkpoints that remain, oldest first; not empty.
    """
    try:
        state = tf.train.get_checkpoint_state(job_dir)
    except ValueError:
        state = None
    named = {Path(path).name for path in state.all_model_checkpoint_paths} if state else set()
    # Training may later delete the checkpoints that the file names. A checkpoint that the old file
    # did not name must be kept, so the new file does not name it either, unless it is the newest.
    names = [Path(path).name for path in kept]
    lines = [f'model_checkpoint_path: "{names[-1]}"']
    lines += [
        f'all_model_checkpoint_paths: "{name}"'
        for name in names
        if name in named or name == names[-1]
    ]
    storage.write_text(Path(job_dir) / CHECKPOINT_STATE, "\n".join(lines) + "\n")
