"""Evaluation of a checkpoint by the processes of an engine."""

import tempfile
from collections.abc import Sequence
from typing import NamedTuple

from trainer import storage
from trainer.console import Console
from trainer.engines.dividing import divide_files
from trainer.engines.options import Engine
from trainer.engines.running import group_files, run_tasks
from trainer.evaluation.checkpoint_metrics import CheckpointMeter
from trainer.evaluation.measuring import measure_found
from trainer.evaluation.opening import Replaced, Slicing, open_model
from trainer.evaluation.report import EvaluationReport
from trainer.inputs.data_sets import find_eval_files
from trainer.inputs.stretches import describe_dialect
from trainer.job_dir.trained_job import Model, fetch_checkpoints
from trainer.metrics.grouping import Grouper
from trainer.metrics.rows_or_sums import RowsOrSums
from trainer.metrics.tally import Tally
from trainer.passes.contract import Piece, number_files

Scored = RowsOrSums[Grouper, Tally]


class Job(NamedTuple):
    """A trained job, as any machine can open it.

    Attributes:
        job_dir: its folder.
        checkpoint: path or step of a checkpoint.
        replaced: what the evaluation replaces of its configuration.
    """

    job_dir: str
    checkpoint: str
    replaced: Replaced


class ScoreWork(NamedTuple):
    """Scores the rows of files; a task is a run of files.

    Attributes:
        job: whose checkpoint scores them.
        by: names of the columns of each slicing.
    """

    job: Job
    by: Sequence[Sequence[str]]

    def run(self, task: Sequence[Piece]) -> Scored:
        """Returns the rows of some files, with their scores, or their sums.

        Args:
            task: the files.

        Raises:
            UserError: the data do not fit the model, or the job cannot be read.
        """
        console, job = Console(quiet=True), self.job
        with (
            storage.open_copies(storage.current_settings()) as copies,
            tempfile.TemporaryDirectory(prefix="evaluate-") as folder,
        ):
            model = open_model(job.job_dir, job.replaced, copies, console)
            (path,) = fetch_checkpoints(job.job_dir, job.checkpoint, False, copies)
            meter = CheckpointMeter(model, [piece.file for piece in task], self.by, folder)
            return meter.measure_rows(path, task[0].order, not self.by, console)

    def merge(self, first: Scored, second: Scored) -> Scored:
        """Returns the rows of two groups of files, or their sums.

        Args:
            first: of one group; changed.
            second: of the other.
        """
        first.merge(second)
        return first


def evaluate_on_engine(
    job: Job, step: int, model: Model, slicing: Slicing, engine: Engine
) -> EvaluationReport:
    """Returns the metrics of a checkpoint, of all rows and by slice.

    Args:
        job: the job.
        step: global step of the checkpoint.
        model: the model of the job, with the data to evaluate it on.
        slicing: the slices.
        engine: beam or spark.

    Raises:
        UserError: the data are wrong, the checkpoint is of another model, or the engine fails.
    """
    files = find_eval_files(model.config.data, model.schema)
    work = ScoreWork(job, slicing.check(model.schema))
    pieces = number_files(divide_files(files, describe_dialect(model.config.data), engine))
    found = run_tasks(work, group_files(pieces), "evaluating", engine)
    sliced = measure_found(model, found, slicing.min_rows)
    evaluated = {"checkpoint": job.checkpoint, "step": step, **sliced.overall}
    paths = [file.path for file in files]
    threshold = model.config.eval.threshold
    return EvaluationReport(model.schema, paths, threshold, [evaluated], sliced)
