"""Finds the checkpoints of a folder by the names of their files, without TensorFlow."""

import glob
from pathlib import Path
from typing import Optional

__all__ = ["find_paths", "with_parts"]


def find_paths(folder: str, stem: Optional[str]) -> dict[int, str]:
    """Returns step → path of the checkpoints in a folder.

    Args:
      folder: folder of the checkpoints.
      stem: their name before "-STEP"; None for any name.
    """
    paths = {}
    for index in Path(folder).glob(f"{'*' if stem is None else glob.escape(stem)}-*.index"):
        step = index.stem.rpartition("-")[2]
        if step.isdecimal() and step.isascii():
            paths[int(step)] = str(index.with_suffix(""))
    return paths


def with_parts(prefix: str) -> str:
    """Returns the path by which TensorFlow reads a checkpoint.

    That is its prefix, but for one of SaverDef.V1 in several files: PREFIX-?????-of-00002.

    Args:
      prefix: the path of its files without their endings.
    """
    if glob.glob(f"{glob.escape(prefix)}.index") or glob.glob(glob.escape(prefix)):
        return prefix
    parts = glob.glob(f"{glob.escape(prefix)}-?????-of-?????")
    return f"{prefix}-?????{parts[0][len(prefix) + len('-00000') :]}" if parts else prefix
