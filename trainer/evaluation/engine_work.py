"""Evaluation of a checkpoint by the processes of an engine."""

import tempfile
from collections.abc import Sequence
from typing import NamedTuple

from trainer import storage
from trainer.console import Console
from trainer.engines.dividing import divide_files
from trainer.engines.options import Engine
from trainer.engines.running import gather_tasks, group_files
from trainer.evaluation.checkpoint_metrics import CheckpointMeter
from trainer.evaluation.measuring import measure_sliced
from trainer.evaluation.opening import Replaced, Slicing, open_model
from trainer.evaluation.report import EvaluationReport
from trainer.inputs.data_sets import find_eval_files
from trainer.inputs.files import DataFile
from trainer.inputs.stretches import describe_dialect
from trainer.job_dir.trained_job import Model, fetch_checkpoints
from trainer.metrics.grouping import Grouper
from trainer.metrics.scored import ScoredRows, join_scored


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

    def run(self, task: Sequence[DataFile]) -> ScoredRows[Grouper]:
        """Returns the rows of some files, with their scores.

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
            return CheckpointMeter(model, task, self.by, folder).score(path, console)


def evaluate_on_engine(
    job: Job, step: int, model: Model, slicing: Slicing, engine: Engine
) -> EvaluationReport:
    """Returns the exact metrics of a checkpoint, of all rows and by slice.

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
    shares = divide_files(files, describe_dialect(model.config.data), engine)
    scored = join_scored(gather_tasks(work, group_files(shares), "evaluating", engine))
    groupings = scored.places.finish()
    sliced = measure_sliced(model, scored.predictions, groupings, slicing.min_rows)
    evaluated = {"checkpoint": job.checkpoint, "step": step, **sliced.overall}
    paths = [file.path for file in files]
    threshold = model.config.eval.threshold
    return EvaluationReport(model.schema, paths, threshold, [evaluated], sliced)
