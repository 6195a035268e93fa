"""python -m trainer.gate: decides whether an export may replace the one in service."""

import sys

from estimator_bridge.command_line.end import leave
from trainer.gating.command import main


def run_as_program(argv: list[str]) -> None:
    """Judges an export and exits with the status of `main`.

    Args:
        argv: the arguments after the program's name.
    """
    leave(main(argv))


if __name__ == "__main__":
    run_as_program(sys.argv[1:])
