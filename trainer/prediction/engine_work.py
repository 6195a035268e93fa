"""Batch prediction by the processes of an engine."""

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, Optional

from trainer import storage
from trainer.console import Console
from trainer.engines.dividing import divide_files
from trainer.engines.options import Engine
from trainer.engines.running import MAX_MODEL_TASKS, run_tasks, store_template
from trainer.errors import UserError
from trainer.inputs.stretches import describe_dialect
from trainer.prediction.batch import BatchRequest, Written, predict_files
from trainer.prediction.loading import load
from trainer.prediction.shards import SUCCESS, mark_complete


class PredictWork(NamedTuple):
    """Predicts the files of a request; a task is the index of a part of the files.

    Attributes:
        export: folder of the export, as a worker can reach it.
        output: folder of the predictions, as a worker can reach it.
        request: the request; its output and its part are those of each task.
        parts: number of parts.
    """

    export: str
    output: str
    request: BatchRequest
    parts: int

    def begin(self) -> None:
        """Takes away the mark of an earlier output, which is replaced from now on.

        Raises:
            UserError: the mark cannot be removed.
        """
        with self._open_output() as (folder, copies):
            copies.remove_output(folder / SUCCESS)

    def finish(self, written: Written) -> None:
        """Marks the output as complete.

        Args:
            written: what all tasks have written.

        Raises:
            UserError: the output cannot be written.
        """
        with self._open_output() as (folder, copies):
            folder.mkdir(parents=True, exist_ok=True)
            # What a task left that was killed; another has written the shard.
            for path in folder.glob(".*.tmp"):
                path.unlink(missing_ok=True)
            mark_complete(folder, copies)

    @contextlib.contextmanager
    def _open_output(self) -> Iterator[tuple[Path, storage.Copies]]:
        """Yields the local folder of the output, and what stores its files."""
        with storage.open_copies(storage.current_settings()) as copies:
            try:
                yield copies.open_output(self.output, "--output", is_file=False), copies
            except OSError as error:
                raise UserError(f"--output={self.output}: {error.strerror}; make room") from error

    def run(self, task: int) -> Written:
        """Writes the shards of one part.

        Args:
            task: index of the part.

        Raises:
            UserError: the data do not fit the model, or the output cannot be written.
        """
        console = Console(quiet=True)
        with storage.open_copies(storage.current_settings()) as copies:
            output = copies.open_output(self.output, "--output", is_file=False)
            part = (task, self.parts)
            request = self.request._replace(output=output, part=part, processes=1, marks=False)
            return predict_files(load(self.export), request, console, copies)

    def merge(self, first: Written, second: Written) -> Written:
        """Returns what two groups of tasks have written.

        Args:
            first: of one group.
            second: of the other.
        """
        return first.add(second)


def predict_on_engine(
    export: str, output: str, request: BatchRequest, engine: Engine
) -> Optional[Written]:
    """Predicts every row of some files with an engine.

    Args:
        export: folder of the export, as a worker can reach it.
        output: folder of the predictions, as a worker can reach it.
        request: the request, with the local path of the output.
        engine: beam or spark.

    Returns:
        None if the engine only writes a template.

    Raises:
        UserError: the data do not fit the model, or the engine fails.
    """
    files = divide_files(request.files, describe_dialect(request.data_config), engine)
    request = request._replace(files=files)
    parts = min(len(files), MAX_MODEL_TASKS)
    tasks: Sequence[int] = range(parts)
    work = PredictWork(export, output, request, parts)
    if engine.is_template:
        store_template(work, tasks, engine, work.finish, work.begin)
        return None
    work.begin()
    return run_tasks(work, tasks, "predicting", engine, work.finish)
