"""Lists the checkpoints of a folder, and puts corrupt ones aside.

A folder is a model_dir of an Estimator, or another folder with a state file named `checkpoint`.
"""

import glob
import os
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple, Optional

import numpy as np

from .. import install
from ..errors import BridgeError
from .checkpoint_index import count_shards, find_fault, read_values
from .checkpoint_paths import find_paths
from .durable import BESIDE

install()

import tensorflow as tf  # noqa: E402

__all__ = [
    "STATE",
    "STEM",
    "find_corruption",
    "find_paths",
    "has_all_shards",
    "latest_checkpoint",
    "list_checkpoints",
    "list_data_files",
    "put_corrupt_aside",
    "read_state",
    "was_checked",
    "write_state",
    "write_values",
]

# TensorFlow's state file, which names the newest checkpoint.
STATE = "checkpoint"
# The name of an Estimator's checkpoints, before "-STEP".
STEM = "model.ckpt"
# Prefix that is added to the names of the files of a corrupt checkpoint.
PREFIX = "torn-"
# Errors of TensorFlow's reader for damaged files.
ERRORS = (tf.errors.OpError, ValueError, OSError, RuntimeError, IndexError)
# Types of which the reader makes no arrays.
_OPAQUE = (tf.variant, tf.resource)

# The folders whose newest checkpoint this process has checked.
_checked: set[str] = set()


class _Corrupt(NamedTuple):
    """A corrupt checkpoint: its path, and what is wrong with it."""

    path: str
    fault: str


def read_state(folder: str) -> Optional[Any]:
    """Returns the CheckpointState of the state file; None if it is missing, empty or damaged.

    Args:
      folder: folder of the checkpoints.
    """
    try:
        return tf.train.get_checkpoint_state(folder)
    except (ValueError, tf.errors.OpError):
        # A crash may leave an empty state file.
        return None


def latest_checkpoint(folder: str) -> Optional[str]:
    """Returns the path of the newest checkpoint; None if there is no checkpoint.

    Args:
      folder: folder of the checkpoints.
    """
    try:
        path: Optional[str] = tf.train.latest_checkpoint(folder)
    except (ValueError, tf.errors.OpError):
        return None
    return path


def list_checkpoints(folder: str, stem: str = STEM) -> list[str]:
    """Returns the paths of the checkpoints kept in a folder, oldest first.

    Args:
      folder: folder of the checkpoints.
      stem: their name before "-STEP".
    """
    # If all checkpoints are kept, TensorFlow's state file names only the last one.
    paths = find_paths(folder, stem)
    return [paths[step] for step in sorted(paths)]


def list_data_files(checkpoint: Path) -> list[Path]:
    """Returns the data files of a checkpoint, by shard.

    A checkpoint that is saved again in another number of files leaves the earlier ones behind.

    Args:
      checkpoint: its path, without a file's ending.
    """
    # TensorFlow appends .tempstate to the name of a file that it is still writing.
    ending = "data-" + 5 * "[0-9]" + "-of-" + 5 * "[0-9]"
    files = sorted(checkpoint.parent.glob(f"{glob.escape(checkpoint.name)}.{ending}"))
    count = count_shards(Path(f"{checkpoint}.index"))
    return files if count is None else [one for one in files if one.name.endswith(f"{count:05d}")]


def has_all_shards(checkpoint: Path) -> bool:
    """Returns whether a checkpoint has the number of data files that their names state.

    Args:
      checkpoint: its path, without a file's ending.
    """
    data = list_data_files(checkpoint)
    return bool(data) and data[0].name.endswith(f"-of-{len(data):05d}")


def find_corruption(checkpoint: str, allow_nan: bool = False) -> Optional[str]:
    """Returns the fault in the files of a checkpoint; None if they are intact.

    Args:
      checkpoint: its path.
      allow_nan: whether a variable may contain NaN.
    """
    if not has_all_shards(Path(checkpoint)):
        return "files are missing"
    try:
        reader = tf.train.load_checkpoint(checkpoint)
        values = read_values(Path(f"{checkpoint}.index"))
        # The parts of a slot of a partitioned variable have its shape, but not all of its bytes.
        needed = sum(value.num_bytes for value in values)
        data = list_data_files(Path(checkpoint))
        found = sum(path.stat().st_size for path in data)
        if found < needed:
            return f"{found:,} bytes instead of at least {needed:,}"
        for value in values:
            if value.dtype == tf.string:
                # Its checksum is not that of its bytes; TensorFlow's reader verifies it.
                reader.get_tensor(value.name)
            elif value.dtype not in _OPAQUE:
                fault = find_fault(value, data[value.shard], allow_nan)
                if fault is not None:
                    return fault
    except ERRORS as error:
        return str(error).splitlines()[0][:80]
    return None


