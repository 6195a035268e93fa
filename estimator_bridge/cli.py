"""The command line: runs a command and prints the bridge's own errors as one line."""

import difflib
import importlib
import sys
from typing import Optional

from .errors import BridgeError, describe_os_error
from .signals import SignalReceived, end_command, handle_signals
from .terminal import end_output, tolerate_closed_output

__all__ = ["main"]

# Command -> (module with main(argv) -> exit status, help). The module is imported on use.
_COMMANDS = {
    "run": (
        "process.run",
        "run a program that uses tf.estimator: run [--tf1] SCRIPT|NOTEBOOK|-m MODULE [args]",
    ),
    "kernel": (
        "process.kernel",
        "install a Jupyter kernel whose notebooks have tf.estimator: kernel [--tf1]",
    ),
    "audit": (
        "audit.command",
        "list uses of Estimators and TensorFlow 1, or which TensorFlow loads a model: audit PATH",
    ),
    "convert": (
        "convert.command",
        "write a Keras 3 model with an Estimator's weights: convert --job_dir=JOB --output=X.keras",
    ),
    "verify": (
        "convert.verify.command",
        "compare an Estimator with its Keras model: verify --job_dir=JOB --keras_model=X.keras",
    ),
    "repair": (
        "repair.command",
        "rewrite a model that uses removed operations: repair MODEL --output=DIR",
    ),
    "downgrade": (
        "downgrade.command",
        "rewrite a SavedModel or graph for an older TensorFlow: downgrade EXPORT --to=1.15",
    ),
    "doctor": ("doctor", "show what is installed, what works, and what to install"),
}


def _usage() -> str:
    lines = ["usage: python -m estimator_bridge COMMAND [args]", ""]
    lines += [f"  {name:9} {what}" for name, (_, what) in _COMMANDS.items()]
    return "\n".join(lines)


def main(argv: Optional[list[str]] = None) -> int:
    """Runs a command.

    Args:
      argv: the command and its arguments; None: those of this process.

    Returns:
      The exit status of the command; 2 for wrong arguments or a BridgeError, and after an error of
      the system; 128 + number after SIGINT or SIGTERM. With `run`, signals and errors of the system
      are the program's.
    """
    argv = sys.argv[1:] if argv is None else argv
    command = argv[0] if argv else None
    if command in ("-h", "--help"):
        with tolerate_closed_output():
            print(_usage())
        return 0
    if command not in _COMMANDS:
        if command is None:
            problem = "no command given"
        else:
            near = difflib.get_close_matches(command, _COMMANDS, 1)
            problem = f"no such command: {command!r}" + (
                f" (did you mean {near[0]}?)" if near else ""
            )
        print(f"estimator_bridge: {problem}; --help lists the commands", file=sys.stderr)
        return 2
    try:
        return _start(command, argv[1:]) if command == "run" else _run(command, argv[1:])
    except BridgeError as error:
        print(f"estimator_bridge: {error}", file=sys.stderr)
        return 2


def _run(command: str, argv: list[str]) -> int:
    """Runs a command that is none of the user; returns its exit status."""
    try:
        with handle_signals():
            try:
                return _start(command, argv)
            finally:
                # Here, so that an error of it is told in one line.
                sys.stdout.flush()
    except SignalReceived as received:
        return end_command(received, "no unfinished file is left; the same command begins again")
    except BrokenPipeError:
        # The reader of standard output, for example `head`, has closed it.
        end_output()
        return 1
    except OSError as error:
        print(f"estimator_bridge: {describe_os_error(error)}", file=sys.stderr)
        end_output()
        return 2


def _start(command: str, argv: list[str]) -> int:
    module = importlib.import_module(f".{_COMMANDS[command][0]}", __package__)
    status: int = module.main(argv)
    return status
