"""Which Estimator a command works on: the flags of convert and verify, and what they name."""

import argparse
import os
from typing import Any

from estimator_bridge.errors import BridgeError

__all__ = [
    "add_source_flags",
    "describe",
    "names_in",
    "refuse_addresses",
    "require_keras_3",
]


def add_source_flags(parser: argparse.ArgumentParser) -> None:
    """The flags that say which Estimator is meant; convert and verify share them."""
    parser.add_argument("--job_dir", help="job_dir of a finished run of this project's trainer")
    parser.add_argument(
        "--estimator",
        metavar="MODULE:FUNCTION",
        help="a function without arguments that returns a canned Estimator",
    )
    parser.add_argument(
        "--checkpoint", help="checkpoint prefix or folder; unset: the newest of the model_dir"
    )
    parser.add_argument(
        "--multivalued",
        default="",
        metavar="A,B",
        help="features fed as dense tensors of any number of values a row, padded with '' or -1",
    )
    parser.add_argument(
        "--sparse",
        default="",
        metavar="A,B",
        help="features fed as SparseTensors (VarLenFeature): any number of values a row",
    )


def refuse_addresses(options: Any) -> None:
    """Refuses paths that are not of this machine.

    Raises:
      BridgeError: a flag's value is an address such as gs://bucket/job.
    """
    for name, value in vars(options).items():
        if isinstance(value, str) and "://" in value:
            raise BridgeError(
                f"--{name}={value}: only files of this machine are read and written; copy a job "
                "from its bucket first (gcloud storage cp -r gs://BUCKET/JOB .), and results to "
                "one afterwards"
            )


def describe(options):
    """(plan, checkpoint, Estimator or None) of what the flags name.

    Raises:
      BridgeError: they name nothing, or something that cannot be converted.
    """
    if bool(options.job_dir) == bool(options.estimator):
        raise BridgeError("give either --job_dir=FOLDER or --estimator=MODULE:FUNCTION")
    from .checkpoint import open_checkpoint

    if options.job_dir:
        from .job_dir import read_job_dir

        plan = read_job_dir(options.job_dir)
        return plan, open_checkpoint(options.checkpoint or options.job_dir), None
    from .canned import describe_estimator, load_estimator
    from .rows import read_input_fn
    from .user_code import load_function

    loaded = load_estimator(options.estimator)
    checkpoint = open_checkpoint(options.checkpoint or loaded.estimator.model_dir)
    given = None
    if options.input_fn:
        given = read_input_fn(load_function(options.input_fn, "--input_fn"), None, 1)
    plan = describe_estimator(
        loaded,
        checkpoint.step,
        given=given,
        multivalued=names_in(options.multivalued),
        sparse=names_in(options.sparse),
    )
    return plan, checkpoint, loaded.estimator


def names_in(text: str) -> tuple[str, ...]:
    """The names in a flag's value."""
    return tuple(part.strip() for part in text.split(",") if part.strip())


def require_keras_3() -> None:
    """Refuses to go on where Keras 3 is not installed.

    Raises:
      BridgeError: it is not.
    """
    from importlib import metadata

    try:
        version = metadata.version("keras")
    except metadata.PackageNotFoundError:
        version = "none"
    if version.split(".")[0] in ("none", "1", "2"):
        raise BridgeError(
            f"Keras 3 is needed to write a Keras 3 model; installed: {version}. Run this command "
            "where TensorFlow 2.16 or later is: checkpoints of 2.15 are read there too"
        )
    os.environ.setdefault("KERAS_BACKEND", "tensorflow")
