"""Writes files and folders that get their names when all of them are complete."""

import contextlib
import os
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

__all__ = ["complete_together"]


@contextlib.contextmanager
def complete_together(targets: Sequence[str]) -> Iterator[list[str]]:
    """Yields a path beside each target to write to; at the end, these replace the targets.

    If the body fails, nothing remains and the targets are as before. A path that the body has not
    written is left out.

    Args:
      targets: the files or folders to write.
    """
    paths = [
        str(Path(one).with_name(f".partial-{os.getpid()}-{Path(one).name}")) for one in targets
    ]
    try:
        yield paths
        for path, target in zip(paths, targets):
            if os.path.isdir(target) and os.path.exists(path):
                shutil.rmtree(target)
            with contextlib.suppress(FileNotFoundError):
                os.replace(path, target)
    finally:
        for path in paths:
            shutil.rmtree(path, ignore_errors=True)
            with contextlib.suppress(OSError):
                os.remove(path)
