"""Runs a pass in this process."""

import functools
from collections.abc import Sequence

from trainer.console import Console, Progress
from trainer.inputs.files import DataFile
from trainer.inputs.row_estimate import estimate_rows
from trainer.passes.contract import Partial, Pass, add_piece, number_files


def run_here(one: Pass[Partial], files: Sequence[DataFile], what: str) -> Partial:
    """Returns the partial result of all files.

    Args:
        one: the pass.
        files: the data.
        what: the work, for the progress: "reading the data".

    Raises:
        UserError: a file cannot be read.
    """
    partial = one.create()
    total = functools.partial(estimate_rows, files)
    with Progress(Console(), what, "rows", total, is_estimate=True) as progress:
        for piece in number_files(files):
            add_piece(one, partial, piece, progress.add)
    return partial
