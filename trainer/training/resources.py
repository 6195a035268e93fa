"""Translates errors of exhausted memory and full disks; does not import TensorFlow."""

from collections.abc import Iterator
from contextlib import contextmanager

from trainer.job_dir.full_disk import translate_full_disk
from trainer.models.memory import translate_memory_errors


@contextmanager
def translate_resource_errors(job_dir: str) -> Iterator[None]:
    """Translates any library's errors of a full disk or exhausted memory into a UserError.

    Args:
        job_dir: the job's folder.

    Raises:
        UserError: the disk is full, or there is no more memory.
    """
    with translate_memory_errors(), translate_full_disk(job_dir):
        yield
