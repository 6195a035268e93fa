"""python -m trainer.report: a trained job as one HTML page that needs no network.

python -m trainer.report jobs/census
python -m trainer.report jobs/census --by=gender,age --output=census.html

The page shows the data, the curves, the quality of one checkpoint on the evaluation data, the
importance of the columns, the rows with the largest errors, and the exports. It contains values of
your data. If the job's config.yaml names code of yours, --allow_code imports it.
"""

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from absl import flags

import estimator_bridge
from trainer import job_layout, storage
from trainer.config import arguments, commands
from trainer.console import Console, show
from trainer.errors import UserError
from trainer.evaluation.command import SLICED_TASKS, define_model, override_config
from trainer.inputs.files import find_files

if TYPE_CHECKING:
    from trainer.job_dir.trained_job import Model

# Without --by, this many categorical columns are sliced.
SLICED_COLUMNS = 4
SHOWN_ERRORS = 20


def main(argv: list[str]) -> int:
    """Writes the page; returns the exit status.

    Args:
        argv: the command line, without the program's name.

    Raises:
        UserError: the job cannot be evaluated, or the page cannot be written.
    """
    if argv and not argv[0].startswith("-"):
        argv = [f"--job_dir={argv[0]}", *argv[1:]]
    values = arguments.parse_flags("trainer.report", _define, argv, __doc__)
    if values is None:
        return 0
    arguments.require(values, "job_dir")
    with commands.open_storage(values) as copies:
        show(_run(values, copies))
    return 0


def _define(values: flags.FlagValues) -> None:
    flags.DEFINE_string(
        "output", None, "the HTML file; unset: job_dir/report.html", flag_values=values
    )
    flags.DEFINE_integer(
        "importance_rows",
        2000,
        "rows on which the importance of columns is measured; 0: not measured",
        0,
        flag_values=values,
    )
    define_model(values)


def _run(values: flags.FlagValues, copies: storage.Copies) -> str:
    """Writes the page according to the flags; returns its path."""
    # Imported here, because it imports TensorFlow; --help and a wrong flag need no TensorFlow.
    from trainer.job_dir.trained_job import fetch_checkpoints, load_model

    wanted = {*job_layout.MODEL_FILES, job_layout.METRICS, job_layout.METRICS_LOG}
    job_dir = copies.fetch(values.job_dir, "--job_dir", lambda name: name in wanted)
    console = Console(display_path=copies.display_path)
    model = load_model(job_dir, values.allow_code, console.warn)
    limits = commands.start_reading(values)
    model = model._replace(config=override_config(model.config, values, limits))
    if model.schema.task not in SLICED_TASKS:
        raise UserError(
            f"--job_dir={values.job_dir}: a {model.schema.task} model; only "
            f"{', '.join(SLICED_TASKS)} models have a page; trainer.evaluate measures the others"
        )
    output = values.output or f"{values.job_dir.rstrip('/')}/{job_layout.REPORT}"
    path = copies.open_output(output, "--output", is_file=True)
    estimator_bridge.set_verbosity("error")
    estimator_bridge.prefer_onednn()
    checkpoint = fetch_checkpoints(values.job_dir, values.checkpoint, False, copies)[0]
    _write(values, model, Path(job_dir), checkpoint, path)
    copies.store_output(path)
    return f"{copies.display_path(str(path))}: open it in a browser"


def _write(
    values: flags.FlagValues, model: "Model", job_dir: Path, checkpoint: str, path: Path
) -> None:
    """Measures the checkpoint and writes the page."""
    from trainer.data_validation.check import check
    from trainer.evaluation import importance
    from trainer.evaluation.checkpoint_metrics import CheckpointMeter
    from trainer.metrics import slices
    from trainer.metrics.catalogue import SHOWN_METRICS
    from trainer.reporting import html, job_page

    schema, config = model.schema, model.config
    shown = job_page.list_shown(schema)
    by = slices.parse_by(values.by, schema) or _choose_slices(model, shown)
    files = find_files(config.data.eval, config.data.format, "data")
    console, threshold = Console(), config.eval.threshold
    with tempfile.TemporaryDirectory(prefix="report-") as folder:
        meter = CheckpointMeter(model, files, by, folder)
        evaluation = meter.measure(checkpoint, console)
        predictions, groupings = meter.predict(checkpoint)
        errors = job_page.measure_errors(schema.task, predictions)
        worst = np.argsort(-errors, kind="stable")[:SHOWN_ERRORS]
        worst_rows = meter.read_rows(worst)
        found = []
        columns = [name for name in schema.used_features if name in shown]
        if values.importance_rows and columns:
            count = min(values.importance_rows, len(errors))
            sample = np.random.default_rng(0).choice(len(errors), count, replace=False)
            rows = meter.read_rows(sample)
            input_fn = importance.make_shuffled_input_fn(
                rows, columns, schema, config.eval.batch_size, 0
            )
            scores = meter.predict_inputs(checkpoint, input_fn)
            weights = None if predictions.weights is None else predictions.weights[sample]
            shuffled = slices.Predictions(predictions.labels[sample], scores, weights)
            metric = SHOWN_METRICS[schema.task][0]
            found = importance.measure_importance(schema.task, shuffled, columns, metric)
    overall = slices.measure(schema.task, predictions, threshold)
    parts = slices.measure_slices(schema.task, predictions, groupings, threshold, values.min_rows)
    findings, _, _ = check(files, schema, config.data, model.statistics, False)
    measured = job_page.Measured(
        evaluation, predictions, overall, parts, found, findings, worst_rows, worst, threshold
    )
    page = job_page.build_page(values.job_dir, job_dir, schema, model.statistics, measured)
    try:
        html.write(path, page)
    except OSError as error:
        raise UserError(f"--output={path}: {error.strerror}; choose another") from error


def _choose_slices(model: "Model", shown: list[str]) -> list[list[str]]:
    """Returns the first categorical features whose values the model contains."""
    names = [
        name
        for name in model.schema.used_features
        if name in shown and name in model.statistics.categories
    ]
    return [[name] for name in names[:SLICED_COLUMNS]]
