"""python -m trainer.push: pushes an export as the next version of a served model."""

import sys

from trainer.release.push_command import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
