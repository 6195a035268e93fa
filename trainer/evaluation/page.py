"""Measures a checkpoint for the page of its job, and writes the page."""

import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple, Optional

import numpy as np

from trainer.console import Console, Progress
from trainer.data_validation.check import check
from trainer.errors import UserError
from trainer.evaluation import importance
from trainer.evaluation.checkpoint_metrics import CheckpointMeter
from trainer.evaluation.measuring import measure_sliced
from trainer.evaluation.opening import Slicing
from trainer.evaluation.wide_weights import read_wide_weights
from trainer.inputs.data_sets import find_eval_files
from trainer.job_dir.trained_job import Model
from trainer.metrics.catalogue import SHOWN_METRICS
from trainer.metrics.slices import Predictions
from trainer.reporting import html, job_page

# Without a slicing, this many categorical columns are sliced.
SLICED_COLUMNS = 4
SHOWN_ERRORS = 20


class PageRequest(NamedTuple):
    """What a page shows.

    Attributes:
        name: of the job, as the user wrote it.
        slicing: the slices; without columns: the first categorical columns.
        importance_rows: rows on which the importance of columns is measured; 0: not measured.
        evaluation: the Estimator's metrics of the checkpoint, with "checkpoint" and "step"; None:
            they are measured.
        display_path: replaces local paths by those that the user gave.
    """

    name: str
    slicing: Slicing = Slicing()
    importance_rows: int = 0
    evaluation: Optional[Mapping[str, Any]] = None
    display_path: Callable[[str], str] = str


def write_page(
    model: Model, job_dir: Path, checkpoint: str, request: PageRequest, path: Path
) -> None:
    """Measures a checkpoint and writes the page of its job.

    Args:
        model: the description of the model, with the data to evaluate it on.
        job_dir: the job's folder on this machine.
        checkpoint: its path.
        request: what the page shows.
        path: the HTML file.

    Raises:
        UserError: the data are wrong, the checkpoint is of another model, or the page cannot be
            written.
    """
    schema, config = model.schema, model.config
    by = request.slicing.check(schema) or _choose_slices(model)
    files = find_eval_files(config.data, schema)
    with tempfile.TemporaryDirectory(prefix="report-") as folder:
        meter = CheckpointMeter(model, files, by, folder)
        evaluation = request.evaluation or meter.measure(checkpoint, Console())
        predictions, groupings = meter.predict(checkpoint, Console())
        errors = job_page.measure_errors(schema.task, predictions)
        worst = np.argsort(-errors, kind="stable")[:SHOWN_ERRORS]
        worst_rows = meter.read_rows(worst)
        found = measure_columns(model, meter, checkpoint, predictions, request.importance_rows)
    sliced = measure_sliced(model, predictions, groupings, request.slicing.min_rows)
    findings, _, _ = check(files, schema, config.data, model.statistics, False)
    measured = job_page.Measured(
        dict(evaluation),
        predictions,
        sliced.overall,
        sliced.parts,
        found,
        findings,
        worst_rows,
        worst,
        config.eval.threshold,
        read_wide_weights(checkpoint, schema),
    )
    page = job_page.build_page(request.name, job_dir, schema, model.statistics, measured)
    try:
        html.write(path, html.Markup(request.display_path(page)))
    except OSError as error:
        raise UserError(f"--output={path}: {error.strerror}; choose another") from error


def explain(model: Model, checkpoint: str, num_rows: int) -> list[importance.Importance]:
    """Returns the importance of each column that a page may show, the most important first.

    Args:
        model: the description of the model, with the data to evaluate it on.
        checkpoint: its path.
        num_rows: size of the random sample of the rows.

    Raises:
        UserError: the data are wrong, or the checkpoint is of another model.
    """
    files = find_eval_files(model.config.data, model.schema)
    with tempfile.TemporaryDirectory(prefix="explain-") as folder:
        meter = CheckpointMeter(model, files, [], folder)
        predictions = meter.predict(checkpoint, Console()).predictions
        return measure_columns(model, meter, checkpoint, predictions, num_rows)


def measure_columns(
    model: Model,
    meter: CheckpointMeter,
    checkpoint: str,
    predictions: Predictions,
    num_rows: int,
) -> list[importance.Importance]:
    """Returns the importance of each column that a page may show, the most important first.

    Args:
        model: the description of the model.
        meter: measures the model on the evaluation data.
        checkpoint: its path.
        predictions: of all rows.
        num_rows: size of the random sample of the rows; 0: nothing is measured.

    Raises:
        UserError: the data are wrong, or the checkpoint is of another model.
    """
    schema, total = model.schema, len(predictions.labels)
    shown = job_page.list_shown(schema)
    columns = [name for name in schema.used_features if name in shown]
    if not num_rows or not columns:
        return []
    sample = np.random.default_rng(0).choice(total, min(num_rows, total), replace=False)
    input_fn = importance.make_shuffled_input_fn(
        meter.read_rows(sample), columns, schema, model.config.eval.batch_size, 0
    )
    passes = 1 + importance.REPEATS * len(columns)
    progress = Progress(Console(), "measuring importance", "rows", passes * len(sample))
    scores = meter.predict_inputs(checkpoint, input_fn, progress)
    weights: Optional[np.ndarray] = predictions.weights
    weights = None if weights is None else weights[sample]
    shuffled = Predictions(predictions.labels[sample], scores, weights)
    metric = SHOWN_METRICS[schema.task][0]
    return importance.measure_importance(schema.task, shuffled, columns, metric)


def _choose_slices(model: Model) -> list[list[str]]:
    """Returns the first categorical features whose values the model contains."""
    shown = job_page.list_shown(model.schema)
    names = [
        name
        for name in model.schema.used_features
        if name in shown and name in model.statistics.categories
    ]
    return [[name] for name in names[:SLICED_COLUMNS]]
