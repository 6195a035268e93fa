"""Checkpoints that are deleted while they are read, or that a crash has torn."""

import math
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Optional

from estimator_bridge import tf
from trainer import storage
from trainer.errors import UserError
from trainer.job_dir import compatibility

# Up to here a checkpoint is read whole, against its checksums; above, only its size is held
# against that of its variables.
CHECKED_BYTES = 256 << 20
TORN = "torn-"


@contextmanager
def hold(checkpoint: str, folder: Path) -> Iterator[Optional[str]]:
    """Keeps a checkpoint readable while training goes on and deletes its oldest ones.

    Args:
        checkpoint: its path.
        folder: a folder of this process alone, on the same file system; what is in it goes.

    Yields:
        the path of a second name of its files, or of a copy where files cannot have two; None
        where it is, or half of it, already deleted, or just being written.
    """
    _remove(folder)
    folder.mkdir(parents=True)
    try:
        yield _link(Path(checkpoint), folder)
    finally:
        _remove(folder)


def _remove(folder: Path) -> None:
    if folder.exists():
        shutil.rmtree(folder)


def take(job_dir: str, folder: Path) -> None:
    """Makes `folder` a job_dir of its own that has the newest checkpoint, if there is one.

    For a process that restores what another one is about to write anew: the first thing that
    training saves is the checkpoint that it has just restored, and not in one stroke.
    """
    _remove(folder)
    folder.mkdir(parents=True)
    latest = compatibility.latest_checkpoint(job_dir)
    if latest is not None and _link(Path(latest), folder) is not None:
        _write_state(str(folder), [latest])


def _link(checkpoint: Path, folder: Path) -> Optional[str]:
    held = folder / checkpoint.name
    index = checkpoint.with_name(f"{checkpoint.name}.index")
    try:
        # The index first: Saver deletes it first, so that what it names was there after it. A
        # copy, as TensorFlow writes it in place where it saves the same step again.
        shutil.copyfile(index, folder / index.name)
        for path in _list_data(checkpoint):
            try:
                os.link(path, folder / path.name)
            except FileNotFoundError:
                raise
            except OSError:
                shutil.copyfile(path, folder / path.name)
    except FileNotFoundError:
        return None
    return str(held) if _is_complete(held) and _has_index(held) else None


def _has_index(checkpoint: Path) -> bool:
    try:
        tf.train.load_checkpoint(str(checkpoint))
    except (tf.errors.OpError, ValueError, RuntimeError):
        return False
    return True


def _list_data(checkpoint: Path) -> list[Path]:
    return sorted(checkpoint.parent.glob(f"{checkpoint.name}.data-*-of-*"))


def _is_complete(checkpoint: Path) -> bool:
    """Whether all files are there that their names speak of."""
    data = _list_data(checkpoint)
    return bool(data) and len(data) == int(data[0].name.rpartition("-")[2])


def find_fault(checkpoint: str) -> Optional[str]:
    """What is wrong with the files of a checkpoint; None where they are whole."""
    if not _is_complete(Path(checkpoint)):
        return "files are missing"
    try:
        reader = tf.train.load_checkpoint(checkpoint)
        types, shapes = reader.get_variable_to_dtype_map(), reader.get_variable_to_shape_map()
        needed = sum(
            math.prod(shape) * types[name].size
            for name, shape in shapes.items()
            if types[name] != tf.string
        )
        there = sum(path.stat().st_size for path in _list_data(Path(checkpoint)))
        if there < needed:
            return f"{there:,} bytes of at least {needed:,} are there"
        if there <= CHECKED_BYTES:
            for name in shapes:
                reader.get_tensor(name)
    except (tf.errors.OpError, ValueError, OSError, RuntimeError) as error:
        return str(error).splitlines()[0][:80]
    return None


def set_torn_aside(job_dir: str, log: Callable[[str], None]) -> bool:
    """Lets a job go on from its newest checkpoint that is whole.

    A crash, or a full disk, may leave the newest checkpoint cut short, or the file that names it.
    Torn files are renamed, not deleted.

    Args:
        job_dir: the job's folder, which no other process is writing checkpoints to.
        log: takes a line, where something was torn.

    Returns:
        whether something was torn.

    Raises:
        UserError: there are checkpoints and none is whole.
    """
    latest, kept = compatibility.latest_checkpoint(job_dir), compatibility.list_checkpoints(job_dir)
    before = kept[: kept.index(latest) + 1] if latest in kept else kept
    torn: list[tuple[str, str]] = []
    while before:
        fault = find_fault(before[-1])
        if fault is None:
            break
        torn.append((before.pop(), fault))
    if not torn and (latest is not None or not kept):
        return False
    if not before:
        raise UserError(
            f"job_dir {job_dir}: none of its {len(kept)} checkpoint(s) can be read (the newest: "
            f"{torn[0][1]}); use another --job_dir, or begin anew with --fresh={job_dir}"
        )
    _write_state(job_dir, before)
    for checkpoint, _ in torn:
        for path in Path(job_dir).glob(f"{Path(checkpoint).name}.*"):
            path.rename(path.with_name(TORN + path.name))
    name = Path(before[-1]).name
    if torn:
        first, fault = Path(torn[0][0]).name, torn[0][1]
        more = f" and {len(torn) - 1} before it" if len(torn) > 1 else ""
        log(
            f"checkpoint {first}{more} is torn ({fault}); going on from {name}; kept as "
            f"{TORN}{first}.*"
        )
    else:
        log(f"the file that names the newest checkpoint is torn or gone; going on from {name}")
    return True


def _write_state(job_dir: str, kept: list[str]) -> None:
    """Writes the file by which TensorFlow finds the newest checkpoint."""
    try:
        state = tf.train.get_checkpoint_state(job_dir)
    except ValueError:
        state = None
    named = {Path(path).name for path in state.all_model_checkpoint_paths} if state else set()
    # What it does not name training does not delete, either.
    names = [Path(path).name for path in kept]
    lines = [f'model_checkpoint_path: "{names[-1]}"']
    lines += [
        f'all_model_checkpoint_paths: "{name}"'
        for name in names
        if name in named or name == names[-1]
    ]
    storage.write_text(Path(job_dir) / "checkpoint", "\n".join(lines) + "\n")
