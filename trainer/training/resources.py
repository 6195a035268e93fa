"""Translates errors of exhausted memory and disks; loads without TensorFlow."""

from collections.abc import Iterator
from contextlib import contextmanager

from trainer.job_dir.full_disk import translate_full_disk
from trainer.models.memory import translate_memory_errors


@contextmanager
def translate_resource_errors(job_dir: str) -> Iterator[None]:
    """Translates errors of a full disk or exhausted memory, raised by any library.

    Args:
        job_dir: the job's folder.

    Raises:
        UserError: the disk is full, or there is no more memory.
    """
    with translate_memory_errors(), translate_full_disk(job_dir):
        yield
