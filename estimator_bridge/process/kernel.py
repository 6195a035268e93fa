"""python -m estimator_bridge kernel: a kernel of Jupyter whose notebooks have Estimators."""

import argparse
import json
import os
import platform
import sys
import tempfile
from pathlib import Path
from typing import Any

from .. import era
from ..command_line import current_folder
from ..command_line.commands import Parser
from ..errors import BridgeError
from ..output.terminal import escape
from . import run

__all__ = ["main"]

_USAGE = """python -m estimator_bridge kernel [--name=NAME] [--prefix=DIR]
                                       [options of run]

Jupyter, nbconvert, papermill and editors run notebooks with this kernel.
Options of run, such as --tf1 and --as=2.8, apply to all of its notebooks."""


def _parse(argv: list[str]) -> tuple[argparse.Namespace, list[str]]:
    parser = Parser(prog="estimator_bridge kernel", usage=_USAGE, allow_abbrev=False)
    parser.add_argument(
        "--name", help="name of the kernel; default: estimator-bridge, with the version of --as"
    )
    parser.add_argument(
        "--prefix",
        metavar="DIR",
        help="install for the environment in this folder; default: for this user",
    )
    return parser.parse_known_args(argv)


def main(argv: list[str]) -> int:
    """Runs the command.

    Args:
      argv: arguments of the command line.

    Returns:
      The exit status.

    Raises:
      BridgeError: Jupyter is not installed, a name is invalid or belongs to another kernel, or the
        folder cannot be written.
    """
    options, rest = _parse(argv)
    command = [*rest, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    target = run.parse(command)
    if target.name != "ipykernel_launcher":
        raise BridgeError(f"kernel: {target.name}: a kernel runs no program of its own")
    try:
        import ipykernel  # noqa: F401 - only here because the kernel needs it
        from jupyter_client import kernelspec
    except ImportError as error:
        raise BridgeError(f"kernel: {error}; pip install ipykernel") from error
    version = target.as_version
    chosen = era.format_version(version) if version else ""
    name = options.name or f"estimator-bridge-{chosen}".rstrip("-")
    manager = kernelspec.KernelSpecManager()
    if name in manager.find_kernel_specs():
        argv_before = manager.get_kernel_spec(name).argv
        if "estimator_bridge" not in argv_before:
            raise BridgeError(f"kernel: --name={name}: another kernel has this name")
    with tempfile.TemporaryDirectory() as folder:
        content = json.dumps(_describe(command, chosen), indent=1)
        Path(folder, "kernel.json").write_text(content, encoding="utf-8")
        try:
            path = manager.install_kernel_spec(
                folder, name, user=options.prefix is None, prefix=options.prefix
            )
        except (OSError, ValueError) as error:
            raise BridgeError(f"kernel: {error}") from error
    print(f"written: {escape(os.path.join(path, 'kernel.json'))}")
    print(
        f"jupyter nbconvert --to notebook --execute --ExecutePreprocessor.kernel_name={name} "
        "NOTEBOOK.ipynb"
    )
    return 0


def _describe(command: list[str], version: str) -> dict[str, Any]:
    """Returns the content of kernel.json.

    Args:
      command: the arguments after `run`.
      version: of the TensorFlow whose names notebooks get; "" without a choice.
    """
    python = ".".join(platform.python_version_tuple()[:2])
    gets = f"TensorFlow {version}, " if version else ""
    content: dict[str, Any] = {
        "argv": [sys.executable, "-m", "estimator_bridge", "run", *command],
        "display_name": f"Python {python} ({gets}estimator_bridge)",
        "language": "python",
        "metadata": {"debugger": True},
    }
    if current_folder.is_checkout():
        # Python finds it because of the current folder or PYTHONPATH.
        before = filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))
        paths = dict.fromkeys([current_folder.PACKAGES_FOLDER, *map(os.path.abspath, before)])
        content["env"] = {"PYTHONPATH": os.pathsep.join(paths)}
    return content
