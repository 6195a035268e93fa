"""Collects logged rows for uses that follow the reading, such as the replay.

When a file has been read, the state notes the part with rows for each purpose. The rows are then
read again from the file, and the part is removed when they have been used. If a run is killed, or
its replay fails, the next run finds the parts, so every row is used once. The rows themselves are
not stored, because they may be private.
"""

from collections.abc import Sequence
from typing import NamedTuple, Optional, Protocol

from trainer.errors import TemporaryError, UserError
from trainer.watching.batches import Batch, Wanted
from trainer.watching.database import Part
from trainer.watching.reading import LogFile, ReadState, find_logs, read_log
from trainer.watching.state import State

# Purposes of parts: to predict rows again, and to choose rows to label.
REPLAY, LABEL_NEXT = "replay", "label_next"


class Collector(Protocol):
    """Collects rows for a purpose."""

    @property
    def is_full(self) -> bool:
        """Whether no more rows are wanted."""

    def can_use(self, batch: Batch) -> bool:
        """Returns whether a batch contains rows for the purpose.

        Args:
            batch: rows of any file.
        """

    def add(self, path: str, batch: Batch) -> None:
        """Adds rows of a batch.

        Args:
            path: path of the file, for messages.
            batch: the rows.
        """


class Collected(NamedTuple):
    """The result of collect.

    Attributes:
        parts: parts to remove from the state when their rows have been used.
        problems: a line for each part whose rows cannot be read again.
    """

    parts: list[Part]
    problems: list[str]


def collect(
    purpose: str, collector: Collector, files: Sequence[LogFile], wanted: Wanted, state: State
) -> Collected:
    """Reads the rows of the parts that are noted for a purpose.

    Args:
        purpose: name of the purpose.
        collector: gets the rows.
        files: files of the log; parts may be of others.
        wanted: the fields to read from each row.
        state: contains the parts.

    Raises:
        TemporaryError: a bucket does not respond.
    """
    known = {log.file.path: log for log in files}
    collected = Collected([], [])
    for part in state.list_parts(purpose):
        if not collector.is_full:
            try:
                found = _read_part(part, collector, known.get(part.path), wanted)
            except TemporaryError:
                raise
            except UserError as error:
                # The next run tries the part again.
                collected.problems.append(str(error))
                continue
            if not found:
                collected.problems.append(
                    f"{part.path}: was removed or replaced before the {purpose} of its rows; keep "
                    "logs until a run of the watch has ended"
                )
        collected.parts.append(part)
    return collected


def _read_part(part: Part, collector: Collector, log: Optional[LogFile], wanted: Wanted) -> bool:
    """Returns whether the rows of a part are still there, and gives them to the collector."""
    log = log or next(iter(find_logs([part.path], "requests")), None)
    if log is None:
        return False
    progress = ReadState(part.last)
    for batch in read_log(log.file, wanted, part.first, progress):
        collector.add(part.path, batch)
        if collector.is_full:
            return True
    return progress.records >= part.last
