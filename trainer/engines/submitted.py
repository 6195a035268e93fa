"""The program for spark-submit, which runs a file, not a module.

`submitted.py MODULE FLAGS` is the same as `python -m MODULE FLAGS`.
"""

import runpy
import sys

if __name__ == "__main__":
    # Removes the folder of this file, whose modules would hide other modules.
    sys.path.pop(0)
    sys.argv.pop(0)
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
