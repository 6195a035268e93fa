"""python -m trainer.pipeline: runs steps in turn, each only if its inputs have changed."""

import sys

from trainer.pipelines.command import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
