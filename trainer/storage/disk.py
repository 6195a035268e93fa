"""A full disk, told as what it is, wherever it is noticed."""

import errno
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Optional

from trainer.errors import UserError

# How the operating system puts it, as TensorFlow and others pass it on.
SAYINGS = ("No space left on device", "Disk quota exceeded", "File too large")
NUMBERS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def check_writable(job_dir: str, make: bool) -> None:
    """Tries to write into a job's folder.

    Args:
        job_dir: the folder.
        make: whether to make it. If not, and it is not there, what it would be made in is tried.

    Raises:
        UserError: it cannot be written.
    """
    folder = Path(job_dir) if make else find_existing(job_dir)
    named = "" if make else f"{folder} "
    try:
        if make:
            folder.mkdir(parents=True, exist_ok=True)
        # Of a name of its own: the processes of a cluster try this at once.
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise UserError(
            f"job_dir {job_dir}: {named}cannot be written: {error.strerror}; "
            "choose another --job_dir"
        ) from error


def find_existing(folder: str) -> Path:
    """The folder, or the nearest one above it that is there."""
    path = Path(folder).absolute()
    while not path.exists():
        path = path.parent
    return path


@contextmanager
def full_disk_explained(job_dir: str) -> Iterator[None]:
    """Turns an error of a full disk, of whatever library, into one that the user can mend.

    What could not be written to its end, and so is of no use, is taken away: the space is wanted.

    Args:
        job_dir: the job's folder, to say what is left there.

    Raises:
        UserError: the disk is full.
    """
    started = int(time.time())
    try:
        yield
    except Exception as error:
        if not is_full_disk(error):
            raise
        _remove_unfinished(job_dir, started)
        kept = find_newest(job_dir)
        held = f"{kept.name} is whole" if kept else "no checkpoint has been written"
        raise UserError(
            f"job_dir {job_dir}: its disk is full ({_describe_free(job_dir)}); make room and give "
            f"the same command again, or lower run.keep_checkpoint_max; {held}"
        ) from error


def _remove_unfinished(job_dir: str, started: int) -> None:
    """Removes exports that this process began: temp-<seconds since 1970> until they are whole."""
    for path in Path(job_dir).glob("export/*/temp-*"):
        begun = path.name.partition("-")[2]
        if begun.isdigit() and int(begun) >= started:
            shutil.rmtree(path, ignore_errors=True)


def is_full_disk(error: Optional[BaseException]) -> bool:
    """Whether an error, or one that it came from, says that a disk is full."""
    while error is not None:
        if isinstance(error, OSError) and error.errno in NUMBERS:
            return True
        if not isinstance(error, UserError) and any(words in str(error) for words in SAYINGS):
            return True
        error = error.__cause__ or error.__context__
    return False


def find_newest(job_dir: str) -> Optional[Path]:
    """The newest checkpoint that has both its files; its path without their endings."""
    steps = {}
    for index in Path(job_dir).glob("model.ckpt-*.index"):
        step = index.stem.rpartition("-")[2]
        has_data = any(index.parent.glob(f"{index.stem}.data-*"))
        if step.isdigit() and index.stat().st_size and has_data:
            steps[int(step)] = index.with_suffix("")
    return steps[max(steps)] if steps else None


def _describe_free(folder: str) -> str:
    try:
        free = shutil.disk_usage(folder).free
    except OSError:
        return "how much is free cannot be told"
    return f"{free / 2**20:,.1f} MiB free"
