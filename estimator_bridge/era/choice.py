"""Chooses the TensorFlow that a program gets if no option names one."""

import os
from collections.abc import Sequence
from typing import NamedTuple, Optional

from ..user_files import notebook_cells
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


def choose(
    program: str,
    source: str = "",
    arguments: Sequence[str] = (),
    cells: Optional[Sequence[notebook_cells.Cell]] = None,
) -> Optional[Choice]:
    """Returns what a notebook or its project declares, else what its names or its checkpoint tell.

    Args:
      program: path of a script or folder; its project is searched.
      source: the Python file or notebook that runs; "" if it is not known.
      arguments: the program's arguments, which may name the folder of a checkpoint.
      cells: those of a notebook that has been read already; None to read them here.

    Returns:
      None if nothing tells a version.
    """
    if cells is None and source.endswith(notebook_cells.SUFFIX):
        cells = _read(source)
    found = _find_in_cells(source, cells or ()) or declared.find(program)
    if found is not None:
        return Choice(found.version, found.where)
    if not source.endswith((".py", notebook_cells.SUFFIX)) or not os.path.isfile(source):
        return None
    names = used.find(source, cells)
    if names.version == TF1:
        return Choice(names.version, names.where)
    # Canned Estimators save values of old optimizers too, whatever the program's own names mean.
    checkpoint = trained.find(arguments) if names.chooses_optimizer else None
    if checkpoint is not None and (names.version is None or checkpoint.version < names.version):
        return Choice(checkpoint.version, checkpoint.where)
    return None if names.version is None else Choice(names.version, names.where)


def _read(notebook: str) -> list[notebook_cells.Cell]:
    """Returns the cells of a notebook; none if it cannot be read."""
    try:
        with open(notebook, "rb") as file:
            return notebook_cells.read(file.read())
    except (OSError, ValueError):
        return []


def _find_in_cells(
    source: str, cells: Sequence[notebook_cells.Cell]
) -> Optional[declared.Declaration]:
    found = declared.find_in_cells(cells)
    return found and found._replace(where=f"{os.path.basename(source)}, {found.where}")
