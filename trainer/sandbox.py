"""python -m trainer.sandbox: tries an export in a fresh process, as a model server loads it."""

import sys

from trainer.sandboxing.command import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
