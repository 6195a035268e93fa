"""python -m trainer.serve: answers as TensorFlow Serving does, for trying and rehearsing."""

import sys

from trainer.serving.command import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
