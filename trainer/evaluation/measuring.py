"""Measures checkpoints of a trained job: the Estimator's metrics, exact metrics, slices."""

import tempfile
from collections.abc import Sequence
from typing import Optional

from trainer.console import Console
from trainer.errors import UserError
from trainer.evaluation.checkpoint_metrics import CheckpointMeter
from trainer.evaluation.opening import SLICED_TASKS, Slicing
from trainer.evaluation.report import EvaluationReport, Sliced
from trainer.evaluation.summed import measure_tally
from trainer.inputs.data_sets import find_eval_files
from trainer.job_dir.trained_job import Model
from trainer.metrics import slices
from trainer.metrics.grouping import Grouper, Grouping
from trainer.metrics.rows_or_sums import RowsOrSums
from trainer.metrics.tally import Tally


def evaluate(
    model: Model, checkpoints: Sequence[str], slicing: Slicing, console: Console
) -> EvaluationReport:
    """Returns the metrics of checkpoints; those of one checkpoint also by slice.

    Args:
        model: the description of the model, with the data to evaluate it on.
        checkpoints: their paths.
        slicing: the slices.
        console: shows progress.

    Raises:
        UserError: the data are wrong, or a checkpoint is of another model.
    """
    schema, config = model.schema, model.config
    by = slicing.check(schema)
    files = find_eval_files(config.data, schema)
    console.log(f"evaluating {len(checkpoints)} checkpoint(s) on {len(files)} file(s)")
    sliced: Optional[Sliced] = None
    with tempfile.TemporaryDirectory(prefix="evaluate-") as folder:
        meter = CheckpointMeter(model, files, by, folder)
        evaluations = [meter.measure(path, console) for path in checkpoints]
        if schema.task in SLICED_TASKS and len(checkpoints) == 1:
            found = meter.measure_rows(checkpoints[0], 0, not by, console)
            sliced = measure_found(model, found, slicing.min_rows)
    paths = [file.path for file in files]
    return EvaluationReport(schema, paths, config.eval.threshold, evaluations, sliced)


def measure_sliced(
    model: Model,
    predictions: slices.Predictions,
    groupings: dict[str, Grouping],
    min_rows: int,
) -> Sliced:
    """Returns the exact metrics of all rows and of each slice.

    Args:
        model: the description of the model.
        predictions: of all rows.
        groupings: slicing → the slice of each row.
        min_rows: a slice of fewer rows is marked.
    """
    task, threshold = model.schema.task, model.config.eval.threshold
    overall = slices.measure(task, predictions, threshold)
    parts = slices.measure_slices(task, predictions, groupings, threshold, min_rows)
    return Sliced(predictions, len(predictions.labels), overall, parts, min_rows)


def measure_found(model: Model, found: RowsOrSums[Grouper, Tally], min_rows: int) -> Sliced:
    """Returns the metrics of all rows and of each slice: of the rows, or of sums of very many.

    Args:
        model: the description of the model.
        found: the rows, or their sums.
        min_rows: a slice of fewer rows is marked.

    Raises:
        UserError: there are no rows, more were left out than may be, or sums cannot tell.
    """
    if not found.num_rows:
        raise UserError("--data: no rows; name other files")
    scored = found.finish()
    if scored is not None:
        return measure_sliced(model, scored.predictions, scored.places.finish(), min_rows)
    return measure_tally(found.tally, min_rows)
