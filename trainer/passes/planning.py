"""Divides files into tasks for the workers of an engine."""

from collections.abc import Sequence

from trainer.inputs.files import DataFile, FilePart
from trainer.inputs.row_estimate import find_size
from trainer.passes.contract import Piece, number_files

# A larger file is divided, if its format allows it; small files share a task of at most this size.
TASK_BYTES = 128 << 20
# Small files share tasks only if there are more tasks than this, which many workers can share.
MIN_TASKS = 256
# Formats whose files can be divided.
DIVISIBLE = ("parquet",)


def plan_tasks(files: Sequence[DataFile]) -> list[list[Piece]]:
    """Returns the tasks: each is some consecutive small files, one file, or a share of a large one.

    Args:
        files: the data.

    Raises:
        UserError: a file cannot be looked up.
    """
    sizes = [find_size(file) for file in files]
    limit = min(TASK_BYTES, sum(sizes) // MIN_TASKS)
    tasks: list[list[Piece]] = []
    room = 0
    for piece, size in zip(number_files(files), sizes):
        count = -(-size // TASK_BYTES) if piece.file.format in DIVISIBLE else 1
        if count > 1:
            parts = (FilePart(index, count) for index in range(count))
            tasks += [[Piece(piece.number, piece.file._replace(part=part))] for part in parts]
            room = 0
        elif size <= room:
            tasks[-1].append(piece)
            room -= size
        else:
            tasks.append([piece])
            room = limit - size
    return tasks
