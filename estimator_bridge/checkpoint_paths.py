"""Finds the checkpoints of a folder by the names of their files, without TensorFlow."""

import glob
from pathlib import Path
from typing import Optional

__all__ = ["find_paths"]


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
