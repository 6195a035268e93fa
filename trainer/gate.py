"""python -m trainer.gate: decides whether an export may replace the one in service."""

import sys

from trainer.gating.command import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
