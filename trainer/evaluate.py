"""python -m trainer.evaluate: evaluates a checkpoint on any data, by slice."""

import sys

from estimator_bridge.command_line.end import leave
from trainer.evaluation.command import main

if __name__ == "__main__":
    leave(main(sys.argv[1:]))
