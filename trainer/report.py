"""python -m trainer.report: writes a trained job as one HTML page."""

import sys

from estimator_bridge.command_line.end import leave
from trainer.config.commands import run
from trainer.evaluation.page_command import main

if __name__ == "__main__":
    leave(run(main, sys.argv[1:]))
