"""Runs work on the engine that the flags choose."""

import logging
from collections.abc import Callable, Sequence
from typing import Any, Optional, TypeVar

from trainer.console import Console
from trainer.engines.options import BEAM, LOCAL, Engine
from trainer.engines.work import PassWork, Result, Work, open_outcome, start_job
from trainer.inputs.files import DataFile
from trainer.passes.contract import Pass, Piece
from trainer.passes.local import run_here
from trainer.passes.planning import plan_tasks

File = TypeVar("File", DataFile, Piece)
# Maximum number of tasks that each load a model. Several files share a task if there are more.
MAX_MODEL_TASKS = 1_000


def run_pass(one: Pass[Result], files: Sequence[DataFile], what: str, engine: Engine) -> Result:
    """Runs a pass over files, and returns the merged partial result.

    Args:
        one: the pass.
        files: at least one.
        what: name of the work in the progress display, such as "reading the data".
        engine: the engine that runs it.

    Raises:
        UserError: a file cannot be read, or the engine fails.
    """
    if engine.name == LOCAL:
        return run_here(one, files, what)
    return run_tasks(PassWork(one), plan_tasks(files), what, engine)


def run_tasks(
    work: Work[Any, Result],
    tasks: Sequence[Any],
    what: str,
    engine: Engine,
    finish: Optional[Callable[[Result], None]] = None,
) -> Result:
    """Runs tasks on Beam or Spark, and returns their merged result.

    Args:
        work: the work.
        tasks: at least one.
        what: name of the work in messages, such as "reading the data".
        engine: beam or spark.
        finish: called on the engine with the result when all tasks have succeeded; can be pickled.

    Raises:
        UserError: a task or the engine fails.
    """
    Console().log(f"{what}: {len(tasks):,} task(s) on {engine.name}")
    job = start_job(work, finish)
    # Imported here, because each engine needs an optional package.
    if engine.name == BEAM:
        # Beam warns about missing optional packages that are not needed here.
        logging.disable(logging.WARNING)
        from trainer.engines.beam import run_on_beam

        logging.disable(logging.NOTSET)
        return open_outcome(work, run_on_beam(job, tasks, engine.beam_options))
    from trainer.engines.spark import run_on_spark

    return open_outcome(work, run_on_spark(job, tasks, dict(engine.spark_options)))


def store_template(
    work: Work[Any, Result],
    tasks: Sequence[Any],
    engine: Engine,
    finish: Callable[[Result], None],
    begin: Optional[Callable[[], None]] = None,
) -> None:
    """Writes a pipeline that does the same as `run_tasks` when Dataflow runs it.

    Args:
        work: the work.
        tasks: at least one.
        engine: beam; its option --template_location names the file for the pipeline.
        finish: called with the result.
        begin: called before the first task each time the pipeline runs.

    Raises:
        UserError: an option is wrong, or the pipeline cannot be written.
    """
    from trainer.engines.beam import write_template

    write_template(start_job(work, finish, begin), tasks, engine.beam_options)


def group_files(files: Sequence[File]) -> list[Sequence[File]]:
    """Groups consecutive files into tasks that each load a model.

    Args:
        files: at least one file or part of a file.
    """
    size = -(-len(files) // MAX_MODEL_TASKS)
    return [files[first : first + size] for first in range(0, len(files), size)]
