"""Keeps a checkpoint readable while another process trains and deletes old checkpoints."""

import glob
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Optional

from estimator_bridge import tf
from trainer.errors import TemporaryError
from trainer.job_dir import checkpoints


def claim_folder(parent: Path, process: str, start: int, incarnation: str) -> Path:
    """Returns the folder in which a process keeps checkpoints, and removes those of earlier ones.

    A process that was suspended until its successor had started has another folder than it, and
    neither removes what the other reads.

    Args:
        parent: folder of the heartbeat files.
        process: name of the process, for example "worker-1".
        start: how many processes of this name have been started, up to this one.
        incarnation: unique ID of the process; a restarted one has another.
    """
    name = f"held-by-{process}."
    for path in parent.glob(f"{glob.escape(name)}*"):
        found = re.fullmatch(r"(\d+)\.\w+", path.name[len(name) :])
        if found is None or int(found[1]) < start:
            shutil.rmtree(path, ignore_errors=True)
    return parent / f"{name}{start}.{incarnation}"


@contextmanager
def pin(checkpoint: str, folder: Path) -> Iterator[Optional[str]]:
    """Keeps a checkpoint readable while training continues and deletes its oldest checkpoints.

    Args:
        checkpoint: its path.
        folder: a folder that only this process uses, on the same file system. Its contents are
            deleted before and after the block.

    Yields:
        The path of hard links to the files of the checkpoint, or of copies if the file system has
        no hard links. None if the checkpoint is incomplete because it is being written or deleted.
    """
    _remove(folder)
    folder.mkdir(parents=True)
    try:
        yield _link(Path(checkpoint), folder)
    finally:
        _remove(folder)


def snapshot(job_dir: str, folder: Path) -> None:
    """Makes `folder` a job_dir that contains the newest checkpoint of `job_dir`, if there is one.

    A process restores from this copy while another process saves the same step again. This happens
    at the start of training: it saves the checkpoint that it has just restored, in several writes.

    Args:
        job_dir: folder of the checkpoint.
        folder: a folder that only this process uses, on the same file system. Its contents are
            deleted first.

    Raises:
        TemporaryError: the newest checkpoint is being written or deleted at this moment.
    """
    _remove(folder)
    folder.mkdir(parents=True)
    latest = checkpoints.latest_checkpoint(job_dir)
    if latest is None:
        return
    if _link(Path(latest), folder) is None:
        # Without it, this process would start from another step than the others.
        raise TemporaryError(
            f"job_dir: checkpoint {latest} is incomplete; does another process still write it?"
        )
    checkpoints.write_state(str(folder), [latest])


def _remove(folder: Path) -> None:
    if folder.exists():
        shutil.rmtree(folder)


def _link(checkpoint: Path, folder: Path) -> Optional[str]:
    """Links a checkpoint into a folder; returns the new path, or None if it is incomplete."""
    linked = folder / checkpoint.name
    index = checkpoint.with_name(f"{checkpoint.name}.index")
    try:
        # The index is copied first. Saver deletes the index before the data files, so the data
        # files still exist while the index exists. The index is copied, not linked, because
        # TensorFlow overwrites it in place when it saves the same step again.
        shutil.copyfile(index, folder / index.name)
        for path in checkpoints.list_data_files(checkpoint):
            try:
                os.link(path, folder / path.name)
            except FileNotFoundError:
                raise
            except OSError:
                shutil.copyfile(path, folder / path.name)
    except FileNotFoundError:
        return None
    return str(linked) if checkpoints.has_all_shards(linked) and _has_index(linked) else None


def _has_index(checkpoint: Path) -> bool:
    try:
        tf.train.load_checkpoint(str(checkpoint))
    except (tf.errors.OpError, ValueError, RuntimeError):
        return False
    return True
