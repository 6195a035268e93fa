"""Evaluation of a checkpoint by the processes of an engine."""

import tempfile
from collections.abc import Sequence
from typing import NamedTuple, Optional

from trainer import storage
from trainer.console import Console
from trainer.engines.dividing import divide_files
from trainer.engines.options import Engine
from trainer.engines.running import group_files, run_tasks, store_template
from trainer.evaluation.checkpoint_metrics import CheckpointMeter, describe_zero_weights
from trainer.evaluation.measuring import measure_found
from trainer.evaluation.opening import Replaced, Slicing, open_model
from trainer.evaluation.report import EvaluationReport, store_evaluation
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


class Reporter(NamedTuple):
    """Writes the report of a checkpoint.

    Attributes:
        job: the job.
        step: global step of the checkpoint.
        slicing: the slices.
        output: folder of the report, as a worker can reach it.
        paths: the files.
    """

    job: Job
    step: int
    slicing: Slicing
    output: str
    paths: Sequence[str] = ()

    def build(self, model: Model, found: Scored) -> EvaluationReport:
        """Returns the report.

        Args:
            model: of the job.
            found: all rows, or their sums.

        Raises:
            UserError: more rows were left out than may be, no row counts, or sums cannot tell.
        """
        sliced = measure_found(model, found, self.slicing.min_rows)
        if not sliced.overall:
            raise describe_zero_weights(model.schema.weight)
        evaluated = {"checkpoint": self.job.checkpoint, "step": self.step, **sliced.overall}
        threshold = model.config.eval.threshold
        return EvaluationReport(model.schema, self.paths, threshold, [evaluated], sliced)

    def store(self, found: Scored) -> None:
        """Writes the report of all rows; any worker can.

        Args:
            found: all rows, or their sums.

        Raises:
            UserError: see `build`, or the output cannot be written.
        """
        with storage.open_copies(storage.current_settings()) as copies:
            model = open_model(self.job.job_dir, self.job.replaced, copies, Console(quiet=True))
            output = copies.open_output(self.output, "--output", is_file=False)
            store_evaluation(self.build(model, found), output, copies)


def evaluate_on_engine(
    reporter: Reporter, model: Model, engine: Engine
) -> Optional[EvaluationReport]:
    """Returns the metrics of a checkpoint, of all rows and by slice.

    Args:
        reporter: makes the report.
        model: the model of the job, with the data to evaluate it on.
        engine: beam or spark.

    Returns:
        None if the engine only writes a template.

    Raises:
        UserError: the data are wrong, the checkpoint is of another model, or the engine fails.
    """
    files = find_eval_files(model.config.data, model.schema)
    reporter = reporter._replace(paths=[file.path for file in files])
    work = ScoreWork(reporter.job, reporter.slicing.check(model.schema))
    pieces = number_files(divide_files(files, describe_dialect(model.config.data), engine))
    tasks = group_files(pieces)
    if engine.is_template:
        store_template(work, tasks, engine, reporter.store)
        return None
    return reporter.build(model, run_tasks(work, tasks, "evaluating", engine))
