"""What spark-submit runs: `submitted.py MODULE FLAGS` is `python -m MODULE FLAGS`.

Spark is given a file, not a module.
"""

import runpy
import sys

if __name__ == "__main__":
    # The folder of this file, whose modules would hide others.
    sys.path.pop(0)
    sys.argv.pop(0)
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
