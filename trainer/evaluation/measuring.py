"""Measures checkpoints of a trained job: the Estimator's metrics, exact metrics, slices."""

import tempfile
from collections.abc import Sequence
from typing import Optional

from trainer.console import Console
from trainer.evaluation.checkpoint_metrics import CheckpointMeter
from trainer.evaluation.opening import SLICED_TASKS, Slicing
from trainer.evaluation.report import EvaluationReport, Sliced
from trainer.inputs.data_sets import find_eval_files
from trainer.job_dir.trained_job import Model
from trainer.metrics import slices
from trainer.metrics.grouping import Grouping


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
            predictions, groupings = meter.predict(checkpoints[0], console)
            sliced = measure_sliced(model, predictions, groupings, slicing.min_rows)
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
    return Sliced(predictions, overall, parts, min_rows)
