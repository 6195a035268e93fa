"""Compares rows with a schema and collects their statistics, in one pass."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from trainer import config as config_lib
from trainer.errors import TemporaryError, UserError
from trainer.inputs.bad_rows import BadRows, Examples
from trainer.inputs.raw_batches import ReadDetails
from trainer.inputs.row_sample import place_rows
from trainer.inputs.scan import StreamingStatistics
from trainer.inputs.tables import read_batches
from trainer.passes.contract import Piece, Rows
from trainer.schema.types import Schema


class Checked:
    """What was found in some files.

    Args:
        schema: the schema.
        names: the columns that are checked.

    Attributes:
        num_rows: number of rows that fit.
        bad_rows: the rows that do not.
        statistics: of the rows that fit.
        damaged: why files cannot be read: the first ones.
        num_damaged: number of files that cannot be read.
    """

    def __init__(self, schema: Schema, names: Sequence[str]):
        self.num_rows = self.num_damaged = 0
        self.bad_rows = BadRows(None)
        self.statistics = StreamingStatistics(schema, names)
        self.damaged = Examples()


class CheckPass(NamedTuple):
    """Checks every row of some files.

    Attributes:
        schema: the schema.
        names: the columns to check.
        data: delimiter and header of CSV files.
        details: how files are read other than the schema says.
    """

    schema: Schema
    names: Sequence[str]
    data: config_lib.DataConfig
    details: ReadDetails

    def create(self) -> Checked:
        """Returns the result of no rows."""
        return Checked(self.schema, self.names)

    def read(self, piece: Piece, partial: Checked) -> Iterator[Rows]:
        """Yields the rows of a file that fit the schema.

        Args:
            piece: the file.
            partial: takes the others, and why the file cannot be read.
        """
        file, bad = piece.file, partial.bad_rows
        bad.file = piece.order
        try:
            for batch in read_batches(file, self.schema, self.names, self.data, bad, self.details):
                yield Rows(batch.columns, batch.numbers, piece)
        except TemporaryError:
            raise
        except UserError as error:
            partial.damaged.add(piece.order, str(error))
            partial.num_damaged += 1

    def add(self, partial: Checked, rows: Rows) -> None:
        """Adds rows that fit.

        Args:
            partial: changed in place.
            rows: the rows.
        """
        partial.statistics.add(rows.columns, place_rows(rows.piece.number, rows.numbers))
        partial.num_rows += rows.columns.num_rows

    def merge(self, partial: Checked, other: Checked) -> None:
        """Adds what was found in other files.

        Args:
            partial: changed in place.
            other: of other files.
        """
        partial.num_rows += other.num_rows
        partial.num_damaged += other.num_damaged
        partial.damaged.merge(other.damaged)
        partial.bad_rows.merge(other.bad_rows)
        partial.statistics.merge(other.statistics)
