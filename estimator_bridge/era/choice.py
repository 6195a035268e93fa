"""Chooses the TensorFlow that a program gets if no option names one."""

import os
from collections.abc import Sequence
from typing import NamedTuple, Optional

from .. import notebook_cells
from . import TF1, declared, optimizers, trained, used

__all__ = ["Choice", "choose"]


class Choice(NamedTuple):
    """The version that a program gets.

    Attributes:
      version: (major, minor); (1, 15) for every 1.x; None for today's names.
      where: what says so, for a message.
    """

    version: Optional[tuple[int, int]]
    where: str

    @property
    def changes_names(self) -> bool:
        """Whether the program gets other names than today's."""
        return self.version is not None and self.version < optimizers.REPLACED_IN


def choose(program: str, source: str = "", arguments: Sequence[str] = ()) -> Optional[Choice]:
    """Returns what a notebook or its project declares, else what its names or its checkpoint tell.

    Args:
      program: path of a script or folder; its project is searched.
      source: the Python file or notebook that runs; "" if it is not known.
      arguments: the program's arguments, which may name the folder of a checkpoint.

    Returns:
      None if nothing tells a version.
    """
    found = _find_in_notebook(source) or declared.find(program)
    if found is not None:
        return Choice(found.version, found.where)
    if not source.endswith((".py", notebook_cells.SUFFIX)) or not os.path.isfile(source):
        return None
    names = used.find(source)
    if names.version == TF1:
        return Choice(names.version, names.where)
    # Canned Estimators save values of old optimizers too, whatever the program's own names mean.
    checkpoint = trained.find(arguments) if names.chooses_optimizer else None
    if checkpoint is not None and (names.version is None or checkpoint.version < names.version):
        return Choice(checkpoint.version, checkpoint.where)
    return None if names.version is None else Choice(names.version, names.where)


def _find_in_notebook(source: str) -> Optional[declared.Declaration]:
    if not source.endswith(notebook_cells.SUFFIX):
        return None
    try:
        with open(source, "rb") as file:
            found = declared.find_in_notebook(file.read())
    except (OSError, ValueError):
        return None
    return found and found._replace(where=f"{os.path.basename(source)}, {found.where}")
