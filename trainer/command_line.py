"""The program estimator-trainer: runs a command as `python -m trainer.COMMAND` does."""

import runpy
import sys
from typing import Optional

from estimator_bridge.output.terminal import tolerate_closed_output
from trainer.errors import USER_ERROR_STATUS, nearest

# Command → its description. Each command is a module of this package; only the chosen one is
# imported.
COMMANDS = {
    "task": "train, evaluate and export; also one process of a cluster",
    "launch": "run a whole cluster on this machine",
    "prepare": "check and encode the data of a job before it starts",
    "predict": "predict rows or files with an exported model",
    "evaluate": "evaluate checkpoints on any data, by slice",
    "gate": "decide whether an export may replace the one in service",
    "sandbox": "try an export in a fresh process, as a model server loads it",
    "watch": "tell whether a served model still does what it was trained for",
    "join_labels": "join served rows with their labels, as rows to train with",
    "report": "write a trained job as one HTML page",
    "push": "push an export as the next version of a served model, or roll back",
    "pipeline": "run commands one after the other, each only if its inputs changed",
    "serve": "answer as TensorFlow Serving does, for trying",
    "schema": "infer a schema from data, or check data against one",
    "tune": "search hyperparameters on this machine",
    "runs": "list, compare, explain and prune jobs",
    "engines": "render a job of Dataflow or Dataproc",
    "kubernetes": "render the manifests of a cluster",
    "vertex": "jobs, endpoints and predictions on Vertex AI",
    "completion": "print a script that completes commands and flags in bash, zsh or fish",
}
# Command → the words that may follow it.
SUBCOMMANDS = {
    "completion": ("bash", "zsh", "fish"),
    "engines": ("render",),
    "kubernetes": ("render",),
    "pipeline": ("run", "list", "render", "submit"),
    "runs": ("list", "show", "compare", "why", "lineage", "prune", "export"),
    "schema": ("infer", "check"),
    "vertex": ("package", "render", "submit", "rehearse", "predict", "deploy", "schedule"),
}


def describe() -> str:
    """Returns the --help text: one line per command."""
    lines = [f"  {name:<12}{what}" for name, what in COMMANDS.items()]
    return "\n".join(
        [
            "usage: estimator-trainer COMMAND [arguments]",
            "",
            *lines,
            "",
            "COMMAND --help shows its flags. `python -m trainer.COMMAND` does the same.",
        ]
    )


def main(argv: Optional[list[str]] = None) -> int:
    """Runs a command.

    Args:
        argv: the command and its arguments; None: those of this process.

    Returns:
        The exit status: 0 after --help, 2 for an unknown command. A command that sets a status of
        its own raises SystemExit instead.
    """
    argv = sys.argv[1:] if argv is None else argv
    if argv and argv[0] in ("--help", "-h", "help"):
        with tolerate_closed_output():
            print(describe())
        return 0
    if argv and argv[0] == "--version":
        from trainer.config.arguments import describe_version

        print(describe_version())
        return 0
    if not argv or argv[0] not in COMMANDS:
        problem = (
            f"{argv[0]!r}: no such command{nearest(argv[0], COMMANDS)}"
            if argv
            else ("no command given")
        )
        print(f"error: {problem} (--help lists the commands)", file=sys.stderr)
        return USER_ERROR_STATUS
    module = f"trainer.{argv[0]}"
    sys.argv = [module, *argv[1:]]
    runpy.run_module(module, run_name="__main__", alter_sys=True)
    return 0
