"""The slices (--by) and the groups (--group) to which rows belong."""

from collections.abc import Sequence
from typing import Optional

import numpy as np
import pyarrow as pa

from trainer.inputs.row_hashes import hash_words
from trainer.inputs.shuffle import Chunk
from trainer.metrics.grouping import Grouper, Grouping
from trainer.prediction.description import ExportDescription


class Places:
    """Collects the slices and groups of rows as numbers, so that long texts need no memory.

    Args:
        by: names of the columns of each slicing.
        group: column whose rows with the same value form a group; None: each row is a group.
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
        self._is_text = group is not None and schema.columns[group].raw_type == "string"
        self._values: list[np.ndarray] = []
        columns = [name for names in by for name in names]
        self.names = list(dict.fromkeys([*columns, *([group] if group is not None else [])]))

    def add(self, chunk: Chunk) -> None:
        """Adds the next rows.

        Args:
            chunk: at least the columns `names`.
        """
        self._grouper.add(chunk)
        if self._group is not None:
            self._values.append(_number(chunk[self._group]))

    def merge(self, later: "Places") -> None:
        """Adds the rows of another object after the rows of this one.

        Args:
            later: an object with the same slicings and group; it must not be used afterwards.
        """
        self._grouper.merge(later._grouper)
        self._values.extend(later._values)

    def clear(self) -> None:
        """Discards the rows; later rows are ignored."""
        self.names, self._group = [], None
        self._values.clear()
        self._grouper.clear()

    def find_groups(self, chunk: Chunk) -> Optional[np.ndarray]:
        """Returns a number for the group of each row, 8 bytes each, [rows]; None without groups.

        Args:
            chunk: at least the columns `names`.
        """
        if self._group is None:
            return None
        numbers = _number(chunk[self._group])
        # 0.0 and -0.0 belong to the same group.
        return numbers.astype(np.float64) + 0.0 if numbers.dtype.kind == "f" else numbers

    def finish_slices(self) -> dict[str, Grouping]:
        """Returns column, or columns joined by * → slice of each row; for at least one chunk."""
        return self._grouper.finish()

    def finish_groups(self) -> Optional[np.ndarray]:
        """Returns the group of each row, from 0, [rows]; None if each row is a group."""
        if self._group is None:
            return None
        values = np.concatenate(self._values)
        self._values.clear()
        _, first, codes = np.unique(values, return_index=True, return_inverse=True)
        if self._is_text:
            # Groups are ordered by their first row, because the order of hashes means nothing.
            codes = np.argsort(np.argsort(first))[codes]
        return np.asarray(codes)


def _number(values: np.ndarray) -> np.ndarray:
    """Returns a number for each value, [rows]; for texts a hash, which needs less memory."""
    if values.dtype != object:
        return values
    encoded = pa.array(values, pa.binary()).dictionary_encode()
    hashes: np.ndarray = hash_words(encoded.dictionary)[encoded.indices.to_numpy()]
    return hashes
