"""Prepares a job: scans its data, and computes its statistics and its number of steps."""

import time
from collections.abc import Sequence
from typing import NamedTuple, Optional

from trainer import config as config_lib
from trainer.cluster.strategies import check_strategy, count_batches
from trainer.console import Console
from trainer.environment.cluster_spec import ALONE, Cluster
from trainer.errors import UserError
from trainer.export.checker import Checker
from trainer.features.encoding import build_encoding
from trainer.features.numpy_encoder import Encoder
from trainer.inputs.bucket_cache import Cache
from trainer.inputs.copied_files import warn_of_copies
from trainer.inputs.data_sets import describe_split, find_eval_files, find_train_files
from trainer.inputs.dataset import ReadOptions, RowSource
from trainer.inputs.encoded import EncodedRows
from trainer.inputs.file_identity import checksum_data, find_place
from trainer.inputs.files import DataFile
from trainer.inputs.leakage import find_common_rows, find_equal_rows
from trainer.inputs.scan import Scan
from trainer.inputs.scan_cache import open_cache, scan_or_load
from trainer.inputs.split import build_split
from trainer.job_dir import compatibility, input_runs
from trainer.job_layout import EVAL_DATA_KEY, TRAIN_DATA_KEY
from trainer.metrics.catalogue import choose_direction
from trainer.metrics.included import check_metrics
from trainer.phase_timer import Times
from trainer.schema import Schema, Statistics, resolve_defaults
from trainer.training.length import complete_schedule, count_steps

# Trees that several processes grow end after at most so many times the steps of one process.
SPARE_STEPS = 1000


class Job(NamedTuple):
    """The configuration, data and limits of a training job.

    Attributes:
        config: the resolved configuration.
        schema: schema of the data.
        train_files: the training data.
        eval_files: the evaluation data.
        train_scan: result of the pass over the training data.
        eval_scan: result of the pass over the evaluation data.
        statistics: statistics of the training data, as first computed for this job_dir.
        max_steps: global step at which training stops.
        best_metric: the metric by which the best evaluation is chosen.
        direction: "min" or "max": whether lower or higher values of that metric are better.
        times: measures the phases of this process.
        checker: checks the exports at the end.
        cache: stores encoded rows for later epochs and runs; None if no cache is used.
        leaks: sentences about rows and columns that may make the evaluation too good.
    """

    config: config_lib.Config
    schema: Schema
    train_files: list[DataFile]
    eval_files: list[DataFile]
    train_scan: Scan
    eval_scan: Scan
    statistics: Statistics
    max_steps: int
    best_metric: str
    direction: str
    times: Times
    checker: Checker
    cache: Optional[Cache]
    leaks: tuple[str, ...] = ()


class Inputs(NamedTuple):
    """The files of a job, listed once.

    Attributes:
        config: the configuration, with the columns that divide the rows.
        schema: schema of the data.
        train_files: the training data.
        eval_files: the evaluation data.
    """

    config: config_lib.Config
    schema: Schema
    train_files: list[DataFile]
    eval_files: list[DataFile]


def find_inputs(config: config_lib.Config, schema: Schema, console: Console) -> Inputs:
    """Returns the files of a job; those of the interrupted run that it continues, if it does.

    Args:
        config: the resolved configuration.
        schema: schema of the data.
        console: logs which files are left out.

    Raises:
        UserError: a path is wrong, or the rows cannot be divided.
    """
    config = complete_split(config, schema)
    found = {
        "train": find_train_files(config.data, schema),
        "eval": find_eval_files(config.data, schema),
    }
    listed = input_runs.list_files(config)
    if listed is not None:
        found = {part: _keep(part, files, listed[part], console) for part, files in found.items()}
    return Inputs(config, schema, found["train"], found["eval"])


def _keep(part: str, files: list[DataFile], listed: set[str], console: Console) -> list[DataFile]:
    """Returns the files that a run has listed; if there is none of them, all."""
    kept = [file for file in files if find_place(file.path) in listed]
    if kept and len(kept) < len(files):
        others = [file.path for file in files if file not in kept]
        console.log(
            f"data.{part}: {len(others):,} file(s) have appeared since this run started, and are "
            f"not read: {', '.join(others[:3])}; when it has ended, the next run reads them"
        )
    return kept or files


