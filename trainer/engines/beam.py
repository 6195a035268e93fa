"""Runs work on Apache Beam."""

import contextlib
import io
import logging
import pickle  # noqa: S403
import tempfile
import uuid
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Optional

import apache_beam as beam
from apache_beam.io.filesystems import FileSystems
from apache_beam.options.pipeline_options import (
    GoogleCloudOptions,
    PipelineOptions,
    StandardOptions,
)
from apache_beam.runners.runner import create_runner

from trainer.engines.engine_log import explain_beam, open_log, redirect_output
from trainer.engines.options import BEAM
from trainer.engines.work import Job, Outcome, open_outcome, raise_temporary
from trainer.errors import UserError

# Names of the runners whose workers are on this machine, without "Runner", in lower case.
LOCAL_RUNNERS = ("direct", "fnapi", "bundlebaseddirect", "prism")
_LEVEL = "--default_sdk_harness_log_level="


class _Combine(beam.CombineFn):
    """Merges outcomes; an accumulator is a list of at most one outcome."""

    def __init__(self, job: Job):
        super().__init__()
        self._job = job

    def create_accumulator(self) -> list[Outcome]:
        return []

    def add_input(self, accumulator: list[Outcome], element: Outcome) -> list[Outcome]:
        return [self._job.combine([*accumulator, element])]

    def merge_accumulators(self, accumulators: Iterable[list[Outcome]]) -> list[Outcome]:
        outcomes = [one for each in accumulators for one in each]
        return [self._job.combine(outcomes)] if outcomes else []

    def extract_output(self, accumulator: list[Outcome]) -> list[Outcome]:
        return accumulator


def run_on_beam(job: Job, tasks: Sequence[Any], words: Sequence[str]) -> Outcome:
    """Runs all tasks on Beam, and returns the merged outcome.

    A worker completes the job, so that the job is complete even if this process ends early.

    Args:
        job: the work.
        tasks: at least one.
        words: options of the pipeline, as on a command line.

    Raises:
        UserError: an option is invalid, or the pipeline fails.
    """
    options = parse_options(words)
    # If the user sets a log level, the output of the workers is shown.
    log = None if any(word.startswith(_LEVEL) for word in words) else open_log(BEAM)
    with _open_folder(options) as folder, _translate_errors(log):
        path = FileSystems.join(folder, f"result-{uuid.uuid4().hex}")
        pipeline = beam.Pipeline(options=options)
        # Without Reshuffle, the runner may run all tasks in one bundle.
        started = pipeline | beam.Create(list(enumerate(tasks))) | beam.Reshuffle()
        _ = _merge(job, started) | "store" >> beam.Map(lambda found: _store(path, found))
        with redirect_output(log):
            pipeline.run().wait_until_finish()
        return _load(path)


def write_template(job: Job, tasks: Sequence[Any], words: Sequence[str]) -> None:
    """Writes the pipeline to --template_location, where the launcher of Dataflow reads it.

    Args:
        job: the work.
        tasks: at least one.
        words: options of the pipeline, as on a command line.

    Raises:
        UserError: an option is invalid, or the pipeline cannot be written.
    """
    options = parse_options(words)
    with _translate_errors(None):
        pipeline = beam.Pipeline(options=options)
        started = (
            pipeline
            | "all" >> beam.Create([list(tasks)])
            | "begin" >> beam.Map(lambda every: (job.start(), every)[1])
            | "each" >> beam.FlatMap(lambda every: list(enumerate(every)))
            | beam.Reshuffle()
        )
        merged = _merge(job, started)
        # A UserError of a task makes the job of the service fail.
        _ = merged | "check" >> beam.Map(lambda found: open_outcome(job.work, found))
        pipeline.run()


def _merge(job: Job, started: beam.PCollection) -> beam.PCollection:
    return (
        started
        | "run" >> beam.Map(lambda task: job.perform(task[1]))
        | "merge" >> beam.CombineGlobally(_Combine(job))
        | "complete" >> beam.Map(lambda found: job.complete(found[0]))
    )


def parse_options(words: Sequence[str]) -> PipelineOptions:
    """Returns the options of a pipeline.

    Args:
        words: the options, as on a command line.

    Raises:
        UserError: an option does not exist, or its value is invalid.
    """
    words = [f"{_LEVEL}ERROR", *words]
    output = io.StringIO()
    try:
        with contextlib.redirect_stderr(output):
            options = PipelineOptions(list(words))
            known = options.get_all_options()
            every = options.get_all_options(retain_unknown_options=True)
    except SystemExit as error:
        reason = output.getvalue().strip().rpartition("error: ")[2]
        raise UserError(f"--beam_options: {reason}; correct it") from error
    unknown = sorted(set(every) - set(known))
    # The options of a runner behind a job service are known only to that service.
    if unknown and not known.get("job_endpoint"):
        raise UserError(
            f"--beam_options: --{unknown[0]}: Beam has no such option; check its spelling"
        )
    _require_runner(options)
    return options


def _require_runner(options: PipelineOptions) -> None:
    """Checks that the runner exists and that its optional package is installed."""
    name = options.view_as(StandardOptions).runner
    if name is None:
        return
    try:
        create_runner(name)
    except (ImportError, AttributeError, ValueError, RuntimeError) as error:
        reason = " ".join(str(error).split())[:300]
        raise UserError(f"--beam_options: --runner={name}: {reason}; correct it") from error


def _store(path: str, outcome: Outcome) -> None:
    with FileSystems.create(path) as stream:
        stream.write(pickle.dumps(outcome))


def _load(path: str) -> Outcome:
    with FileSystems.open(path) as stream:
        return pickle.loads(stream.read())  # noqa: S301


@contextlib.contextmanager
def _open_folder(options: PipelineOptions) -> Iterator[str]:
    """Yields a folder that the workers and this process can access."""
    folder = options.view_as(GoogleCloudOptions).temp_location
    runner = options.view_as(StandardOptions).runner or LOCAL_RUNNERS[0]
    kind = runner.rpartition(".")[2].lower().removesuffix("runner")
    if folder is None and kind not in LOCAL_RUNNERS:
        raise UserError(
            "--beam_options: add --temp_location=FOLDER, a folder that the workers and this "
            "machine can access"
        )
    if folder is not None:
        yield folder
        return
    with tempfile.TemporaryDirectory(prefix="beam-") as local:
        yield local


@contextlib.contextmanager
def _translate_errors(log: Optional[Path]) -> Iterator[None]:
    logging.getLogger("apache_beam").setLevel(logging.ERROR)
    try:
        yield
    except UserError:
        raise
    # Each runner has its own types of errors.
    except Exception as error:
        raise_temporary(error)
        raise explain_beam(error, log) from error
