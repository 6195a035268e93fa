"""The scan of a job's data, as a pass that an engine can run."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from trainer import config as config_lib
from trainer.inputs.scan import Scanned
from trainer.passes.contract import Piece, Rows
from trainer.schema import Schema


class ScanPass(NamedTuple):
    """Counts the rows of some files, and collects their statistics.

    Attributes:
        schema: columns and types.
        data: delimiter and header of CSV files, and the number of bad rows tolerated.
        times: dates that are no features, to read as well.
        is_keyed: whether the rows of all files name their values.
    """

    schema: Schema
    data: config_lib.DataConfig
    times: Sequence[str]
    is_keyed: bool

    def create(self) -> Scanned:
        """Returns the result of no rows."""
        return Scanned(self.schema, self.data, self.times, self.is_keyed)

    def read(self, piece: Piece, partial: Scanned) -> Iterator[Rows]:
        """Yields the rows of a file that fit the schema.

        Args:
            piece: the file.
            partial: takes the others.

        Raises:
            UserError: a file or a value does not fit the schema.
        """
        for batch in partial.read(piece.order, piece.file):
            yield Rows(batch.columns, batch.numbers, piece)

    def add(self, partial: Scanned, rows: Rows) -> None:
        """Adds rows that fit.

        Args:
            partial: changed in place.
            rows: the rows.
        """
        partial.add(rows.piece.number, rows.piece.file.path, rows.columns, rows.numbers)

    def merge(self, partial: Scanned, other: Scanned) -> None:
        """Adds what was found in other files.

        Args:
            partial: changed in place.
            other: of other files.

        Raises:
            UserError: there are more bad rows than are tolerated.
        """
        partial.merge(other)
