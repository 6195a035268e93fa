"""Which rows belong together: the slices of --by, and the groups of --group."""

from collections.abc import Sequence
from typing import Optional

import numpy as np

from trainer.inputs.shuffle import Chunk
from trainer.metrics.grouping import Grouper, Grouping, Words
from trainer.prediction.description import ExportDescription


class Places:
    """Takes rows in chunks, and keeps only numbers of them, so that long texts take no memory.

    Args:
        by: names of the columns of each slicing.
        group: column whose rows of one value are a group; None: each row is one.
        description: schema and statistics of the candidate.

    Attributes:
        names: the columns that are needed.
    """

    def __init__(
        self, by: Sequence[Sequence[str]], group: Optional[str], description: ExportDescription
    ):
        schema = description.schema
        self._grouper = Grouper(by, schema, description.statistics.columns)
        self._group = group
        is_text = group is not None and schema.columns[group].raw_type == "string"
        self._words = Words() if is_text else None
        self._numbers: list[np.ndarray] = []
        columns = [name for names in by for name in names]
        self.names = list(dict.fromkeys([*columns, *([group] if group is not None else [])]))

    def add(self, chunk: Chunk) -> None:
        """Takes the next rows.

        Args:
            chunk: at least the columns `names`.
        """
        self._grouper.add(chunk)
        if self._group is None:
            return
        if self._words is not None:
            self._words.add(chunk[self._group])
        else:
            self._numbers.append(chunk[self._group])

    def merge(self, later: "Places") -> None:
        """Takes the rows of another object, which come after those of this one.

        Args:
            later: of the same slicings and group; must not be used afterwards.
        """
        self._grouper.merge(later._grouper)
        self._numbers.extend(later._numbers)
        if self._words is not None and later._words is not None:
            self._words.merge(later._words)

    def finish_slices(self) -> dict[str, Grouping]:
        """Returns column, or columns joined by * → slice of each row; for at least one chunk."""
        return self._grouper.finish()

    def finish_groups(self) -> Optional[np.ndarray]:
        """Returns the group of each row, from 0, [rows]; None if each row is a group."""
        if self._words is not None:
            return self._words.finish().codes
        if self._group is None:
            return None
        codes: np.ndarray = np.unique(np.concatenate(self._numbers), return_inverse=True)[1]
        return codes
