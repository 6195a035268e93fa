"""What a pass over data is.

A pass makes a partial result, adds the record batches of some files to it, and merges partial
results of different files. The result is the same whatever the order of the files, and however they
are divided. So a pass can run in one process, or on many machines.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, Protocol, TypeVar

import numpy as np
import pyarrow as pa

from trainer.inputs.files import DataFile

Partial = TypeVar("Partial")


class Piece(NamedTuple):
    """A file of the data, or a share of it.

    Attributes:
        number: of the file in the data, from 0.
        file: the file.
    """

    number: int
    file: DataFile

    @property
    def order(self) -> int:
        """A number that is higher for a later file, and for a later share of a file."""
        return (self.number << 20) + (self.file.part.number if self.file.part else 0)


class Rows(NamedTuple):
    """Some rows of a piece.

    Attributes:
        columns: the rows.
        numbers: number of each row in its file, int64 [rows].
        piece: the file.
    """

    columns: pa.RecordBatch
    numbers: np.ndarray
    piece: Piece


class Pass(Protocol[Partial]):
    """One pass over data; it can be pickled."""

    def create(self) -> Partial:
        """Returns the partial result of no rows."""

    def read(self, piece: Piece, partial: Partial) -> Iterator[Rows]:
        """Yields the rows of a file.

        Args:
            piece: the file.
            partial: records what is wrong with the file.
        """

    def add(self, partial: Partial, rows: Rows) -> None:
        """Adds rows to a partial result.

        Args:
            partial: changed in place.
            rows: the rows.
        """

    def merge(self, partial: Partial, other: Partial) -> None:
        """Adds a partial result of other files to one.

        Args:
            partial: changed in place.
            other: may be changed too.
        """


def number_files(files: Sequence[DataFile]) -> list[Piece]:
    """Returns the pieces of some data.

    Args:
        files: the files; all shares of a file follow one another.
    """
    pieces: list[Piece] = []
    number = -1
    for file in files:
        number += file.part is None or file.part.number == 0
        pieces.append(Piece(number, file))
    return pieces


def add_piece(
    one: Pass[Partial],
    partial: Partial,
    piece: Piece,
    count_rows: Callable[[int], None] = lambda rows: None,
) -> None:
    """Adds a file to a partial result.

    Args:
        one: the pass.
        partial: changed in place.
        piece: the file.
        count_rows: is called with the number of rows of each batch.

    Raises:
        UserError: the file cannot be read.
    """
    for rows in one.read(piece, partial):
        one.add(partial, rows)
        count_rows(rows.columns.num_rows)