def write_state(folder: str, kept: list[str]) -> None:
    """Writes the state file, from which TensorFlow reads the path of the newest checkpoint.

    Args:
      folder: folder of the checkpoints.
      kept: paths of the checkpoints that remain, oldest first; not empty.
    """
    state = read_state(folder)
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
    _replace(Path(folder) / STATE, "\n".join(lines) + "\n")


def write_values(prefix: str, values: Mapping[str, np.ndarray]) -> None:
    """Writes the files of a checkpoint.

    Args:
      prefix: path of the checkpoint.
      values: name -> value of each variable.
    """
    with tf.Graph().as_default(), tf.device("/cpu:0"), tf.compat.v1.Session() as session:
        inputs = [tf.compat.v1.placeholder(one.dtype, one.shape) for one in values.values()]
        written = tf.raw_ops.SaveV2(
            prefix=prefix,
            tensor_names=list(values),
            shape_and_slices=[""] * len(inputs),
            tensors=inputs,
        )
        session.run(written, dict(zip(inputs, values.values())))


def _replace(path: Path, text: str) -> None:
    """Writes a file atomically."""
    temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex}.tmp")
    try:
        with temporary.open("x", encoding="utf-8") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def was_checked(folder: str) -> bool:
    """Returns whether this process has called `put_corrupt_aside` for a folder.

    Args:
      folder: folder of the checkpoints.
    """
    return os.path.realpath(folder) in _checked


def put_corrupt_aside(
    folder: str, *, stem: str = STEM, allow_nan: bool = False, remedy: str
) -> Optional[str]:
    """Makes TensorFlow resume from the newest intact checkpoint of a folder.

    After a crash or a full disk, the newest checkpoint or the state file may be incomplete. Files
    of a corrupt checkpoint are renamed, not deleted. Files of a save that was not completed are
    removed.

    Args:
      folder: folder of the checkpoints; no other process may be writing checkpoints to it.
      stem: the name of the checkpoints before "-STEP".
      allow_nan: whether a checkpoint may contain NaN.
      remedy: the end of the error's message: what the user can do.

    Returns:
      One line if a checkpoint or the state file was corrupt, else None.

    Raises:
      BridgeError: there are checkpoints and all are corrupt, and not only because the first save
        was not completed. Nothing has been changed.
    """
    _checked.add(os.path.realpath(folder))
    for path in Path(folder).glob(f"{glob.escape(BESIDE)}*"):
        path.unlink()
    latest, kept = latest_checkpoint(folder), list_checkpoints(folder, stem)
    names = [Path(path).name for path in kept]
    named = Path(latest).name if latest else ""
    intact = kept[: names.index(named) + 1] if named in names else list(kept)
    corrupt: list[_Corrupt] = []
    while intact:
        fault = find_corruption(intact[-1], allow_nan)
        if fault is None:
            break
        corrupt.append(_Corrupt(intact.pop(), fault))
    if not corrupt and (latest is not None or not kept):
        return None
    if not intact and not _is_first_save(Path(corrupt[-1].path), len(corrupt)):
        raise BridgeError(
            f"{folder}: none of its {len(kept)} checkpoint(s) can be read (the newest: "
            f"{corrupt[0].fault}); {remedy}"
        )
    if intact:
        write_state(folder, intact)
    for checkpoint in corrupt:
        for path in Path(folder).glob(f"{glob.escape(Path(checkpoint.path).name)}.*"):
            path.rename(path.with_name(PREFIX + path.name))
    return _describe(corrupt, Path(intact[-1]).name if intact else None)


def _is_first_save(checkpoint: Path, num: int) -> bool:
    """Returns whether a program was killed while it saved the first checkpoint of a folder.

    TensorFlow writes the state file after the checkpoint, and the graph (.meta) last.
    """
    has_state = (checkpoint.parent / STATE).exists()
    return (
        num == 1 and not has_state and not checkpoint.with_name(f"{checkpoint.name}.meta").exists()
    )


def _describe(corrupt: list[_Corrupt], resumed: Optional[str]) -> str:
    """Returns the message about corrupt checkpoints, newest first."""
    if not corrupt:
        return (
            "the file that names the newest checkpoint is corrupt or missing; "
            f"resuming from {resumed}"
        )
    first = Path(corrupt[0].path).name
    if resumed is None:
        return (
            f"the first checkpoint, {first}, was not saved completely ({corrupt[0].fault}); "
            f"starting from the beginning; renamed to {PREFIX}{first}.*"
        )
    more = f" and {len(corrupt) - 1} before it" if len(corrupt) > 1 else ""
    return (
        f"checkpoint {first}{more} is corrupt ({corrupt[0].fault}); resuming from {resumed}; "
        f"renamed to {PREFIX}{first}.*"
    )
