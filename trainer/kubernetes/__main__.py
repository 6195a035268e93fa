"""python -m trainer.kubernetes: renders the manifests of a cluster."""

import sys

from trainer.kubernetes.manifests import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
