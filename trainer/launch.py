"""python -m trainer.launch: runs a whole cluster on this machine."""

import sys

from trainer.cluster.launch_command import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
