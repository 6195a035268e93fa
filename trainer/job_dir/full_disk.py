"""Translates errors of a full disk into one line that names the checkpoint to resume from."""

import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from trainer.errors import UserError
from trainer.job_dir.newest import latest_checkpoint
from trainer.job_layout import EXPORT_FOLDER
from trainer.storage.disk import describe_free_space, is_file_too_large, is_full_disk


@contextmanager
def translate_full_disk(job_dir: str) -> Iterator[None]:
    """Translates an error of a full disk, raised by any library, into a UserError.

    Unfinished exports of this process are deleted, because they are useless and the space is
    needed.

    Args:
        job_dir: the job's folder.

    Raises:
        UserError: the disk is full.
    """
    started = int(time.time())
    try:
        yield
    except Exception as error:
        if not is_full_disk(error):
            raise
        _remove_unfinished_exports(job_dir, started)
        # The one that the next run resumes. A newer one may be whole, while its name found no room.
        newest = latest_checkpoint(job_dir)
        left = f"{Path(newest).name} is complete" if newest else "no checkpoint has been written"
        if is_file_too_large(error):
            raise UserError(
                f"job_dir {job_dir}: a file has reached the greatest size that this process may "
                f"write; raise the limit (ulimit -f) and give the same command again; {left}"
            ) from error
        raise UserError(
            f"job_dir {job_dir}: its disk is full ({describe_free_space(job_dir)}); make room and "
            f"give the same command again, or lower run.keep_checkpoint_max; {left}"
        ) from error


def _remove_unfinished_exports(job_dir: str, started: int) -> None:
    """Removes the folders export/*/temp-<seconds since 1970> that this process has created."""
    for path in Path(job_dir).glob(f"{EXPORT_FOLDER}/*/temp-*"):
        begun = path.name.partition("-")[2]
        if begun.isdigit() and int(begun) >= started:
            shutil.rmtree(path, ignore_errors=True)
