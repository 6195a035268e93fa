"""python -m trainer.kubernetes: writes the manifests of a cluster, or of a Job."""

import sys
from functools import partial
from typing import Optional

from trainer.engine_commands import COMMANDS, EngineCommand
from trainer.errors import UserError
from trainer.kubernetes.manifests import main
from trainer.kubernetes.programs import Program
from trainer.kubernetes.spark import KIND


def _check(command: EngineCommand, argv: list[str]) -> Optional[str]:
    values = command.read(argv)
    if values["engine"].present:
        raise UserError(
            f"--engine={values.engine}: remove it; --kind={KIND} sets it, and other kinds have no "
            "cluster of Beam or Spark"
        )
    return command.find_output(values)


def _check_watch(argv: list[str]) -> str:
    from trainer.watching.command import parse

    values = parse(argv)
    if values is None:
        raise UserError("--help after --: the job would only print its flags; remove it")
    return str(values.state)


PROGRAMS = {
    name: Program(
        partial(_check, command), command.words, command.verdicts, name == "predict", engine=True
    )
    for name, command in COMMANDS.items()
}
# The watch ends with status 3 for red and 4 for yellow.
PROGRAMS["watch"] = Program(_check_watch, ["trainer.watch"], verdicts=(3, 4))

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], PROGRAMS))
