"""Divides files into tasks for the workers of an engine."""

from collections.abc import Sequence

from trainer.inputs.files import DataFile
from trainer.passes.contract import Piece, number_files

# A larger file is divided, if its format allows it; small files share a task of at most this size.
TASK_BYTES = 128 << 20
# Small files share tasks only if there are more tasks than this, which many workers can share.
MIN_TASKS = 256


def plan_tasks(files: Sequence[DataFile]) -> list[list[Piece]]:
    """Returns the tasks: each is some consecutive small files, one file, or a share of a large one.

    Args:
        files: the data, of which large files have been divided.

    Raises:
        OSError: there is no such file.
        UserError: a file cannot be looked up.
    """
    sizes = [file.find_size() // (file.part.total if file.part else 1) for file in files]
    limit = min(TASK_BYTES, sum(sizes) // MIN_TASKS)
    tasks: list[list[Piece]] = []
    room = 0
    for piece, size in zip(number_files(files), sizes):
        if size <= room and piece.file.part is None:
            tasks[-1].append(piece)
            room -= size
        else:
            tasks.append([piece])
            room = 0 if piece.file.part else limit - size
    return tasks
