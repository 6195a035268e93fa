"""Finds which Keras optimizers wrote the checkpoint that a program's arguments name."""

import glob
import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, Optional

from ..index_table import read_entries
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
_MAX_EXPORTS = 100


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
      arguments: the program's arguments, such as `--model_dir=job` or `job`.
    """
    for argument in arguments:
        for folder in (argument, argument.partition("=")[2]):
            found = _examine(Path(folder)) if folder and os.path.isdir(folder) else None
            if found is not None:
                return found
    return None


def _examine(folder: Path) -> Optional[Trained]:
    try:
        state = _STATE.search((folder / "checkpoint").read_text(encoding="utf-8"))
        if state is None:
            return None
        checkpoint = folder / state.group(1)
        keys = read_entries(Path(f"{checkpoint}.index").read_bytes())
        names = (key.decode(errors="replace") for key, _ in keys)
        old = next(filter(OLD_KEY.search, names), None)
    except (OSError, ValueError):
        # A missing or damaged file is the affair of whoever restores the checkpoint.
        return None
    if old is None:
        return None
    versions = [
        version
        for version in map(_written_by, _find_graphs(folder, checkpoint))
        if version is not None and version < REPLACED_IN
    ]
    # A checkpoint that goes on today names today's version; older exports beside it remain.
    version = min(versions, default=(REPLACED_IN[0], REPLACED_IN[1] - 1))
    return Trained(version, f"{checkpoint} contains {old}, which old optimizers save")


def _find_graphs(folder: Path, checkpoint: Path) -> Iterator[Path]:
    yield Path(f"{checkpoint}.meta")
    pattern = str(Path(glob.escape(str(folder))) / "export" / "*" / "*" / "saved_model.pb")
    yield from map(Path, sorted(glob.glob(pattern))[:_MAX_EXPORTS])


def _written_by(path: Path) -> Optional[tuple[int, int]]:
    try:
        with path.open("rb") as file:
            found = _WRITTEN_BY.search(file.read(_MAX_BYTES))
    except OSError:
        return None
    return (int(found.group(1)), int(found.group(2))) if found else None
