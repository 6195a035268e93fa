"""Defines the flags that choose an Estimator, for convert and verify, and reads the Estimator."""

import argparse
import glob
import os
from typing import Any, NamedTuple, Optional

from estimator_bridge import era, install, tf1
from estimator_bridge.errors import BridgeError

from ..plan.model import Plan
from .checkpoint import Checkpoint, open_checkpoint

__all__ = [
    "Source",
    "add_source_flags",
    "describe",
    "install_version",
    "names_in",
    "check_places",
    "require_keras_3",
]


class Source(NamedTuple):
    """The model that a command converts or compares.

    Attributes:
      plan: the model.
      checkpoint: its checkpoint.
      estimator: the Estimator; None for a job_dir.
    """

    plan: Plan
    checkpoint: Checkpoint
    estimator: Optional[Any]


def add_source_flags(parser: argparse.ArgumentParser) -> None:
    """Adds the flags that choose an Estimator and its checkpoint.

    Args:
      parser: parser of convert or verify.
    """
    parser.add_argument("--job_dir", help="job_dir of a finished run of this project's trainer")
    parser.add_argument(
        "--estimator",
        metavar="MODULE:FUNCTION",
        help="a function without arguments that returns a canned Estimator",
    )
    parser.add_argument(
        "--as",
        dest="as_version",
        metavar="VERSION",
        help="the TensorFlow for which the program of --estimator was written, 2.0 to 2.15 or 1.15",
    )
    parser.add_argument(
        "--tf1",
        dest="as_version",
        action="store_const",
        const=era.format_version(era.TF1),
        help="the same as --as=1.15",
    )
    parser.add_argument(
        "--checkpoint", help="checkpoint prefix or folder; default: the newest of the model_dir"
    )
    parser.add_argument(
        "--multivalued",
        default="",
        metavar="A,B",
        help="multivalent features fed as dense tensors, padded with '' or -1",
    )
    parser.add_argument(
        "--sparse",
        default="",
        metavar="A,B",
        help="multivalent features fed as SparseTensors (VarLenFeature)",
    )


def _refuse_addresses(options: Any) -> None:
    """Checks that every option is a path of this machine."""
    for name, value in vars(options).items():
        if isinstance(value, str) and "://" in value:
            raise BridgeError(
                f"--{name}={value}: only files of this machine can be read and written; copy a job "
                "from its bucket first (gcloud storage cp -r gs://BUCKET/JOB .), and results to "
                "a bucket afterwards"
            )


def check_places(options: Any) -> None:
    """Checks, before TensorFlow is loaded, the places and the version that the options name.

    Args:
      options: parsed options.

    Raises:
      BridgeError: an option is an address such as gs://bucket/job, there is no such checkpoint, or
        --as names no TensorFlow, or belongs to no --estimator.
    """
    _refuse_addresses(options)
    if options.as_version:
        era.parse(options.as_version)
        if options.job_dir:
            raise BridgeError(
                "--as and --tf1 belong to --estimator=MODULE:FUNCTION; a --job_dir is of this "
                "project's trainer"
            )
    wanted = options.checkpoint
    # One of TensorFlow 1.0 has no index: any file with the prefix will do.
    if wanted and not glob.glob(f"{glob.escape(wanted)}*"):
        raise BridgeError(
            f"--checkpoint={wanted}: no such checkpoint or folder; give the prefix of its files, "
            "such as JOB/model.ckpt-100"
        )


def install_version(options: Any) -> None:
    """Shows this process the TensorFlow that --as or --tf1 names; does nothing without them.

    Args:
      options: parsed options, with the flags of add_source_flags.

    Raises:
      BridgeError: the version cannot be shown in this process.
    """
    if not options.as_version:
        return
    version = era.parse(options.as_version)
    if version == era.TF1:
        tf1.install()
    else:
        install(options.as_version)


def describe(options: Any) -> Source:
    """Reads the model and the checkpoint that the options choose.

    Args:
      options: parsed options, with the flags of add_source_flags and --input_fn.

    Raises:
      BridgeError: the options choose no model, or a model that cannot be converted.
    """
    if bool(options.job_dir) == bool(options.estimator):
        raise BridgeError("give either --job_dir=FOLDER or --estimator=MODULE:FUNCTION")
    if options.job_dir:
        from .job_dir import read_job_dir

        plan = read_job_dir(options.job_dir, options.checkpoint)
        return Source(plan, open_checkpoint(options.checkpoint or options.job_dir), None)
    from .canned import InputReader, describe_estimator, load_estimator
    from .forwarding import add_forwarded, is_forwarding
    from .input_function import read_features, read_input_fn
    from .trees import describe_trees, is_boosted
    from .user_code import load_function

    loaded = load_estimator(options.estimator)
    checkpoint = open_checkpoint(options.checkpoint or loaded.estimator.model_dir)
    rows = features = None
    if options.input_fn:
        function = load_function(options.input_fn, "--input_fn")
        rows = read_input_fn(function, None, 1)
        if is_forwarding(loaded.estimator):
            features = read_features(function)
    multivalued, sparse = names_in(options.multivalued), names_in(options.sparse)
    if is_boosted(loaded.estimator):
        plan = describe_trees(
            loaded, checkpoint, InputReader(loaded.where, multivalued, sparse, rows)
        )
    else:
        plan = describe_estimator(
            loaded, checkpoint.step, given=rows, multivalued=multivalued, sparse=sparse
        )
    return Source(add_forwarded(plan, loaded.estimator, features), checkpoint, loaded.estimator)


def names_in(text: str) -> tuple[str, ...]:
    """Returns the names in the value of a flag.

    Args:
      text: names separated by commas.
    """
    return tuple(part.strip() for part in text.split(",") if part.strip())


def require_keras_3() -> None:
    """Checks that Keras 3 is installed, and selects its TensorFlow backend.

    Raises:
      BridgeError: Keras is missing, or is older than Keras 3.
    """
    from importlib import metadata

    try:
        version = metadata.version("keras")
    except metadata.PackageNotFoundError:
        version = "none"
    if version.split(".")[0] in ("none", "1", "2"):
        raise BridgeError(
            f"Keras: {version} is installed, but Keras 3 is required; run this command with "
            "TensorFlow 2.16 or later, which also reads checkpoints of 2.15"
        )
    os.environ.setdefault("KERAS_BACKEND", "tensorflow")
