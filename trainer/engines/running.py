"""Runs work with the engine that the flags choose."""

from collections.abc import Iterator, Sequence
from typing import Any

from trainer.console import Console
from trainer.engines.options import BEAM, LOCAL, Engine
from trainer.engines.work import PassWork, Result, Tasks, Work, open_outcome, start_job
from trainer.inputs.files import DataFile
from trainer.passes.contract import Pass, number_files
from trainer.passes.local import run_here


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
    return run_tasks(PassWork(one), number_files(files), what, engine)


def run_tasks(work: Work[Any, Result], tasks: Sequence[Any], what: str, engine: Engine) -> Result:
    """Returns the merged result of all tasks, which an engine runs.

    Args:
        work: the work.
        tasks: at least one.
        what: the work, for messages: "reading the data".
        engine: beam or spark.

    Raises:
        UserError: a task fails, or the engine does.
    """
    Console().log(f"{what}: {len(tasks):,} task(s) on {engine.name}")
    # Imported here, because each needs its extra.
    if engine.name == BEAM:
        from trainer.engines.beam import run_on_beam

        return open_outcome(work, run_on_beam(start_job(work), tasks, engine.beam_options))
    from trainer.engines.spark import run_on_spark

    return open_outcome(work, run_on_spark(start_job(work), tasks, dict(engine.spark_options)))


def divide(files: Sequence[DataFile], max_tasks: int) -> list[Sequence[DataFile]]:
    """Returns runs of files, in their order, as tasks.

    Args:
        files: at least one.
        max_tasks: greatest number of tasks.
    """
    size = -(-len(files) // max_tasks)
    return [files[first : first + size] for first in range(0, len(files), size)]


def gather_tasks(
    work: Tasks[Any, Result], tasks: Sequence[Any], what: str, engine: Engine
) -> Iterator[Result]:
    """Yields the result of each task, in their order, when an engine has run all.

    Args:
        work: the work.
        tasks: at least one.
        what: the work, for messages: "reading the data".
        engine: beam or spark.

    Raises:
        UserError: a task fails, or the engine does.
    """
    Console().log(f"{what}: {len(tasks):,} task(s) on {engine.name}")
    if engine.name == BEAM:
        from trainer.engines.beam import gather_on_beam

        outcomes = gather_on_beam(start_job(work), tasks, engine.beam_options)
    else:
        from trainer.engines.spark import gather_on_spark

        outcomes = gather_on_spark(start_job(work), tasks, dict(engine.spark_options))
    for outcome in outcomes:
        yield open_outcome(work, outcome)
