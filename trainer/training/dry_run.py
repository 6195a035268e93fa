"""--dry_run: checks data, model, job_dir and disk, and trains one step in a temporary folder."""

import shutil
import tempfile
from pathlib import Path
from typing import Optional

from estimator_bridge import tf
from trainer import config as config_lib
from trainer.console import Console
from trainer.errors import UserError
from trainer.job_dir import checkpoints
from trainer.job_layout import CHECKPOINT_STEM
from trainer.schema import Schema
from trainer.signals import SignalWatch
from trainer.storage import disk
from trainer.training import job as job_lib
from trainer.training import run

# Disk space to keep free, in checkpoints. A new checkpoint is written before the oldest one is
# deleted, and exports need space too.
SPARE_CHECKPOINTS = 3


def rehearse(
    config: config_lib.Config, schema: Schema, console: Console, watch: SignalWatch
) -> None:
    """Checks data, model, job_dir and disk.

    Trains one step in a temporary folder, then evaluates and exports it there.

    Args:
        config: the resolved configuration.
        schema: schema of the data.
        console: shows progress.
        watch: receives signals.

    Raises:
        UserError: the job would fail.
    """
    console.log("dry run: nothing is written to job_dir")
    job_dir = config.require_job_dir()
    disk.check_writable(job_dir, make=False)
    with tempfile.TemporaryDirectory(prefix="dry-run-") as folder:
        prepared = job_lib.prepare(config, schema, console)
        one_step = config.model_copy(
            update={
                "job_dir": folder,
                "train": config.train.model_copy(update={"max_steps": 1, "epochs": None}),
                "eval": config.eval.model_copy(update={"steps": 1}),
            }
        )
        result = run.train_and_evaluate(
            prepared._replace(config=one_step, max_steps=1), console, watch
        )
        _check_shapes(job_dir, result.checkpoints[-1])
        size = sum(path.stat().st_size for path in Path(folder).glob(f"{CHECKPOINT_STEM}-*"))
        _check_space(job_dir, size, config.run.keep_checkpoint_max)
    console.log(
        f"dry run: all is well; the job would train to step {prepared.max_steps:,} "
        f"and write checkpoints of {size / 2**20:.1f} MiB"
    )


def _check_shapes(job_dir: str, rehearsed: str) -> None:
    """Compares the variable shapes in job_dir's checkpoint with those of the model just built."""
    checkpoint = checkpoints.find_newest_intact(job_dir)
    if checkpoint is None:
        return
    stored = dict(tf.train.list_variables(checkpoint))
    for name, shape in tf.train.list_variables(rehearsed):
        if stored.get(name) != shape:
            raise UserError(
                f"job_dir {job_dir}: {Path(checkpoint).name} has "
                f"{_describe_shape(name, stored.get(name))} and the model needs {shape}; "
                "use another --job_dir, or the settings it was trained with"
            )


def _describe_shape(name: str, shape: Optional[list[int]]) -> str:
    return f"no {name}" if shape is None else f"{name} {shape}"


def _check_space(job_dir: str, size: int, keep_checkpoint_max: int) -> None:
    kept = (keep_checkpoint_max or SPARE_CHECKPOINTS) + SPARE_CHECKPOINTS
    free = shutil.disk_usage(disk.find_existing(job_dir)).free
    if free < kept * size:
        raise UserError(
            f"job_dir {job_dir}: {free / 2**20:,.0f} MiB free and {kept} checkpoints of "
            f"{size / 2**20:,.0f} MiB will be written; make room, or lower run.keep_checkpoint_max"
        )
