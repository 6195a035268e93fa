"""python -m estimator_bridge convert: writes a Keras model of an Estimator."""

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Optional

from ..command_line.commands import Parser
from ..command_line.signals import SignalReceived
from ..errors import BridgeError
from ..output.logs import set_verbosity
from ..output.terminal import escape
from .plan.columns import Raw
from .plan.model import BY_USED_ROWS, Plan
from .read.checkpoint import Checkpoint, open_checkpoint
from .read.source import add_source_flags, check_places, describe, require_keras_3
from .read.user_code import hidden_arguments
from .write import tree_files
from .write.older_keras import check_version, rewrite_for
from .write.targets import complete_together

__all__ = ["main"]

_USAGE = """python -m estimator_bridge convert --job_dir=JOB --output=model.keras
       python -m estimator_bridge convert [--as=2.8] \\
           --estimator=MODULE:FUNCTION --output=model.keras

Writes a Keras 3 model with the weights and the optimizer state of an Estimator."""


def _parse(argv: list[str]) -> argparse.Namespace:
    parser = Parser(prog="estimator_bridge convert", usage=_USAGE)
    add_source_flags(parser)
    parser.add_argument("--output", required=True, help="the Keras model to write, *.keras")
    parser.add_argument(
        "--saved_model", help="folder of the SavedModel; default: OUTPUT without .keras"
    )
    parser.add_argument(
        "--keras",
        metavar="VERSION",
        help="the Keras version that must load the model, such as 3.5; default: the installed one",
    )
    parser.add_argument("--emit_code", metavar="FILE.py", help="write the model as a Keras module")
    parser.add_argument(
        "--receiver",
        choices=("example", "csv", "json"),
        default="example",
        help="input format of the SavedModel's signatures without a prefix",
    )
    parser.add_argument(
        "--model_fn",
        action="store_true",
        help="wrap the forward pass of any Estimator as a Keras layer; needs --input_fn",
    )
    parser.add_argument(
        "--input_fn",
        metavar="MODULE:FUNCTION",
        help="with --estimator: returns rows, which show the sparse and multivalent features",
    )
    parser.add_argument(
        "--no_optimizer",
        action="store_true",
        help="do not convert optimizers and their state; the model is not compiled",
    )
    parser.add_argument(
        "--other_optimizer",
        action="store_true",
        help="accept a checkpoint of a different optimizer, and discard its optimizer state",
    )
    for kind in tree_files.KINDS:
        parser.add_argument(f"--{kind}", metavar="PATH", help=tree_files.HELP[kind])
    parser.add_argument("--overwrite", action="store_true", help="replace existing files")
    # Set by `_start_again`: the user's module is imported in a process of its own.
    parser.add_argument("--read_apart", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args(argv)


def _check_targets(options: argparse.Namespace) -> str:
    """Checks the paths to write; returns the folder of the SavedModel."""
    if not options.output.endswith(".keras"):
        raise BridgeError(f"--output={options.output}: Keras requires a file that ends in .keras")
    folder = options.saved_model or options.output[: -len(".keras")]
    others = (getattr(options, kind) for kind in tree_files.KINDS)
    files = [path for path in (options.output, options.emit_code, *others) if path]
    for target in (*files, folder):
        if target in files and os.path.isdir(target):
            raise BridgeError(f"{target}: is a folder; choose another name")
        if os.path.exists(target) and not options.overwrite:
            raise BridgeError(f"{target} already exists; choose another name, or add --overwrite")
        if not Path(target).resolve().parent.is_dir():
            raise BridgeError(f"{target}: there is no folder {Path(target).resolve().parent}")
    if os.path.exists(folder) and not os.path.isfile(os.path.join(folder, "saved_model.pb")):
        raise BridgeError(
            f"{folder}: not a SavedModel, so --overwrite does not replace it; name another place "
            "with --saved_model"
        )
    return folder


def main(argv: list[str]) -> int:
    """Runs the command.

    Args:
      argv: arguments of the command line.

    Returns:
      The exit status.

    Raises:
      BridgeError: an argument is invalid, or the Estimator cannot be converted.
    """
    options = _parse(argv)
    set_verbosity("error")
    check_places(options)
    folder = _check_targets(options)
    version = check_version(options.keras) if options.keras else None
    require_keras_3()
    if options.model_fn:
        with hidden_arguments():
            return _wrap(options, argv, folder, version)
    with hidden_arguments():
        plan, checkpoint = _read(options)
    if _is_eager_off():
        return _start_again(argv)
    if options.no_optimizer:
        plan = plan._replace(wide_optimizer=None, deep_optimizer=None)
    from .write.build import build_model
    from .write.module import write_module
    from .write.signatures import export_saved_model
    from .write.training import own_updates

    origin = f"{Path(checkpoint.path).parent.name}/{Path(checkpoint.path).name}"
    written = write_module(plan, origin)
    built = build_model(plan, written, checkpoint, options.other_optimizer)
    trees = {kind: path for kind in tree_files.KINDS if (path := getattr(options, kind))}
    targets = [options.output, folder, *trees.values(), *filter(None, [options.emit_code])]
    with complete_together(targets) as (output, saved, *others):
        built.model.save(output)
        if version is not None:
            rewrite_for(output, version)
        notes = [*built.notes, *export_saved_model(plan, built.model, saved, options.receiver)]
        for kind, path in zip(trees, others):
            tree_files.write_tree_file(plan, kind, path)
        if options.emit_code:
            Path(others[-1]).write_text(written.code, encoding="utf-8")
    where = escape(checkpoint.path)
    print(f"converted {plan.kind} ({plan.head.task}), {_step_of(checkpoint)}, {where}")
    print(f"  {len(built.names)} variables, {built.model.count_params():,} weights")
    print(f"  Keras model   {options.output}")
    print(f"  SavedModel    {folder}")
    if options.emit_code:
        print(f"  code          {options.emit_code}")
    for kind, path in trees.items():
        print(f"  {kind:<13} {path}")
    assumptions = _assumptions(plan) if options.estimator and not options.input_fn else ()
    for note in (*assumptions, *plan.left_out, *plan.training_notes, *notes):
        print(f"  note: {escape(note)}", file=sys.stderr)
    if own_updates(plan) and not options.no_optimizer:
        print(
            "  note: the optimizers of Keras update table rows differently from those of this "
            "Estimator; the module that --emit_code writes has use_estimator_updates(model) for a "
            "compiled model",
            file=sys.stderr,
        )
    if any(one.reduction == BY_USED_ROWS for one in plan.head.single):
        print(
            "  note: the Estimator divides the loss of a batch by the number of rows whose weight "
            "is not 0, Keras by the number of all rows; make_dataset of the module that "
            "--emit_code writes scales the weights for this",
            file=sys.stderr,
        )
    return 0


def _is_eager_off() -> bool:
    """Returns whether the user's module has turned eager execution off, which Keras 3 needs."""
    from estimator_bridge import tf

    return not tf.executing_eagerly()


def _start_again(argv: list[str]) -> int:
    """Converts in a new process, which reads the Estimator in one of its own; returns the status.

    Eager execution is off for a whole process, for example for shared embeddings.
    """
    command = [sys.executable, "-m", "estimator_bridge", "convert", "--read_apart", *argv]
    # Ctrl-C does not reach a new session, so each signal comes once, from here.
    process = subprocess.Popen(command, start_new_session=True)
    try:
        return process.wait()
    except SignalReceived as received:
        process.send_signal(received.signal)
        return process.wait()


def _step_of(checkpoint: Checkpoint) -> str:
    step = checkpoint.stored_step
    return "no step is stored" if step is None else f"step {step:,}"


def _read(options: argparse.Namespace) -> tuple[Plan, Checkpoint]:
    """Returns the model that the options choose, and its checkpoint."""
    if not (options.as_version or options.read_apart):
        source = describe(options)
        return source.plan, source.checkpoint
    from .read.own_process import read_apart

    plan, path = read_apart(options)
    return plan, open_checkpoint(path)


def _assumptions(plan: Plan) -> Iterator[str]:
    """Yields the assumptions about features that are crossed by name, one line each."""
    crosses = [getattr(column, "source", column) for column in (*plan.wide, *plan.deep)]
    parts = [part for cross in crosses for part in getattr(cross, "keys", ())]
    dense = {part.key for part in parts if isinstance(part, Raw) and not part.sparse}
    if dense:
        yield (
            f"crossed by name and assumed to be dense tensors: {', '.join(sorted(dense))}. Sparse "
            "tensors are hashed in a different order; if they are sparse, add "
            "--input_fn=MODULE:FUNCTION or --sparse=NAMES"
        )


def _wrap(options: argparse.Namespace, argv: list[str], folder: str, version: Optional[str]) -> int:
    """Converts with --model_fn; returns the exit status."""
    if not options.estimator or not options.input_fn or options.emit_code:
        raise BridgeError(
            "--model_fn requires --estimator=MODULE:FUNCTION and --input_fn=MODULE:FUNCTION, and "
            "excludes --emit_code: only a canned model can be written as code"
        )
    from .read.forward_pass import export_forward_pass
    from .read.own_process import export_apart
    from .write.keras_layer import wrap_forward_pass, write_forward_pass

    with tempfile.TemporaryDirectory() as exports:
        is_apart = options.as_version or options.read_apart
        exported = (export_apart if is_apart else export_forward_pass)(options, exports)
        if _is_eager_off():
            return _start_again(argv)
        # The Keras model refers to the folder by its name, so the folder has to be there first.
        with complete_together([folder]) as (saved,):
            write_forward_pass(exported, saved)
        with complete_together([options.output]) as (output,):
            model = wrap_forward_pass(exported, output, folder)
            if version is not None:
                rewrite_for(output, version)
    checkpoint = open_checkpoint(exported.checkpoint)
    print(f"wrapped the model_fn of {options.estimator}, {_step_of(checkpoint)}")
    print(f"  {len(model.trainable_weights)} trainable variables, {model.count_params():,} weights")
    print(
        f"  Keras model   {options.output} (load it with safe_mode=False, and keep the SavedModel)"
    )
    print(f"  SavedModel    {folder}")
    return 0
