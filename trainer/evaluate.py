"""python -m trainer.evaluate: evaluates a checkpoint on any data, by slice."""

import sys

from trainer.evaluation.command import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
