"""Runs work with the engine that the flags choose."""

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
# More files than this share tasks that load a model.
MAX_MODEL_TASKS = 1_000


def run_pass(one: Pass[Result], files: Sequence[DataFile], what: str, engine: Engine) -> Result:
    """Returns the partial result of all files.

    Args:
        one: the pass.
        files: at least one.
        what: the work, for the progress: "reading the data".
        engine: where it runs.

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
    """Returns the merged result of all tasks, which an engine runs.

    Args:
        work: the work.
        tasks: at least one.
        what: the work, for messages: "reading the data".
        engine: beam or spark.
        finish: is given the result by the engine when all tasks have succeeded; can be pickled.

    Raises:
        UserError: a task fails, or the engine does.
    """
    Console().log(f"{what}: {len(tasks):,} task(s) on {engine.name}")
    job = start_job(work, finish)
    # Imported here, because each needs its extra.
    if engine.name == BEAM:
        # Beam warns of extras that are missing, and that nothing here needs.
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
    """Writes what Dataflow runs, where the engine's options say; see `run_tasks`.

    Args:
        work: the work.
        tasks: at least one.
        engine: beam, with --template_location.
        finish: is given the result.
        begin: runs before the first task, whenever the pipeline runs.

    Raises:
        UserError: an option is wrong, or the pipeline cannot be written.
    """
    from trainer.engines.beam import write_template

    write_template(start_job(work, finish, begin), tasks, engine.beam_options)


def group_files(files: Sequence[File]) -> list[Sequence[File]]:
    """Returns runs of files, in their order, as tasks that each load a model.

    Args:
        files: at least one, whole or shares.
    """
    size = -(-len(files) // MAX_MODEL_TASKS)
    return [files[first : first + size] for first in range(0, len(files), size)]
