"""python -m trainer: the program estimator-trainer."""

import sys

from trainer.command_line import main

if __name__ == "__main__":
    sys.exit(main())
