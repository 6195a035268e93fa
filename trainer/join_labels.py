"""python -m trainer.join_labels: joins served rows with their labels, as rows to train with."""

import sys

from trainer.watching.join_command import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