def prepare(
    config: config_lib.Config,
    schema: Schema,
    console: Console,
    *,
    cluster: Cluster = ALONE,
    times: Optional[Times] = None,
    checker: Optional[Checker] = None,
) -> Job:
    """Finds and scans the data, and computes the number of steps.

    Args:
        config: the resolved configuration.
        schema: schema of the data.
        console: logs what was found.
        cluster: the processes that train together.
        times: measures the phases of this process; None: starts measuring now.
        checker: checks the exports at the end; None: they are not checked.

    Returns:
        The job.

    Raises:
        UserError: data or options are wrong.
    """
    check_strategy(config.cluster, cluster)
    inputs = find_inputs(config, schema, console)
    return prepare_inputs(inputs, console, cluster=cluster, times=times, checker=checker)


def prepare_inputs(
    inputs: Inputs,
    console: Console,
    *,
    cluster: Cluster = ALONE,
    times: Optional[Times] = None,
    checker: Optional[Checker] = None,
) -> Job:
    """Scans the data and computes the number of steps.

    Args:
        inputs: the configuration and the files.
        console: logs what was found.
        cluster: the processes that train together.
        times: measures the phases of this process; None: starts measuring now.
        checker: checks the exports at the end; None: they are not checked.

    Returns:
        The job.

    Raises:
        UserError: data or options are wrong.
    """
    config, schema, train_files, eval_files = inputs
    check_metrics(config, schema)
    metric = config.export.best_metric or "loss"
    direction = choose_direction(metric, config.export.best_mode)
    started = time.monotonic()
    cache = open_cache(config.data, console.log)
    train_scan, train_known = scan_or_load(train_files, schema, config.data, console, cache)
    if train_scan.absent:
        raise UserError(
            f"data.train: no record has a value for column {train_scan.absent[0]!r}; "
            "correct its name in the schema, or exclude it with use: []"
        )
    eval_scan, eval_known = scan_or_load(eval_files, schema, config.data, console, cache)
    _check_weights(schema, train_scan, eval_scan)
    for part, files in {"train": train_files, "eval": eval_files}.items():
        warn_of_copies(files, f"data.{part}", console.log)
    if config.data.is_split:
        _check_split(config.data, train_scan, eval_scan)
        console.log(f"evaluation data: {describe_split(config.data)}")
        if config.data.eval_by == tuple(schema.used_features):
            for few in find_equal_rows(eval_scan.hashes, eval_scan.statistics.num_rows):
                console.log(f"warning: {few}")
    known = " before; unchanged since" if train_known and eval_known else ""
    checked = known or f" in {time.monotonic() - started:.1f} s"
    console.log(
        f"data: {train_scan.statistics.num_rows:,} training rows in {len(train_files)} file(s), "
        f"{eval_scan.statistics.num_rows:,} evaluation rows in {len(eval_files)} file(s), "
        f"checked{checked}"
    )
    _warn_of_empty_columns(schema, train_scan.statistics, console)
    leaks = (*find_common_rows(train_scan.hashes, eval_scan.hashes), *train_scan.leaks)
    for leak in leaks:
        console.log(f"warning: possible leak: {leak}")
    batches = count_batches(config.cluster, cluster)
    max_steps = count_steps(config, train_scan.statistics.num_rows, batches, console)
    rows = train_scan.statistics.num_rows / batches
    if config.has_planned_trees and cluster.num_trainers > 1:
        max_steps *= SPARE_STEPS
        train = config.train.model_copy(update={"max_steps": max_steps})
        config = config.model_copy(update={"train": train})
        console.log("length: the last tree ends the job; processes do not wait for each other")
    else:
        is_alone = not cluster.is_distributed
        config = complete_schedule(
            config, schema, max_steps, rows, console=console, is_alone=is_alone
        )
    filled = len(_list_filled(train_files, train_scan))
    if cluster.num_trainers > 1 and filled < cluster.num_trainers:
        console.log(
            f"warning: {filled} training file(s) for {cluster.num_trainers} processes: "
            "each reads them all and takes its share of the rows; more files would read faster"
        )
    return Job(
        config,
        schema,
        train_files,
        eval_files,
        train_scan,
        eval_scan,
        compatibility.load_statistics(config.require_job_dir(), schema) or train_scan.statistics,
        max_steps,
        metric,
        direction,
        times or Times(),
        checker or Checker(enabled=False),
        cache,
        leaks,
    )


