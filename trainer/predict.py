"""python -m trainer.predict: predicts rows or whole files with an export."""

import sys

from trainer.prediction.command import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
