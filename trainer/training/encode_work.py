"""Encodes the rows of a job by the processes of an engine; imports no TensorFlow."""

from collections.abc import Sequence
from typing import NamedTuple

import estimator_bridge
from trainer.inputs.cache_entry import Part
from trainer.passes.contract import Piece
from trainer.training.recipe import Recipe


class EncodeWork(NamedTuple):
    """Encodes files into files of rows; a task is as that of a pass.

    Attributes:
        recipe: what the rows depend on.
        folder: for the files of rows, as a worker can reach it.
        fingerprint: of the encoder and of the code in the process that has started the work.
    """

    recipe: Recipe
    folder: str
    fingerprint: str

    def run(self, task: Sequence[Piece]) -> list[Part]:
        """Writes the rows of some files into one file.

        Args:
            task: the files.

        Raises:
            UserError: a file cannot be read, the folder cannot be written, or this process would
                encode the rows otherwise.
        """
        estimator_bridge.set_verbosity("error")
        # Imported here, because it imports TensorFlow, which logs until it is told not to.
        from trainer.training.row_files import write_rows

        return [write_rows(self.recipe, task, self.folder, self.fingerprint)]

    def merge(self, first: list[Part], second: list[Part]) -> list[Part]:
        """Returns the files of rows of two groups of tasks.

        Args:
            first: of one group.
            second: of the other.
        """
        return first + second
