"""python -m trainer.launch: runs a whole cluster on this machine."""

import sys

from trainer.cluster.launcher import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
