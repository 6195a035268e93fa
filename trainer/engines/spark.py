"""Runs work on Apache Spark."""

import contextlib
import pickle  # noqa: S403
import shutil
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Optional

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from trainer.engines.engine_log import explain_spark, open_log, redirect_output
from trainer.engines.options import SPARK
from trainer.engines.work import Job, Outcome, raise_temporary
from trainer.environment.variables import is_submitted
from trainer.errors import UserError

# Maximum number of results that one task merges; more results are merged in several rounds.
FAN_IN = 16
MAX_TASKS = 10_000
_PYTHON = "spark.pyspark.python"
_SCHEMA = "outcome binary"
_COLUMN = pa.schema([("outcome", pa.binary())])


def run_on_spark(job: Job, tasks: Sequence[Any], options: dict[str, str]) -> Outcome:
    """Runs all tasks on Spark, and returns the merged outcome.

    Args:
        job: the work.
        tasks: at least one.
        options: Spark property → value.

    Raises:
        UserError: an option is invalid, or the job fails.
    """
    with _open_session(options) as session:

        def merge(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            outcome = None
            for batch in batches:
                for packed in batch.column(0).to_pylist():
                    found = pickle.loads(packed)  # noqa: S301
                    # A list, because the outcome itself may be None.
                    outcome = [found] if outcome is None else [job.combine([*outcome, found])]
            if outcome is not None:
                yield _pack(outcome[0])

        table, parts = _map(session, len(tasks), lambda index: job.perform(tasks[index]))
        while parts > 1:
            parts = -(-parts // FAN_IN)
            table = table.repartition(parts).mapInArrow(merge, _SCHEMA)
        (row,) = table.collect()
        return job.complete(pickle.loads(row[0]))  # noqa: S301


def _map(session: SparkSession, count: int, perform: Callable[[int], Any]) -> tuple[DataFrame, int]:
    """Returns a table of the pickled results of `count` tasks, and its number of partitions."""

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for index in batch.column(0).to_pylist():
                yield _pack(perform(index))

    parts = min(count, MAX_TASKS)
    return session.range(0, count, 1, parts).mapInArrow(run, _SCHEMA), parts


def _pack(outcome: Outcome) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays(
        [pa.array([pickle.dumps(outcome)], pa.binary())], schema=_COLUMN
    )


@contextlib.contextmanager
def _open_session(options: dict[str, str]) -> Iterator[SparkSession]:
    """Opens a session while a `with` statement runs."""
    options = dict(options)
    submitted = is_submitted()
    master = options.pop("master", None if submitted else "local[*]")
    defaults = {
        "spark.log.level": "ERROR",
        "spark.ui.showConsoleProgress": "false",
        # One result per batch, because a result may have megabytes.
        "spark.sql.execution.arrow.maxRecordsPerBatch": "1",
    }
    if master is not None and master.startswith("local"):
        # Executors on this machine run the same Python, with the same packages.
        defaults[_PYTHON] = sys.executable
        defaults["spark.executorEnv.PYTHONPATH"] = str(Path(__file__).parents[2])
        defaults["spark.ui.enabled"] = "false"
        python = options.get(_PYTHON, sys.executable)
        if shutil.which(python) is None:
            raise UserError(
                f"--spark_options: {_PYTHON}={python}: no such program; name a Python interpreter"
            )
    properties = {**defaults, **options}
    builder = SparkSession.builder.appName("estimator-trainer")
    if master is not None:
        builder = builder.master(master)
    for name, value in properties.items():
        builder = builder.config(name, value)
    # If the user sets a log level, Java's output is shown.
    log = None if submitted or "spark.log.level" in options else open_log(SPARK)
    with _translate_errors(log), warnings.catch_warnings():
        # PySpark warns about every pandas that is newer than itself; pandas is not used here.
        warnings.simplefilter("ignore", FutureWarning)
        with redirect_output(log):
            session = builder.getOrCreate()
        context = session.sparkContext
        # Only spark-submit reads the property.
        if not submitted:
            context.pythonExec = properties.get(_PYTHON, context.pythonExec)
        try:
            yield session
        finally:
            session.stop()


@contextlib.contextmanager
def _translate_errors(log: Optional[Path]) -> Iterator[None]:
    from py4j.protocol import Py4JError

    try:
        yield
    except (PySparkException, Py4JError, OSError) as error:
        raise_temporary(error)
        raise explain_spark(error, log) from error