def _warn_of_empty_columns(schema: Schema, statistics: Statistics, console: Console) -> None:
    counts = {name: seen.count for name, seen in statistics.columns.items()}
    counts.update({name: seen.count for name, seen in statistics.categories.items()})
    empty = [name for name in schema.used_features if counts.get(name) == 0]
    if empty:
        console.log(
            f"warning: column {', '.join(map(repr, empty))}: all training rows lack a value; check "
            "where the data come from"
        )


def complete_split(config: config_lib.Config, schema: Schema) -> config_lib.Config:
    """Names the columns that divide the rows: those of the job in job_dir, else the default.

    Args:
        config: the resolved configuration.
        schema: schema of the data.

    Raises:
        UserError: the job has divided its rows otherwise, or no column can divide them.
    """
    if not config.data.is_split:
        return config
    by = compatibility.load_split(config, schema)
    if not by:
        split = build_split(config.data, schema, is_eval=True)
        by = split.columns if split else ()
    data = config.data.model_copy(update={"eval_by": by})
    return config.model_copy(update={"data": data})


def _check_split(data: config_lib.DataConfig, train: Scan, evaluation: Scan) -> None:
    """Raises if one of the parts has no rows."""
    option = "eval_share" if data.eval_share is not None else "eval_after"
    form = ", as times in ISO 8601" if (data.eval_after or "").count("-") > 1 else ""
    for part, scan in (("training", train), ("evaluation", evaluation)):
        if not scan.statistics.num_rows:
            raise UserError(
                f"data.{option}: got {getattr(data, option)}: no row is {part} data "
                f"({describe_split(data)}{form}); choose another value, other columns in "
                "--eval_by, or give the evaluation files in --eval_data"
            )


def _check_weights(schema: Schema, train: Scan, evaluation: Scan) -> None:
    """Raises if the weights of one of the parts are 0, so that no row of it counts."""
    for part, scan in (("training", train), ("evaluation", evaluation)):
        weights = scan.statistics.columns.get(schema.weight or "")
        if weights is not None and weights.count and weights.mean == weights.std == 0:
            raise UserError(
                f"schema.weight: {schema.weight} is 0 in every row of the {part} data, so no row "
                "counts; correct the column, or name another one"
            )


def build_source(
    job: Job, training: bool, cluster: Cluster = ALONE, names: Optional[Sequence[str]] = None
) -> RowSource:
    """Returns this process's shard of the training rows, or all evaluation rows.

    If there are at least as many files with training rows as training processes, these files are
    divided among the processes. Otherwise each process reads all files, and the rows are divided.

    Args:
        job: names the files.
        training: True for the training rows, False for the evaluation rows.
        cluster: the processes that train together.
        names: columns to read; None for all.
    """
    scan = job.train_scan if training else job.eval_scan
    files = job.train_files if training else job.eval_files
    number, count = cluster.trainer_id, cluster.num_trainers if training else 1
    shard = (0, 1)
    if count > 1:
        filled = _list_filled(files, scan)
        if len(filled) >= count:
            files = filled[number::count]
        else:
            shard = (number, count)
    num_rows = sum(scan.rows[file.path] for file in files)
    return RowSource(
        files,
        job.schema,
        job.config.data,
        resolve_defaults(job.schema, job.statistics),
        # Round up: if the division has a remainder, the first shards have one row more.
        -(-num_rows // shard[1]),
        ReadOptions(names, shard=shard),
    )


def _list_filled(files: Sequence[DataFile], scan: Scan) -> list[DataFile]:
    """Returns the files with rows of this part: a division by time may leave out whole files."""
    return [file for file in files if scan.rows[file.path]]


def checksum_inputs(job: Job) -> dict[str, int]:
    """Returns the checksums of a job's data, with which its evaluations are recorded.

    Args:
        job: names the files.
    """
    files = {TRAIN_DATA_KEY: job.train_files, EVAL_DATA_KEY: job.eval_files}
    return {name: checksum_data(found) for name, found in files.items()}


def encode_sources(job: Job, sources: Sequence[RowSource]) -> list[EncodedRows]:
    """Returns the encoded rows of a job; trainer.features.encoding must support the schema.

    Args:
        job: contains schema, statistics and cache.
        sources: returned by build_source.
    """
    encoder = Encoder(build_encoding(job.schema, job.statistics))
    return [EncodedRows(source, job.schema, encoder, job.cache) for source in sources]
