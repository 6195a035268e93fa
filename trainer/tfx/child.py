"""Calls a function in a process of its own, which ends with this one.

The process of a TFX component has loaded Keras 3 as tf.keras, which Estimators cannot use. So jobs
run in other processes.
"""

import importlib
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from estimator_bridge.command_line.current_folder import list_words
from trainer import storage
from trainer.config import commands
from trainer.environment.variables import PARENT_PIPE, copy_environment
from trainer.errors import TemporaryError, UserError

REQUEST, ANSWER = "request.json", "answer.json"


def call(function: str, given: Any) -> Any:
    """Calls a function in a new process and returns its result.

    A signal or an error that ends the wait ends the process too; a job saves a checkpoint first.

    Args:
        function: module:name of a function of one argument.
        given: its argument, a value of JSON.

    Returns:
        Its result, a value of JSON.

    Raises:
        UserError: the function has raised one.
        RuntimeError: the process has ended otherwise; its output says why.
    """
    with tempfile.TemporaryDirectory(prefix="tfx-") as folder:
        storage.write_json(Path(folder, REQUEST), {"function": function, "given": given})
        reading, writing = os.pipe()
        environment = copy_environment(
            {PARENT_PIPE: str(reading), "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        )
        command = [sys.executable, *list_words("trainer.tfx.child"), folder]
        try:
            process = subprocess.Popen(
                command,
                env=environment,
                pass_fds=[reading],
                # Ctrl-C then interrupts only this process: a job saves nothing at a second signal.
                start_new_session=True,
            )
            try:
                status = process.wait()
            except BaseException:
                process.send_signal(signal.SIGTERM)
                process.wait()
                raise
        finally:
            os.close(reading)
            os.close(writing)
        answer = storage.read_json(Path(folder, ANSWER))
    if answer is None:
        raise RuntimeError(f"{function}: its process ended with status {status}; see its output")
    if "error" in answer:
        raise (TemporaryError if answer["is_temporary"] else UserError)(answer["error"])
    return answer["result"]


def main(argv: list[str]) -> int:
    """Answers one call; returns the exit status.

    Args:
        argv: the folder of the request.
    """
    return commands.run(_answer, argv)


def _answer(argv: list[str]) -> int:
    (folder,) = argv
    request = storage.read_json(Path(folder, REQUEST))
    assert request is not None
    module, _, name = request["function"].partition(":")
    try:
        result = getattr(importlib.import_module(module), name)(request["given"])
    except UserError as error:
        answer = {"error": str(error), "is_temporary": isinstance(error, TemporaryError)}
        storage.write_json(Path(folder, ANSWER), answer)
        raise
    storage.write_json(Path(folder, ANSWER), {"result": result})
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
