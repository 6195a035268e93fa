"""Keeps a checkpoint readable while another process trains and deletes old checkpoints."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Optional

from estimator_bridge import tf
from trainer.job_dir import checkpoints


@contextmanager
def pin(checkpoint: str, folder: Path) -> Iterator[Optional[str]]:
    """Keeps a checkpoint readable while training goes on and deletes its oldest ones.

    Args:
        checkpoint: its path.
        folder: a folder of this process alone, on the same file system. Its content is deleted
            before and after.

    Yields:
        The path of hard links to its files, or of a copy where the file system has no hard links.
        None where the checkpoint is incomplete: just being written, or already being deleted.
    """
    _remove(folder)
    folder.mkdir(parents=True)
    try:
        yield _link(Path(checkpoint), folder)
    finally:
        _remove(folder)


def snapshot(job_dir: str, folder: Path) -> None:
    """Makes `folder` a job_dir that contains the newest checkpoint of another, if it has one.

    For a process that restores a checkpoint while another process saves the same step again: the
    first thing that training saves is the checkpoint that it has just restored, in several writes.

    Args:
        job_dir: folder of the checkpoint.
        folder: a folder of this process alone, on the same file system; its content is deleted.
    """
    _remove(folder)
    folder.mkdir(parents=True)
    latest = checkpoints.latest_checkpoint(job_dir)
    if latest is not None and _link(Path(latest), folder) is not None:
        checkpoints.write_state(str(folder), [latest])


def _remove(folder: Path) -> None:
    if folder.exists():
        shutil.rmtree(folder)


def _link(checkpoint: Path, folder: Path) -> Optional[str]:
    """Links a checkpoint into a folder; returns the new path, None where it is incomplete."""
    linked = folder / checkpoint.name
    index = checkpoint.with_name(f"{checkpoint.name}.index")
    try:
        # The index first: Saver deletes it first, so that the data files existed after this copy.
        # A copy, because TensorFlow overwrites it in place where it saves the same step again.
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
