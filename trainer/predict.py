"""python -m trainer.predict: predicts rows or whole files with an export."""

import sys

from estimator_bridge.command_line.end import leave
from trainer.prediction.command import main

if __name__ == "__main__":
    leave(main(sys.argv[1:]))
