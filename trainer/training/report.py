"""Ends a job: checks its exports, measures baselines, and writes the report."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from trainer import config as config_lib
from trainer import storage
from trainer.console import Console
from trainer.environment.services import read_service
from trainer.evaluation import page
from trainer.evaluation.opening import SLICED_TASKS
from trainer.evaluation.page import PageRequest
from trainer.export.checker import read_sample_rows
from trainer.export.choose import choose_export
from trainer.features.raw_inputs import list_inputs
from trainer.inputs.data_sets import describe_split
from trainer.job_dir.metrics_log import MetricsLog
from trainer.job_dir.trained_job import Model
from trainer.job_layout import REPORT
from trainer.metrics.catalogue import SHOWN_METRICS
from trainer.phase_timer import ALL, VERIFY
from trainer.reporting import plots
from trainer.reporting.summary import DataSummary, RunResult, RunSummary, write_report
from trainer.schema.made_up import make_up_value
from trainer.training.baseline_rows import measure_baselines
from trainer.training.inputs_record import record_end
from trainer.training.job import Job, build_source
from trainer.vertex.job_environment import publish

# With more evaluation rows, the page would delay the end of the job.
MAX_PAGE_ROWS = 200_000


def report_job(job: Job, result: RunResult, console: Console) -> str:
    """Checks the exports and writes the report; returns the text of the summary.

    Args:
        job: the job.
        result: the result of its run.
        console: logs the check of the exports.

    Raises:
        UserError: an export cannot be loaded, or its predictions are wrong.
    """
    config, job_dir = job.config, job.config.require_job_dir()
    exports = [path for paths in result.exports.values() for path in paths[-1:]]
    # The inputs of a user's own receiver_fn are unknown; those of a transform graph are other rows.
    # Such exports are loaded but not queried.
    is_known = not (config.export.receiver_fn or config.tfx.transform_output)
    queries = []
    if exports and is_known:
        queries = read_sample_rows(build_source(job, training=False), job.schema)
    if exports:
        job.checker.submit(exports, queries, job.schema, config.data.delimiter)
    # The check runs in another process. Compute here what does not depend on its result.
    # The rows of the check are real; the report contains none of them.
    names = list_inputs(job.schema)
    query = {name: make_up_value(name, job.schema, job.statistics) for name in names}
    data = _summarize_data(job, query)
    if config.run.report:
        plots.draw_curves(job_dir, SHOWN_METRICS[job.schema.task][0])
    if exports and job.checker.enabled:
        with job.times.within(VERIFY):
            job.checker.wait()
        answered = ", each answered" if queries else ""
        console.log(f"exports: {len(exports)} loaded in a fresh process{answered}")
    result = result._replace(secs=job.times.read())
    summary = RunSummary(job_dir, result, job.best_metric, job.direction, data)
    if config.has_planned_trees:
        summary = summary._replace(longer="trees (--n_trees)")
    text = write_report(summary)
    record_end(job_dir, result.secs[ALL])
    return text


def write_page(
    job: Job, result: RunResult, console: Console, display_path: Callable[[str], str]
) -> None:
    """Writes report.html; a failure is a warning, because the job has done its work.

    Args:
        job: the job.
        result: the result of its run.
        console: says where the page is, or why there is none.
        display_path: replaces local paths by those that the user gave.
    """
    config, schema = job.config, job.schema
    # Of a user's own model, the names of the predictions are not known.
    is_known = config.model.type in config_lib.MODEL_TYPES and schema.task in SLICED_TASKS
    if not (config.run.report and is_known and result.checkpoints):
        return
    job_dir = config.require_job_dir()
    num_rows = job.eval_scan.statistics.num_rows
    if num_rows > MAX_PAGE_ROWS:
        console.log(
            f"report: not written for {num_rows:,} evaluation rows; python -m trainer.report "
            f"{job_dir} writes it"
        )
        return
    last = MetricsLog(job_dir).read("eval")[-1:]
    checkpoint = result.checkpoints[-1]
    is_last = bool(last) and last[0]["step"] == result.end_step
    request = PageRequest(
        display_path(job_dir), evaluation=last[0] if is_last else None, display_path=display_path
    )
    path = Path(job_dir) / REPORT
    try:
        model = Model(config, schema, job.statistics)
        page.write_page(model, Path(job_dir), checkpoint, request, path)
    except Exception as error:
        console.warn(f"report: {path} was not written: {' '.join(str(error).split())[:200]}")
        return
    console.log(f"report: {path}")


def _summarize_data(job: Job, query: dict[str, Any]) -> DataSummary:
    return DataSummary(
        task=job.schema.task,
        num_files=(len(job.train_files), len(job.eval_files)),
        num_rows=(job.train_scan.statistics.num_rows, job.eval_scan.statistics.num_rows),
        num_bad_rows=(job.train_scan.num_bad_rows, job.eval_scan.num_bad_rows),
        baselines=measure_baselines(job),
        query=query,
        split=describe_split(job.config.data) if job.config.data.is_split else None,
        leaks=job.leaks,
    )


def publish_model(
    exports: dict[str, list[str]], settings: config_lib.StorageConfig, console: Console
) -> None:
    """Copies the export to be served to AIP_MODEL_DIR, if this environment variable is set.

    Args:
        exports: exporter → paths of its exports, oldest first.
        settings: how gs:// paths are accessed.
        console: logs the path of the copy.

    Raises:
        UserError: the export cannot be copied.
    """
    model_dir = read_service().model_dir
    chosen = choose_export(exports)
    if model_dir and chosen:
        publish(chosen, model_dir, storage.Settings(**settings.model_dump()))
        console.log(f"model: {chosen} is in {model_dir} too")
