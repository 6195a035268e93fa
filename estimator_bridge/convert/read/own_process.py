"""Reads an Estimator of a program for an older TensorFlow in a process of its own.

In the view of an older TensorFlow, `keras` is Keras 2, and in that of 1.x eager execution is off,
both for the whole process. Keras 3 could not write a model there.
The process is started with a folder, in which it finds the request and leaves the reply. The reply
has no functions of the user, because the other process does not have them.
"""

import argparse
import json
import os
import pickle
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, Optional

from estimator_bridge.errors import BridgeError

from ..plan.model import Plan
from .forward_pass import ForwardPass, export_forward_pass
from .source import describe, install_version
from .user_code import hidden_arguments

__all__ = ["export_apart", "read_apart"]


class _Pickler(pickle.Pickler):
    """Leaves functions out: a normalizer_fn is in the plan as Keras code, too."""

    def persistent_id(self, obj: Any) -> Optional[str]:
        return "function" if callable(obj) and not isinstance(obj, type) else None


class _Unpickler(pickle.Unpickler):
    def persistent_load(self, pid: str) -> None:
        return None


def read_apart(options: argparse.Namespace) -> tuple[Plan, str]:
    """Returns the plan of the Estimator that the options choose, and its checkpoint's prefix.

    Args:
      options: parsed options of convert.

    Raises:
      BridgeError: the Estimator cannot be read, or the process ends early.
    """
    plan, checkpoint = _ask(options, "")
    return plan, checkpoint


def export_apart(options: argparse.Namespace, folder: str) -> ForwardPass:
    """Exports the forward pass of the Estimator that the options choose.

    Args:
      options: parsed options of convert, with --input_fn.
      folder: folder below which the SavedModel is written.

    Raises:
      BridgeError: the Estimator cannot be exported, or the process ends early.
    """
    return ForwardPass(*_ask(options, folder))


def _ask(options: argparse.Namespace, exports: str) -> tuple[Any, ...]:
    with tempfile.TemporaryDirectory() as folder:
        request = {"options": vars(options), "exports": exports}
        (Path(folder) / "request.json").write_text(json.dumps(request), encoding="utf-8")
        # What the user's module prints appears as if it were imported here.
        # Ctrl-C does not reach a new session: this process ends that one, which prints nothing.
        command = [sys.executable, "-m", __name__, folder]
        done = subprocess.run(command, check=False, start_new_session=True)
        reply = Path(folder) / "reply"
        if done.returncode or not reply.exists():
            raise BridgeError(
                f"--estimator={options.estimator}: the process that reads it ended with status "
                f"{done.returncode} before it had an Estimator"
            )
        with reply.open("rb") as file:
            found = _Unpickler(file).load()
    if isinstance(found, str):
        raise BridgeError(found)
    return tuple(found)


def _answer(options: argparse.Namespace, exports: str) -> Any:
    """Returns what was asked for, or the text of a BridgeError."""
    try:
        if exports:
            return tuple(export_forward_pass(options, exports))
        source = describe(options)
        return source.plan, source.checkpoint.path
    except BridgeError as error:
        return str(error)


def _main(folder: str) -> None:
    from estimator_bridge.output.logs import set_verbosity

    request = json.loads((Path(folder) / "request.json").read_text(encoding="utf-8"))
    options = argparse.Namespace(**request["options"])
    set_verbosity("error")
    install_version(options)
    with hidden_arguments():
        answer = _answer(options, request["exports"])
    path = Path(folder) / "reply.new"
    with path.open("wb") as file:
        _Pickler(file).dump(answer)
    os.replace(path, Path(folder) / "reply")


if __name__ == "__main__":
    _main(sys.argv[1])
