"""The command line: runs a command and prints the bridge's own errors as one line."""

import difflib
import importlib
import sys
from typing import Optional

from .command_line import commands
from .errors import BridgeError
from .output.terminal import tolerate_closed_output

__all__ = ["main"]

# Command -> (module with main(argv) -> exit status, help). The module is imported on use.
_COMMANDS = {
    "run": (
        "process.run",
        "run a program or a notebook that uses tf.estimator",
    ),
    "kernel": (
        "process.kernel",
        "install a Jupyter kernel whose notebooks have tf.estimator",
    ),
    "audit": (
        "audit.command",
        "list uses of Estimators in code, or which TensorFlow loads a model",
    ),
    "convert": (
        "convert.command",
        "write a Keras 3 model with an Estimator's weights",
    ),
    "verify": (
        "convert.verify.command",
        "compare an Estimator with its Keras model",
    ),
    "repair": (
        "repair.command",
        "rewrite a model that uses removed operations",
    ),
    "downgrade": (
        "downgrade.command",
        "rewrite a SavedModel or graph for an older TensorFlow",
    ),
    "doctor": ("doctor.command", "show what is installed, what works, and what to install"),
}


def _usage() -> str:
    lines = ["usage: python -m estimator_bridge COMMAND [args]", ""]
    lines += [f"  {name:9} {what}" for name, (_, what) in _COMMANDS.items()]
    lines += ["", "COMMAND --help shows the arguments of a command."]
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
        if command == "run":
            return _start(command, argv[1:])
        remains = "no unfinished file is left; the same command begins again"
        return commands.run(lambda: _start(command, argv[1:]), remains, _show_error)
    except BridgeError as error:
        _show_error(str(error))
        return 2


def _show_error(text: str) -> None:
    print(f"estimator_bridge: {text}", file=sys.stderr)


def _start(command: str, argv: list[str]) -> int:
    module = importlib.import_module(f".{_COMMANDS[command][0]}", __package__)
    status: int = module.main(argv)
    return status
