"""Batch prediction by the processes of an engine."""

from collections.abc import Sequence
from typing import NamedTuple

from trainer import storage
from trainer.console import Console
from trainer.engines.options import Engine
from trainer.engines.running import MAX_MODEL_TASKS, run_tasks
from trainer.prediction.batch import BatchRequest, Written, predict_files
from trainer.prediction.loading import load

# A file in the output folder that is there when all of it is, by a convention of Hadoop.
SUCCESS = "_SUCCESS"


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
            request = self.request._replace(output=output, part=(task, self.parts))
            return predict_files(load(self.export), request, console, copies)

    def merge(self, first: Written, second: Written) -> Written:
        """Returns what two groups of tasks have written.

        Args:
            first: of one group.
            second: of the other.
        """
        return first.add(second)


def predict_on_engine(
    export: str, output: str, request: BatchRequest, engine: Engine, copies: storage.Copies
) -> Written:
    """Predicts every row of some files with an engine.

    Args:
        export: folder of the export, as a worker can reach it.
        output: folder of the predictions, as a worker can reach it.
        request: the request, with the local path of the output.
        engine: beam or spark.
        copies: stores what this process writes.

    Raises:
        UserError: the data do not fit the model, or the engine fails.
    """
    parts = min(len(request.files), MAX_MODEL_TASKS)
    tasks: Sequence[int] = range(parts)
    work = PredictWork(export, output, request, parts)
    marker = request.output / SUCCESS
    marker.unlink(missing_ok=True)
    written = run_tasks(work, tasks, "predicting", engine)
    request.output.mkdir(parents=True, exist_ok=True)
    # What a task left that was killed; another has written the shard.
    for path in request.output.glob(".*.tmp"):
        path.unlink(missing_ok=True)
    marker.touch()
    copies.store_output(marker)
    return written
