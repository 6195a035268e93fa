"""How many processes of this machine predict files."""

from collections.abc import Sequence

from estimator_bridge.processor import count_cores
from trainer.inputs.files import DataFile
from trainer.inputs.row_estimate import estimate_rows

# A process is started for as many rows. To start one costs as much processor time as some 500,000.
ROWS_OF_PROCESS = 2_000_000


def count_processes(requested: int, files: Sequence[DataFile]) -> int:
    """Returns the number of processes that predict some files; 1: this one.

    Args:
        requested: the number that the user has given; 0: unset.
        files: the input.
    """
    if len(files) < 2 or requested == 1:
        return 1
    if requested:
        return min(requested, len(files))
    rows = estimate_rows(files) or 0
    return max(1, min(count_cores(), len(files), int(rows // ROWS_OF_PROCESS)))
