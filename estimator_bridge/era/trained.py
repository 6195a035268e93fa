"""Finds which Keras optimizers wrote the checkpoint that a program's arguments name."""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple, Optional

from ..model_files.index_table import read_entries
from .folders import Folder, open_folder
from .optimizers import REPLACED_IN

__all__ = ["OLD_KEY", "Trained", "find"]

# The values that the optimizers of 2.0 to 2.10 save with their slots; later ones save none of them.
OLD_KEY = re.compile(
    r"(?:^|/)(?:Adam|SGD|Adagrad|RMSprop|Adadelta|Adamax|Nadam|Ftrl)/"
    r"(?:beta_1|beta_2|beta|decay|momentum|rho)$"
)
# The fields 5 and 6 of MetaInfoDef: TensorFlow's version, and that of its source.
_WRITTEN_BY = re.compile(rb"\x2a[\x05-\x14](2)\.(\d{1,2})\.\d[\w.-]*\x32")
_STATE = re.compile(r'^model_checkpoint_path:\s*"([^"\\]+)"', re.MULTILINE)
# What describes the writer is at the start of these files.
_MAX_BYTES = 8 << 20
# A larger index is not read.
_MAX_INDEX_BYTES = 256 << 20


class Trained(NamedTuple):
    """What a checkpoint tells.

    Attributes:
      version: the (major, minor) that wrote it or an export beside it; the last with its
        optimizers if that is not known.
      where: the checkpoint and what it contains, for a message.
    """

    version: tuple[int, int]
    where: str


def find(arguments: Sequence[str]) -> Optional[Trained]:
    """Returns what the newest checkpoint in a named folder tells, if old optimizers wrote it.

    Args:
      arguments: the program's arguments, such as `--model_dir=job`, `job` or `gs://bucket/job`.
    """
    for argument in arguments:
        for path in (argument, argument.partition("=")[2]):
            folder = open_folder(path)
            found = _examine(folder) if folder is not None else None
            if found is not None:
                return found
    return None


def _examine(folder: Folder) -> Optional[Trained]:
    try:
        state = _STATE.search(folder.read("checkpoint", _MAX_BYTES).decode("utf-8"))
        if state is None:
            return None
        # An absolute path names a file of this folder, unless the folder was copied.
        checkpoint = state.group(1).rpartition("/")[2]
        keys = read_entries(folder.read(f"{checkpoint}.index", _MAX_INDEX_BYTES))
        names = (key.decode(errors="replace") for key, _ in keys)
        old = next(filter(OLD_KEY.search, names), None)
    except (OSError, ValueError):
        # A missing or damaged file is the affair of whoever restores the checkpoint.
        return None
    if old is None:
        return None
    versions = [
        version
        for version in _find_writers(folder, checkpoint)
        if version is not None and version < REPLACED_IN
    ]
    # A checkpoint that goes on today names today's version; older exports beside it remain.
    version = min(versions, default=(REPLACED_IN[0], REPLACED_IN[1] - 1))
    return Trained(version, f"{folder}/{checkpoint} contains {old}, which old optimizers save")


def _find_writers(folder: Folder, checkpoint: str) -> Iterator[Optional[tuple[int, int]]]:
    """Yields the versions that wrote a checkpoint's graph and the exports."""
    yield _written_by(folder, f"{checkpoint}.meta")
    try:
        exports = folder.find_exports()
    except OSError:
        return
    for name in exports:
        yield _written_by(folder, name)


def _written_by(folder: Folder, name: str) -> Optional[tuple[int, int]]:
    try:
        found = _WRITTEN_BY.search(folder.read(name, _MAX_BYTES))
    except OSError:
        return None
    return (int(found.group(1)), int(found.group(2))) if found else None
