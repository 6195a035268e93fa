"""python -m trainer.prepare: checks and encodes the data of a job before it starts.

  python -m trainer.prepare -- --hparams=census --job_dir=jobs/census \\
      --train_data=train.csv --eval_data=eval.csv
  python -m trainer.prepare --engine=beam \\
      --beam_options='--runner=DataflowRunner ...' -- \\
      --data.cache=gs://lake/cache --data.schema_file=schema.yaml \\
      --train_data='gs://lake/clicks'

The flags after -- are those of the job; among them, --engine is short for --model.engine, and
before --, it says what reads the files. The results are stored in --data.cache, where jobs with the
same data, schema and options find them. A job of several processes uses only the check of the data,
not the encoded rows; for such a job, --scan_only does not write them.
"""

import tempfile
from contextlib import ExitStack
from pathlib import Path

from absl import flags

import estimator_bridge
from trainer import config as config_lib
from trainer import storage
from trainer.config.arguments import TASK_FLAGS_HINT, parse_flags, split_task_flags
from trainer.config.flags import parse_command_line
from trainer.console import Console
from trainer.engines.options import define_engine, read_engine
from trainer.errors import TemporaryError, UserError, redact_data
from trainer.job_layout import MODEL_FILES


def main(argv: list[str]) -> int:
    """Checks and encodes the data of a job; returns the exit status.

    Args:
        argv: the arguments after the program's name.

    Raises:
        UserError: a flag or the data are wrong, or the engine fails.
    """
    own, task_flags = split_task_flags(argv)
    usage = __doc__ or ""
    values = parse_flags("trainer.prepare", _define, own, usage, stray_hint=TASK_FLAGS_HINT)
    if values is None:
        return 0
    if not task_flags:
        raise UserError("nothing after --; write -- and the flags of trainer.task")
    command = parse_command_line(task_flags)
    if command is None:
        raise UserError("--help after --: python -m trainer.task --help lists these flags")
    config = config_lib.load_config(command.hparams, command.overrides)
    redact_data(config.redact)
    engine = read_engine(values)
    settings = storage.Settings(**config.storage.model_dump())
    console = Console(quiet=config.verbosity in ("warning", "error"))
    storage.configure(settings, console)
    estimator_bridge.set_verbosity("error")
    with ExitStack() as stack:
        copies = stack.enter_context(storage.open_copies(settings))
        unused = stack.enter_context(tempfile.TemporaryDirectory(prefix="prepare-"))
        # Imported here, because these import TensorFlow, which logs until it is told not to.
        from trainer.training.preparing import prepare_data

        job_dir = _find_job(config, copies, unused)
        config = config.model_copy(update={"job_dir": job_dir})
        prepare_data(config, engine, console, values.scan_only)
    return 0


def _define(values: flags.FlagValues) -> None:
    flags.DEFINE_boolean(
        "scan_only",
        False,
        "only check the data, for a job of several processes",
        flag_values=values,
    )
    define_engine(values)


def _find_job(config: config_lib.Config, copies: storage.Copies, unused: str) -> str:
    """Returns the folder of the job, or of what decides about its rows; else an unused folder."""
    job_dir = config.job_dir
    if job_dir is None or not storage.is_remote(job_dir):
        return job_dir or unused
    from trainer.job_dir.trained_job import fetch_checkpoints

    try:
        (path,) = fetch_checkpoints(job_dir, None, False, copies)
        copies.fetch(job_dir, "--job_dir", lambda name: name in MODEL_FILES)
    except TemporaryError:
        raise
    except UserError:
        # A new job.
        return unused
    return str(Path(path).parent)
