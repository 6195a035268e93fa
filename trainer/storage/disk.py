"""Checks that a folder can be written, and recognises errors of a full disk."""

import errno
import os
import shutil
import tempfile
from pathlib import Path
from typing import Optional

from trainer.errors import UserError

# Messages of the operating system that TensorFlow and other libraries include in their errors.
TOO_LARGE = "File too large"
FULL_DISK_MESSAGES = ("No space left on device", "Disk quota exceeded", TOO_LARGE)
FULL_DISK_ERRNOS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def check_writable(job_dir: str, make: bool) -> None:
    """Checks that a job's folder is writable, by creating a temporary file in it.

    Args:
        job_dir: the folder.
        make: whether to create the folder. If False and the folder does not exist, the nearest
            existing parent folder is checked instead.

    Raises:
        UserError: the folder is not writable.
    """
    folder = Path(job_dir) if make else find_existing(job_dir)
    named = "" if folder in (Path(job_dir), Path(job_dir).absolute()) else f"{folder} "
    try:
        if make:
            folder.mkdir(parents=True, exist_ok=True)
        # The file has a unique name, because all processes of a cluster do this at the same time.
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise UserError(
            f"job_dir {job_dir}: {named}cannot be written: {error.strerror}; "
            "choose another --job_dir"
        ) from error


def find_existing(folder: str) -> Path:
    """Returns the folder or, if it does not exist, its nearest existing parent folder.

    Args:
        folder: its path.
    """
    path = Path(folder).absolute()
    while not path.exists():
        path = path.parent
    return path


def require_folder(folder: Path, named: str, remedy: str) -> None:
    """Checks that a folder exists or can be made, and is writable, before work that needs it.

    Args:
        folder: the folder.
        named: how the user named it, for the message.
        remedy: what to do if it cannot be used, for the message.

    Raises:
        UserError: there is another file in its place, or it is not writable.
    """
    existing = next(path for path in (folder, *folder.parents) if path.exists())
    if not existing.is_dir():
        raise UserError(f"{named}: {existing} is not a folder; {remedy}")
    if not os.access(existing, os.W_OK):
        raise UserError(f"{named}: {existing} is not writable; {remedy}")


def is_full_disk(error: Optional[BaseException]) -> bool:
    """Returns whether an error, or one of its causes, reports a full disk.

    Args:
        error: the error; None for none.
    """
    return _reports(error, FULL_DISK_ERRNOS, FULL_DISK_MESSAGES)


def is_file_too_large(error: BaseException) -> bool:
    """Returns whether an error, or one of its causes, reports a file beyond the limit of its size.

    Args:
        error: the error.
    """
    return _reports(error, (errno.EFBIG,), (TOO_LARGE,))


def _reports(
    error: Optional[BaseException], errnos: tuple[int, ...], messages: tuple[str, ...]
) -> bool:
    seen: set[int] = set()
    # An error that is raised again, from what it has caused, is among its own causes.
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        if isinstance(error, OSError) and error.errno in errnos:
            return True
        if not isinstance(error, UserError) and any(message in str(error) for message in messages):
            return True
        error = error.__cause__ or error.__context__
    return False


def describe_free_space(folder: str) -> str:
    """Returns the free space of a folder's disk as text.

    Args:
        folder: its path.
    """
    try:
        free = shutil.disk_usage(folder).free
    except OSError:
        return "free space unknown"
    return f"{free / 2**20:,.1f} MiB free"
