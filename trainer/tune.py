"""python -m trainer.tune: searches hyperparameters on this machine."""

import sys

from trainer.config.commands import run
from trainer.tuning.command import main

if __name__ == "__main__":
    sys.exit(run(main, sys.argv[1:]))
