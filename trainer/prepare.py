"""python -m trainer.prepare: checks and encodes the data of a job before it starts."""

import sys

from estimator_bridge.command_line.end import leave
from trainer.config.commands import run
from trainer.training.prepare_command import main

if __name__ == "__main__":
    leave(run(main, sys.argv[1:], "what is encoded stays; the same command goes on"))
