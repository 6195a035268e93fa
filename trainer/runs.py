"""python -m trainer.runs: lists, compares, explains and prunes jobs."""

import sys

from trainer.config.commands import run
from trainer.history.command import main

if __name__ == "__main__":
    sys.exit(run(main, sys.argv[1:]))
