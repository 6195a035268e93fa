"""python -m trainer.watch: tells whether a served model still does what it was trained for."""

import sys

from trainer.watching.command import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
